//! What can be wrong with a file, where, and what to do about it.

use std::path::{Path, PathBuf};

use hambo::dataset::DatasetError;

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

    #[error("{} is a directory; give the name of a file", path.display())]
    IsDirectory { path: PathBuf },

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

    #[error(
        "{} is neither a file, a directory, a pattern that matches files, nor a Minari dataset in {}; \
         check the name",
        path.display(), minari_root.display()
    )]
    NotFound { path: PathBuf, minari_root: PathBuf },

    #[error(
        "{}: not a format that is known here ({found}); give Minari, D4RL-style HDF5, Parquet, Arrow IPC, \
         CSV or NPZ",
        path.display()
    )]
    UnknownFormat { path: PathBuf, found: &'static str },

    /// A file is damaged, or uses a part of its format that is not supported.
    #[error("{}: {place}: {message}; {advice}", path.display())]
    Unreadable { path: PathBuf, place: String, message: String, advice: &'static str },

    #[error(
        "{}: {place} claims {declared} bytes, but {stored} are stored; the file is damaged, or made to \
         exhaust memory",
        path.display()
    )]
    Inflated { path: PathBuf, place: String, declared: u64, stored: u64 },

    #[error(
        "{}: no column for `{role}`: looked for `{looked_for}`, the file has {found}; \
         say in the mapping which it is",
        path.display()
    )]
    MissingColumn { path: PathBuf, role: &'static str, looked_for: String, found: String },

    #[error(
        "{}: column `{column}`, mapped to `{role}`, has {found} values a row where {expected} are needed; \
         check the mapping",
        path.display()
    )]
    ColumnWidth { path: PathBuf, role: &'static str, column: String, expected: usize, found: usize },

    #[error(
        "{}: column `{column}` has {found} rows, the rewards have {expected}; every step needs one \
         (drop a final observation that has no action)",
        path.display()
    )]
    ColumnRows { path: PathBuf, column: String, expected: u64, found: u64 },

    #[error("{}: column `{column}` holds {found}, not {expected}; check the mapping", path.display())]
    ColumnKind { path: PathBuf, column: String, found: &'static str, expected: &'static str },

    #[error(
        "{}: column `{column}` may mean a true end or a time limit; say which in the mapping: \
         `terminated = \"{column}\"` or `truncated = \"{column}\"`",
        path.display()
    )]
    AmbiguousEnd { path: PathBuf, column: &'static str },

    #[error(
        "{}: nothing says where episodes end; map `terminated` and `truncated`, `episode` or `step`",
        path.display()
    )]
    NoEpisodes { path: PathBuf },

    #[error(
        "{}: its {what} have {found} columns, those of {} have {expected}; give files of one kind",
        path.display(), first.display()
    )]
    FilesDiffer { path: PathBuf, first: PathBuf, what: &'static str, expected: usize, found: usize },

    #[error("{}: row {row}, column `{column}`: the value is {value}; {advice}", path.display())]
    Value { path: PathBuf, row: u64, column: String, value: String, advice: &'static str },

    #[error(
        "{}: row {row}: episode {episode} comes back after another one; sort the rows by episode and \
         step",
        path.display()
    )]
    EpisodeReturns { path: PathBuf, row: u64, episode: String },

    #[error(
        "{}: row {row} is marked {flag}, but episode {episode} goes on after it; end the episode there, \
         or map the column that really says so",
        path.display()
    )]
    GoesOn { path: PathBuf, row: u64, flag: &'static str, episode: String },

    #[error(
        "{}: row {row}: step {found} follows step {last} of the same episode; rows are missing or in \
         another order: sort by episode and step, and cut episodes where steps are lost",
        path.display()
    )]
    StepGap { path: PathBuf, row: u64, last: i64, found: i64 },

    #[error(
        "{}: its values do not match its fingerprint; convert the data again",
        path.display()
    )]
    StoreDamaged { path: PathBuf },

    #[error(
        "{url} is in an object store, which this build cannot read; build it with the feature `remote`, \
         or download the data first"
    )]
    NoRemote { url: String },

    #[error(
        "{url} cannot be fetched: {message}; check the address, and the credentials in the environment"
    )]
    NotFetched { url: String, message: String },

    /// What was fetched cannot be read; `source` names the copy.
    #[error("{url}, copied to read it: {source}")]
    Remote { url: String, source: Box<Error> },

    #[error("{}: {source}", path.display())]
    Data { path: PathBuf, source: DatasetError },
}

impl Error {
    /// A file that does not follow its format at `place`.
    pub(crate) fn damaged(path: &Path, place: impl Into<String>, message: impl ToString) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            place: place.into(),
            message: message.to_string(),
            advice: "the file is damaged or incomplete: write or copy it again",
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, doing, source }
    }
}
