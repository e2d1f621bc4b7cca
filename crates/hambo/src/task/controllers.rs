//! What the built-in controllers share.

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::Policy;
use crate::error::{BoxError, Result};
use crate::rng::RowStreams;

/// A policy whose every action is disturbed by Gaussian noise and clipped to `[-limit, limit]`.
#[derive(Debug, Clone)]
pub struct NoisyPolicy<P> {
    /// The policy without noise.
    pub policy: P,
    /// Standard deviation of the noise, in the units of the actions.
    pub noise_std: f32,
    /// The largest absolute value of an action.
    pub limit: f32,
}

impl<P: Policy> Policy for NoisyPolicy<P> {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let mut actions = self.policy.act(states, draws)?;
        for (row, mut action) in actions.rows_mut().into_iter().enumerate() {
            for value in &mut action {
                let noise: f32 = draws.row(row).sample(StandardNormal);
                *value = (*value + self.noise_std * noise).clamp(-self.limit, self.limit);
            }
        }
        Ok(actions)
    }
}

/// Actions uniform in `[-limit, limit]`, whatever the state.
#[derive(Debug, Clone, Copy)]
pub struct UniformPolicy {
    /// Columns of an action.
    pub action_dim: usize,
    /// The largest absolute value of an action.
    pub limit: f32,
}

impl Policy for UniformPolicy {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let shape = (states.nrows(), self.action_dim);
        let limits = -self.limit..=self.limit;
        Ok(Array2::from_shape_fn(shape, |(row, _)| draws.row(row).random_range(limits.clone())))
    }
}

/// A controller that looks at one state at a time, as a batched policy.
pub(super) fn row_by_row<const D_S: usize, const D_A: usize>(
    states: ArrayView2<'_, f32>,
    controller: impl Fn([f32; D_S]) -> [f32; D_A],
) -> Result<Array2<f32>, BoxError> {
    if states.ncols() != D_S {
        return Err(format!("it needs states of {D_S} values, got {}", states.ncols()).into());
    }
    let mut actions = Array2::zeros((states.nrows(), D_A));
    for (state, mut action) in states.rows().into_iter().zip(actions.rows_mut()) {
        let chosen = controller(std::array::from_fn(|index| state[index]));
        action.iter_mut().zip(chosen).for_each(|(value, chosen)| *value = chosen);
    }
    Ok(actions)
}
