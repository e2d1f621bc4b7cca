//! How the command ends: exit codes, and messages that say what to do.

use hambo_io::expression::ExpressionError;
use hambo_io::onnx::OnnxError;

/// The exit codes, as `--help` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Internal = 1,
    Input = 2,
    NotCertified = 3,
    Inconclusive = 4,
    Interrupted = 130,
}

/// Why the command could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The user can fix it: a wrong file, flag or setting.
    Input(String),
    /// The user cannot: a full disk, a training that diverges, a mistake in this program.
    Internal(String),
    /// The user stopped it, or whoever runs it did.
    Interrupted(String),
    /// Whoever reads our output has gone away, such as `head`.
    ReaderGone,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure that the user can fix.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// The exit code that tells it to the caller.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Input(_) => Exit::Input,
            Self::Internal(_) => Exit::Internal,
            Self::Interrupted(_) => Exit::Interrupted,
            Self::ReaderGone => Exit::Done,
        }
    }

    /// A file that could not be read or written.
    pub fn io(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        let message = format!("{}: cannot {doing}: {}", path.display(), reason(error));
        if is_full(error) { Self::Internal(message) } else { Self::Input(message) }
    }

    /// Adds what to do next to a message.
    pub fn with_advice(self, advice: &str) -> Self {
        match self {
            Self::Input(message) => Self::Input(format!("{message}; {advice}")),
            Self::Internal(message) => Self::Internal(format!("{message}; {advice}")),
            Self::Interrupted(message) => Self::Interrupted(format!("{message}; {advice}")),
            Self::ReaderGone => Self::ReaderGone,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(message) | Self::Internal(message) | Self::Interrupted(message) => {
                f.write_str(message)
            }
            Self::ReaderGone => f.write_str("nobody reads the output"),
        }
    }
}

impl std::error::Error for Failure {}

/// The disk is at its limit, which no other argument would have changed.
fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// What the system says, and what to do about it.
fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    let advice = match error.kind() {
        NotFound => "; check the path",
        PermissionDenied | ReadOnlyFilesystem => "; choose a directory that you may write to",
        _ if is_full(error) => "; make room, and add `--resume` to go on with a run",
        _ => "",
    };
    format!("{error}{advice}")
}

impl From<hambo::Error> for Failure {
    fn from(error: hambo::Error) -> Self {
        use hambo::Error::{
            Calibration, Cancelled, Diverged, IllConditioned, Kept, SavedNetwork, SavedSample,
        };
        match error {
            Cancelled { stage, .. } => Self::Interrupted(format!("interrupted during {stage}")),
            // It is a failure of our own that went through the library.
            Kept { source, .. } => match source.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(other) => Self::Internal(other.to_string()),
            },
            Calibration { .. }
            | Diverged { .. }
            | IllConditioned { .. }
            | SavedNetwork(_)
            | SavedSample(_) => Self::Internal(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<hambo_io::Error> for Failure {
    fn from(error: hambo_io::Error) -> Self {
        match &error {
            hambo_io::Error::Io { path, doing, source } => Self::io(path, doing, source),
            hambo_io::Error::Unsupported => Self::Internal(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<ExpressionError> for Failure {
    fn from(error: ExpressionError) -> Self {
        Self::Input(error.to_string())
    }
}

/// A panic is a mistake of this program; it should not look like the user's.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let message = panic.payload_as_str().unwrap_or("no message");
        anstream::eprintln!(
            "internal error: {message}{}\n  this is a mistake in hambo {}, not in your input; \
             please report it with the command you ran",
            place.unwrap_or_default(),
            env!("CARGO_PKG_VERSION")
        );
    }));
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::path::Path;

    use super::*;

    #[test]
    fn a_full_disk_is_not_the_users_mistake_and_a_missing_file_is() {
        let failure = |kind| Failure::io(Path::new("x"), "write it", &Error::from(kind)).exit();
        assert_eq!(failure(ErrorKind::StorageFull), Exit::Internal);
        assert_eq!(failure(ErrorKind::NotFound), Exit::Input);
    }

    #[test]
    fn a_failure_keeps_its_exit_code_on_its_way_through_the_library() {
        let source = Box::new(Failure::Internal("full".into()));
        let error = hambo::Error::Kept { part: "return, CA".into(), source };
        assert_eq!(Failure::from(error), Failure::Internal("full".into()));
    }

    #[test]
    fn a_cancelled_stage_ends_as_interrupted() {
        let error = hambo::Error::Cancelled { stage: "fit", step: 3 };
        assert_eq!(Failure::from(error).exit(), Exit::Interrupted);
    }
}
