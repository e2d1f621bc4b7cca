//! What is wrong with a graph can be seen before the engine runs it.
//!
//! The engine evaluates constant parts while it loads, and it trusts what a file declares: a few
//! bytes may ask for a tensor of terabytes, and a failed allocation ends the process. So every tensor
//! must be as large as its data, and no node may make one that is out of proportion.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};

use super::error::OnnxProblem;

/// Most nodes of a graph: the engine's optimiser would take too long.
const MAX_NODES: usize = 10_000;

/// Most values of any tensor that a node makes: 512 MiB of float32.
pub(super) const MAX_ELEMENTS: u64 = 1 << 27;

/// What a length that is read off another tensor is taken for. Together with [`MAX_ELEMENTS`] it
/// leaves room for constants of up to a thousand.
const ASSUMED_LENGTH: u64 = 1 << 17;

const RANDOM: [&str; 6] = [
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
];

pub(super) fn check_graph(graph: &GraphProto) -> Result<(), OnnxProblem> {
    if graph.node.len() > MAX_NODES {
        return Err(OnnxProblem::TooManyNodes { found: graph.node.len(), limit: MAX_NODES });
    }
    if let Some(tensor) = graph.sparse_initializer.first() {
        let name = tensor.values.as_ref().map_or("", |values| &values.name).to_owned();
        let message = "it is sparse, which is not supported".to_owned();
        return Err(OnnxProblem::Tensor { tensor: name, message });
    }
    graph.initializer.iter().try_for_each(|tensor| check_tensor(&tensor.name, tensor))?;
    let operators = tract_onnx::onnx().op_register;
    for node in &graph.node {
        let named = (name_of(node), node.op_type.clone());
        if RANDOM.contains(&&*node.op_type) {
            return Err(OnnxProblem::Random { node: named.0, operator: named.1 });
        }
        if node
            .attribute
            .iter()
            .any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty())
        {
            return Err(OnnxProblem::ControlFlow { node: named.0, operator: named.1 });
        }
        if !operators.0.contains_key(&node.op_type) {
            return Err(OnnxProblem::Operator { node: named.0, operator: named.1 });
        }
        for tensor in node.attribute.iter().flat_map(|a| a.t.iter().chain(&a.tensors)) {
            check_tensor(&named.0, tensor)?;
        }
    }
    check_names(graph)?;
    check_made_sizes(graph)
}

/// The node's name, or what it computes.
pub(super) fn name_of(node: &NodeProto) -> String {
    let names = [Some(&node.name), node.output.first()];
    names.into_iter().flatten().find(|name| !name.is_empty()).cloned().unwrap_or_default()
}

fn check_tensor(name: &str, tensor: &TensorProto) -> Result<(), OnnxProblem> {
    let name = if tensor.name.is_empty() { name } else { &tensor.name }.to_owned();
    let external = tensor.data_location == Some(DataLocation::External as i32);
    if external || !tensor.external_data.is_empty() {
        return Err(OnnxProblem::ExternalData { tensor: name });
    }
    let damaged = |message| OnnxProblem::Tensor { tensor: name.clone(), message };
    let kind = DataType::try_from(tensor.data_type).unwrap_or(DataType::Undefined);
    let Some(width) = width_of(kind) else {
        let kind = kind.as_str_name().to_lowercase();
        return Err(damaged(format!("its type, {kind}, is not supported")));
    };
    let mut lengths = tensor.dims.iter().map(|&length| u64::try_from(length).ok());
    let elements = lengths.try_fold(1u64, |product, length| product.checked_mul(length?));
    let (unit, found, expected) = match tensor.raw_data.len() {
        0 => ("values", typed_len(tensor), elements),
        bytes => ("bytes", bytes as u64, elements.and_then(|elements| elements.checked_mul(width))),
    };
    if expected != Some(found) {
        let needed = expected.map_or("impossibly many".to_owned(), |count| count.to_string());
        let dims = &tensor.dims;
        return Err(damaged(format!("its shape {dims:?} needs {needed} {unit}, it has {found}")));
    }
    match nan_in(kind, tensor) {
        Some(index) => Err(OnnxProblem::NanWeight { tensor: name, index }),
        None => Ok(()),
    }
}

/// Bytes per value as raw data.
fn width_of(kind: DataType) -> Option<u64> {
    match kind {
        DataType::Bool | DataType::Uint8 | DataType::Int8 => Some(1),
        DataType::Uint16 | DataType::Int16 | DataType::Float16 => Some(2),
        DataType::Float | DataType::Int32 | DataType::Uint32 => Some(4),
        DataType::Double | DataType::Int64 | DataType::Uint64 => Some(8),
        _ => None,
    }
}

fn typed_len(tensor: &TensorProto) -> u64 {
    let lengths = [
        tensor.float_data.len(),
        tensor.int32_data.len(),
        tensor.int64_data.len(),
        tensor.double_data.len(),
        tensor.uint64_data.len(),
    ];
    lengths.iter().sum::<usize>() as u64
}

/// A NaN may vanish behind a rectifier and never reach the outputs, so it is looked for here.
fn nan_in(kind: DataType, tensor: &TensorProto) -> Option<usize> {
    let raw = &tensor.raw_data;
    match kind {
        DataType::Float if raw.is_empty() => tensor.float_data.iter().position(|v| v.is_nan()),
        DataType::Float => {
            raw.as_chunks().0.iter().position(|&bytes| f32::from_le_bytes(bytes).is_nan())
        }
        DataType::Double if raw.is_empty() => tensor.double_data.iter().position(|v| v.is_nan()),
        DataType::Double => {
            raw.as_chunks().0.iter().position(|&bytes| f64::from_le_bytes(bytes).is_nan())
        }
        _ => None,
    }
}

