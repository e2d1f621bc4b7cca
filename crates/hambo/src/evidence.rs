//! What the final rollouts of a variant show beside their mean: enough to draw every figure of a
//! report, and little enough to store with the result.

use serde::{Deserialize, Serialize};

use crate::bound::Estimate;

/// What a variant's final rollouts show beside their mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The returns' quantiles at 0, 1, ..., 100 percent.
    pub return_quantiles: Vec<f64>,
    /// The course of the episodes, at most two hundred points. The last stands where the last
    /// episode ends, and repeats the variant's own estimate.
    pub over_horizon: Vec<HorizonPoint>,
    /// For CA: which output costs how much.
    pub costs: Option<Costs>,
    /// Where the members disagree most, in the first episodes.
    #[serde(default)]
    pub places: Vec<Place>,
}

/// What would have been found over the first steps alone, by an adversary that expected to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HorizonPoint {
    /// How many of the first steps.
    pub steps: usize,
    /// Mean of the rewards so far, discounted as the task says.
    pub estimate: Estimate,
    /// Its one-sided Monte Carlo limit.
    pub lower_bound: f64,
    /// Mean epistemic std since the point before, per output, in the output's units.
    /// Variants in which members decide are asked in the first few hundred episodes only.
    pub epistemic_std: Vec<f64>,
    /// The policy's mean action since the point before.
    #[serde(default)]
    pub actions: Vec<f64>,
    /// The mean action of the same steps in the logs; none if no logged episode lasts so long without a gap.
    #[serde(default)]
    pub logged_actions: Vec<f64>,
}

/// Return that the continuous adversary takes, against no shift at all, on common random numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Of the whole adversary.
    pub all: Estimate,
    /// Of the same adversary when it may shift one output only, per output; a learned reward is the
    /// last. They need not add up: shifts help each other, or do the same harm twice.
    pub alone: Vec<Estimate>,
}

impl Evidence {
    /// What each step adds to the return: for every point of `over_horizon` its number of steps,
    /// and the mean per step since the point before.
    pub fn reward_per_step(&self) -> Vec<(usize, f64)> {
        let (mut steps, mut total) = (0, 0.0);
        let since_before = |point: &HorizonPoint| {
            let mean = (point.estimate.mean - total) / (point.steps - steps).max(1) as f64;
            (steps, total) = (point.steps, point.estimate.mean);
            (steps, mean)
        };
        self.over_horizon.iter().map(since_before).collect()
    }
}

/// The states of one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// `return` as the task defines it.
    pub total: f64,
    /// `[steps][d_s]`
    pub states: Vec<Vec<f32>>,
}

/// Values of a column in which the policy's steps are much less certain than elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// A column of the state or of the action.
    pub column: String,
    /// From here.
    pub low: f32,
    /// To here.
    pub high: f32,
    /// Share of the policy's steps in which it has such a value.
    pub steps: f64,
    /// Share of the worlds' squared disagreement, in units of what is usual in the logs.
    pub disagreement: f64,
    /// Share of the logged transitions with such a value.
    pub logged: f64,
}
