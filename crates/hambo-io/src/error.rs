//! What can be wrong with a file, where, and what to do about it.

use std::path::{Path, PathBuf};

use hambo::dataset::DatasetError;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A format without columns was asked for one that says where episodes came from.
    #[error(
        "{}: a Minari dataset has no column `{column}` that says where episodes came from; leave `source` out, or \
         name the sources in Python, with `Dataset.from_minari(...).with_sources(names)`",
        path.display()
    )]
    NoSources {
        /// The dataset.
        path: PathBuf,
        /// What was asked for.
        column: String,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Its answer.
        source: std::io::Error,
    },

    /// Something of that name is there already.
    #[error("{} exists already; remove it, or choose another name", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },

    /// A directory stands where a file is to be written.
    #[error("{} is a directory; give the name of a file", path.display())]
    IsDirectory {
        /// Where.
        path: PathBuf,
    },

    /// A directory lacks a file that every saved model has.
    #[error(
        "{} is not a saved model: it has no `{missing}`; give the directory that was written",
        path.display()
    )]
    NotAModel {
        /// Where.
        path: PathBuf,
        /// The file that is missing.
        missing: &'static str,
    },

    /// A file of a saved model is not the one that was saved.
    #[error(
        "{}: the file `{file}` has changed since the model was saved; copy or fit the model again",
        path.display()
    )]
    Damaged {
        /// Where.
        path: PathBuf,
        /// The file in that directory.
        file: String,
    },

    /// A document was written in a schema that this version does not read.
    #[error(
        "{}: written in schema {found}, this version reads {expected}; use the version that wrote it, \
         or fit the model again",
        path.display()
    )]
    Schema {
        /// Where.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// The schema that is read.
        expected: u64,
    },

    /// A file of a saved model is larger than any should be.
    #[error("{}: `{file}` has {bytes} bytes, more than the limit of {limit}", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// The file in that directory.
        file: &'static str,
        /// Its size.
        bytes: u64,
        /// The largest size, in bytes.
        limit: u64,
    },

    /// A file of a saved model does not say what it should.
    #[error("{}: `{file}` cannot be understood: {message}", path.display())]
    Content {
        /// Where.
        path: PathBuf,
        /// The file in that directory.
        file: &'static str,
        /// What is wrong.
        message: String,
    },

    /// This kind of model cannot be saved.
    #[error("this kind of model cannot be saved: only ensembles and Gaussian processes can")]
    Unsupported,

    /// There is no data of that name.
    #[error(
        "{} is neither a file, a directory, a pattern that matches files, nor a Minari dataset in {}; \
         check the name",
        path.display(), minari_root.display()
    )]
    NotFound {
        /// Where.
        path: PathBuf,
        /// Where Minari datasets were looked for.
        minari_root: PathBuf,
    },

    /// The data is in no format that is known.
    #[error(
        "{}: not a format that is known here ({found}); give Minari, D4RL-style HDF5, Parquet, Arrow IPC, \
         CSV or NPZ",
        path.display()
    )]
    UnknownFormat {
        /// Where.
        path: PathBuf,
        /// What it looks like.
        found: &'static str,
    },

    /// A file is damaged, or uses a part of its format that is not supported.
    #[error("{}: {place}: {message}; {advice}", path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Where in the file.
        place: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        advice: &'static str,
    },

    /// A file claims to hold far more than its size allows.
    #[error(
        "{}: {place} claims {declared} bytes, but {stored} are stored; the file is damaged, or made to \
         exhaust memory",
        path.display()
    )]
    Inflated {
        /// Where.
        path: PathBuf,
        /// Where in the file.
        place: String,
        /// Bytes that are claimed.
        declared: u64,
        /// Bytes that are there.
        stored: u64,
    },

    /// No column plays a role that is needed.
    #[error(
        "{}: no column for `{role}`: looked for `{looked_for}`, the file has {found}; {}",
        path.display(),
        match similar {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("say in the mapping (`data.{role}`) which it is"),
        }
    )]
    MissingColumn {
        /// Where.
        path: PathBuf,
        /// What the column is for.
        role: &'static str,
        /// A column that may have been meant.
        similar: Option<String>,
        /// The names that were tried.
        looked_for: String,
        /// The columns of the file.
        found: String,
    },

    /// A column has another number of values a row than it should.
    #[error(
        "{}: column `{column}`, mapped to `{role}`, has {found} values a row where {expected} are needed; \
         check the mapping",
        path.display()
    )]
    ColumnWidth {
        /// Where.
        path: PathBuf,
        /// What the column is for.
        role: &'static str,
        /// The column.
        column: String,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// A column has another number of rows than the rewards.
    #[error(
        "{}: column `{column}` has {found} rows, the rewards have {expected}; every step needs one \
         (drop a final observation that has no action)",
        path.display()
    )]
    ColumnRows {
        /// Where.
        path: PathBuf,
        /// The column.
        column: String,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },

    /// A column holds values of the wrong kind.
    #[error("{}: column `{column}` holds {found}, not {expected}; check the mapping", path.display())]
    ColumnKind {
        /// Where.
        path: PathBuf,
        /// The column.
        column: String,
        /// What it holds.
        found: &'static str,
        /// What it should hold.
        expected: &'static str,
    },

    /// A column may mean that episodes terminated, or that they were cut off.
    #[error(
        "{}: column `{column}` may mean a true end or a time limit; say which in the mapping: \
         `terminated = \"{column}\"` or `truncated = \"{column}\"`",
        path.display()
    )]
    AmbiguousEnd {
        /// Where.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },

    /// Nothing says where episodes end.
    #[error(
        "{}: nothing says where episodes end; map `terminated` and `truncated`, `episode` or `step`",
        path.display()
    )]
    NoEpisodes {
        /// Where.
        path: PathBuf,
    },

    /// A log is to be cut at certain times, and has none.
    #[error(
        "{}: `cut` needs times: map `step` to the column that says when each row was logged, such as \
         2025-11-01 00:15:00",
        path.display()
    )]
    CutWithoutTimes {
        /// Where.
        path: PathBuf,
    },

    /// The formula of the reward cannot be used.
    #[error("`data.reward`: {message}")]
    Formula {
        /// What is wrong with it.
        message: String,
    },

    /// Files of one log have different columns.
    #[error(
        "{}: its {what} have {found} columns, those of {} have {expected}; give files of one kind",
        path.display(), first.display()
    )]
    FilesDiffer {
        /// One file.
        path: PathBuf,
        /// The file that it was compared with.
        first: PathBuf,
        /// States or actions.
        what: &'static str,
        /// Columns in that file.
        expected: usize,
        /// Columns in this one.
        found: usize,
    },

    /// A value cannot be used.
    #[error("{}: row {row}, column `{column}`: the value is {value}; {advice}", path.display())]
    Value {
        /// Where.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// The value as it stands there.
        value: String,
        /// What to do about it.
        advice: &'static str,
    },

    /// The rows of an episode are not together.
    #[error(
        "{}: row {row}: episode {episode} comes back after another one; sort the rows by episode and \
         step, or name the column that says when each was logged as `step`",
        path.display()
    )]
    EpisodeReturns {
        /// Where.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The episode.
        episode: String,
    },

    /// A row is marked as an episode's end, and the episode goes on.
    #[error(
        "{}: row {row} is marked {flag}, but episode {episode} goes on after it; end the episode there, \
         or map the column that really says so",
        path.display()
    )]
    GoesOn {
        /// Where.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The mark.
        flag: &'static str,
        /// The episode.
        episode: String,
    },

    /// Steps of an episode are missing, or in another order.
    #[error(
        "{}: row {row}: step {found} follows step {last} of the same episode; rows are missing, or come twice: if \
         several machines share the log, name the column that tells them apart as `episode`",
        path.display()
    )]
    StepGap {
        /// Where.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The step before.
        last: String,
        /// The step in this row.
        found: String,
    },

    /// The rows of an episode come from different sources.
    #[error(
        "{}, row {row}: the episode's source was {source_before} and is now {found}; an episode comes from \
         one source: check where episodes end, or name another column as `source`",
        path.display()
    )]
    SourceChanges {
        /// Where.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The source of the rows before.
        source_before: String,
        /// The source in this row.
        found: String,
    },

    /// The values of a store are not those that were written.
    #[error(
        "{}: its values do not match its fingerprint; convert the data again",
        path.display()
    )]
    StoreDamaged {
        /// Where.
        path: PathBuf,
    },

    /// This build reads no object stores.
    #[error(
        "{url} is in an object store, which this build cannot read; build it with the feature `remote`, \
         or download the data first"
    )]
    NoRemote {
        /// The address.
        url: String,
    },

    /// An object store did not give the data.
    #[error(
        "{url} cannot be fetched: {message}; check the address, and the credentials in the environment"
    )]
    NotFetched {
        /// The address.
        url: String,
        /// What it answered.
        message: String,
    },

    /// What was fetched cannot be read; `source` names the copy.
    #[error("{url}, copied to read it: {source}")]
    Remote {
        /// The address.
        url: String,
        /// What is wrong with the copy.
        source: Box<Error>,
    },

    /// No row of it leads to another.
    #[error("{}: {}", path.display(), why_empty(*.missing))]
    NoTransitions {
        /// Where.
        path: PathBuf,
        /// Rows in which values are missing.
        missing: u64,
    },

    /// The file can be read, but its transitions cannot be used.
    #[error("{}: {source}", path.display())]
    Data {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        source: DatasetError,
    },
}

fn why_empty(missing: u64) -> String {
    match missing {
        0 => "no row of it is followed by another; was its export cut short?".into(),
        n => format!(
            "no row of it is followed by another: values are missing in {n} rows; leave out columns that are \
             hardly ever filled"
        ),
    }
}

impl Error {
    /// Whether it is about columns that nobody has named.
    pub fn lacks_columns(&self) -> bool {
        matches!(self, Self::MissingColumn { .. } | Self::NoEpisodes { .. })
    }

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
