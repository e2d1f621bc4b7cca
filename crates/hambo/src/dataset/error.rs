//! What can be wrong with logged data, and where.

use std::fmt;

/// A column of the log: which quantity, which component, and its name if one was declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub quantity: Quantity,
    pub index: usize,
    pub name: Option<String>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    State,
    Action,
    Reward,
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
    #[error("the dataset has no episodes; give at least one transition")]
    Empty,

    #[error("the dataset declares {quantity} vectors of length 0; give at least one column")]
    NoColumns { quantity: Quantity },

    #[error(
        "episode {episode}: {quantity} has {found} columns, the dataset declares {expected}; \
         check the {quantity} columns"
    )]
    Width { episode: usize, quantity: Quantity, expected: usize, found: usize },

    #[error(
        "episode {episode}: {quantity} has {found} rows, the states have {expected}; \
         every step needs one (drop a final observation that has no action)"
    )]
    Rows { episode: usize, quantity: Quantity, expected: usize, found: usize },

    #[error(
        "{quantity} holds {found} values, {rows} rows (one per reward) of {width} need {expected}; \
         check that the arrays are complete and row by row"
    )]
    Length { quantity: Quantity, rows: usize, width: usize, expected: usize, found: usize },

    #[error("flag `{flag}` has {found} rows, the dataset has {expected}; give one flag per step")]
    FlagRows { flag: &'static str, expected: usize, found: usize },

    #[error(
        "episode {episode} has no steps; drop it, or check how episode boundaries were computed"
    )]
    EmptyEpisode { episode: usize },

    #[error(
        "episode {episode} ends at row {end}, after the last row {rows}; \
         boundaries are exclusive ends in increasing order"
    )]
    BoundaryPastEnd { episode: usize, end: usize, rows: usize },

    #[error(
        "episode {episode} ends at row {end}, before the previous end {previous}; \
         boundaries are exclusive ends in increasing order"
    )]
    BoundaryOrder { episode: usize, end: usize, previous: usize },

    #[error(
        "the last episode ends at row {end}, but there are {rows} rows (one per reward); \
         the rows after it belong to no episode"
    )]
    BoundaryShort { end: usize, rows: usize },

    #[error(
        "episode {episode}, step {step}: {column} is {value}; \
         remove the episode, or repair the value before loading"
    )]
    NotFinite { episode: usize, step: usize, column: Column, value: f32 },

    #[error(
        "episode {episode}: the next state of step {step} is not the state of step {}: \
         {column} is {next_state} in the one and {state} in the other; \
         an episode boundary may be missing, or the rows may be in another order",
        step + 1
    )]
    Teleport { episode: usize, step: usize, column: Column, next_state: f32, state: f32 },

    #[error(
        "episode {episode}, step {step}: marked {flag}, but the episode goes on for {remaining} \
         more steps; end the episode there"
    )]
    EndsEarly { episode: usize, step: usize, flag: &'static str, remaining: usize },

    #[error("{found} {quantity} names were given for {expected} columns")]
    NameCount { quantity: Quantity, expected: usize, found: usize },

    #[error("the column name `{name}` is given twice; names must differ")]
    NameTwice { name: String },
}

/// A doubt about the data that does not stop a run.
#[derive(Debug, Clone, PartialEq)]
pub enum DatasetWarning {
    /// The column never changes, so nothing can be learned about its effect.
    ConstantColumn { column: Column, value: f32 },
    /// Two columns are equal in every row.
    DuplicateColumns { first: Column, second: Column },
}

impl fmt::Display for DatasetWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConstantColumn { column, value } => write!(
                f,
                "{column} is {value} in every row; drop it, or collect data in which it varies"
            ),
            Self::DuplicateColumns { first, second } => {
                write!(f, "{first} and {second} are equal in every row; drop one of them")
            }
        }
    }
}
