//! Learning a policy that is safe to certify: `max over policies, min over worlds`.
//!
//! What is raised is the certificate's own criterion, the limit b = J̄ - q √(1 + 1/K) s over the worlds'
//! returns J_k. Its derivative by J_k is
//!
//!   w_k = 1/K - q √(1 + 1/K) (J_k - J̄) / ((K - 1) s)
//!
//! so that worlds in which the policy does badly count more. Soft actor-critic learns from episodes in
//! worlds that are drawn by these weights (none below zero), and after every round the policy is judged
//! in all worlds on the same starts and noise. The best that was seen is kept.

mod clone;
mod in_model;
mod policy;
mod settings;
mod train;

pub use policy::{ActionLimits, LearnedPolicy, PolicyParts};
pub use settings::LearnSettings;
pub use train::{Arena, LearnRound, Learned, train};
