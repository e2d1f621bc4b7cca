//! Logged transitions in episodes.
//!
//! A [`Dataset`] is checked once, when it is built, and is then known to be finite, complete and
//! free of transitions that cross an episode's end. It hands out views and gathered mini-batches
//! and never copies itself, so that its columns may as well be memory-mapped files.

mod angles;
mod buffer;
mod episodes;
mod error;
mod history;
mod identity;
mod marks;
mod names;
mod sources;
mod split;
mod standardize;
mod summary;
mod transitions;
mod usual;
mod validate;

use std::fmt;
use std::sync::OnceLock;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

pub(crate) use angles::angles;
pub use buffer::{Buffer, Numbers};
pub use episodes::{Episode, EpisodeSpan, FlatColumns};
pub use error::{Column, DatasetError, DatasetNote, Quantity};
pub use history::History;
pub(crate) use history::present;
pub use identity::{DataIdentity, Identifier};
pub use marks::EpisodeMarks;
pub use names::ColumnNames;
pub use sources::Sources;
pub use split::Subset;
pub use standardize::Standardizer;
pub use summary::{Range as ValueRange, SourceSummary, Summary};
pub use transitions::Transitions;
pub use usual::Usual;
pub use validate::{Transition, check_transition};

/// Validated transitions in episodes.
#[derive(Clone)]
pub struct Dataset {
    state_dim: usize,
    action_dim: usize,
    states: Buffer,
    actions: Buffer,
    rewards: Buffer,
    next_states: Buffer,
    episodes: Vec<EpisodeSpan>,
    sources: Option<Sources>,
    /// Logarithms of the probabilities, or densities, of the logged actions, one per row; NaN where nobody knows.
    log_probs: Option<Vec<f64>>,
    /// Increasing.
    exogenous: Vec<usize>,
    /// What the states are followed by, if they are.
    history: Option<History>,
    names: Option<ColumnNames>,
    notes: Vec<DatasetNote>,
    /// One per episode, once somebody asks.
    marks: OnceLock<Vec<u64>>,
}

/// Rows gathered from a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// `[rows, d_s]`
    pub states: Array2<f32>,
    /// `[rows, d_a]`
    pub actions: Array2<f32>,
    /// `[rows]`
    pub rewards: Array1<f32>,
    /// `[rows, d_s]`
    pub next_states: Array2<f32>,
}

impl Dataset {
    /// Builds a dataset from whole episodes.
    pub fn from_episodes(episodes: Vec<Episode>) -> Result<Self, DatasetError> {
        Self::from_columns(validate::flatten(&episodes)?, None)
    }

    /// Builds a dataset over flat columns, which are kept as they are and not copied.
    pub fn from_columns(
        columns: FlatColumns,
        names: Option<ColumnNames>,
    ) -> Result<Self, DatasetError> {
        let checked = validate::check(&columns, names.as_ref())?;
        Ok(Self {
            state_dim: columns.state_dim,
            action_dim: columns.action_dim,
            states: columns.states,
            actions: columns.actions,
            rewards: columns.rewards,
            next_states: columns.next_states,
            episodes: checked.episodes,
            sources: None,
            log_probs: None,
            exogenous: Vec::new(),
            history: None,
            names,
            notes: checked.notes,
            marks: OnceLock::new(),
        })
    }

    /// Declares the columns' names, for messages and reports.
    pub fn with_names(mut self, names: ColumnNames) -> Result<Self, DatasetError> {
        validate::check_names(&names, self.state_dim, self.action_dim)?;
        for note in &mut self.notes {
            validate::rename(note, &names);
        }
        self.names = Some(names);
        Ok(self)
    }

    /// Declares where each episode came from: a policy, a machine, a week, a patient.
    pub fn with_sources(mut self, of_episodes: Vec<String>) -> Result<Self, DatasetError> {
        let (expected, found) = (self.episodes.len(), of_episodes.len());
        if expected != found {
            return Err(DatasetError::Sources { expected, found });
        }
        self.sources = Some(Sources::new(&of_episodes));
        Ok(self)
    }

