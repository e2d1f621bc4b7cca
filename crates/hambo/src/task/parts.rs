//! What a user supplies: policy, reward and termination. A built-in task supplies its true dynamics.

use ndarray::{Array1, Array2, ArrayView2};

use crate::dataset::{EpisodeMarks, Transitions};
use crate::error::BoxError;
use crate::rng::{RowStreams, Stream};

/// Chooses actions. Randomness comes from each row's stream, so that a stochastic policy can be
/// replayed.
pub trait Policy: Send + Sync {
    /// Actions `[batch, d_a]` for states `[batch, d_s]`.
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError>;

    /// Logarithms of the probabilities, or densities, of actions `[batch, d_a]` in states `[batch, d_s]`, if it knows
    /// them: `[batch]`, minus infinity for what it never does.
    fn log_probs(
        &self,
        _states: ArrayView2<'_, f32>,
        _actions: ArrayView2<'_, f32>,
    ) -> Result<Option<Array1<f64>>, BoxError> {
        Ok(None)
    }

    /// Whether it gives a score for each choice, of which the highest is meant, where actions are choices.
    fn gives_scores(&self) -> bool {
        false
    }

    /// Whether answers depend on states and draws alone, so that several threads may ask in any order. One that keeps a
    /// memory of its calls, or random numbers of its own, must say no.
    fn may_be_shared(&self) -> bool {
        true
    }

    /// The episodes of the model by whose worlds it was chosen, if it was: their errors have chosen it.
    fn learned_from(&self) -> Option<&EpisodeMarks> {
        None
    }

    /// Whether worlds did not only choose it, but taught it.
    fn learned_in_worlds(&self) -> bool {
        false
    }
}

/// Known reward of a transition, one value per row.
pub trait Reward: Send + Sync {
    /// `[rows]`
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError>;
}

/// Whether a transition ended the episode, one value per row.
pub trait Termination: Send + Sync {
    /// `[rows]`
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError>;
}

/// The true dynamics, known for the built-in tasks only.
pub trait Simulator: Send + Sync {
    /// Columns of a state.
    fn state_dim(&self) -> usize;

    /// Columns of an action.
    fn action_dim(&self) -> usize;

    /// Next states `[batch, d_s]`.
    fn next_states(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        rng: &mut Stream,
    ) -> Array2<f32>;
}
