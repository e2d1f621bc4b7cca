//! What can be wrong with logged data, and where.

use std::fmt;

/// A column of the log: which quantity, which component, and its name if one was declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What the column holds.
    pub quantity: Quantity,
    /// Which component of it, from zero.
    pub index: usize,
    /// The declared name.
    pub name: Option<String>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The state before the action.
    State,
    /// The action taken.
    Action,
    /// The reward of the step.
    Reward,
    /// The state after the action.
    NextState,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State => "state",
            Self::Action => "action",
            Self::Reward => "reward",
            Self::NextState => "next state",
        })
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.quantity) {
            (Some(name), quantity) => write!(f, "{quantity} column {} (`{name}`)", self.index),
            (None, Quantity::Reward) => write!(f, "reward"),
            (None, quantity) => write!(f, "{quantity} column {}", self.index),
        }
    }
}

/// Why transitions cannot be used. Episodes and steps count from zero.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// There is no transition at all.
    #[error("the dataset has no episodes; give at least one transition")]
    Empty,

    /// A gap is said to be where no row is.
    #[error("a gap is said to be before row {row}, but there are {rows} rows; count from zero")]
    Gap {
        /// The row.
        row: usize,
        /// Number of rows.
        rows: usize,
    },

    /// A column of the state is said to be exogenous that does not exist.
    #[error(
        "state column {column} is said to be exogenous, but the state has {columns} columns; count from zero"
    )]
    Exogenous {
        /// The column.
        column: usize,
        /// Columns of the state.
        columns: usize,
    },

    /// States or actions have no columns.
    #[error("the dataset declares {quantity} vectors of length 0; give at least one column")]
    NoColumns {
        /// Which of them.
        quantity: Quantity,
    },

    /// An episode has another number of columns than the dataset.
    #[error(
        "episode {episode}: {quantity} has {found} columns, the dataset declares {expected}; \
         check the {quantity} columns"
    )]
    Width {
        /// The episode.
        episode: usize,
        /// What the columns hold.
        quantity: Quantity,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// An episode has not one row per step for every quantity.
    #[error(
        "episode {episode}: {quantity} has {found} rows, the states have {expected}; \
         every step needs one (drop a final observation that has no action)"
    )]
    Rows {
        /// The episode.
        episode: usize,
        /// What the columns hold.
        quantity: Quantity,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// A flat column is longer or shorter than its rows need.
    #[error(
        "{quantity} holds {found} values, {rows} rows (one per reward) of {width} need {expected}; \
         check that the arrays are complete and row by row"
    )]
    Length {
        /// What the columns hold.
        quantity: Quantity,
        /// Rows, one per reward.
        rows: usize,
        /// Columns per row.
        width: usize,
        /// Values that it should hold.
        expected: usize,
        /// Values that it holds.
        found: usize,
    },

    /// There is not one source per episode.
    #[error("{found} sources for {expected} episodes; give one per episode")]
    Sources {
        /// Episodes of the dataset.
        expected: usize,
        /// Sources that were given.
        found: usize,
    },

    /// There is not one probability per step.
    #[error("{found} probabilities for {expected} transitions; give one per transition")]
    LogProbs {
        /// Transitions of the dataset.
        expected: usize,
        /// Probabilities that were given.
        found: usize,
    },

    /// What was done cannot have had this probability.
    #[error(
        "the logarithm of the probability of the action in row {row} is {value}; a logged action has a probability \
         above zero and a finite density; where nobody knows it, give NaN"
    )]
    LogProb {
        /// The row.
        row: usize,
        /// The logarithm.
        value: f64,
    },

    /// There is not one flag per step.
    #[error("flag `{flag}` has {found} rows, the dataset has {expected}; give one flag per step")]
    FlagRows {
        /// The flag.
        flag: &'static str,
        /// Rows of the dataset.
        expected: usize,
        /// Rows of the flag.
        found: usize,
    },

    /// An episode has no steps.
    #[error(
        "episode {episode} has no steps; drop it, or check how episode boundaries were computed"
    )]
    EmptyEpisode {
        /// The episode.
        episode: usize,
    },

    /// An episode ends after the last row.
    #[error(
        "episode {episode} ends at row {end}, after the last row {rows}; \
         boundaries are exclusive ends in increasing order"
    )]
    BoundaryPastEnd {
        /// The episode.
        episode: usize,
        /// The episode's exclusive end row.
        end: usize,
        /// Rows of the dataset.
        rows: usize,
    },

    /// An episode ends before the one before it.
    #[error(
        "episode {episode} ends at row {end}, before the previous end {previous}; \
         boundaries are exclusive ends in increasing order"
    )]
    BoundaryOrder {
        /// The episode.
        episode: usize,
        /// The episode's exclusive end row.
        end: usize,
        /// The exclusive end row of the episode before.
        previous: usize,
    },

    /// Rows after the last episode's end belong to no episode.
    #[error(
        "the last episode ends at row {end}, but there are {rows} rows (one per reward); \
         the rows after it belong to no episode"
    )]
    BoundaryShort {
        /// The last episode's exclusive end row.
        end: usize,
        /// Rows, one per reward.
        rows: usize,
    },

    /// A value is NaN or infinite.
    #[error(
        "episode {episode}, step {step}: {column} is {value}; \
         remove the episode, or repair the value before loading"
    )]
    NotFinite {
        /// The episode.
        episode: usize,
        /// The step.
        step: usize,
        /// The column.
        column: Column,
        /// The value.
        value: f32,
    },

    /// A step starts elsewhere than the step before it led.
    #[error(
        "episode {episode}: the next state of step {step} is not the state of step {}: \
         {column} is {next_state} in the one and {state} in the other; \
         an episode boundary may be missing, or the rows may be in another order",
        step + 1
    )]
    Teleport {
        /// The episode.
        episode: usize,
        /// The step before.
        step: usize,
        /// The column.
        column: Column,
        /// Where that step led.
        next_state: f32,
        /// Where the next one starts.
        state: f32,
    },

    /// A step is marked as an episode's end, and the episode goes on.
    #[error(
        "episode {episode}, step {step}: marked {flag}, but the episode goes on for {remaining} \
         more steps; end the episode there"
    )]
    EndsEarly {
        /// The episode.
        episode: usize,
        /// The step.
        step: usize,
        /// The flag.
        flag: &'static str,
        /// Steps that follow.
        remaining: usize,
    },

    /// There are more or fewer names than columns.
    #[error("{found} {quantity} names were given for {expected} columns")]
    NameCount {
        /// What the columns hold.
        quantity: Quantity,
        /// Number of columns.
        expected: usize,
        /// Number of names.
        found: usize,
    },

    /// Two columns have the same name.
    #[error("the column name `{name}` is given twice; names must differ")]
    NameTwice {
        /// The name.
        name: String,
    },
}

/// Something odd about the data that does not stop a run.
#[derive(Debug, Clone, PartialEq)]
pub enum DatasetNote {
    /// The column never changes, so nothing can be learned about its effect.
    ConstantColumn {
        /// The column.
        column: Column,
        /// Its value in every row.
        value: f32,
    },
    /// Two columns are equal in every row.
    DuplicateColumns {
        /// One column.
        first: Column,
        /// The other, equal one.
        second: Column,
    },
}

impl fmt::Display for DatasetNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConstantColumn { column, value } => {
                let kept = if column.quantity == Quantity::State { ", so it stays" } else { "" };
                write!(
                    f,
                    "{column} is {value} in every row{kept}; nothing tells what another value would do"
                )
            }
            Self::DuplicateColumns { first, second } => {
                write!(f, "{first} and {second} are equal in every row; drop one of them")
            }
        }
    }
}
