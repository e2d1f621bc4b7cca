//! Gymnasium's Pendulum-v1: swing a pendulum up and hold it there.
//!
//! State `(cos θ, sin θ, θ̇)` with θ = 0 upright, action a torque in [-2, 2]:
//!
//!   θ̇' = clip(θ̇ + (3g / 2l · sin θ + 3u / ml²) dt, -8, 8)      θ' = θ + θ̇' dt
//!   r = -(θ² + 0.1 θ̇² + 0.001 u²)                              θ in [-π, π]
//!
//! with g = 10, m = l = 1, dt = 0.05. Deterministic; all randomness is in the start.

use std::f64::consts::PI;

use ndarray::{Array1, Array2, ArrayView2, array};
use rand::RngExt;

use super::controllers::row_by_row;
use super::{
    InitialStates, NoisyPolicy, Policy, Reward, Simulator, StateBounds, Task, UniformPolicy,
};
use crate::dataset::Transitions;
use crate::error::{BoxError, Result};
use crate::rng::{RowStreams, Stream};

/// Columns of a state: `cos θ`, `sin θ` and the angular speed.
pub const STATE_DIM: usize = 3;
/// Columns of an action: the torque.
pub const ACTION_DIM: usize = 1;
/// The largest torque in either direction.
pub const MAX_TORQUE: f32 = 2.0;
/// The largest angular speed in either direction, in radians per second.
pub const MAX_SPEED: f32 = 8.0;
const DT: f64 = 0.05;

/// The true dynamics and reward.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pendulum;

/// Pendulum over `horizon` steps (Gymnasium's own limit is 200), from Gymnasium's starts.
pub fn task(horizon: usize) -> Task {
    let mut task = Task::new(
        InitialStates::sampler(|count, rng| Ok(starts(count, 1.0, rng))),
        Some(std::sync::Arc::new(Pendulum)),
        horizon,
    );
    let limit = array![1.0, 1.0, MAX_SPEED];
    let bounds = StateBounds::new(-&limit, limit).and_then(|bounds| bounds.with_angle(0, 1));
    task.state_bounds = bounds.ok();
    task
}

/// Single steps from everywhere, with uniform torques: data that covers the whole space.
pub fn everywhere() -> (Task, UniformPolicy) {
    let limit = f64::from(MAX_SPEED);
    let initial_states = InitialStates::sampler(move |count, rng| Ok(starts(count, limit, rng)));
    let policy = UniformPolicy { action_dim: ACTION_DIM, limit: MAX_TORQUE };
    (Task { initial_states, ..task(1) }, policy)
}

/// θ uniform in [-π, π], θ̇ uniform in [-max_speed, max_speed].
fn starts(count: usize, max_speed: f64, rng: &mut Stream) -> Array2<f32> {
    let mut states = Array2::zeros((count, STATE_DIM));
    for mut state in states.rows_mut() {
        let (angle, speed) = (rng.random_range(-PI..PI), rng.random_range(-max_speed..max_speed));
        state.assign(&array![angle.cos() as f32, angle.sin() as f32, speed as f32]);
    }
    states
}

impl Simulator for Pendulum {
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
        let mut next_states = Array2::zeros(states.raw_dim());
        for ((state, action), mut next) in
            states.rows().into_iter().zip(actions.rows()).zip(next_states.rows_mut())
        {
            let angle = f64::from(state[1]).atan2(f64::from(state[0]));
            let torque = f64::from(action[0].clamp(-MAX_TORQUE, MAX_TORQUE));
            let limit = f64::from(MAX_SPEED);
            let acceleration = 15.0 * angle.sin() + 3.0 * torque;
            let speed = (f64::from(state[2]) + acceleration * DT).clamp(-limit, limit);
            let angle = angle + speed * DT;
            next.assign(&array![angle.cos() as f32, angle.sin() as f32, speed as f32]);
        }
        next_states
    }
}

impl Reward for Pendulum {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, actions, .. } = *transitions;
        let cost = |state: ndarray::ArrayView1<'_, f32>, action: ndarray::ArrayView1<'_, f32>| {
            let angle = state[1].atan2(state[0]);
            let torque = action[0].clamp(-MAX_TORQUE, MAX_TORQUE);
            angle * angle + 0.1 * state[2] * state[2] + 0.001 * torque * torque
        };
        let rows = states.rows().into_iter().zip(actions.rows());
        Ok(rows.map(|(state, action)| -cost(state, action)).collect())
    }
}

/// Pumps energy until the pendulum can reach the top, then catches it with a PD controller.
#[derive(Debug, Clone, Copy)]
pub struct SwingUp {
    /// Torque while pumping, at most [`MAX_TORQUE`].
    pub pump: f32,
    /// Torque per radian near the top.
    pub proportional: f32,
    /// Torque per radian and second near the top.
    pub derivative: f32,
}

impl SwingUp {
    /// Swings up from everywhere.
    pub const GOOD: Self = Self { pump: 2.0, proportional: 12.0, derivative: 3.0 };
    /// Pumps and holds weakly: gets there late or not at all.
    pub const DETUNED: Self = Self { pump: 1.0, proportional: 5.0, derivative: 1.0 };

    /// The same controller with noise on its torque, for collecting data.
    pub fn noisy(self, noise_std: f32) -> NoisyPolicy<Self> {
        NoisyPolicy { policy: self, noise_std, limit: MAX_TORQUE }
    }
}

impl Policy for SwingUp {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        row_by_row(states, |[cos, sin, speed]: [f32; 3]| {
            let angle = sin.atan2(cos);
            let near_the_top = angle.abs() < 0.6 && speed.abs() < 3.0;
            let torque = if near_the_top {
                -(self.proportional * angle + self.derivative * speed)
            } else {
                // Zero at rest upright; pushing along the motion adds energy.
                let energy = 0.5 * speed * speed + 15.0 * (cos - 1.0);
                -self.pump * sign(speed) * sign(energy)
            };
            [torque.clamp(-MAX_TORQUE, MAX_TORQUE)]
        })
    }
}

/// The sign, and +1 for zero, so that a pendulum at rest is pushed.
fn sign(value: f32) -> f32 {
    if value < 0.0 { -1.0 } else { 1.0 }
}
