//! A sample of the logged transitions that a model keeps: what rules, actions and the model's own
//! predictions are compared with when a policy is evaluated.

use std::collections::HashSet;

use ndarray::{Array1, Array2, ArrayView1};

use super::tensors::{Read, Written};
use crate::dataset::{Batch, Dataset};
use crate::error::Result;
use crate::rng::{Stream, some_of};
use crate::task::{self, Task};
use crate::thresholds::Thresholds;
use crate::unseen::Unseen;
use crate::warning::Warning;

/// Transitions kept at most, and how many of them may be an episode's terminal one.
const MOST_ROWS: usize = 20_000;
const MOST_TERMINAL: usize = 5_000;

/// A column of actions with at most so many different values is a choice between them.
const MOST_CHOICES: usize = 20;

/// Transitions of the data: all terminal ones up to a limit, and random others.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedSample {
    /// The transitions, with their rewards.
    pub transitions: Batch,
    /// Whether an episode terminated there.
    pub terminated: Array1<bool>,
    /// Which members were not fitted on it, `[rows, members]`; one column if that is the same for all.
    pub unseen: Array2<bool>,
    /// The episode of the data that each is from.
    pub episodes: Vec<usize>,
    /// How many rows of the data each stands for: terminal ones are kept more often than others.
    pub weights: Array1<f32>,
    /// What was done anywhere in the data, per action column.
    pub actions: Vec<LoggedActions>,
}

/// The values of one action column.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoggedActions {
    /// Anything between these.
    Range(f32, f32),
    /// One of a few, in increasing order.
    Choices(Vec<f32>),
}

impl LoggedSample {
    /// A sample of a dataset, of which the model was not fitted on `unseen`.
    pub fn of(dataset: &Dataset, unseen: &Unseen<'_>, rng: &mut Stream) -> Self {
        let ends = dataset.episodes().iter().filter(|episode| episode.terminated);
        let ends: Vec<usize> = ends.map(|episode| episode.rows.end - 1).collect();
        let is_terminal = |row: usize| ends.binary_search(&row).is_ok();
        let (all_terminal, all_others) = (ends.len(), dataset.rows() - ends.len());
        let terminal: Vec<usize> =
            some_of(all_terminal, MOST_TERMINAL, rng).into_iter().map(|end| ends[end]).collect();
        let others = some_of(all_others, MOST_ROWS - terminal.len(), rng).into_iter();
        let others: Vec<usize> = others.map(|number| not_among(&ends, number)).collect();
        let stands_for = |all: usize, kept: usize| all as f32 / kept.max(1) as f32;
        let weight_of_terminal = stands_for(all_terminal, terminal.len());
        let weight_of_others = stands_for(all_others, others.len());
        let mut rows = others;
        rows.extend(terminal);
        rows.sort_unstable();
        let weight = |&row: &usize| match is_terminal(row) {
            true => weight_of_terminal,
            false => weight_of_others,
        };
        Self {
            transitions: dataset.gather(&rows),
            terminated: rows.iter().map(|&row| is_terminal(row)).collect(),
            unseen: unseen.of_rows(dataset, &rows),
            episodes: rows.iter().map(|&row| dataset.episode_of(row)).collect(),
            weights: rows.iter().map(weight).collect(),
            actions: dataset.actions().columns().into_iter().map(LoggedActions::of).collect(),
        }
    }

    /// Of logs that nobody kept: nothing is compared with them.
    pub fn none(state_dim: usize, action_dim: usize) -> Self {
        Self {
            transitions: Batch::none(state_dim, action_dim),
            terminated: Array1::default(0),
            unseen: Array2::default((0, 1)),
            episodes: Vec::new(),
            weights: Array1::zeros(0),
            actions: Vec::new(),
        }
    }

    /// Share of the logged transitions with such a value in a column of the states and actions, side by side.
    pub(crate) fn share(&self, column: usize, is_such: impl Fn(f32) -> bool) -> f64 {
        let state_dim = self.transitions.states.ncols();
        let values = match column.checked_sub(state_dim) {
            None => self.transitions.states.column(column),
            Some(action) => self.transitions.actions.column(action),
        };
        let weighted = values.iter().zip(&self.weights).filter(|(value, _)| is_such(**value));
        let of_all = self.weights.sum().max(f32::MIN_POSITIVE);
        f64::from(weighted.map(|(_, weight)| weight).sum::<f32>() / of_all)
    }

