//! Policies whose probabilities are known beside them.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};

use super::parts::{Policy, Reward};
use crate::dataset::{EpisodeMarks, Transitions};
use crate::error::BoxError;
use crate::rng::RowStreams;

/// A policy, and a function of states and actions that says how probable its actions are.
pub struct WithLogProb {
    /// What acts.
    pub policy: Arc<dyn Policy>,
    /// The logarithm of the probability, or of the density. It sees the states once more in place of the next ones.
    pub log_prob: Arc<dyn Reward>,
}

impl std::fmt::Debug for WithLogProb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WithLogProb")
    }
}

impl Policy for WithLogProb {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        self.policy.act(states, draws)
    }

    fn log_probs(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Option<Array1<f64>>, BoxError> {
        let transitions = Transitions { states, actions, next_states: states };
        Ok(Some(self.log_prob.reward(&transitions)?.mapv(f64::from)))
    }

    fn gives_scores(&self) -> bool {
        self.policy.gives_scores()
    }

    fn may_be_shared(&self) -> bool {
        self.policy.may_be_shared()
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        self.policy.learned_from()
    }

    fn learned_in_worlds(&self) -> bool {
        self.policy.learned_in_worlds()
    }
}
