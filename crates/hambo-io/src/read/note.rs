//! What a reader had to decide, for the user to know.

use std::fmt;

use hambo::dataset::ColumnNames;

use super::episodes::Tally;
use super::spikes::Spikes;

/// Something about how a file was read that does not stop a run.
#[derive(Debug, Clone, PartialEq)]
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
    /// Values are missing. The log goes on after them as after a gap.
    MissingValues {
        /// Rows in which any is missing.
        rows: u64,
        /// How many, by the names of the columns.
        columns: Vec<(String, u64)>,
    },
    /// Rows came once more.
    Repeated {
        /// How many.
        rows: u64,
    },
    /// Steps are missing. The log goes on after them as after a gap.
    MissingSteps {
        /// Places at which they are.
        places: u64,
    },
    /// Readings that cannot be were taken for values that are missing.
    Spikes(Spikes),
    /// The rows were in another order, and were sorted by episode and step.
    Sorted,
}

/// What a reader knows before it reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub(super) knows_terminations: bool,
    pub(super) integer_actions: bool,
}

impl Note {
    pub(super) fn of(tally: Tally, names: &ColumnNames, about: About) -> Vec<Self> {
        let About { knows_terminations, integer_actions } = about;
        let mut notes = Vec::new();
        if tally.missing_rows > 0 {
            let all = names.states.iter().chain(&names.actions).cloned().chain(["reward".into()]);
            let columns = all.zip(tally.missing).filter(|(_, count)| *count > 0).collect();
            notes.push(Self::MissingValues { rows: tally.missing_rows, columns });
        }
        if tally.step_gaps > 0 {
            notes.push(Self::MissingSteps { places: tally.step_gaps });
        }
        if tally.repeated > 0 {
            notes.push(Self::Repeated { rows: tally.repeated });
        }
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
            Self::Repeated { .. } => "each is counted once",
            Self::LastRowsDropped { .. } => {
                "log next states: the transitions into terminal states are missing from this data, \
                 so give the termination as a rule"
            }
            Self::UnmarkedEnds { .. } => "mark ends as terminated or truncated if you know which",
            Self::NoTerminations => {
                "if episodes can terminate, map the column that says so, or give a termination rule"
            }
            Self::MissingValues { .. } | Self::MissingSteps { .. } => {
                "the log goes on after them as after a gap: nothing is joined across it, no episode \
                 starts there, and one with a gap cannot test a bound on all of its steps; a value that was missing for \
                 a short time may be filled in beforehand"
            }
            Self::Spikes(Spikes { kept: true, .. }) => {
                "they are kept, because they may be real; leave their cells empty if they are not"
            }
            Self::Spikes(_) => {
                "they are taken for values that are missing; with `data.missing = \"refuse\"` they stay"
            }
            Self::Sorted => "nothing is lost",
            Self::IntegerActions => {
                "if they number choices, set `discrete_actions` to how many there are"
            }
        }
    }
}

/// `1 row`, `2 rows`.
fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastRowsDropped { rows, terminations } => write!(
                f,
                "the last row of {}, {terminations} of them terminated, was dropped: the file holds no next \
                 states",
                counted(*rows, "episode")
            ),
            Self::UnmarkedEnds { episodes } => {
                let (verb, count) = match episodes {
                    1 => ("ends", "counts"),
                    _ => ("end", "count"),
                };
                let episodes = counted(*episodes, "episode");
                write!(f, "{episodes} {verb} without a mark and {count} as truncated")
            }
            Self::NoTerminations => f.write_str("no column says which episodes terminated"),
            Self::IntegerActions => f.write_str("the actions are whole numbers, used as they are"),
            Self::MissingValues { rows, columns } => {
                let each = columns.iter().map(|(name, count)| format!("{name} {count}"));
                let each = each.collect::<Vec<_>>().join(", ");
                write!(f, "values are missing in {} ({each})", counted(*rows, "row"))
            }
            Self::MissingSteps { places } => {
                write!(f, "steps are missing at {}", counted(*places, "place"))
            }
            Self::Spikes(Spikes { column, count, worst, usual: [low, high], .. }) => {
                let readings = counted(*count as u64, "reading");
                let verb = if *count == 1 { "is" } else { "are" };
                write!(
                    f,
                    "{readings} of {column} {verb} like no other, such as {worst}, where {low} to {high} is usual"
                )
            }
            Self::Repeated { rows } => {
                write!(f, "{} came once more, with the same step and values", counted(*rows, "row"))
            }
            Self::Sorted => {
                f.write_str("the rows were not in order and were sorted by episode and step")
            }
        }
    }
}
