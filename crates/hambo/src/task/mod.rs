//! What is to be evaluated: a policy in a task.
//!
//! Everything here works on batches: states `[batch, d_s]`, actions `[batch, d_a]`, row-major
//! float32. A policy may be a controller written in Rust, an exported network or a callback into
//! another language; none of them knows how the dynamics are modelled.

pub mod pendulum;
pub mod point_env;
pub mod point_safety;

mod against;
mod ask;
mod bounds;
mod choices;
mod constraint;
mod controllers;
mod density;
mod initial;
mod invariants;
mod parts;
mod present;

use std::fmt;
use std::sync::Arc;

use ndarray::Array1;

pub use against::{Against, Baseline};
pub(crate) use ask::{act, log_probs, reward, terminated};
pub use bounds::{RewardLimits, StateBounds, StateLimits};
pub use choices::Choices;
pub use constraint::Constraint;
pub use controllers::{NoisyPolicy, UniformPolicy};
pub use density::WithLogProb;
pub use initial::{InitialStates, Starts};
pub use invariants::Invariants;
pub use parts::{Policy, Reward, Simulator, Termination};
pub(crate) use present::Asked;

use crate::dataset::{Batch, EpisodeMarks};
use crate::error::{Error, Result};

/// Where a return comes from: starts, rewards, ends, and how long to go on.
#[derive(Clone)]
pub struct Task {
    /// Where episodes start.
    pub initial_states: InitialStates,
    /// `None` when the reward is learned from the data.
    pub reward: Option<Arc<dyn Reward>>,
    /// `None` when episodes end at the horizon only.
    pub termination: Option<Arc<dyn Termination>>,
    /// Steps per episode, `T`.
    pub horizon: usize,
    /// Weight of a reward relative to the one before it, in (0, 1]; 1 means none.
    pub discount: f32,
    /// What every state obeys; `None` for the data's range, widened.
    pub state_bounds: Option<StateBounds>,
    /// Smallest and largest reward of a step, if the reward is learned; `None` for the logged range,
    /// widened.
    pub reward_bounds: Option<[f32; 2]>,
    /// The least that a step can earn, if that is known. Episodes that leave the data then stop, and earn
    /// it in every step that is left; `None` to go on there.
    pub floor: Option<f32>,
    /// What else must hold; each is bounded on its own.
    pub constraints: Vec<Constraint>,
    /// What the policy must be better than, if anything.
    pub against: Option<Against>,
    /// The episodes that the policy was trained on, if somebody has said it.
    pub trained_on: Option<EpisodeMarks>,
}

impl Task {
    /// A task without termination, discount, bounds or constraints.
    pub fn new(
        initial_states: InitialStates,
        reward: Option<Arc<dyn Reward>>,
        horizon: usize,
    ) -> Self {
        Self {
            initial_states,
            reward,
            termination: None,
            horizon,
            discount: 1.0,
            state_bounds: None,
            reward_bounds: None,
            floor: None,
            constraints: Vec::new(),
            against: None,
            trained_on: None,
        }
    }

    /// Checks that the settings make sense together.
    pub fn validate(&self) -> Result<()> {
        if self.horizon == 0 {
            let value = self.horizon.to_string();
            return Err(Error::Setting { name: "horizon", value, expected: "at least one step" });
        }
        if !(self.discount > 0.0 && self.discount <= 1.0) {
            let value = self.discount.to_string();
            return Err(Error::Setting { name: "discount", value, expected: "in (0, 1]" });
        }
        // Asked in this way, a NaN is no limit.
        let is_range = |[low, high]: &[f32; 2]| low <= high;
        if let Some([low, high]) = self.reward_bounds.filter(|bounds| !is_range(bounds)) {
            let value = format!("{low} to {high}");
            return Err(Error::Setting { name: "reward_bounds", value, expected: "low <= high" });
        }
        if let Some(floor) = self.floor.filter(|floor| !floor.is_finite()) {
            let value = floor.to_string();
            return Err(Error::Setting { name: "floor", value, expected: "a number" });
        }
        for (index, Constraint { name, .. }) in self.constraints.iter().enumerate() {
            let is_taken = |other: &Constraint| other.name == *name;
            if name == "return" || self.constraints[..index].iter().any(is_taken) {
                let (value, expected) = (format!("`{name}`"), "a name of its own, not `return`");
                return Err(Error::Setting { name: "constraints", value, expected });
            }
        }
        let margin = self.against.as_ref().and_then(|against| against.margin);
        if let Some(margin) = margin.filter(|margin| !margin.is_finite()) {
            let value = margin.to_string();
            return Err(Error::Setting { name: "margin", value, expected: "a number" });
        }
        Ok(())
    }

    /// What logged steps earn: by the rule, or as logged.
    pub(crate) fn rewards_of(&self, logged: &Batch) -> Result<Array1<f32>> {
        match &self.reward {
            Some(rule) => reward(&**rule, &logged.transitions()),
            None => Ok(logged.rewards.clone()),
        }
    }

    /// The same task with the mean of a constraint in place of the return.
    pub(crate) fn of_constraint(&self, constraint: &Constraint) -> Self {
        let reward = Some(constraint.per_step(self.horizon));
        // The floor is one of rewards.
        Self { reward, discount: 1.0, floor: None, against: None, ..self.clone() }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("initial_states", &self.initial_states)
            .field("reward", if self.reward.is_some() { &"known" } else { &"learned" })
            .field("terminates", &self.termination.is_some())
            .field("horizon", &self.horizon)
            .field("discount", &self.discount)
            .field("state_bounds", &self.state_bounds)
            .field("reward_bounds", &self.reward_bounds)
            .field("floor", &self.floor)
            .field("constraints", &self.constraints)
            .field("against", &self.against)
            .finish()
    }
}
