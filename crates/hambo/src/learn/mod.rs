//! Learning a policy that is worth certifying.
//!
//! By default it is learned from the logged steps alone, by soft actor-critic near a copy of what was done.
//! What learns in worlds finds what all of them get wrong, other ones of the same kind of logs included, and
//! then no certificate is to be relied on; see docs/learn.md for how often.
//!
//! The paper's `max over policies, min over worlds` is here, too. What is raised is the certificate's limit as far
//! as worlds differ, b = J̄ - q √(1 + 1/K) s over the worlds' returns J_k. Its derivative by J_k is
//!
//!   w_k = 1/K - q √(1 + 1/K) (J_k - J̄) / ((K - 1) s)
//!
//! so that worlds in which the policy does badly count more. Soft actor-critic learns from steps that are
//! drawn from all worlds by these weights (none below zero), or against the paper's adversaries, or with
//! MOPO's penalty.
//!
//! Whatever it learns against, after every round the policy is judged in all worlds on the same starts and
//! noise, and the best that was seen is kept. A round in which the policy leaves the data so far that a
//! certificate would abstain does not count.

mod actions;
mod clone;
mod in_model;
mod logged_steps;
mod memory;
mod opponent;
mod policy;
mod referee;
mod settings;
mod toll;
mod train;
mod worlds;

pub use actions::{ActionLimits, ActionSpace};
pub use opponent::LearnAgainst;
pub use policy::{LearnedPolicy, PolicyParts};
pub use settings::LearnSettings;
#[cfg(feature = "internals")]
pub use train::{Arena, train};
pub use train::{LearnRound, Learned};
