//! What can be wrong with a file, where, and what to do about it.

use std::path::{Path, PathBuf};

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io { path: PathBuf, doing: &'static str, source: std::io::Error },

    #[error("{} exists already; remove it, or choose another name", path.display())]
    Exists { path: PathBuf },

    #[error(
        "{} is not a saved model: it has no `{missing}`; give the directory that was written",
        path.display()
    )]
    NotAModel { path: PathBuf, missing: &'static str },

    #[error(
        "{}: the file `{file}` has changed since the model was saved; copy or fit the model again",
        path.display()
    )]
    Damaged { path: PathBuf, file: String },

    #[error(
        "{}: written in schema {found}, this version reads {expected}; use the version that wrote it, \
         or fit the model again",
        path.display()
    )]
    Schema { path: PathBuf, found: u64, expected: u64 },

    #[error("{}: `{file}` has {bytes} bytes, more than the limit of {limit}", path.display())]
    TooLarge { path: PathBuf, file: &'static str, bytes: u64, limit: u64 },

    #[error("{}: `{file}` cannot be understood: {message}", path.display())]
    Content { path: PathBuf, file: &'static str, message: String },

    #[error("this kind of model cannot be saved: only ensembles and Gaussian processes can")]
    Unsupported,
}

impl Error {
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, doing, source }
    }
}
