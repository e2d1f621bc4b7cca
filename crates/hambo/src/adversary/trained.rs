//! A trained adversary, and how its training went.

use serde::{Deserialize, Serialize};

use crate::bound::Estimate;

/// One round of training, judged on common random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Return that the round's adversary left to the policy.
    pub attained: Estimate,
    /// The same minus the neutral return, pair by pair: what the adversary costs.
    pub effect: Estimate,
}

/// A trained adversary, with the evidence that it is one.
#[derive(Debug, Clone)]
pub struct Trained<A> {
    /// The best adversary seen, acting without exploration.
    pub adversary: A,
    /// What each round of training came to.
    pub rounds: Vec<Round>,
    /// The most harmful of the choices that need no training; 0 is the neutral one.
    pub(super) simple: usize,
    /// The round whose adversary was kept; `None` if none was more harmful than the simple choices.
    pub best_round: Option<usize>,
    /// Whether the last rounds no longer improved beyond error.
    pub converged: bool,
    /// Times that training diverged and began again.
    pub restarts: usize,
}
