//! Small ONNX files, made by hand so that they can be broken in one place at a time.

use hambo_io::onnx::{OnnxError, OnnxPolicy};
use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension::Value as Length};
use tract_onnx::pb::type_proto::{Tensor as TensorType, Value as Type};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto,
};

pub(crate) const FREE: i64 = -1;

/// An input or output of float32; [`FREE`] is the batch.
pub(crate) fn port(name: &str, shape: &[i64]) -> ValueInfoProto {
    typed_port(name, DataType::Float, shape)
}

pub(crate) fn typed_port(name: &str, kind: DataType, shape: &[i64]) -> ValueInfoProto {
    let length = |&length: &i64| Dimension {
        value: Some(match length {
            FREE => Length::DimParam("batch".into()),
            _ => Length::DimValue(length),
        }),
        ..Dimension::default()
    };
    let shape = TensorShapeProto { dim: shape.iter().map(length).collect() };
    let kind = TensorType { elem_type: kind as i32, shape: Some(shape) };
    let kind = TypeProto { value: Some(Type::TensorType(kind)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(kind), ..ValueInfoProto::default() }
}

pub(crate) fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: dims.to_vec(),
        data_type: DataType::Float as i32,
        float_data: values.to_vec(),
        ..TensorProto::default()
    }
}

pub(crate) fn integers(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: vec![values.len() as i64],
        data_type: DataType::Int64 as i32,
        raw_data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        ..TensorProto::default()
    }
}

pub(crate) fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto {
        name: format!("the_{}", operator.to_lowercase()),
        op_type: operator.into(),
        input: owned(inputs),
        output: owned(outputs),
        ..NodeProto::default()
    }
}

pub(crate) fn with_int(mut node: NodeProto, name: &str, value: i64) -> NodeProto {
    let kind = AttributeType::Int as i32;
    let attribute =
        AttributeProto { name: name.into(), r#type: kind, i: value, ..Default::default() };
    node.attribute.push(attribute);
    node
}

pub(crate) fn with_ints(mut node: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    let (kind, ints) = (AttributeType::Ints as i32, values.to_vec());
    let attribute = AttributeProto { name: name.into(), r#type: kind, ints, ..Default::default() };
    node.attribute.push(attribute);
    node
}

pub(crate) fn with_graph(mut node: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    let (kind, g) = (AttributeType::Graph as i32, Some(graph));
    node.attribute.push(AttributeProto {
        name: name.into(),
        r#type: kind,
        g,
        ..Default::default()
    });
    node
}

pub(crate) fn model(graph: GraphProto) -> ModelProto {
    let operators = OperatorSetIdProto { domain: String::new(), version: 17 };
    ModelProto {
        ir_version: 8,
        opset_import: vec![operators],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

pub(crate) fn bytes(graph: GraphProto) -> Vec<u8> {
    model(graph).encode_to_vec()
}

/// `action = state W + b` with two states and one action: 2 s0 - s1 + 0.5.
pub(crate) fn linear() -> GraphProto {
    GraphProto {
        name: "policy".into(),
        input: vec![port("state", &[FREE, 2])],
        output: vec![port("action", &[FREE, 1])],
        initializer: vec![floats("weight", &[2, 1], &[2.0, -1.0]), floats("bias", &[1], &[0.5])],
        node: vec![node("Gemm", &["state", "weight", "bias"], &["action"])],
        ..GraphProto::default()
    }
}

/// A file that is removed again when it goes out of scope.
pub(crate) fn written(content: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".onnx").unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}

pub(crate) fn load(
    content: &[u8],
    state_dim: usize,
    action_dim: usize,
) -> Result<OnnxPolicy, OnnxError> {
    OnnxPolicy::load(written(content).path(), state_dim, action_dim)
}
