//! What a reader had to decide, for the user to know.

use std::fmt;

use super::episodes::Tally;

/// Something about how a file was read that does not stop a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The file holds no next states, so nothing says where the last row of an episode led.
    LastRowsDropped {
        /// Rows that were dropped, one per episode.
        rows: u64,
        /// How many of them terminated their episode.
        terminations: u64,
    },
    /// Episodes that end without a mark count as cut off.
    UnmarkedEnds {
        /// Number of such episodes.
        episodes: u64,
    },
    /// No column says that an episode terminated.
    NoTerminations,
    /// Actions are whole numbers, used as they are.
    IntegerActions,
}

impl Note {
    pub(super) fn of(tally: Tally, knows_terminations: bool, integer_actions: bool) -> Vec<Self> {
        let mut notes = Vec::new();
        if tally.dropped_rows > 0 {
            let (rows, terminations) = (tally.dropped_rows, tally.dropped_terminations);
            notes.push(Self::LastRowsDropped { rows, terminations });
        }
        if tally.unmarked_ends > 0 {
            notes.push(Self::UnmarkedEnds { episodes: tally.unmarked_ends });
        }
        if !knows_terminations {
            notes.push(Self::NoTerminations);
        }
        if integer_actions {
            notes.push(Self::IntegerActions);
        }
        notes
    }

    /// What the user may want to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::LastRowsDropped { terminations: 0, .. } => {
                "log next states to keep them; nothing else is lost"
            }
            Self::LastRowsDropped { .. } => {
                "log next states: the transitions into terminal states are missing from this data, \
                 so give the termination as a rule"
            }
            Self::UnmarkedEnds { .. } => "mark ends as terminated or truncated if you know which",
            Self::NoTerminations => {
                "if episodes can terminate, map the column that says so, or give a termination rule"
            }
            Self::IntegerActions => {
                "if they number choices, set `discrete_actions` to how many there are"
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastRowsDropped { rows, terminations } => write!(
                f,
                "the last rows of {rows} episodes, {terminations} of them terminated, were dropped: \
                 the file holds no next states"
            ),
            Self::UnmarkedEnds { episodes } => {
                write!(f, "{episodes} episodes end without a mark and count as truncated")
            }
            Self::NoTerminations => f.write_str("no column says which episodes terminated"),
            Self::IntegerActions => f.write_str("the actions are whole numbers, used as they are"),
        }
    }
}
