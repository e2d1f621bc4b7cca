//! What is in a log, and what is likely wrong with it.
//!
//! Reading stops at the first problem; inspecting counts them. Only what leaves no episodes to speak of
//! (a damaged file, columns that are not there, rows in the wrong order) still ends it.

use std::fmt;
use std::path::Path;

use hambo::dataset::{
    ColumnNames, DatasetError, DatasetNote, Summary, Transition, check_transition,
};
use hambo::{Dataset, Forgotten, Invariants, StateBounds};
use serde::Serialize;

use crate::error::Result;
use crate::read::{self, Format, Key, Log, Mapping, Memory, Note, Sink};
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
    /// What is the same in all states of the episodes without problems, and will be in hallucinated ones.
    pub invariants: Invariants,
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
    /// The state leaves out something that the last steps tell.
    Forgets {
        /// The column that they tell most about.
        column: String,
        /// Earlier steps that it takes.
        history: usize,
        /// Share of the variance of its changes that state and action leave unexplained.
        unexplained: f64,
        /// The same with the earlier steps.
        then: f64,
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
            Self::Forgets { .. } => {
                "log what it leaves out, or fit with so many earlier steps: `model.history`, in Python \
                 `hambo.fit(history=)`"
            }
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
            Self::Forgets { column, history, unexplained, then } => {
                let of_steps = match history {
                    1 => "the step before it".to_owned(),
                    _ => format!("the {history} steps before it"),
                };
                write!(
                    f,
                    "the state leaves out something with a memory: it leaves {:.0} % of the changes of \
                     `{column}` unexplained, and together with {of_steps} {:.0} %",
                    100.0 * unexplained,
                    100.0 * then
                )
            }
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
    let (mut tally, mut notes) = log.read_in_any_order(|| Counter::new(&log))?;
    let mut clean = std::mem::take(&mut tally.clean);
    let (mut rows, episodes) = (tally.rows, tally.episodes);
    if log.splits() {
        let before = clean.len();
        let found = read::remove_spikes(&mut clean, &log.names);
        rows -= before - clean.len();
        notes.extend(found.into_iter().map(Note::Spikes));
    }
    let clean = clean.into_dataset(&log.path, &log.names, &log.exogenous);
    let mut found = match clean {
        Ok(dataset) => Inspection::of(log.format, &dataset),
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
            invariants: Invariants::default(),
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
            invariants: StateBounds::of_data(dataset).invariants(&names.states),
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
    if let Some(found) = Forgotten::in_data(dataset) {
        let column = dataset.names_or_numbers().states[found.column].clone();
        let Forgotten { steps: history, unexplained, then, .. } = found;
        mistakes.push(Mistake::Forgets { column, history, unexplained, then });
    }
    if summary.rewards.min == summary.rewards.max {
        mistakes.push(Mistake::ConstantReward { value: summary.rewards.min });
    }
    mistakes
}

/// Keeps the episodes without problems, and counts the others.
struct Counter {
    names: ColumnNames,
    rows: usize,
    episodes: usize,
    problems: Problems,
    clean: Memory,
    open: Open,
}

/// The episode that has not ended yet.
#[derive(Default)]
struct Open {
    transitions: Vec<Kept>,
    /// The next transition follows from nothing that is here.
    after_gap: bool,
    bad_rows: usize,
}

struct Kept {
    state: Vec<f32>,
    action: Vec<f32>,
    reward: f32,
    next_state: Vec<f32>,
    after_gap: bool,
}

/// Problems that are told with their place.
const TOLD: usize = 20;

impl Counter {
    fn new(log: &Log) -> Self {
        Self {
            names: log.names.clone(),
            rows: 0,
            episodes: 0,
            problems: Problems::default(),
            clean: Memory::default(),
            open: Open::default(),
        }
    }
}

impl Sink for Counter {
    fn push(&mut self, transition: Transition<'_>) -> Result<()> {
        let open = &mut self.open;
        let after_gap = std::mem::take(&mut open.after_gap);
        let before =
            open.transitions.last().filter(|_| !after_gap).map(|last| &last.next_state[..]);
        let at = (self.episodes, open.transitions.len());
        if let Err(problem) = check_transition(at, &transition, before, Some(&self.names)) {
            open.bad_rows += 1;
            if self.problems.first.len() < TOLD {
                self.problems.first.push(problem);
            }
        }
        let Transition { state, action, reward, next_state, .. } = transition;
        let (state, action) = (state.to_vec(), action.to_vec());
        open.transitions.push(Kept {
            state,
            action,
            reward,
            next_state: next_state.to_vec(),
            after_gap,
        });
        self.rows += 1;
        Ok(())
    }

    fn gap(&mut self) {
        self.open.after_gap = true;
    }

    fn end(&mut self, terminated: bool, truncated: bool, source: Option<Key>) -> Result<()> {
        let open = std::mem::take(&mut self.open);
        self.episodes += 1;
        if open.bad_rows > 0 {
            self.problems.rows += open.bad_rows;
            self.problems.episodes += 1;
            return Ok(());
        }
        for Kept { state, action, reward, next_state, after_gap } in &open.transitions {
            if *after_gap {
                self.clean.gap();
            }
            let (reward, log_prob) = (*reward, f64::NAN);
            self.clean.push(Transition { state, action, reward, next_state, log_prob })?;
        }
        self.clean.end(terminated, truncated, source)
    }
}