    /// Number of sampled transitions.
    pub fn rows(&self) -> usize {
        self.terminated.len()
    }

    /// The arrays in the safetensors format; `actions` are not among them.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let written = Written::default().batch(&self.transitions);
        let written = written.numbers("weights", self.weights.shape(), self.weights.iter());
        let shape = self.terminated.shape();
        let written = written.flags("terminated", shape, self.terminated.iter());
        let written = written.counts("episodes", &self.episodes);
        written.flags("unseen", self.unseen.shape(), self.unseen.iter()).to_bytes()
    }

    /// Reads what [`to_safetensors`](Self::to_safetensors) wrote.
    pub fn from_safetensors(bytes: &[u8], actions: Vec<LoggedActions>) -> Result<Self> {
        let read = Read::new(bytes)?;
        Ok(Self {
            transitions: read.batch()?,
            terminated: Array1::from(read.flags("terminated")?),
            unseen: read.matrix_of_flags("unseen")?,
            episodes: read.counts("episodes")?,
            weights: read.column("weights")?,
            actions,
        })
    }

    /// Whether the parts belong together and to a model of these widths: needed after loading.
    pub fn fits(&self, state_dim: usize, action_dim: usize) -> bool {
        let rows = self.rows();
        self.transitions.fits(rows, state_dim, action_dim)
            && self.unseen.nrows() == rows
            && self.episodes.len() == rows
            && self.weights.len() == rows
            && self.weights.iter().all(|&weight| weight > 0.0)
            && (self.actions.len() == action_dim || rows == 0)
    }

    /// Where the task's rules say something else than what was logged, or something that never was.
    pub(crate) fn contradictions(
        &self,
        task: &Task,
        thresholds: &Thresholds,
    ) -> Result<Vec<Warning>> {
        let (transitions, rewards) = (self.transitions.transitions(), &self.transitions.rewards);
        let mut found = Vec::new();
        if let Some(rule) = &task.termination {
            let ends = task::terminated(&**rule, &transitions)?;
            let terminal = self.terminated.iter().filter(|&&ended| ended).count();
            let ongoing = self.rows() - terminal;
            let differ = |logged: bool| {
                let pairs = self.terminated.iter().zip(&ends);
                pairs.filter(|&(&was, &is)| was == logged && is != logged).count()
            };
            let (missed, invented) = (differ(true), differ(false));
            if missed as f64 > thresholds.missed_ends * terminal as f64
                || invented as f64 > thresholds.invented_ends * ongoing as f64
            {
                found.push(Warning::TerminationContradictsLogs {
                    missed,
                    terminal,
                    invented,
                    ongoing,
                });
            }
            if terminal == 0 && !ends.iter().any(|&ended| ended) {
                let episodes = self.episodes.iter().collect::<HashSet<_>>().len();
                found.push(Warning::NoLoggedEnds { episodes });
            }
        }
        // Logs without rewards hold zeros.
        if let Some(rule) = task.reward.as_ref().filter(|_| rewards.iter().any(|&r| r != 0.0)) {
            let ruled = task::reward(&**rule, &transitions)?.mapv(f64::from);
            let logged = rewards.mapv(f64::from);
            let weights = self.weights.mapv(f64::from);
            let mean_of = |values: &Array1<f64>| (values * &weights).sum() / weights.sum();
            let mean = mean_of(&logged);
            let size = |values: Array1<f64>| mean_of(&values.mapv(f64::abs));
            let (varies, difference) = (size(&logged - mean), size(&ruled - &logged));
            // float32 has seven digits, sums of several terms fewer.
            if difference > thresholds.reward_difference * varies + 1e-5 * size(logged) {
                let higher = mean_of(&ruled) - mean;
                found.push(Warning::RewardContradictsLogs { difference, varies, higher });
            }
        }
        Ok(found)
    }

    /// Whether an action is like nothing in the data: beyond its range, or between its choices.
    pub(crate) fn is_foreign(&self, action: ArrayView1<'_, f32>) -> bool {
        action.iter().zip(&self.actions).any(|(&value, logged)| !logged.contains(value))
    }
}

