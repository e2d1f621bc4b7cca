//! What learners learn from: their own past steps.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use rand::RngExt;

use crate::error::BoxError;
use crate::exchange::{Exchange, Interruptible};
use crate::rng::Stream;
use crate::rollout::Step;

/// The most recent steps, up to a capacity. A row is one step as the learner sees it: its inputs,
/// what it chose, what it got, the inputs that followed, and whether the episode ended there.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    capacity: usize,
    input_dim: usize,
    choice_dim: usize,
    rows: Vec<f32>,
    /// The row that the next step overwrites once the buffer is full.
    next: usize,
}

/// Steps drawn from the buffer.
#[derive(Debug, Clone)]
pub(crate) struct ReplayBatch {
    pub inputs: Array2<f32>,
    pub choices: Array2<f32>,
    pub rewards: Array1<f32>,
    pub next_inputs: Array2<f32>,
    /// One where the episode goes on, zero where it ended.
    pub goes_on: Array1<f32>,
}

impl ReplayBatch {
    /// Some of its rows.
    fn select(&self, rows: &[usize]) -> Self {
        let column = |of: &Array1<f32>| of.select(Axis(0), rows);
        Self {
            inputs: self.inputs.select(Axis(0), rows),
            choices: self.choices.select(Axis(0), rows),
            rewards: column(&self.rewards),
            next_inputs: self.next_inputs.select(Axis(0), rows),
            goes_on: column(&self.goes_on),
        }
    }

    /// All rows of some batches.
    pub(crate) fn together(batches: Vec<Self>) -> Self {
        let matrix = |of: fn(&Self) -> ArrayView2<'_, f32>| {
            let parts: Vec<_> = batches.iter().map(of).collect();
            concatenate(Axis(0), &parts).expect("as many columns")
        };
        let column = |of: fn(&Self) -> &Array1<f32>| batches.iter().flat_map(of).copied().collect();
        Self {
            inputs: matrix(|batch| batch.inputs.view()),
            choices: matrix(|batch| batch.choices.view()),
            rewards: column(|batch| &batch.rewards),
            next_inputs: matrix(|batch| batch.next_inputs.view()),
            goes_on: column(|batch| &batch.goes_on),
        }
    }
}

impl Replay {
    pub(crate) fn new(capacity: usize, input_dim: usize, choice_dim: usize) -> Self {
        Self { capacity, input_dim, choice_dim, rows: Vec::new(), next: 0 }
    }

    fn width(&self) -> usize {
        2 * self.input_dim + self.choice_dim + 2
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len() / self.width()
    }

    /// Adds the rows of a batch.
    pub(crate) fn extend(&mut self, batch: &ReplayBatch) {
        for row in 0..batch.rewards.len() {
            let values = batch
                .inputs
                .row(row)
                .into_iter()
                .chain(batch.choices.row(row))
                .chain([&batch.rewards[row]])
                .chain(batch.next_inputs.row(row))
                .chain([&batch.goes_on[row]])
                .copied();
            if self.len() < self.capacity {
                self.rows.extend(values);
            } else {
                let start = self.next * self.width();
                self.rows[start..].iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
                self.next = (self.next + 1) % self.capacity;
            }
        }
    }

    /// The remembered rewards.
    pub(crate) fn rewards(&self) -> impl Iterator<Item = f32> {
        let at = self.input_dim + self.choice_dim;
        self.rows.iter().skip(at).step_by(self.width()).copied()
    }

    /// `count` steps, uniformly with replacement.
    pub(crate) fn sample(&self, count: usize, rng: &mut Stream) -> ReplayBatch {
        let all = ArrayView2::from_shape((self.len(), self.width()), &self.rows)
            .expect("rows are added whole");
        let rows: Vec<usize> = (0..count).map(|_| rng.random_range(0..self.len())).collect();
        let drawn = all.select(Axis(0), &rows);
        let (d, c) = (self.input_dim, self.choice_dim);
        ReplayBatch {
            inputs: drawn.slice(s![.., ..d]).to_owned(),
            choices: drawn.slice(s![.., d..d + c]).to_owned(),
            rewards: drawn.column(d + c).to_owned(),
            next_inputs: drawn.slice(s![.., d + c + 1..2 * d + c + 1]).to_owned(),
            goes_on: drawn.column(2 * d + c + 1).to_owned(),
        }
    }
}

impl Interruptible for Replay {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        let shape = (self.len(), self.width());
        let rows = std::mem::take(&mut self.rows);
        let mut rows = Array2::from_shape_vec(shape, rows).expect("rows are added whole");
        with.matrix("rows", &mut rows)?;
        if rows.ncols() != self.width() {
            return Err(format!("rows of {}, expected {}", rows.ncols(), self.width()).into());
        }
        (self.rows, _) = rows.into_raw_vec_and_offset();
        with.value("next", &mut self.next)
    }
}

