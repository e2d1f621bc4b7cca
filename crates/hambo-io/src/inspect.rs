//! What is in a log, and what is likely wrong with it.
//!
//! Reading stops at the first problem; inspecting counts them. Only what leaves no episodes to speak of
//! (a damaged file, columns that are not there, rows in the wrong order) still ends it.

use std::fmt;
use std::path::Path;

use hambo::Dataset;
use hambo::dataset::{
    ColumnNames, DatasetError, DatasetNote, Episode, Summary, Transition, check_transition,
};
use ndarray::{Array1, Array2};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::read::{self, Format, Key, Log, Mapping, Note, Sink};
use crate::remote::locally;
use crate::store;

/// What was found.
#[derive(Debug)]
pub struct Inspection {
    /// What the data was read from.
    pub format: Format,
    /// Names of the columns, numbered where there are none.
    pub names: ColumnNames,
    /// Of the episodes without problems; `None` when there are none.
    pub summary: Option<Summary>,
    /// Transitions, with problems or without.
    pub rows: usize,
    /// Episodes, with problems or without.
    pub episodes: usize,
    /// What a dataset cannot hold.
    pub problems: Problems,
    /// What the reader had to decide.
    pub notes: Vec<Note>,
    /// Doubts about the values of the episodes without problems.
    pub warnings: Vec<DatasetNote>,
    /// What is probably not meant, in the episodes without problems.
    pub mistakes: Vec<Mistake>,
}

/// Rows that a dataset cannot hold. The first few say where; all are counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Problems {
    /// Rows with a problem.
    pub rows: usize,
    /// Episodes that hold such a row.
    pub episodes: usize,
    /// The first problems, each with its place.
    pub first: Vec<DatasetError>,
}

/// Something that is allowed, and usually not meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Mistake {
    /// Every terminated episode has the longest length.
    TerminatesAtTimeLimit {
        /// That length, in steps.
        length: usize,
        /// Terminated episodes.
        episodes: usize,
    },
    /// The first state comes twice at the beginning of most episodes.
    RepeatedStart {
        /// Episodes that do not move in their first step.
        episodes: usize,
        /// All episodes.
        of: usize,
    },
    /// All rewards are the same.
    ConstantReward {
        /// The reward.
        value: f64,
    },
    /// Next states equal states.
    NothingMoves {
        /// Rows whose next state equals the state.
        rows: usize,
        /// All rows.
        of: usize,
    },
}

impl Mistake {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::TerminatesAtTimeLimit { .. } => {
                "if that is a time limit, map the column to `truncated` instead of `terminated`"
            }
            Self::RepeatedStart { .. } => {
                "the observation before the first action may have been logged twice: drop one"
            }
            Self::ConstantReward { .. } => "check the reward column, or give the reward as a rule",
            Self::NothingMoves { .. } => "check that next states are not a copy of the states",
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TerminatesAtTimeLimit { length, episodes } => write!(
                f,
                "all {episodes} terminated episodes have the greatest length, {length} steps"
            ),
            Self::RepeatedStart { episodes, of } => {
                write!(f, "{episodes} of {of} episodes do not move in their first step")
            }
            Self::ConstantReward { value } => write!(f, "the reward is {value} in every row"),
            Self::NothingMoves { rows, of } => {
                write!(f, "the next state equals the state in {rows} of {of} rows")
            }
        }
    }
}

/// Looks through a whole log.
pub fn inspect(source: impl AsRef<Path>, mapping: &Mapping) -> Result<Inspection> {
    locally(source.as_ref(), |path| inspect_local(path, mapping))
}

fn inspect_local(path: &Path, mapping: &Mapping) -> Result<Inspection> {
    if store::is_store(path) {
        let dataset = read::open(path, mapping)?.dataset;
        return Ok(Inspection::of(Format::Store, &dataset));
    }
    let log = Log::open(path, mapping)?;
    let mut tally = Counter::new(&log);
    let notes = log.read(&mut tally)?;
    let clean = Dataset::from_episodes(std::mem::take(&mut tally.clean));
    let (rows, episodes) = (tally.rows, tally.episodes);
    let mut found = match clean {
        Ok(dataset) => {
            let dataset = dataset
                .with_names(tally.names.clone())
                .map_err(|source| Error::Data { path: path.to_owned(), source })?;
            Inspection::of(log.format, &dataset)
        }
        Err(_) => Inspection::empty(log.format, tally.names.clone()),
    };
    (found.rows, found.episodes) = (rows, episodes);
    (found.notes, found.problems) = (notes, tally.problems);
    Ok(found)
}