    /// Declares how probable each logged action was for whoever chose it: the logarithm of its probability, or of its
    /// density where actions are continuous; NaN where nobody knows.
    pub fn with_log_probs(mut self, of_rows: Vec<f64>) -> Result<Self, DatasetError> {
        let (expected, found) = (self.rows(), of_rows.len());
        if expected != found {
            return Err(DatasetError::LogProbs { expected, found });
        }
        if let Some(row) = of_rows.iter().position(|value| value.is_infinite()) {
            return Err(DatasetError::LogProb { row, value: of_rows[row] });
        }
        self.log_probs = Some(of_rows);
        Ok(self)
    }

    /// Logarithms of the probabilities of the logged actions, one per row, if somebody has said them.
    pub fn log_probs(&self) -> Option<&[f64]> {
        self.log_probs.as_deref()
    }

    /// Declares the columns of the state that no action influences: weather, prices, the clock, which building
    /// it is. They are never predicted: episodes go through them as logged ones did.
    pub fn with_exogenous(mut self, mut columns: Vec<usize>) -> Result<Self, DatasetError> {
        columns.sort_unstable();
        columns.dedup();
        if let Some(&column) = columns.iter().find(|&&column| column >= self.state_dim) {
            return Err(DatasetError::Exogenous { column, columns: self.state_dim });
        }
        self.exogenous = columns;
        Ok(self)
    }

    /// The columns of the state that no action influences, increasing.
    pub fn exogenous(&self) -> &[usize] {
        &self.exogenous
    }

    /// Columns of the next state that are to be predicted: all except for what has happened before.
    pub(crate) fn next_dim(&self) -> usize {
        self.history.as_ref().map_or(self.state_dim, |history| history.states)
    }

    /// Where the episodes came from, if somebody has said it.
    pub fn sources(&self) -> Option<&Sources> {
        self.sources.as_ref()
    }

    /// Number of transitions.
    pub fn rows(&self) -> usize {
        self.rewards.len()
    }

    /// The episode that a row belongs to.
    pub fn episode_of(&self, row: usize) -> usize {
        self.episodes.partition_point(|episode| episode.rows.end <= row)
    }

    /// Columns of a state, d_s.
    pub fn state_dim(&self) -> usize {
        self.state_dim
    }

    /// Columns of an action, d_a.
    pub fn action_dim(&self) -> usize {
        self.action_dim
    }

    /// The episodes, in the order of their rows.
    pub fn episodes(&self) -> &[EpisodeSpan] {
        &self.episodes
    }

    /// Names of the columns, if somebody has given them.
    pub fn names(&self) -> Option<&ColumnNames> {
        self.names.as_ref()
    }

    /// The names by which messages and expressions go: the columns' own, or
    /// [`ColumnNames::numbered`].
    pub fn names_or_numbers(&self) -> ColumnNames {
        let numbered = || ColumnNames::numbered(self.state_dim, self.action_dim);
        self.names.clone().unwrap_or_else(numbered)
    }

    /// What was noticed while checking.
    pub fn notes(&self) -> &[DatasetNote] {
        &self.notes
    }

