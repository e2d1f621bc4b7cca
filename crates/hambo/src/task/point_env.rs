//! The paper's PointEnv: walk to the origin of the plane.
//!
//!   s' = s + a      a in [-1, 1]²      r = -‖s‖
//!
//! The paper leaves the start open; here episodes start uniformly in [-10, 10]², well inside the
//! [-40, 40]² that its data covers.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;

use super::controllers::row_by_row;
use super::{InitialStates, Policy, Reward, Simulator, Task, UniformPolicy};
use crate::dataset::Transitions;
use crate::error::{BoxError, Result};
use crate::rng::{RowStreams, Stream};

/// Columns of a state: the position in the plane.
pub const STATE_DIM: usize = 2;
/// Columns of an action: the step in the plane.
pub const ACTION_DIM: usize = 2;
/// The largest absolute value of an action's component.
pub const MAX_ACTION: f32 = 1.0;
const START_LIMIT: f32 = 10.0;
const DATA_LIMIT: f32 = 40.0;

/// The true dynamics and reward.
#[derive(Debug, Clone, Copy, Default)]
pub struct PointEnv;

/// PointEnv over `horizon` steps, from uniform starts in [-10, 10]².
pub fn task(horizon: usize) -> Task {
    Task::new(starts_within(START_LIMIT), Some(Arc::new(PointEnv)), horizon)
}

/// Single steps from everywhere in the paper's [-40, 40]², with uniform actions.
pub fn everywhere() -> (Task, UniformPolicy) {
    let policy = UniformPolicy { action_dim: ACTION_DIM, limit: MAX_ACTION };
    (Task { initial_states: starts_within(DATA_LIMIT), ..task(1) }, policy)
}

fn starts_within(limit: f32) -> InitialStates {
    InitialStates::sampler(move |count, rng| {
        Ok(Array2::from_shape_simple_fn((count, STATE_DIM), || rng.random_range(-limit..limit)))
    })
}

impl Simulator for PointEnv {
    fn state_dim(&self) -> usize {
        STATE_DIM
    }

    fn action_dim(&self) -> usize {
        ACTION_DIM
    }

    fn next_states(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        _rng: &mut Stream,
    ) -> Array2<f32> {
        &states + &actions.mapv(|action| action.clamp(-MAX_ACTION, MAX_ACTION))
    }
}

impl Reward for PointEnv {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        Ok(states.rows().into_iter().map(|state| -state[0].hypot(state[1])).collect())
    }
}

/// `a = clip(-gain · s)`.
#[derive(Debug, Clone, Copy)]
pub struct Proportional {
    /// Step per unit of distance, in each direction.
    pub gain: f32,
}

impl Default for Proportional {
    fn default() -> Self {
        Self { gain: 0.5 }
    }
}

impl Policy for Proportional {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        row_by_row(states, |state: [f32; 2]| {
            state.map(|value| (-self.gain * value).clamp(-MAX_ACTION, MAX_ACTION))
        })
    }
}
