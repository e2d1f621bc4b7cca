//! Columns that another library holds in memory, used where they are: only where episodes end has to
//! be found out, by the same assembler as for every file.

use std::path::Path;

use hambo::Dataset;
use hambo::dataset::{Buffer, ColumnNames, FlatColumns, Transition};

use super::episodes::{Assembler, Sink};
use super::note::{About, Note};
use super::rows::{Rows, Rules};
use super::table::Key;
use crate::error::{Error, Result};

/// Rows that are looked at together.
const PIECE: usize = 1 << 14;

/// Complete columns with one row per step, episode after episode.
#[derive(Debug, Clone)]
pub struct Columns {
    /// Columns of a state.
    pub state_dim: usize,
    /// Columns of an action.
    pub action_dim: usize,
    /// `rows * state_dim` values, row by row.
    pub states: Buffer,
    /// `rows * action_dim` values, row by row.
    pub actions: Buffer,
    /// One value per row.
    pub rewards: Buffer,
    /// `rows * state_dim` values, row by row.
    pub next_states: Buffer,
    /// What the columns are called, if they have names.
    pub names: Option<ColumnNames>,
    /// Rows before which the log has a gap; usually none.
    pub gaps: Vec<usize>,
}

/// What says where episodes end, row by row; at least one of them.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// The transition led into a state from which no reward follows.
    pub terminated: Option<Vec<bool>>,
    /// The episode was cut off after this row.
    pub truncated: Option<Vec<bool>>,
    /// The number of the row's episode.
    pub episode: Option<Vec<i64>>,
}

/// Where episodes end, and how.
#[derive(Default)]
struct Ends {
    rows: usize,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    episode_ends: Vec<usize>,
}

impl Sink for Ends {
    fn push(&mut self, _transition: Transition<'_>) -> Result<()> {
        self.rows += 1;
        self.terminated.push(false);
        self.truncated.push(false);
        Ok(())
    }

    fn gap(&mut self) {}

    fn end(&mut self, terminated: bool, truncated: bool, _source: Option<Key>) -> Result<()> {
        if let Some(last) = self.rows.checked_sub(1) {
            (self.terminated[last], self.truncated[last]) = (terminated, truncated);
        }
        self.episode_ends.push(self.rows);
        Ok(())
    }
}

/// Makes a dataset of the columns, which messages call `path`.
pub(super) fn dataset(path: &Path, columns: Columns, marks: Marks) -> Result<(Dataset, Vec<Note>)> {
    let count = columns.rewards.len();
    let Marks { terminated, truncated, episode } = marks;
    let lengths = [
        ("terminated", terminated.as_ref().map(Vec::len)),
        ("truncated", truncated.as_ref().map(Vec::len)),
        ("episode", episode.as_ref().map(Vec::len)),
    ];
    if lengths.iter().all(|(_, length)| length.is_none()) {
        return Err(Error::NoEpisodes { path: path.to_owned() });
    }
    for (column, length) in lengths {
        if let Some(found) = length.filter(|&length| length != count) {
            let (path, column) = (path.to_owned(), column.to_owned());
            let (expected, found) = (count as u64, found as u64);
            return Err(Error::ColumnRows { path, column, expected, found });
        }
    }
    let about = About { knows_terminations: terminated.is_some(), integer_actions: false };
    let no_names = ColumnNames { states: Vec::new(), actions: Vec::new() };
    let (mut ends, mut assembler) =
        (Ends::default(), Assembler::new(no_names.clone(), Rules::default()));
    for first in (0..count).step_by(PIECE) {
        let piece = first..count.min(first + PIECE);
        let flags = |flags: &Option<Vec<bool>>| flags.as_ref().map(|f| f[piece.clone()].to_vec());
        // The assembler sees rows without columns: what is in them does not matter to it.
        let rows = Rows {
            count: piece.len(),
            states: Vec::new(),
            actions: Vec::new(),
            rewards: vec![0.0; piece.len()],
            others: Vec::new(),
            next_states: Some(Vec::new()),
            terminated: flags(&terminated),
            truncated: flags(&truncated),
            episode: episode.as_ref().map(|numbers| {
                numbers[piece.clone()].iter().map(|&number| Key::Number(number)).collect()
            }),
            step: None,
            source: None,
            log_probs: None,
        };
        assembler.add(path, first as u64, &rows, &mut ends)?;
    }
    assembler.finish(&mut ends)?;
    let names = columns.names;
    let flat = FlatColumns {
        state_dim: columns.state_dim,
        action_dim: columns.action_dim,
        states: columns.states,
        actions: columns.actions,
        rewards: columns.rewards,
        next_states: columns.next_states,
        terminated: ends.terminated,
        truncated: ends.truncated,
        episode_ends: ends.episode_ends,
        gaps: columns.gaps,
    };
    let dataset = Dataset::from_columns(flat, names)
        .map_err(|source| Error::Data { path: path.to_owned(), source })?;
    Ok((dataset, Note::of(assembler.tally, &no_names, about)))
}