impl LoggedActions {
    fn of(column: ArrayView1<'_, f32>) -> Self {
        let mut choices: Vec<f32> = Vec::new();
        for &value in column {
            if !choices.contains(&value) {
                choices.push(value);
            }
            if choices.len() > MOST_CHOICES {
                let low = column.iter().copied().fold(f32::INFINITY, f32::min);
                let high = column.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                return Self::Range(low, high);
            }
        }
        choices.sort_unstable_by(f32::total_cmp);
        Self::Choices(choices)
    }

    /// The smallest and the largest.
    pub fn range(&self) -> [f32; 2] {
        match self {
            Self::Range(low, high) => [*low, *high],
            Self::Choices(choices) => {
                let end = |value: Option<&f32>| value.copied().unwrap_or(0.0);
                [end(choices.first()), end(choices.last())]
            }
        }
    }

    /// The value that was logged, or could have been, which is closest to this one.
    pub(crate) fn nearest(&self, value: f32) -> f32 {
        match self {
            Self::Range(low, high) => value.clamp(*low, *high),
            Self::Choices(choices) => {
                let distance = |choice: &f32| (choice - value).abs();
                let closest = choices.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
                closest.copied().unwrap_or(value)
            }
        }
    }

    /// With some room for rounding.
    fn contains(&self, value: f32) -> bool {
        match self {
            Self::Range(low, high) => {
                let room = 1e-3 * (high - low);
                (low - room..=high + room).contains(&value)
            }
            Self::Choices(choices) => {
                choices.iter().any(|choice| (choice - value).abs() <= 1e-3 * choice.abs().max(1.0))
            }
        }
    }
}

/// The number at that place among those that are not in the list, which is in increasing order.
fn not_among(listed: &[usize], place: usize) -> usize {
    let (mut low, mut high) = (0, listed.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        // So many that are not listed stand before it.
        match listed[middle] - middle <= place {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    place + low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Episode;
    use crate::rng::Seed;

    #[test]
    fn what_is_not_listed_is_counted() {
        for listed in [vec![], vec![0], vec![3], vec![0, 1, 4, 7], vec![2, 3, 4]] {
            let others: Vec<usize> = (0..20).filter(|row| !listed.contains(row)).collect();
            let found: Vec<usize> =
                (0..others.len()).map(|place| not_among(&listed, place)).collect();
            assert_eq!(found, others, "{listed:?}");
        }
    }

    /// Episodes of 200 steps; the state is the step, and every fourth episode terminates.
    fn data(episodes: usize) -> Dataset {
        let steps = 200;
        let episode = |index: usize| Episode {
            states: Array2::from_shape_fn((steps, 1), |(step, _)| step as f32),
            actions: Array2::zeros((steps, 1)),
            rewards: Array1::zeros(steps),
            next_states: Array2::from_shape_fn((steps, 1), |(step, _)| step as f32 + 1.0),
            terminated: index.is_multiple_of(4),
            truncated: !index.is_multiple_of(4),
        };
        Dataset::from_episodes((0..episodes).map(episode).collect()).unwrap()
    }

    #[test]
    fn a_sample_of_many_episodes_sees_every_step_of_them() {
        let data = data(1_000);
        let logged =
            LoggedSample::of(&data, &Unseen::by_all(data.all()), &mut Seed(0).stream("sample"));
        assert_eq!(logged.rows(), MOST_ROWS);
        let mut seen = [0; 200];
        logged.transitions.states.iter().for_each(|&step| seen[step as usize] += 1);
        // 20,000 of 200,000 rows: 100 of every step, give or take five standard deviations; of the
        // last one all terminal rows, too.
        assert!(seen[..199].iter().all(|&count| (50..150).contains(&count)), "{seen:?}");
    }

    #[test]
    fn weights_stand_for_the_rows_that_are_left_out() {
        let data = data(1_000);
        let logged =
            LoggedSample::of(&data, &Unseen::by_all(data.all()), &mut Seed(0).stream("sample"));
        let weight_of = |terminal: bool| -> f32 {
            let pairs = logged.weights.iter().zip(&logged.terminated);
            pairs.filter(|(_, ended)| **ended == terminal).map(|(weight, _)| *weight).sum()
        };
        assert_eq!(weight_of(true), 250.0);
        assert!((weight_of(false) - 199_750.0).abs() < 20.0, "{}", weight_of(false));
    }
}
