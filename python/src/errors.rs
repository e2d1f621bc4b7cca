//! Rust's errors as Python's exceptions: the one place that decides which is which.

use std::io::ErrorKind;

use hambo_io::expression::ExpressionError;
use hambo_io::onnx::{OnnxError, OnnxProblem};
use hambo_io::task::TaskError;
use pyo3::prelude::*;

/// What went wrong, before there is an interpreter to raise it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The name of a class in `hambo/errors.py`.
    class: &'static str,
    message: String,
}

impl Failure {
    pub(crate) fn new(class: &'static str, message: impl ToString) -> Self {
        Self { class, message: message.to_string() }
    }

    /// A defect of this package, not of what it was given.
    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        Self::new("HamboError", format!("a defect in hambo, please report it: {message}"))
    }

    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let class = py.import("hambo.errors").and_then(|errors| errors.getattr(self.class));
        match class.and_then(|class| class.call1((self.message,))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

fn of_io(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "MissingFileError",
        _ => "FileError",
    }
}

impl From<hambo::Error> for Failure {
    fn from(error: hambo::Error) -> Self {
        use hambo::Error as E;
        let class = match &error {
            E::Dataset(_) | E::TooFewEpisodes { .. } | E::TooManyRows { .. } => "DataError",
            E::Setting { .. }
            | E::NoReward
            | E::TooFewStarts { .. }
            | E::NoMembers { .. }
            | E::DeviceNotBuiltIn { .. }
            | E::NoSuchDevice { .. }
            | E::Counted { .. } => "SettingError",
            E::Supplied { .. }
            | E::SuppliedShape { .. }
            | E::SuppliedValue { .. }
            | E::Dimension { .. } => "SuppliedError",
            E::Diverged { .. } | E::Calibration { .. } | E::IllConditioned { .. } => "FitError",
            _ => "HamboError",
        };
        Self::new(class, error)
    }
}

impl From<hambo::dataset::DatasetError> for Failure {
    fn from(error: hambo::dataset::DatasetError) -> Self {
        Self::new("DataError", error)
    }
}

impl From<hambo_io::Error> for Failure {
    fn from(error: hambo_io::Error) -> Self {
        use hambo_io::Error as E;
        let class = match &error {
            E::Io { source, .. } => of_io(source.kind()),
            E::NotFound { .. } => "MissingFileError",
            E::Exists { .. } => "ExistingFileError",
            E::NotAModel { .. }
            | E::Damaged { .. }
            | E::Schema { .. }
            | E::TooLarge { .. }
            | E::Content { .. }
            | E::UnknownFormat { .. }
            | E::Unreadable { .. }
            | E::Inflated { .. }
            | E::StoreDamaged { .. } => "FileError",
            _ => "DataError",
        };
        Self::new(class, error)
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Onnx(error) => error.into(),
            TaskError::Expression(error) => error.into(),
            TaskError::Task(error) => error.into(),
            other => Self::new("SettingError", other),
        }
    }
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Self {
        let class = match &error.problem {
            OnnxProblem::Read(source) => of_io(source.kind()),
            _ => "OnnxError",
        };
        Self::new(class, error)
    }
}

impl From<ExpressionError> for Failure {
    fn from(error: ExpressionError) -> Self {
        Self::new("ExpressionError", error)
    }
}

/// Text that is not the JSON it should be.
pub(crate) fn not_json(what: &str) -> impl FnOnce(serde_json::Error) -> Failure {
    move |error| Failure::new("SettingError", format!("{what}: {error}"))
}
