//! A system of any width, to measure what work on a real one costs.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::dataset::{Dataset, Transitions};
use crate::error::{BoxError, Result};
use crate::rng::{RowStreams, Seed, Stream};
use crate::rollout::{Streams, collect};
use crate::task::{InitialStates, Policy, Reward, Simulator, Task};

/// Units in each of the two hidden layers of a policy.
const HIDDEN: usize = 64;

/// A system that forgets, is not linear, and has noise.
pub(super) struct MadeUp {
    state_dim: usize,
    action_dim: usize,
    weights: Array2<f32>,
    policy: Network,
}

impl MadeUp {
    pub(super) fn new(state_dim: usize, action_dim: usize, seed: Seed) -> Self {
        let rng = &mut seed.stream("made-up system");
        let weights = layer(state_dim + action_dim, state_dim, rng);
        let sizes = [state_dim, HIDDEN, HIDDEN, action_dim];
        let layers = sizes.windows(2).map(|size| layer(size[0], size[1], rng)).collect();
        Self { state_dim, action_dim, weights, policy: Network(layers) }
    }

    /// So many rows, or a little more.
    pub(super) fn logs(&self, rows: usize, steps: usize, seed: Seed) -> Result<Dataset> {
        let rng = &mut seed.stream("made-up starts");
        let starts = layer(1_000, self.state_dim, rng);
        let task = Task::new(InitialStates::Fixed(starts), Some(Arc::new(Price)), steps);
        // A fit needs some episodes.
        let episodes = rows.div_ceil(steps).max(4);
        collect(
            self,
            &task,
            &Random(&self.policy),
            episodes,
            &mut Streams::new(seed, "made-up logs"),
        )
    }

    /// About as costly as the usual one.
    pub(super) fn policy(&self) -> &dyn Policy {
        &self.policy
    }
}

impl Simulator for MadeUp {
    fn state_dim(&self) -> usize {
        self.state_dim
    }

    fn action_dim(&self) -> usize {
        self.action_dim
    }

    fn next_states(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        rng: &mut Stream,
    ) -> Array2<f32> {
        let seen = concatenate![Axis(1), states, actions];
        let noise = layer(states.nrows(), self.state_dim, rng);
        &states * 0.9 + seen.dot(&self.weights).mapv(f32::tanh) * 0.3 + noise * 0.05
    }
}

/// Random numbers of about the size that layers need.
fn layer(rows: usize, columns: usize, rng: &mut Stream) -> Array2<f32> {
    let scale = 1.0 / (rows.min(HIDDEN) as f32).sqrt();
    let mut draw = || rng.sample::<f32, _>(StandardNormal) * scale;
    Array2::from_shape_simple_fn((rows, columns), &mut draw)
}

struct Network(Vec<Array2<f32>>);

impl Policy for Network {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let through = |values: Array2<f32>, layer: &Array2<f32>| values.dot(layer).mapv(f32::tanh);
        Ok(self.0.iter().fold(states.to_owned(), through))
    }
}

/// The same with some noise, as logs have it.
struct Random<'a>(&'a Network);

impl Policy for Random<'_> {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let mut actions = self.0.act(states, draws)?;
        for (row, mut action) in actions.rows_mut().into_iter().enumerate() {
            let rng = draws.row(row);
            action.mapv_inplace(|value| value + 0.3 * rng.sample::<f32, _>(StandardNormal));
        }
        Ok(actions)
    }
}

/// A reward that costs next to nothing.
pub(super) struct Price;

impl Reward for Price {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        Ok(transitions.states.rows().into_iter().map(|state| -state[0].powi(2)).collect())
    }
}
