//! How large everything becomes, before anything is computed.
//!
//! The engine evaluates constant parts of a graph while it works out its shapes, and two weights of a
//! few megabytes can make a product of terabytes. So it is first given the graph without the values of
//! its weights: then it can only work out shapes.

use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension::Value as Length};
use tract_onnx::pb::type_proto::{Tensor as TensorType, Value as Type};
use tract_onnx::pb::{
    GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
};
use tract_onnx::prelude::{InferenceModel, InferenceModelExt, TractResult};

use super::check::MAX_ELEMENTS;
use super::engine::{engine, guarded, inference_model};
use super::error::OnnxProblem;

/// Tensors with more values than this lose them: few enough that nothing large can be made of the
/// rest, enough for shapes, axes and limits.
const KEPT_VALUES: usize = 16;

/// Refuses a graph in which a tensor is out of proportion.
pub(super) fn check_shapes(proto: &ModelProto, widths: &[usize]) -> Result<(), OnnxProblem> {
    let skeleton = skeleton(proto);
    let analysed = guarded(|| analysed(&skeleton, widths)).map_err(engine)?;
    for node in analysed.nodes() {
        for output in &node.outputs {
            let Some(shape) = output.fact.shape.as_concrete_finite().ok().flatten() else {
                continue;
            };
            let lengths = shape.iter().map(|&length| length as u64);
            let elements = lengths.fold(1u64, u64::saturating_mul);
            if elements > MAX_ELEMENTS {
                return Err(OnnxProblem::HugeTensor {
                    node: node.name.clone(),
                    operator: node.op.name().into_owned(),
                    elements: elements.to_string(),
                    limit: MAX_ELEMENTS,
                });
            }
        }
    }
    Ok(())
}

fn analysed(skeleton: &ModelProto, widths: &[usize]) -> TractResult<InferenceModel> {
    let mut model = inference_model(skeleton, widths)?;
    model.analyse(false)?;
    Ok(model)
}

/// The graph with its larger tensors turned into inputs, after those that it has.
fn skeleton(proto: &ModelProto) -> ModelProto {
    let Some(graph) = &proto.graph else { return ModelProto::default() };
    let is_large = |tensor: &&TensorProto| tensor.dims.iter().product::<i64>() > KEPT_VALUES as i64;
    let large_constant = |node: &&NodeProto| {
        node.op_type == "Constant"
            && node.attribute.iter().filter_map(|a| a.t.as_ref()).any(|tensor| is_large(&tensor))
    };
    let weights = graph.initializer.iter().filter(is_large);
    let weights = weights.map(|tensor| value_less(&tensor.name, tensor));
    let constants = graph.node.iter().filter(large_constant).filter_map(|node| {
        let tensor = node.attribute.iter().find_map(|attribute| attribute.t.as_ref())?;
        Some(value_less(node.output.first()?, tensor))
    });
    let is_weight =
        |info: &&ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == info.name);
    let inputs = graph.input.iter().filter(|info| !is_weight(info)).cloned();
    let skeleton = GraphProto {
        node: graph.node.iter().filter(|node| !large_constant(node)).cloned().collect(),
        initializer: graph.initializer.iter().filter(|t| !is_large(t)).cloned().collect(),
        input: inputs.chain(weights).chain(constants).collect(),
        output: graph.output.clone(),
        ..GraphProto::default()
    };
    ModelProto {
        ir_version: proto.ir_version,
        opset_import: proto.opset_import.clone(),
        graph: Some(skeleton),
        ..ModelProto::default()
    }
}

fn value_less(name: &str, tensor: &TensorProto) -> ValueInfoProto {
    let length =
        |&length: &i64| Dimension { value: Some(Length::DimValue(length)), ..Dimension::default() };
    let shape = TensorShapeProto { dim: tensor.dims.iter().map(length).collect() };
    let kind = TensorType { elem_type: tensor.data_type, shape: Some(shape) };
    let kind = TypeProto { value: Some(Type::TensorType(kind)), ..TypeProto::default() };
    ValueInfoProto { name: name.to_owned(), r#type: Some(kind), ..ValueInfoProto::default() }
}
