//! The paper's PointSafety: walk around a danger zone.
//!
//!   s' = s + a      a in [-0.5, 0.5]²      from (-2, 0) to (2, 0)
//!
//! The unit circle is dangerous. The paper calls the rewards there "highly negative"; here a step
//! costs the distance to the goal, plus [`DANGER_COST`] inside the circle.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2, array};

use super::controllers::row_by_row;
use super::{InitialStates, NoisyPolicy, Policy, Reward, Simulator, Task};
use crate::dataset::Transitions;
use crate::error::{BoxError, Result};
use crate::rng::{RowStreams, Stream};

/// Columns of a state: the position in the plane.
pub const STATE_DIM: usize = 2;
/// Columns of an action: the step in the plane.
pub const ACTION_DIM: usize = 2;
/// The largest absolute value of an action's component.
pub const MAX_ACTION: f32 = 0.5;
/// Where every episode starts.
pub const START: [f32; 2] = [-2.0, 0.0];
/// Where the walk should end.
pub const GOAL: [f32; 2] = [2.0, 0.0];
/// Cost of a step taken inside the unit circle.
pub const DANGER_COST: f32 = 100.0;

/// The true dynamics and reward.
#[derive(Debug, Clone, Copy, Default)]
pub struct PointSafety;

/// The task over `horizon` steps, always from [`START`].
pub fn task(horizon: usize) -> Task {
    let start = InitialStates::Fixed(array![START]);
    Task::new(start, Some(Arc::new(PointSafety)), horizon)
}

/// Whether a position lies in the danger zone.
pub fn is_dangerous(position: [f32; 2]) -> bool {
    position[0].hypot(position[1]) < 1.0
}

impl Simulator for PointSafety {
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

impl Reward for PointSafety {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        let reward = |state: ndarray::ArrayView1<'_, f32>| {
            let distance = (state[0] - GOAL[0]).hypot(state[1] - GOAL[1]);
            let danger = if is_dangerous([state[0], state[1]]) { DANGER_COST } else { 0.0 };
            -distance - danger
        };
        Ok(states.rows().into_iter().map(reward).collect())
    }
}

/// The paper's π_y: straight to `(0, y)`, then straight to the goal, half a unit a step.
/// It crosses the danger zone when |y| <= 2 / √3 ≈ 1.155.
#[derive(Debug, Clone, Copy)]
pub struct ViaPoint {
    /// Height at which the walk crosses `x = 0`.
    pub y: f32,
}

impl ViaPoint {
    /// The same walk with noise on every action, for collecting data.
    pub fn noisy(self, noise_std: f32) -> NoisyPolicy<Self> {
        NoisyPolicy { policy: self, noise_std, limit: MAX_ACTION }
    }
}

impl Policy for ViaPoint {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        row_by_row(states, |[x, y]: [f32; 2]| {
            // Rounding may leave the walker a hair before the via point.
            let target = if x < -1e-4 { [0.0, self.y] } else { GOAL };
            let (dx, dy) = (target[0] - x, target[1] - y);
            let distance = dx.hypot(dy);
            let scale = if distance > MAX_ACTION { MAX_ACTION / distance } else { 1.0 };
            [dx * scale, dy * scale]
        })
    }
}