    /// `[rows, d_s]`, a view.
    pub fn states(&self) -> ArrayView2<'_, f32> {
        view(&self.states, self.rows(), self.state_dim)
    }

    /// `[rows, d_a]`, a view.
    pub fn actions(&self) -> ArrayView2<'_, f32> {
        view(&self.actions, self.rows(), self.action_dim)
    }

    /// `[rows]`, a view.
    pub fn rewards(&self) -> ArrayView1<'_, f32> {
        ArrayView1::from(&*self.rewards)
    }

    /// `[rows, d_s]`, a view.
    pub fn next_states(&self) -> ArrayView2<'_, f32> {
        view(&self.next_states, self.rows(), self.state_dim)
    }

    /// The first state of every episode whose beginning the log shows, `[episodes, d_s]`: the data's own sample
    /// of `p_0`.
    pub fn initial_states(&self) -> Array2<f32> {
        let shown = self.episodes.iter().filter(|episode| episode.shows_start());
        let starts: Vec<usize> = shown.map(|episode| episode.rows.start).collect();
        self.states().select(Axis(0), &starts)
    }

    /// Copies the episodes out, to be filtered or joined with others; one with gaps as several.
    pub fn to_episodes(&self) -> Vec<Episode> {
        let copy = |span: &EpisodeSpan, rows: std::ops::Range<usize>| {
            let is_last = rows.end == span.rows.end;
            Episode {
                states: self.states().slice(s![rows.clone(), ..]).to_owned(),
                actions: self.actions().slice(s![rows.clone(), ..]).to_owned(),
                rewards: self.rewards().slice(s![rows.clone()]).to_owned(),
                next_states: self.next_states().slice(s![rows, ..]).to_owned(),
                terminated: span.terminated && is_last,
                truncated: span.truncated || !is_last,
            }
        };
        let pieces = |span| EpisodeSpan::pieces(span).map(move |rows| copy(span, rows));
        self.episodes.iter().flat_map(pieces).collect()
    }

    /// Copies the given rows.
    pub fn gather(&self, rows: &[usize]) -> Batch {
        let block = |values: &Buffer, width| {
            Array2::from_shape_vec((rows.len(), width), values.rows(rows, width))
                .expect("so many values per row")
        };
        Batch {
            states: block(&self.states, self.state_dim),
            actions: block(&self.actions, self.action_dim),
            rewards: Array1::from_vec(self.rewards.rows(rows, 1)),
            next_states: block(&self.next_states, self.state_dim),
        }
    }
}

impl Batch {
    /// No rows.
    pub(crate) fn none(state_dim: usize, action_dim: usize) -> Self {
        Self {
            states: Array2::zeros((0, state_dim)),
            actions: Array2::zeros((0, action_dim)),
            rewards: Array1::zeros(0),
            next_states: Array2::zeros((0, state_dim)),
        }
    }

    /// Whether its parts have these sizes: needed after loading.
    pub(crate) fn fits(&self, rows: usize, state_dim: usize, action_dim: usize) -> bool {
        self.states.dim() == (rows, state_dim)
            && self.actions.dim() == (rows, action_dim)
            && self.rewards.len() == rows
            && self.next_states.dim() == (rows, state_dim)
    }

    /// What the dynamics model sees: `(s, a)`, `[rows, d_s + d_a]`.
    pub fn inputs(&self) -> Array2<f32> {
        inputs(self.states.view(), self.actions.view())
    }

    /// What it predicts: so many columns of the next state, followed by the reward if it is learned.
    pub fn targets(&self, target: Target, next_dim: usize, with_reward: bool) -> Array2<f32> {
        let predicted = s![.., ..next_dim];
        let next_states = self.next_states.slice(predicted);
        let states = match target {
            Target::Difference => &next_states - &self.states.slice(predicted),
            Target::NextState => next_states.to_owned(),
        };
        if !with_reward {
            return states;
        }
        let rewards = self.rewards.view().insert_axis(Axis(1));
        concatenate(Axis(1), &[states.view(), rewards]).expect("both have one row per step")
    }
}

/// What a model learns to predict about the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// `s' - s`: where the model knows nothing, the state moves as it does on average.
    #[default]
    Difference,
    /// `s'`, as in the paper: where the model knows nothing, the state goes where the data is.
    NextState,
}

/// `(s, a)` side by side. The two must have equally many rows.
pub(crate) fn inputs(states: ArrayView2<'_, f32>, actions: ArrayView2<'_, f32>) -> Array2<f32> {
    concatenate(Axis(1), &[states, actions]).expect("states and actions have equally many rows")
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("rows", &self.rows())
            .field("episodes", &self.episodes.len())
            .field("state_dim", &self.state_dim)
            .field("action_dim", &self.action_dim)
            .finish_non_exhaustive()
    }
}

fn view(buffer: &Buffer, rows: usize, width: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, width), buffer)
        .expect("buffer lengths are checked when the dataset is built")
}
