//! Episodes: as the caller has them, as flat columns, and as parts of a dataset.

use std::ops::Range;

use ndarray::{Array1, Array2};

use super::buffer::Buffer;

/// One episode of a dataset: its rows and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeSpan {
    /// Its rows in the dataset.
    pub rows: Range<usize>,
    /// The last transition led into a state from which no reward follows.
    pub terminated: bool,
    /// The episode was cut off after its last transition, by a time limit or by the log's end.
    pub truncated: bool,
    /// Rows before which the log has a gap, increasing; the first row is one of them if the log does not show
    /// how the episode began.
    pub gaps: Vec<usize>,
}

impl EpisodeSpan {
    /// Its rows between gaps: within a piece every row follows the one before.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let inner = || self.gaps.iter().copied().filter(|&row| row > self.rows.start);
        std::iter::once(self.rows.start)
            .chain(inner())
            .zip(inner().chain([self.rows.end]))
            .map(|(a, b)| a..b)
    }

    /// Whether its first row is where it began.
    pub fn shows_start(&self) -> bool {
        self.gaps.first() != Some(&self.rows.start)
    }
}

/// One logged episode, as the caller has it.
#[derive(Debug, Clone)]
pub struct Episode {
    /// `[steps, d_s]`
    pub states: Array2<f32>,
    /// `[steps, d_a]`
    pub actions: Array2<f32>,
    /// `[steps]`
    pub rewards: Array1<f32>,
    /// `[steps, d_s]`
    pub next_states: Array2<f32>,
    /// The last transition led into a state from which no reward follows.
    pub terminated: bool,
    /// The episode was cut off after its last transition, by a time limit or by the log's end.
    pub truncated: bool,
}

/// All episodes as flat columns, with the rows at which they end.
#[derive(Debug, Clone)]
pub struct FlatColumns {
    /// Columns of a state, d_s.
    pub state_dim: usize,
    /// Columns of an action, d_a.
    pub action_dim: usize,
    /// `rows * state_dim` values, row by row.
    pub states: Buffer,
    /// `rows * action_dim` values, row by row.
    pub actions: Buffer,
    /// One value per row. Its length decides the number of rows.
    pub rewards: Buffer,
    /// `rows * state_dim` values, row by row.
    pub next_states: Buffer,
    /// One flag per row, true at most in an episode's last one.
    pub terminated: Vec<bool>,
    /// One flag per row, true at most in an episode's last one.
    pub truncated: Vec<bool>,
    /// Exclusive end row of each episode, increasing, the last one equal to the number of rows.
    pub episode_ends: Vec<usize>,
    /// Rows before which the log has a gap, increasing: they follow from nothing that is here. Usually none.
    pub gaps: Vec<usize>,
}
