//! Why a text is no part of a task.

use crate::expression::ExpressionError;
use crate::onnx::OnnxError;

/// The names of the built-in tasks.
pub const BUILT_IN: [&str; 3] = ["pendulum", "point_env", "point_safety"];

/// Why a text is no part of a task on these columns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// An ONNX file cannot be used.
    #[error(transparent)]
    Onnx(#[from] OnnxError),

    /// A text is no expression.
    #[error(transparent)]
    Expression(#[from] ExpressionError),

    /// Limits that are none, for instance.
    #[error(transparent)]
    Task(#[from] hambo::Error),

    /// A built-in task is asked for that does not exist.
    #[error("there is no built-in task `{name}`; there are `{}`", BUILT_IN.join("`, `"))]
    NoSuchTask {
        /// What was asked for.
        name: String,
    },

    /// A built-in task has other columns than the data.
    #[error(
        "`{name}` has {} state and {} action columns, the data has {} and {}; give an expression over \
         your columns",
        expected.0, expected.1, found.0, found.1
    )]
    OtherColumns {
        /// The task's name.
        name: String,
        /// Its columns of state and action.
        expected: (usize, usize),
        /// The data's.
        found: (usize, usize),
    },

    /// A built-in task does not say what was asked of it.
    #[error("the built-in task `{name}` has no {part} of its own")]
    NoPart {
        /// The task's name.
        name: String,
        /// What it lacks.
        part: &'static str,
    },

    /// A column that the data does not have.
    #[error("there is no state column `{name}`; they are `{columns}`")]
    NoColumn {
        /// What was asked for.
        name: String,
        /// The columns that there are.
        columns: String,
    },

    /// A list of another length than the state.
    #[error("{what} has {found} numbers, the state has {expected} columns")]
    Length {
        /// Which list.
        what: String,
        /// Columns of the state.
        expected: usize,
        /// Its length.
        found: usize,
    },

    /// Nothing says where episodes start.
    #[error(
        "the model does not know where its episodes started; fit it again, or give the initial states"
    )]
    UnknownStarts,

    /// Initial states that cannot be used.
    #[error("{0}")]
    Starts(String),
}
