//! What can be wrong with an ONNX file, and how to export a better one.

use std::path::{Path, PathBuf};

/// Why an ONNX file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct OnnxError {
    pub path: PathBuf,
    pub problem: OnnxProblem,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxProblem {
    #[error("cannot read the file: {0}; check the path")]
    Read(std::io::Error),

    #[error("this is not a file; give the path of the exported `.onnx` file itself")]
    NotAFile,

    #[error("the file has {bytes} bytes, more than the limit of {limit}; export a smaller network")]
    FileTooLarge { bytes: u64, limit: u64 },

    #[error("the file is empty; export it again")]
    Empty,

    #[error("this is not an ONNX file, or it is cut off ({message}); export or copy it again")]
    NotOnnx { message: String },

    #[error("the file holds no graph; it may not be ONNX at all: export it again")]
    NoGraph,

    #[error(
        "the values of `{tensor}` are in another file; save the model in one file \
         (`save_as_external_data=False`, or `external_data=False` in torch)"
    )]
    ExternalData { tensor: String },

    #[error("the tensor `{tensor}` is damaged: {message}; export or copy the file again")]
    Tensor { tensor: String, message: String },

    #[error("value {index} of the tensor `{tensor}` is NaN; check the network that was exported")]
    NanWeight { tensor: String, index: usize },

    #[error("the graph has {found} nodes, more than the limit of {limit}; simplify the model")]
    TooManyNodes { found: usize, limit: usize },

    #[error(
        "node `{node}` ({operator}) holds a graph of its own; export without conditions and loops: \
         no `if` on values, no `squeeze()` without a dimension"
    )]
    ControlFlow { node: String, operator: String },

    #[error(
        "node `{node}` ({operator}) draws random numbers, which could not be replayed; export the \
         outputs `mean` and `log_std`, and the action is drawn from them"
    )]
    Random { node: String, operator: String },

    #[error(
        "node `{node}` is a `{operator}`, which is not supported; export with a plain operator set \
         (torch: `dynamo=False, opset_version=17`)"
    )]
    Operator { node: String, operator: String },

    #[error("{user} needs `{name}`, which nothing in the file computes; export the file again")]
    Missing { name: String, user: String },

    #[error(
        "node `{node}` ({operator}) makes a tensor of {elements} values, more than the limit of \
         {limit}; if the file is not damaged, export a smaller network"
    )]
    HugeTensor { node: String, operator: String, elements: String, limit: u64 },

    #[error("it has {}; expected {expected}", names("inputs", found))]
    Inputs { found: Vec<String>, expected: String },

    #[error("the input `{name}` holds {found}; convert the model to float32 inputs")]
    InputType { name: String, found: String },

    #[error(
        "the input `{name}` is declared as {found}; expected [batch, {expected}]: \
         the data has {expected} {quantity} columns"
    )]
    InputShape { name: String, found: String, expected: usize, quantity: &'static str },

    #[error("it has {}; expected {expected}", names("outputs", found))]
    Outputs { found: Vec<String>, expected: &'static str },

    #[error("the output `{name}` holds {found}; expected {expected}: add a cast when exporting")]
    OutputType { name: String, found: String, expected: &'static str },

    #[error(
        "the output `{name}` has shape {found:?} for {rows} rows; expected [{rows}, {expected}], \
         {reason}: export the network that belongs to the data, with a free batch size"
    )]
    OutputShape {
        name: String,
        found: Vec<usize>,
        rows: usize,
        expected: usize,
        reason: &'static str,
    },

    #[error(
        "the graph cannot be prepared for a batch of {rows} rows: {message}; \
         export in evaluation mode with a free batch size (torch: `model.eval()`, `dynamic_axes`) and a plain operator set \
         (`dynamo=False, opset_version=17`)"
    )]
    Engine { rows: usize, message: String },

    #[error("the graph failed on {rows} rows: {message}; check what it does with unusual values")]
    Run { rows: usize, message: String },

    #[error(
        "it was given rows of {found:?} values, it takes {expected:?}; use it with its own data"
    )]
    RowWidth { expected: Vec<usize>, found: Vec<usize> },

    #[error(
        "the output `{output}` is {value} in column {column} when {input}; check the exported network, \
         above all its normalisation"
    )]
    NotFinite { output: String, column: usize, value: f32, input: &'static str },

    #[error(
        "the output `std` is {value} in column {column}; export a standard deviation, which is never negative, or its logarithm as `log_std`"
    )]
    NegativeStd { column: usize, value: f32 },

    #[error(
        "the output `{output}` for one and the same row is {alone} or {together}, depending on the \
         other rows; export in evaluation mode (torch: `model.eval()`) and without operations \
         along the batch"
    )]
    BatchDependent { output: String, alone: f32, together: f32 },

    #[error("the output `{output}` is {value}, neither 0 nor 1; end the graph with a comparison")]
    NotTruth { output: String, value: f32 },
}

impl OnnxProblem {
    pub(super) fn at(self, path: &Path) -> OnnxError {
        OnnxError { path: path.to_owned(), problem: self }
    }
}

fn names(what: &str, found: &[String]) -> String {
    match found {
        [] => format!("no {what}"),
        _ => {
            let quoted: Vec<_> = found.iter().map(|name| format!("`{name}`")).collect();
            format!("the {what} {}", quoted.join(", "))
        }
    }
}
