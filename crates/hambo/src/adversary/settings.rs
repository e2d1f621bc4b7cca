//! How an adversary is trained.

use serde::{Deserialize, Serialize};

use crate::error::{Result, at_least_one, positive};

/// How an adversary is trained. Defaults are the paper's where it has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AdversarySettings {
    /// Widths of the hidden layers of actor and critics.
    pub hidden: Vec<usize>,
    /// Adam's step for actor and critics.
    pub learning_rate: f64,
    /// Adam's step for the entropy coefficient (SAC).
    pub entropy_learning_rate: f64,
    /// Entropy coefficient at the start, in units of the reward's standard deviation (SAC). The
    /// paper is silent; at its learning rate the coefficient hardly moves within twenty rounds, so
    /// it must start small enough not to drown the reward.
    pub entropy_coef: f64,
    /// Largest discount inside the critics, who use the task's if that is smaller. The bound itself
    /// uses the task's.
    pub discount: f32,
    /// Share of the way that target critics go towards the critics in every step.
    pub target_rate: f64,
    /// Rows per gradient step.
    pub batch_size: usize,
    /// Episodes per round, for learning and again for judging.
    pub episodes: usize,
    /// Gradient steps per round.
    pub gradient_steps: usize,
    /// Steps remembered.
    pub replay_capacity: usize,
    /// Least share of exploration while learning, after early rounds that explore more: of the
    /// episodes that keep one random choice throughout (1/2, 1/4, 1/6, ...), and in the others of
    /// DQN's random choices (1, 1/2, 1/3, ...).
    pub exploration: f64,
    /// Most rounds.
    pub max_rounds: usize,
    /// Rounds without improvement after which training has converged.
    pub patience: usize,
    /// What counts as improvement on the last round that did: more than its own standard error, and
    /// more than this share of what the adversary costs already.
    pub tolerance: f64,
    /// Most restarts, each with a third of the learning rate, after training diverged.
    pub max_restarts: usize,
}

impl Default for AdversarySettings {
    fn default() -> Self {
        Self {
            hidden: vec![256; 2],
            learning_rate: 1e-3,
            entropy_learning_rate: 5e-5,
            entropy_coef: 0.01,
            discount: 0.99,
            target_rate: 5e-3,
            batch_size: 1024,
            episodes: 1000,
            gradient_steps: 1000,
            replay_capacity: 1_000_000,
            exploration: 0.1,
            max_rounds: 30,
            patience: 4,
            tolerance: 0.01,
            max_restarts: 2,
        }
    }
}

impl AdversarySettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        at_least_one([
            ("hidden", self.hidden.iter().copied().min().unwrap_or(0)),
            ("batch_size", self.batch_size),
            ("episodes", self.episodes),
            ("gradient_steps", self.gradient_steps),
            ("replay_capacity", self.replay_capacity),
            ("max_rounds", self.max_rounds),
            ("patience", self.patience),
        ])?;
        positive([
            ("learning_rate", self.learning_rate, f64::MAX),
            ("entropy_learning_rate", self.entropy_learning_rate, f64::MAX),
            ("entropy_coef", self.entropy_coef, f64::MAX),
            ("discount", f64::from(self.discount), 1.0),
            ("target_rate", self.target_rate, 1.0),
            ("exploration", self.exploration, 1.0),
            ("tolerance", self.tolerance, 1.0),
        ])
    }
}