/// Remembers the steps of a rollout as they come: what followed each is known one step later.
#[derive(Default)]
pub(crate) struct Recorder {
    waiting: Option<Waiting>,
}

impl Recorder {
    /// What the learner saw and chose in a step.
    pub(crate) fn add(
        &mut self,
        step: &Step<'_>,
        inputs: Array2<f32>,
        choices: Array2<f32>,
        replay: &mut Replay,
    ) {
        if let Some(earlier) = self.waiting.take() {
            replay.extend(&earlier.complete(step.episodes, inputs.view()));
        }
        self.waiting = Some(Waiting::new(step, inputs, choices));
    }

    /// The rollout is over.
    pub(crate) fn finish(self, replay: &mut Replay) {
        if let Some(last) = self.waiting {
            replay.extend(&last.ended());
        }
    }

    /// The rollout is cut off: what follows its last steps is not known, except where they ended an episode.
    pub(crate) fn cut(self, replay: &mut Replay) {
        if let Some(last) = self.waiting {
            let rows: Vec<usize> = (0..last.ended.len()).filter(|&row| last.ended[row]).collect();
            replay.extend(&last.ended().select(&rows));
        }
    }
}

/// Steps that wait for the action that follows them.
struct Waiting {
    episodes: Vec<usize>,
    inputs: Array2<f32>,
    choices: Array2<f32>,
    rewards: Array1<f32>,
    ended: Array1<bool>,
}

impl Waiting {
    fn new(step: &Step<'_>, inputs: Array2<f32>, choices: Array2<f32>) -> Self {
        Self {
            episodes: step.episodes.to_vec(),
            inputs,
            choices,
            rewards: step.rewards.clone(),
            ended: step.terminated.clone(),
        }
    }

    /// At the horizon: no reward follows it, as none follows termination. A critic that looked beyond it
    /// would prepare for steps that never come.
    fn ended(mut self) -> ReplayBatch {
        self.ended.fill(true);
        let none = Array2::zeros((0, self.inputs.ncols()));
        self.complete(&[], none.view())
    }

    /// With what followed: the episodes that went on, and their next inputs row by row. Steps that
    /// ended an episode need none.
    fn complete(self, went_on: &[usize], inputs: ArrayView2<'_, f32>) -> ReplayBatch {
        let mut next_inputs = Array2::zeros(self.inputs.raw_dim());
        let mut following = went_on.iter().zip(inputs.rows()).peekable();
        for (&episode, mut next) in self.episodes.iter().zip(next_inputs.rows_mut()) {
            if let Some((_, inputs)) = following.next_if(|&(&other, _)| other == episode) {
                next.assign(&inputs);
            }
        }
        ReplayBatch {
            inputs: self.inputs,
            choices: self.choices,
            rewards: self.rewards,
            next_inputs,
            goes_on: self.ended.mapv(|ended| f32::from(!ended)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    /// Rows whose every value is `base + row`.
    fn batch(base: f32, rows: usize) -> ReplayBatch {
        let fill = |width: usize| Array2::from_shape_fn((rows, width), |(i, _)| base + i as f32);
        ReplayBatch {
            inputs: fill(3),
            choices: fill(2),
            rewards: fill(1).column(0).to_owned(),
            next_inputs: fill(3),
            goes_on: fill(1).column(0).to_owned(),
        }
    }

    #[test]
    fn a_full_buffer_forgets_the_oldest_steps() {
        let mut replay = Replay::new(10, 3, 2);
        replay.extend(&batch(0.0, 6));
        assert_eq!(replay.len(), 6);
        replay.extend(&batch(6.0, 8));
        assert_eq!(replay.len(), 10);
        let drawn = replay.sample(2000, &mut Seed(0).stream("replay"));
        let mut seen: Vec<i32> = drawn.rewards.iter().map(|&r| r as i32).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (4..14).collect::<Vec<_>>());
    }

    #[test]
    fn the_parts_of_a_row_stay_together() {
        let mut replay = Replay::new(100, 3, 2);
        replay.extend(&batch(0.0, 50));
        let drawn = replay.sample(200, &mut Seed(1).stream("replay"));
        for row in 0..200 {
            let value = drawn.rewards[row];
            let all = drawn.inputs.row(row).into_iter().chain(drawn.choices.row(row));
            let all = all.chain(drawn.next_inputs.row(row)).chain([&drawn.goes_on[row]]);
            assert!(all.copied().all(|part| part == value));
        }
    }
}
