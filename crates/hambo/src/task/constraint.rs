//! What else than the return a policy must keep to.

use std::sync::Arc;

use ndarray::Array1;

use super::parts::Reward;
use crate::dataset::Transitions;
use crate::error::BoxError;

/// A constraint `E[c(s, a)] >= 0` (section 2 of the paper).
///
/// Its value is the undiscounted sum of `c` over the steps of an episode, divided by the horizon: the
/// mean over the steps when episodes last to the horizon, and of the same sign when they end before.
#[derive(Clone)]
pub struct Constraint {
    /// How results call it; not `return`.
    pub name: String,
    /// `c`
    pub function: Arc<dyn Reward>,
}

impl Constraint {
    /// The constraint as a reward whose sum over the horizon is the mean over the steps.
    pub(super) fn per_step(&self, horizon: usize) -> Arc<dyn Reward> {
        Arc::new(PerStep { function: self.function.clone(), factor: 1.0 / horizon as f32 })
    }
}

impl std::fmt::Debug for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Constraint({})", self.name)
    }
}

struct PerStep {
    function: Arc<dyn Reward>,
    factor: f32,
}

impl Reward for PerStep {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        Ok(self.function.reward(transitions)? * self.factor)
    }
}