impl Inspection {
    fn empty(format: Format, names: ColumnNames) -> Self {
        Self {
            format,
            names,
            summary: None,
            rows: 0,
            episodes: 0,
            problems: Problems::default(),
            notes: Vec::new(),
            warnings: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    fn of(format: Format, dataset: &Dataset) -> Self {
        let numbered = |what: &str, n: usize| (0..n).map(|i| format!("{what}_{i}")).collect();
        let names = dataset.names().cloned().unwrap_or_else(|| ColumnNames {
            states: numbered("state", dataset.state_dim()),
            actions: numbered("action", dataset.action_dim()),
        });
        let summary = dataset.summary();
        Self {
            rows: dataset.rows(),
            episodes: dataset.episodes().len(),
            warnings: dataset.notes().to_vec(),
            mistakes: likely_mistakes(dataset, &summary),
            summary: Some(summary),
            ..Self::empty(format, names)
        }
    }
}

fn likely_mistakes(dataset: &Dataset, summary: &Summary) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let episodes = dataset.episodes();
    let longest = episodes.iter().map(|episode| episode.rows.len()).max().unwrap_or(0);
    let mut ended = episodes.iter().filter(|episode| episode.terminated).peekable();
    // A few episodes may end at the same step by chance.
    const ENOUGH: usize = 5;
    if summary.terminated_episodes >= ENOUGH
        && ended.peek().is_some()
        && ended.all(|episode| episode.rows.len() == longest)
    {
        let (length, episodes) = (longest, summary.terminated_episodes);
        mistakes.push(Mistake::TerminatesAtTimeLimit { length, episodes });
    }
    let (states, next_states) = (dataset.states(), dataset.next_states());
    let still = |row: usize| states.row(row) == next_states.row(row);
    let rows = dataset.rows();
    let unmoved = (0..rows).filter(|&row| still(row)).count();
    if 2 * unmoved > rows {
        mistakes.push(Mistake::NothingMoves { rows: unmoved, of: rows });
    } else {
        let repeated = episodes.iter().filter(|episode| still(episode.rows.start)).count();
        if 2 * repeated > episodes.len() {
            mistakes.push(Mistake::RepeatedStart { episodes: repeated, of: episodes.len() });
        }
    }
    if summary.rewards.min == summary.rewards.max {
        mistakes.push(Mistake::ConstantReward { value: summary.rewards.min });
    }
    mistakes
}

/// Keeps the episodes without problems, and counts the others.
struct Counter {
    state_dim: usize,
    action_dim: usize,
    names: ColumnNames,
    rows: usize,
    episodes: usize,
    problems: Problems,
    clean: Vec<Episode>,
    open: Open,
}

/// The episode that has not ended yet.
#[derive(Default)]
struct Open {
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next_states: Vec<f32>,
    last_next_state: Vec<f32>,
    bad_rows: usize,
}

/// Problems that are told with their place.
const TOLD: usize = 20;

impl Counter {
    fn new(log: &Log) -> Self {
        Self {
            state_dim: log.state_dim,
            action_dim: log.action_dim,
            names: log.names.clone(),
            rows: 0,
            episodes: 0,
            problems: Problems::default(),
            clean: Vec::new(),
            open: Open::default(),
        }
    }
}

impl Sink for Counter {
    fn push(&mut self, transition: Transition<'_>) -> Result<()> {
        let open = &mut self.open;
        let step = open.rewards.len();
        let before = (step > 0).then_some(&open.last_next_state[..]);
        let at = (self.episodes, step);
        if let Err(problem) = check_transition(at, &transition, before, Some(&self.names)) {
            open.bad_rows += 1;
            if self.problems.first.len() < TOLD {
                self.problems.first.push(problem);
            }
        }
        open.states.extend_from_slice(transition.state);
        open.actions.extend_from_slice(transition.action);
        open.rewards.push(transition.reward);
        open.next_states.extend_from_slice(transition.next_state);
        open.last_next_state = transition.next_state.to_vec();
        self.rows += 1;
        Ok(())
    }

    fn end(&mut self, terminated: bool, truncated: bool, _source: Option<Key>) -> Result<()> {
        let open = std::mem::take(&mut self.open);
        self.episodes += 1;
        if open.bad_rows > 0 {
            self.problems.rows += open.bad_rows;
            self.problems.episodes += 1;
            return Ok(());
        }
        let steps = open.rewards.len();
        let rows = |values: Vec<f32>, width: usize| {
            Array2::from_shape_vec((steps, width), values).expect("every push adds whole rows")
        };
        self.clean.push(Episode {
            states: rows(open.states, self.state_dim),
            actions: rows(open.actions, self.action_dim),
            rewards: Array1::from(open.rewards),
            next_states: rows(open.next_states, self.state_dim),
            terminated,
            truncated,
        });
        Ok(())
    }
}
