//! What can be wrong with an ONNX file, and how to export a better one.

use std::path::{Path, PathBuf};

/// Why an ONNX file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct OnnxError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: OnnxProblem,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxProblem {
    /// The operating system could not read the file.
    #[error("cannot read the file: {0}; check the path")]
    Read(std::io::Error),

    /// The path leads to something else, such as a directory.
    #[error("this is not a file; give the path of the exported `.onnx` file itself")]
    NotAFile,

    /// The file is larger than a policy's network should be.
    #[error("the file has {bytes} bytes, more than the limit of {limit}; export a smaller network")]
    FileTooLarge {
        /// Its size.
        bytes: u64,
        /// The largest size, in bytes.
        limit: u64,
    },

    /// The file has no bytes.
    #[error("the file is empty; export it again")]
    Empty,

    /// An archive, such as libraries save their models in.
    #[error(
        "this is a zip archive, such as Stable-Baselines3 and torch save, not an ONNX file; export it, for instance \
         with hambo.export_onnx(model, \"policy.onnx\") in Python, or evaluate it there"
    )]
    Archive,

    /// The bytes are not ONNX, or end too early.
    #[error("this is not an ONNX file, or it is cut off ({message}); export or copy it again")]
    NotOnnx {
        /// What is wrong.
        message: String,
    },

    /// The file holds no graph.
    #[error("the file holds no graph; it may not be ONNX at all: export it again")]
    NoGraph,

    /// The values of a tensor are in another file.
    #[error(
        "the values of `{tensor}` are in another file; save the model in one file \
         (`save_as_external_data=False`, or `external_data=False` in torch)"
    )]
    ExternalData {
        /// The tensor.
        tensor: String,
    },

    /// A tensor is damaged, or of a kind that is not supported.
    #[error("the tensor `{tensor}` is damaged: {message}; export or copy the file again")]
    Tensor {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        message: String,
    },

    /// A value of a tensor is NaN.
    #[error("value {index} of the tensor `{tensor}` is NaN; check the network that was exported")]
    NanWeight {
        /// The tensor.
        tensor: String,
        /// Position of the value, from zero.
        index: usize,
    },

    /// The graph is too large.
    #[error("the graph has {found} nodes, more than the limit of {limit}; simplify the model")]
    TooManyNodes {
        /// Number of nodes.
        found: usize,
        /// The most that is allowed.
        limit: usize,
    },

    /// A node holds a graph of its own: a condition or a loop.
    #[error(
        "node `{node}` ({operator}) holds a graph of its own; export without conditions and loops: \
         no `if` on values, no `squeeze()` without a dimension"
    )]
    ControlFlow {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
    },

    /// A node draws random numbers.
    #[error(
        "node `{node}` ({operator}) draws random numbers, which could not be replayed; export the \
         outputs `mean` and `log_std`, and the action is drawn from them"
    )]
    Random {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
    },

    /// A node has an operator that is not supported.
    #[error(
        "node `{node}` is a `{operator}`, which is not supported; export with a plain operator set \
         (torch: `dynamo=False, opset_version=17`)"
    )]
    Operator {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
    },

    /// Something is used that nothing computes.
    #[error("{user} needs `{name}`, which nothing in the file computes; export the file again")]
    Missing {
        /// What is missing.
        name: String,
        /// What needs it.
        user: String,
    },

    /// A node makes a tensor that is too large.
    #[error(
        "node `{node}` ({operator}) makes a tensor of {elements} values, more than the limit of \
         {limit}; if the file is not damaged, export a smaller network"
    )]
    HugeTensor {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
        /// Values of the tensor.
        elements: String,
        /// The most that is allowed.
        limit: u64,
    },

    /// The graph has other inputs than it should.
    #[error("it has {}; expected {expected}", names("inputs", found))]
    Inputs {
        /// The names of its inputs.
        found: Vec<String>,
        /// What was expected.
        expected: String,
    },

    /// An input takes something else than float32.
    #[error("the input `{name}` holds {found}; convert the model to float32 inputs")]
    InputType {
        /// Its name.
        name: String,
        /// What it takes.
        found: String,
    },

    /// An input is declared in another shape than the data has.
    #[error(
        "the input `{name}` is declared as {found}; expected [batch, {expected}]: \
         {expected} {quantity} columns go in. If a policy takes only some columns of the state, name \
         them (`policy.inputs`, `--inputs`)"
    )]
    InputShape {
        /// Its name.
        name: String,
        /// The declared shape.
        found: String,
        /// Columns of the data.
        expected: usize,
        /// What the columns hold.
        quantity: &'static str,
    },

    /// A policy is said to take a column that is none.
    #[error(
        "`{name}`, which a policy is said to take, is no column of the state; those are `{columns}`"
    )]
    NoColumn {
        /// What was named.
        name: String,
        /// The columns of the state.
        columns: String,
    },

    /// The graph has other outputs than it should.
    #[error("it has {}; expected {expected}", names("outputs", found))]
    Outputs {
        /// The names of its outputs.
        found: Vec<String>,
        /// What was expected.
        expected: &'static str,
    },

    /// An output gives values of the wrong type.
    #[error("the output `{name}` holds {found}; expected {expected}: add a cast when exporting")]
    OutputType {
        /// Its name.
        name: String,
        /// What it gives.
        found: String,
        /// What was expected.
        expected: &'static str,
    },

    /// An output has another shape than it should.
    #[error(
        "the output `{name}` has shape {found:?} for {rows} rows; expected [{rows}, {expected}], \
         {reason}: export the network that belongs to the data, with a free batch size"
    )]
    OutputShape {
        /// The output.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// Rows that went in.
        rows: usize,
        /// Columns that it should have.
        expected: usize,
        /// Why so many.
        reason: &'static str,
    },

    /// The graph could not be prepared for a batch.
    #[error(
        "the graph cannot be prepared for a batch of {rows} rows: {message}; \
         export in evaluation mode with a free batch size (torch: `model.eval()`, `dynamic_axes`) and a plain operator set \
         (`dynamo=False, opset_version=17`)"
    )]
    Engine {
        /// Rows of the batch.
        rows: usize,
        /// What is wrong.
        message: String,
    },

    /// The graph failed on a batch.
    #[error("the graph failed on {rows} rows: {message}; check what it does with unusual values")]
    Run {
        /// Rows of the batch.
        rows: usize,
        /// What is wrong.
        message: String,
    },

    /// It was asked about rows of another width than it takes.
    #[error(
        "it was given rows of {found:?} values, it takes {expected:?}; use it with its own data"
    )]
    RowWidth {
        /// Columns of each input.
        expected: Vec<usize>,
        /// Columns that were given.
        found: Vec<usize>,
    },

    /// An output is NaN or infinite.
    #[error(
        "the output `{output}` is {value} in column {column} when {input}; check the exported network, \
         above all its normalisation"
    )]
    NotFinite {
        /// The output.
        output: String,
        /// Its column.
        column: usize,
        /// The value.
        value: f32,
        /// What the inputs were, in words.
        input: &'static str,
    },

    /// A standard deviation is negative.
    #[error(
        "the output `std` is {value} in column {column}; export a standard deviation, which is never negative, or its logarithm as `log_std`"
    )]
    NegativeStd {
        /// Column of the action.
        column: usize,
        /// The value.
        value: f32,
    },

    /// The output for a row depends on the other rows of its batch.
    #[error(
        "the output `{output}` for one and the same row is {alone} or {together}, depending on the \
         other rows; export in evaluation mode (torch: `model.eval()`) and without operations \
         along the batch"
    )]
    BatchDependent {
        /// The output.
        output: String,
        /// The output for the row in one batch.
        alone: f32,
        /// The output for the same row in another batch.
        together: f32,
    },

    /// A termination gives something else than 0 or 1.
    #[error("the output `{output}` is {value}, neither 0 nor 1; end the graph with a comparison")]
    NotTruth {
        /// The output.
        output: String,
        /// The value.
        value: f32,
    },
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
