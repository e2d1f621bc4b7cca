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
    /// The transitions cannot be used.
    #[error(transparent)]
    Dataset(#[from] DatasetError),

    /// There are too few episodes to split.
    #[error(
        "{found} episode cannot be split, because a split never cuts one; fitting and calibrating a \
         model splits twice and needs at least three episodes"
    )]
    TooFewEpisodes {
        /// Number of episodes.
        found: usize,
    },

    /// A setting has a value that it must not have.
    #[error("setting `{name}` is {value}; expected {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },

    /// A policy, reward, termination or sampler returned its own error.
    #[error("the {part} failed on a batch of {rows} rows: {source}")]
    Supplied {
        /// Which of them.
        part: &'static str,
        /// Rows of the batch.
        rows: usize,
        /// What went wrong.
        source: BoxError,
    },

    /// Something the caller supplied has another shape than it must.
    #[error(
        "the {part} has shape {found:?} where {expected:?} is needed; \
         check its number of rows and columns"
    )]
    SuppliedShape {
        /// What has that shape.
        part: &'static str,
        /// The shape that it must have.
        expected: Vec<usize>,
        /// The shape that it has.
        found: Vec<usize>,
    },

    /// Something the caller supplied returned NaN or an infinite number.
    #[error(
        "the {part} returned {value} at row {row}, column {column}; \
         return finite numbers for every state it may be asked about"
    )]
    SuppliedValue {
        /// What returned it.
        part: &'static str,
        /// Row of the batch.
        row: usize,
        /// Column of the result.
        column: usize,
        /// The value.
        value: f32,
    },

    /// States, actions or limits are of another width than the model's.
    #[error("{part}: got {found} columns, the model was fitted on {expected}")]
    Dimension {
        /// What is of that width.
        part: &'static str,
        /// Columns of the model.
        expected: usize,
        /// Columns that were given.
        found: usize,
    },

    /// Training arrived at a number that is not finite.
    #[error(
        "training diverged at step {step}: the {metric} became {value}; \
         lower `learning_rate`, or check the data for extreme values"
    )]
    Diverged {
        /// The step; for adversaries, how often training began again.
        step: usize,
        /// What is not finite.
        metric: &'static str,
        /// The value.
        value: f64,
    },

    /// There is nothing to calibrate on, or its residuals are not finite.
    #[error(
        "calibration needs finite residuals of at least one point: got {points} points{}; \
         check the calibration split and the model",
        if *finite { "" } else { ", some of them not finite" }
    )]
    Calibration {
        /// Number of calibration points.
        points: usize,
        /// Whether all residuals are finite.
        finite: bool,
    },

    /// A policy is to be learned that chooses between a few values.
    #[error(
        "action column {column} is a choice between {choices} logged values, and other columns are not; a \
         policy can be learned where all are, or none"
    )]
    MixedActions {
        /// Its number, from one.
        column: usize,
        /// How many values were logged.
        choices: usize,
    },

    /// Too many different actions were logged to choose between.
    #[error(
        "{choices} different actions were logged; a policy can be learned that chooses between {most}"
    )]
    Choices {
        /// How many.
        choices: usize,
        /// How many can be handled.
        most: usize,
    },

    /// Neither the task nor the model has a reward.
    #[error(
        "the task has no reward and the model has not learned one; \
         give a reward, or fit the model with `learn_reward`"
    )]
    NoReward,

    /// There are too few observed initial states to know their spread.
    #[error(
        "episodes from {observed} observed initial state say nothing about the spread of the \
         others; give more, or declare that there are no others with `InitialStates::Fixed`"
    )]
    TooFewStarts {
        /// Number of observed initial states.
        observed: usize,
    },

    /// This build has no such device.
    #[error(
        "this build of hambo has no {name}; set `device` to \"cpu\", or build it with `--features {name}`"
    )]
    DeviceNotBuiltIn {
        /// The device.
        name: String,
    },

    /// This machine has no such device, or it does not work.
    #[error("no {name} device was found that works here; set `device` to \"cpu\"")]
    NoSuchDevice {
        /// The device.
        name: String,
    },

    /// A single member was asked for that the model does not have.
    #[error("{variant} needs a model with that member, this one has {members}; use an ensemble")]
    NoMembers {
        /// Who asked for it.
        variant: String,
        /// Members of the model.
        members: usize,
    },

    /// A backtest, or a comparison of policies, without worlds.
    #[error(
        "backtests and comparisons with a baseline need an ensemble's worlds; fit an ensemble, and leave out \
         `variants`"
    )]
    NoWorlds,

    /// What the logs earned over the horizon is not known.
    #[error(
        "logged episodes are shorter than the horizon, so what they earn over it is not known; choose a \
         shorter horizon, or another baseline"
    )]
    LogsTooShort,

    /// Nothing says what no action influences for as long as the horizon.
    #[error(
        "exogenous columns are taken from logged episodes, of which {whole} are known from their start without a \
         gap, and those are shorter than the horizon of {horizon} steps; choose a shorter horizon"
    )]
    CoursesTooShort {
        /// Steps that are asked for.
        horizon: usize,
        /// Episodes without a gap.
        whole: usize,
    },

    /// A backtest without anything to leave out.
    #[error(
        "a backtest needs at least two parts of {least} episodes, and there are {episodes} episodes; give more \
         logs, or a column that says where each episode came from"
    )]
    NothingToLeaveOut {
        /// In the logs.
        episodes: usize,
        /// Of a part.
        least: usize,
    },

    /// Something between counted outcomes was asked for.
    #[error(
        "{variant} needs predictions, and the outcomes of this model were counted, because its \
         states are names; fit with `tables = false`, or leave it out"
    )]
    Counted {
        /// Who asked for it.
        variant: String,
    },

    /// A kernel matrix could not be factorised.
    #[error(
        "a kernel matrix of {rows} rows could not be factorised, even with {jitter:.1e} added to its \
         diagonal; remove duplicate rows, or allow for noise"
    )]
    IllConditioned {
        /// Rows of the matrix.
        rows: usize,
        /// The most that was added to its diagonal.
        jitter: f64,
    },

    /// There are too many transitions for an exact Gaussian process.
    #[error(
        "{rows} transitions are too many for an exact Gaussian process, which takes at most {most}; \
         fit an ensemble, or a sample of the data"
    )]
    TooManyRows {
        /// Number of transitions.
        rows: usize,
        /// How many it takes.
        most: usize,
    },

    /// A finding could not be kept, or what was kept could not be used.
    #[error("{part}: {source}")]
    Kept {
        /// The part of the evaluation, such as `"return, CA"`.
        part: String,
        /// What went wrong.
        source: BoxError,
    },

    /// Bytes are not the saved networks that they should be.
    #[error("saved network: {0}")]
    SavedNetwork(String),

    /// Bytes are not the saved sample of the logs that they should be.
    #[error("saved sample of the logs: {0}")]
    SavedSample(String),

    /// The observer ended the work.
    #[error("cancelled during {stage} at step {step}")]
    Cancelled {
        /// What was being done.
        stage: &'static str,
        /// The step it had come to.
        step: usize,
    },
}

/// Settings that must not be zero.
pub(crate) fn at_least_one<const N: usize>(counts: [(&'static str, usize); N]) -> Result<()> {
    match counts.into_iter().find(|(_, value)| *value == 0) {
        Some((name, value)) => {
            let value = value.to_string();
            Err(Error::Setting { name, value, expected: "at least one" })
        }
        None => Ok(()),
    }
}

/// Settings that must be greater than zero, and at most a number.
pub(crate) fn positive<const N: usize>(values: [(&'static str, f64, f64); N]) -> Result<()> {
    let is_wrong = |(_, value, most): &(&str, f64, f64)| !(*value > 0.0 && value <= most);
    match values.into_iter().find(is_wrong) {
        Some((name, value, _)) => {
            let expected = "greater than zero, shares at most one";
            Err(Error::Setting { name, value: value.to_string(), expected })
        }
        None => Ok(()),
    }
}
