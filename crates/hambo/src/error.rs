//! Everything that can go wrong, said so that the reader knows what to do next.

use crate::dataset::DatasetError;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error raised by code that the caller supplied.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A problem that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Dataset(#[from] DatasetError),

    #[error(
        "{found} episode cannot be split, because a split never cuts one; fitting and calibrating a \
         model splits twice and needs at least three episodes"
    )]
    TooFewEpisodes { found: usize },

    #[error("setting `{name}` is {value}; expected {expected}")]
    Setting { name: &'static str, value: String, expected: &'static str },

    /// A policy, reward, termination or sampler returned its own error.
    #[error("the {part} failed on a batch of {rows} rows: {source}")]
    Supplied { part: &'static str, rows: usize, source: BoxError },

    /// Something the caller supplied has another shape than it must.
    #[error(
        "the {part} has shape {found:?} where {expected:?} is needed; \
         check its number of rows and columns"
    )]
    SuppliedShape { part: &'static str, expected: Vec<usize>, found: Vec<usize> },

    #[error(
        "the {part} returned {value} at row {row}, column {column}; \
         return finite numbers for every state it may be asked about"
    )]
    SuppliedValue { part: &'static str, row: usize, column: usize, value: f32 },

    #[error("{part}: got {found} columns, the model was fitted on {expected}")]
    Dimension { part: &'static str, expected: usize, found: usize },

    #[error(
        "training diverged at step {step}: the {metric} became {value}; \
         lower `learning_rate`, or check the data for extreme values"
    )]
    Diverged { step: usize, metric: &'static str, value: f64 },

    #[error(
        "calibration needs finite residuals of at least one point: got {points} points{}; \
         check the calibration split and the model",
        if *finite { "" } else { ", some of them not finite" }
    )]
    Calibration { points: usize, finite: bool },

    #[error(
        "the task has no reward and the model has not learned one; \
         give a reward, or fit the model with `learn_reward`"
    )]
    NoReward,

    #[error(
        "episodes from {observed} observed initial state say nothing about the spread of the \
         others; give more, or declare that there are no others with `InitialStates::Fixed`"
    )]
    TooFewStarts { observed: usize },

    #[error("{variant} needs a model with that member, this one has {members}; use an ensemble")]
    NoMembers { variant: String, members: usize },

    #[error(
        "a kernel matrix of {rows} rows could not be factorised, even with {jitter:.1e} added to its \
         diagonal; remove duplicate rows, or allow for noise"
    )]
    IllConditioned { rows: usize, jitter: f64 },

    #[error(
        "{rows} transitions are too many for an exact Gaussian process, which takes at most {most}; \
         fit an ensemble, or a sample of the data"
    )]
    TooManyRows { rows: usize, most: usize },

    /// A finding could not be kept, or what was kept could not be used.
    #[error("{part}: {source}")]
    Kept { part: String, source: BoxError },

    #[error("saved network: {0}")]
    SavedNetwork(String),

    #[error("saved sample of the logs: {0}")]
    SavedSample(String),

    #[error("cancelled during {stage} at step {step}")]
    Cancelled { stage: &'static str, step: usize },
}
