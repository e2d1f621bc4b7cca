//! Learned policies as ONNX files, for everything that runs those.

use std::path::Path;

use hambo::dataset::EpisodeMarks;
use hambo::{ActionSpace, LearnedPolicy, Policy, PolicyParts};
use ndarray::{Array1, Array2};
use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension::Value as Length};
use tract_onnx::pb::type_proto::{Tensor as TensorType, Value as Type};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
};

use crate::atomic;
use crate::error::Result;

/// Where the marks of the episodes are that a policy was learned from.
const LEARNED_FROM: &str = "hambo.learned_from";

/// Whether worlds taught it.
const LEARNED_IN_WORLDS: &str = "hambo.learned_in_worlds";

/// Version of the file format, and of the operators; both are old enough for every runtime.
const FORMAT: i64 = 8;
const OPERATORS: i64 = 17;

/// Writes a policy, with the marks of the episodes that it was learned from, and whether worlds taught it.
pub fn write_policy(path: &Path, policy: &LearnedPolicy) -> Result<()> {
    let note = |key: &str, value: String| StringStringEntryProto { key: key.into(), value };
    let episodes = policy.learned_from().map(|marks| note(LEARNED_FROM, marks.to_text()));
    let worlds = policy.learned_in_worlds().then(|| note(LEARNED_IN_WORLDS, true.to_string()));
    let model = ModelProto {
        ir_version: FORMAT,
        producer_name: "hambo".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPERATORS }],
        graph: Some(graph(&policy.parts())),
        metadata_props: episodes.into_iter().chain(worlds).collect(),
        ..ModelProto::default()
    };
    atomic::write(path, &model.encode_to_vec())
}

/// The episodes that a policy was learned from, if its file says so.
pub(super) fn learned_from(model: &ModelProto) -> Option<EpisodeMarks> {
    let note = model.metadata_props.iter().find(|note| note.key == LEARNED_FROM)?;
    EpisodeMarks::from_text(&note.value)
}

/// Whether worlds taught a policy, if its file says so.
pub(super) fn learned_in_worlds(model: &ModelProto) -> bool {
    let says = |note: &StringStringEntryProto| note.key == LEARNED_IN_WORLDS;
    model.metadata_props.iter().any(|note| says(note) && note.value == "true")
}

fn graph(parts: &PolicyParts) -> GraphProto {
    let mut graph = GraphProto {
        name: "policy".into(),
        input: vec![port("observation", parts.mean.len())],
        output: vec![port("action", parts.actions.columns())],
        initializer: vec![row("mean", &parts.mean), row("std", &parts.std)],
        node: vec![
            node("Sub", &["observation", "mean"], "centred"),
            node("Div", &["centred", "std"], "values_0"),
        ],
        ..GraphProto::default()
    };
    let last = parts.layers.len() - 1;
    for (index, (weight, bias)) in parts.layers.iter().enumerate() {
        let (w, b) = (format!("weight_{index}"), format!("bias_{index}"));
        let (before, sums) = (format!("values_{index}"), format!("sums_{index}"));
        graph.initializer.push(matrix(&w, weight));
        graph.initializer.push(row(&b, bias));
        graph.node.push(node("Gemm", &[&before, &w, &b], &sums));
        if index < last {
            graph.node.push(node("Relu", &[&sums], &format!("values_{}", index + 1)));
        }
    }
    let sums = format!("sums_{last}");
    match &parts.actions {
        ActionSpace::Within(limits) => {
            graph.initializer.push(row("half_width", &limits.half_width()));
            graph.initializer.push(row("middle", &limits.middle()));
            graph.node.push(node("Tanh", &[&sums], "choice"));
            graph.node.push(node("Mul", &["choice", "half_width"], "spread"));
            graph.node.push(node("Add", &["spread", "middle"], "action"));
        }
        ActionSpace::OneOf(actions) => {
            graph.initializer.push(matrix("actions", actions));
            let largest = node("ArgMax", &[&sums], "choice");
            graph.node.push(with(largest, &[("axis", 1), ("keepdims", 0)]));
            graph.node.push(with(node("Gather", &["actions", "choice"], "action"), &[("axis", 0)]));
        }
    }
    graph
}

fn port(name: &str, columns: usize) -> ValueInfoProto {
    let length = |value: Length| Dimension { value: Some(value), ..Dimension::default() };
    let dim =
        vec![length(Length::DimParam("batch".into())), length(Length::DimValue(columns as i64))];
    let kind =
        TensorType { elem_type: DataType::Float as i32, shape: Some(TensorShapeProto { dim }) };
    let kind = TypeProto { value: Some(Type::TensorType(kind)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(kind), ..ValueInfoProto::default() }
}

fn row(name: &str, values: &Array1<f32>) -> TensorProto {
    tensor(name, &[values.len()], values.iter().copied())
}

fn matrix(name: &str, values: &Array2<f32>) -> TensorProto {
    tensor(name, &[values.nrows(), values.ncols()], values.iter().copied())
}

fn tensor(name: &str, shape: &[usize], values: impl Iterator<Item = f32>) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: shape.iter().map(|&length| length as i64).collect(),
        data_type: DataType::Float as i32,
        float_data: values.collect(),
        ..TensorProto::default()
    }
}

fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        name: output.into(),
        op_type: operator.into(),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

/// A node with whole numbers as attributes.
fn with(node: NodeProto, attributes: &[(&str, i64)]) -> NodeProto {
    let attribute = |&(name, value): &(&str, i64)| AttributeProto {
        name: name.into(),
        r#type: AttributeType::Int as i32,
        i: value,
        ..AttributeProto::default()
    };
    NodeProto { attribute: attributes.iter().map(attribute).collect(), ..node }
}