/// Everything that is used must come from somewhere.
fn check_names(graph: &GraphProto) -> Result<(), OnnxProblem> {
    let given = graph.input.iter().map(|info| &info.name);
    let weights = graph.initializer.iter().map(|tensor| &tensor.name);
    let computed = graph.node.iter().flat_map(|node| &node.output);
    let known: HashSet<&String> = given.chain(weights).chain(computed).collect();
    let missing = |name: &String| !name.is_empty() && !known.contains(name);
    for node in &graph.node {
        if let Some(name) = node.input.iter().find(|name| missing(name)) {
            let user = format!("node `{}` ({})", name_of(node), node.op_type);
            return Err(OnnxProblem::Missing { name: name.clone(), user });
        }
    }
    match graph.output.iter().find(|output| missing(&output.name)) {
        Some(output) => {
            let user = "the list of outputs".to_owned();
            Err(OnnxProblem::Missing { name: output.name.clone(), user })
        }
        None => Ok(()),
    }
}

/// Refuses nodes whose result is as large as a number in the file says.
fn check_made_sizes(graph: &GraphProto) -> Result<(), OnnxProblem> {
    let sizes = Sizes::new(graph);
    for node in &graph.node {
        let inputs: &[usize] = match &*node.op_type {
            "ConstantOfShape" => &[0],
            "Expand" | "Tile" | "OneHot" | "Pad" => &[1],
            "Range" => &[0, 1, 2],
            "Resize" => &[1, 2, 3],
            _ => continue,
        };
        let mut seen = HashSet::new();
        let wanted = inputs.iter().filter_map(|&index| node.input.get(index));
        let elements = wanted
            .fold(1u64, |product, name| product.saturating_mul(sizes.largest(name, &mut seen)));
        if elements > MAX_ELEMENTS {
            return Err(OnnxProblem::HugeTensor {
                node: name_of(node),
                operator: node.op_type.clone(),
                elements: format!("up to {elements}"),
                limit: MAX_ELEMENTS,
            });
        }
    }
    Ok(())
}

/// Where the numbers come from that sizes are made of.
struct Sizes<'a> {
    /// The product of every constant's values.
    constants: HashMap<&'a str, u64>,
    makers: HashMap<&'a str, &'a NodeProto>,
}

impl<'a> Sizes<'a> {
    fn new(graph: &'a GraphProto) -> Self {
        let mut constants: HashMap<&str, u64> =
            graph.initializer.iter().map(|tensor| (&*tensor.name, product_of(tensor))).collect();
        let mut makers = HashMap::new();
        for node in &graph.node {
            makers.extend(node.output.iter().map(|output| (&**output, node)));
            if let (Some(output), "Constant") = (node.output.first(), &*node.op_type) {
                let products = node.attribute.iter().map(|attribute| {
                    let whole = attribute.ints.iter().chain([&attribute.i]).map(|&i| i as f64);
                    let real = attribute.floats.iter().chain([&attribute.f]).map(|&f| f.into());
                    product(whole.chain(real))
                        .saturating_mul(attribute.t.as_ref().map_or(1, product_of))
                });
                constants.insert(output, products.fold(1, u64::saturating_mul));
            }
        }
        Self { constants, makers }
    }

    /// Not less than the product of the numbers that `name` can hold, however they were computed
    /// from the constants before it, each of which counts once. Recursion is avoided because the
    /// file decides its depth.
    fn largest(&self, name: &'a str, seen: &mut HashSet<&'a str>) -> u64 {
        let mut product = 1u64;
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            if name.is_empty() || !seen.insert(name) {
                continue;
            }
            if let Some(&constant) = self.constants.get(name) {
                product = product.saturating_mul(constant);
                continue;
            }
            let Some(node) = self.makers.get(name) else { continue };
            match &*node.op_type {
                "Shape" | "Size" => product = product.saturating_mul(ASSUMED_LENGTH),
                // Their other inputs say which part, not how much.
                "Gather" | "Slice" | "Unsqueeze" | "Squeeze" | "Reshape" => {
                    waiting.extend(node.input.first().map(|input| &**input));
                }
                _ => waiting.extend(node.input.iter().map(|input| &**input)),
            }
        }
        product
    }
}

fn product_of(tensor: &TensorProto) -> u64 {
    let raw = &tensor.raw_data;
    let values: Vec<f64> = match DataType::try_from(tensor.data_type) {
        Ok(DataType::Int64) => {
            let raw = raw.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes));
            raw.chain(tensor.int64_data.iter().copied()).map(|value| value as f64).collect()
        }
        Ok(DataType::Int32) => {
            let raw = raw.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes));
            raw.chain(tensor.int32_data.iter().copied()).map(f64::from).collect()
        }
        Ok(DataType::Float) => {
            let raw = raw.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
            raw.chain(tensor.float_data.iter().copied()).map(f64::from).collect()
        }
        _ => return 1,
    };
    product(values.into_iter())
}

/// The product of numbers without their signs; zeros are left out. A fraction counts as its inverse:
/// the smaller a step, the longer the range.
fn product(values: impl Iterator<Item = f64>) -> u64 {
    let sizes = values.map(f64::abs).filter(|&size| size > 0.0);
    sizes.fold(1.0, |product, size| product * size.max(1.0 / size)) as u64
}
