//! How a policy is learned.

use serde::{Deserialize, Serialize};

use super::opponent::LearnAgainst;
use crate::error::{Error, Result, at_least_one, positive};

/// How a policy is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LearnSettings {
    /// Against whom it is learned.
    pub against: LearnAgainst,
    /// MOPO's weight: what a unit of the members' own standard deviation costs.
    pub penalty: f64,
    /// Learns from episodes of so many steps that begin in logged states (MBPO), as many steps as in whole
    /// episodes; by default from whole ones.
    pub branch: Option<usize>,
    /// Widths of the hidden layers of policy and critics.
    pub hidden: Vec<usize>,
    /// Gradient steps of copying what was done in the logs, before anything is learned; zero to begin with a random
    /// policy (not where logged steps alone teach).
    pub clone_steps: usize,
    /// How far a policy that learns from the logged steps alone may go from that copy, in nats of relative entropy
    /// per column of the actions, or per choice between a few. What goes one standard deviation from what was done
    /// goes half a nat. It is halved after a round after which a certificate would abstain, and doubled, up to this,
    /// after another one.
    pub leash: f64,
    /// Adam's step for policy and critics.
    pub learning_rate: f64,
    /// Adam's step for the entropy coefficient; the logged steps alone teach with a leash in place of it.
    pub entropy_learning_rate: f64,
    /// Entropy coefficient at the start, in units of the reward's standard deviation; the logged steps alone teach
    /// with a leash in place of it.
    pub entropy_coef: f64,
    /// Largest discount inside the critics, who use the task's if that is smaller. The policy is judged by the
    /// task's.
    pub discount: f32,
    /// Share of the way that target critics go towards the critics in every step.
    pub target_rate: f64,
    /// Rows per gradient step.
    pub batch_size: usize,
    /// Episodes per round that the policy learns from, in all worlds together.
    pub episodes: usize,
    /// Gradient steps per round.
    pub gradient_steps: usize,
    /// Steps remembered.
    pub replay_capacity: usize,
    /// Episodes per round and world that the policy is judged by.
    pub judged_episodes: usize,
    /// Most rounds.
    pub max_rounds: usize,
    /// Rounds without a better policy before learning stops.
    pub patience: usize,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self {
            against: LearnAgainst::Logs,
            penalty: 1.0,
            branch: None,
            hidden: vec![256; 2],
            clone_steps: 3_000,
            leash: 0.25,
            learning_rate: 1e-3,
            entropy_learning_rate: 1e-3,
            entropy_coef: 0.01,
            discount: 0.99,
            target_rate: 5e-3,
            batch_size: 256,
            episodes: 100,
            gradient_steps: 1_000,
            replay_capacity: 500_000,
            judged_episodes: 50,
            max_rounds: 40,
            patience: 15,
        }
    }
}

impl LearnSettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        at_least_one([
            ("hidden", self.hidden.iter().copied().min().unwrap_or(0)),
            ("batch_size", self.batch_size),
            ("episodes", self.episodes),
            ("gradient_steps", self.gradient_steps),
            ("replay_capacity", self.replay_capacity),
            ("judged_episodes", self.judged_episodes),
            ("max_rounds", self.max_rounds),
            ("patience", self.patience),
            ("branch", self.branch.unwrap_or(1)),
        ])?;
        if self.against == LearnAgainst::Logs && self.clone_steps == 0 {
            let (name, value) = ("clone_steps", "0".to_owned());
            let expected = "above zero, because what logs alone teach stays near a copy";
            return Err(Error::Setting { name, value, expected });
        }
        positive([
            ("penalty", self.penalty, f64::MAX),
            ("leash", self.leash, f64::MAX),
            ("learning_rate", self.learning_rate, f64::MAX),
            ("entropy_learning_rate", self.entropy_learning_rate, f64::MAX),
            ("entropy_coef", self.entropy_coef, f64::MAX),
            ("discount", f64::from(self.discount), 1.0),
            ("target_rate", self.target_rate, 1.0),
        ])
    }
}
