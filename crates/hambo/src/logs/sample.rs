//! A sample of the logged transitions that a model keeps: what rules, actions and the model's own
//! predictions are held against when a policy is evaluated.

use ndarray::{Array1, Array2, ArrayView1};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::dataset::{Batch, Dataset};
use crate::error::{Error, Result};
use crate::task::{self, Task};
use crate::thresholds::Thresholds;
use crate::warning::Warning;

/// Transitions kept at the most, and how many of them may be an episode's terminal one.
const MOST_ROWS: usize = 20_000;
const MOST_TERMINAL: usize = 5_000;

/// A column of actions with at most so many different values is a choice between them.
const MOST_CHOICES: usize = 20;

/// Transitions of the data: all terminal ones up to a limit, and evenly spread others.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedSample {
    /// The sampled transitions.
    pub transitions: Batch,
    /// Whether an episode terminated there.
    pub terminated: Array1<bool>,
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
    /// Samples a dataset, always in the same way.
    pub fn of(dataset: &Dataset) -> Self {
        let ends = dataset.episodes().iter().filter(|episode| episode.terminated);
        let mut is_terminal = vec![false; dataset.rows()];
        ends.for_each(|episode| is_terminal[episode.rows.end - 1] = true);
        let (terminal, others): (Vec<usize>, Vec<usize>) =
            (0..dataset.rows()).partition(|&row| is_terminal[row]);
        let terminal = spread(&terminal, MOST_TERMINAL);
        let mut rows = spread(&others, MOST_ROWS - terminal.len());
        rows.extend(terminal);
        rows.sort_unstable();
        Self {
            transitions: dataset.gather(&rows),
            terminated: rows.iter().map(|&row| is_terminal[row]).collect(),
            actions: dataset.actions().columns().into_iter().map(LoggedActions::of).collect(),
        }
    }

    /// Of logs that nobody kept: nothing is held against them.
    pub fn none(state_dim: usize, action_dim: usize) -> Self {
        let transitions = Batch {
            states: Array2::zeros((0, state_dim)),
            actions: Array2::zeros((0, action_dim)),
            rewards: Array1::zeros(0),
            next_states: Array2::zeros((0, state_dim)),
        };
        Self { transitions, terminated: Array1::default(0), actions: Vec::new() }
    }

    /// Number of sampled transitions.
    pub fn rows(&self) -> usize {
        self.terminated.len()
    }

    /// The transitions in the safetensors format; `actions` are not among them.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let Batch { states, actions, rewards, next_states } = &self.transitions;
        let bytes = |values: &mut dyn Iterator<Item = &f32>| -> Vec<u8> {
            values.flat_map(|value| value.to_le_bytes()).collect()
        };
        let ended: Vec<u8> = self.terminated.iter().map(|&ended| u8::from(ended)).collect();
        let parts = [
            ("states", Dtype::F32, states.shape(), bytes(&mut states.iter())),
            ("actions", Dtype::F32, actions.shape(), bytes(&mut actions.iter())),
            ("rewards", Dtype::F32, rewards.shape(), bytes(&mut rewards.iter())),
            ("next_states", Dtype::F32, next_states.shape(), bytes(&mut next_states.iter())),
            ("terminated", Dtype::U8, self.terminated.shape(), ended),
        ];
        let views = parts.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.to_vec(), bytes);
            (*name, view.expect("each part has as many bytes as its shape says"))
        });
        serialize(views, None).expect("names are unique and shapes match")
    }

    /// Reads what [`to_safetensors`](Self::to_safetensors) wrote.
    pub fn from_safetensors(bytes: &[u8], actions: Vec<LoggedActions>) -> Result<Self> {
        let bad = |message: String| Error::SavedSample(message);
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| bad(format!("not a safetensors file: {error}")))?;
        let find = |name: &str, dtype: Dtype, axes: usize| {
            let view =
                file.tensor(name).map_err(|_| bad(format!("the tensor `{name}` is missing")))?;
            if view.dtype() != dtype || view.shape().len() != axes {
                return Err(bad(format!("`{name}` is {:?} {:?}", view.dtype(), view.shape())));
            }
            Ok(view)
        };
        let numbers = |name: &str, axes: usize| {
            let view = find(name, Dtype::F32, axes)?;
            let chunks = view.data().chunks_exact(4);
            let values: Vec<f32> =
                chunks.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(bad(format!("`{name}` contains {value}")));
            }
            Ok((view.shape().to_vec(), values))
        };
        let matrix = |name: &str| {
            let (shape, values) = numbers(name, 2)?;
            Array2::from_shape_vec((shape[0], shape[1]), values)
                .map_err(|error| bad(format!("`{name}`: {error}")))
        };
        Ok(Self {
            transitions: Batch {
                states: matrix("states")?,
                actions: matrix("actions")?,
                rewards: Array1::from(numbers("rewards", 1)?.1),
                next_states: matrix("next_states")?,
            },
            terminated: find("terminated", Dtype::U8, 1)?.data().iter().map(|&b| b != 0).collect(),
            actions,
        })
    }

    /// Whether the parts belong together and to a model of these widths: needed after loading.
    pub fn fits(&self, state_dim: usize, action_dim: usize) -> bool {
        let (rows, sample) = (self.rows(), &self.transitions);
        sample.states.dim() == (rows, state_dim)
            && sample.next_states.dim() == (rows, state_dim)
            && sample.actions.dim() == (rows, action_dim)
            && sample.rewards.len() == rows
            && (self.actions.len() == action_dim || rows == 0)
    }

    /// Where the task's rules say something else than what was logged.
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
        }
        // Logs without rewards hold zeros.
        if let Some(rule) = task.reward.as_ref().filter(|_| rewards.iter().any(|&r| r != 0.0)) {
            let ruled = task::reward(&**rule, &transitions)?.mapv(f64::from);
            let logged = rewards.mapv(f64::from);
            let mean = logged.mean().unwrap_or(0.0);
            let size = |values: Array1<f64>| values.mapv(f64::abs).mean().unwrap_or(0.0);
            let (varies, difference) = (size(&logged - mean), size(&ruled - &logged));
            // float32 has seven digits, sums of several terms fewer.
            if difference > thresholds.reward_difference * varies + 1e-5 * size(logged) {
                let higher = (&ruled - mean).mean().unwrap_or(0.0);
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

/// At most `most` of the rows, evenly spread.
fn spread(rows: &[usize], most: usize) -> Vec<usize> {
    rows.iter().copied().step_by(rows.len().div_ceil(most.max(1)).max(1)).collect()
}
