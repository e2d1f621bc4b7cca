//! Reading an ONNX file, and what its graph declares.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value as Type;
use tract_onnx::pb::{GraphProto, ModelProto, ValueInfoProto};
use tract_onnx::prelude::Framework;

use super::check;
use super::error::OnnxProblem;

/// Largest file that is read. A parsed file takes several times its size in memory.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// The content of a file, checked.
pub(super) struct OnnxFile {
    pub(super) proto: ModelProto,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
}

/// An input or output as the file declares it.
#[derive(Debug, Clone)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) kind: DataType,
    /// `None` where any length will do; no shape at all if none is declared.
    pub(super) shape: Option<Vec<Option<i64>>>,
}

impl OnnxFile {
    pub(super) fn read(path: &Path) -> Result<Self, OnnxProblem> {
        let bytes = read_bytes(path)?;
        if bytes.starts_with(b"PK\x03\x04") {
            return Err(OnnxProblem::Archive);
        }
        let mut proto = tract_onnx::onnx()
            .proto_model_for_read(&mut bytes.as_slice())
            .map_err(|error| OnnxProblem::NotOnnx { message: error.root_cause().to_string() })?;
        let graph = proto.graph.as_mut().ok_or(OnnxProblem::NoGraph)?;
        check::check_graph(graph)?;
        drop_repeated_names(graph);
        let (inputs, outputs) = (inputs(graph), graph.output.iter().map(port).collect());
        Ok(Self { proto, inputs, outputs })
    }

    pub(super) fn input_names(&self) -> Vec<String> {
        self.inputs.iter().map(|port| port.name.clone()).collect()
    }

    pub(super) fn output_names(&self) -> Vec<String> {
        self.outputs.iter().map(|port| port.name.clone()).collect()
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, OnnxProblem> {
    let file = File::open(path).map_err(OnnxProblem::Read)?;
    let metadata = file.metadata().map_err(OnnxProblem::Read)?;
    if !metadata.is_file() {
        return Err(OnnxProblem::NotAFile);
    }
    let mut bytes = Vec::new();
    // The limit also holds if the file grows meanwhile.
    if metadata.len() <= MAX_BYTES {
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(OnnxProblem::Read)?;
    }
    let size = metadata.len().max(bytes.len() as u64);
    if size > MAX_BYTES {
        return Err(OnnxProblem::FileTooLarge { bytes: size, limit: MAX_BYTES });
    }
    if bytes.is_empty() {
        return Err(OnnxProblem::Empty);
    }
    Ok(bytes)
}

/// Nodes may share a name, which the engine does not allow; without one they go by what they compute.
fn drop_repeated_names(graph: &mut GraphProto) {
    let mut seen = HashSet::new();
    for node in &mut graph.node {
        if !seen.insert(node.name.clone()) {
            node.name.clear();
        }
    }
}

/// Old files list their weights among the inputs.
fn inputs(graph: &GraphProto) -> Vec<Port> {
    let is_weight =
        |info: &&ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == info.name);
    graph.input.iter().filter(|info| !is_weight(info)).map(port).collect()
}

fn port(info: &ValueInfoProto) -> Port {
    let declared = info.r#type.as_ref().and_then(|kind| kind.value.as_ref());
    let (kind, shape) = match declared {
        Some(Type::TensorType(tensor)) => (tensor.elem_type, tensor.shape.as_ref()),
        None => (0, None),
    };
    let shape = shape.map(|shape| {
        let lengths = shape.dim.iter().map(|dim| match dim.value {
            // Some exporters write 0 or -1 for a free length.
            Some(Dimension::DimValue(length)) if length > 0 => Some(length),
            _ => None,
        });
        lengths.collect()
    });
    let kind = DataType::try_from(kind).unwrap_or(DataType::Undefined);
    Port { name: info.name.clone(), kind, shape }
}

impl Port {
    /// Whether an input takes `[batch, width]` of float32.
    pub(super) fn check_input(
        &self,
        width: usize,
        quantity: &'static str,
    ) -> Result<(), OnnxProblem> {
        let name = self.name.clone();
        if self.kind != DataType::Float {
            let found = self.kind.as_str_name().to_lowercase();
            return Err(OnnxProblem::InputType { name, found });
        }
        let fits = match self.shape.as_deref() {
            None => true,
            Some([_, None]) => true,
            Some([_, Some(length)]) => u64::try_from(*length) == Ok(width as u64),
            Some(_) => false,
        };
        if fits {
            return Ok(());
        }
        Err(OnnxProblem::InputShape { name, found: self.shape_text(), expected: width, quantity })
    }

    fn shape_text(&self) -> String {
        let lengths = self.shape.iter().flatten().enumerate().map(|(axis, length)| match length {
            Some(length) => length.to_string(),
            None if axis == 0 => "batch".to_owned(),
            None => "any".to_owned(),
        });
        format!("[{}]", lengths.collect::<Vec<_>>().join(", "))
    }
}
