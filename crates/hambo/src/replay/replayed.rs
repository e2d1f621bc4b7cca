//! What a replay showed.

use serde::{Deserialize, Serialize};

use crate::bound::Estimate;

/// What a replay with one factor on the noise showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The factor.
    pub noise: f32,
    /// Group by group.
    pub groups: Vec<ReplayedGroup>,
}

/// What a replay showed over a horizon.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AtHorizon {
    /// Steps.
    pub(crate) horizon: usize,
    /// How much of it pieces last, on average.
    pub(crate) covered: f64,
    /// Group by group.
    pub(crate) groups: Vec<ReplayedGroup>,
}

/// Episodes that have something in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayedGroup {
    /// Their source, or how close they are to the policy.
    pub name: String,
    /// How many.
    pub episodes: usize,
    /// Whether these are pieces of them that do not start where they did.
    #[serde(default)]
    pub is_later: bool,
    /// What they earned on average, in pieces of at most the horizon.
    pub earned: f64,
    /// By how much worlds that have not seen them overestimate that.
    pub bias: f64,
    /// Standard error of the bias.
    pub std_error: f64,
    /// Skewness of the episodes' differences: positive when a few are overestimated much more than the others.
    #[serde(default)]
    pub skewness: f64,
    /// Mean absolute error per episode.
    pub absolute_error: f64,
    /// Standard deviation of the worlds' means over the group.
    pub spread: f64,
    /// What the bias may be, with confidence.
    pub largest_bias: f64,
}

impl ReplayedGroup {
    /// What the bias may be, with probability 1 - δ.
    pub(crate) fn largest_bias_at(&self, delta: f64) -> f64 {
        let underestimate = Estimate {
            mean: -self.bias,
            std_error: self.std_error,
            independent: self.episodes,
            skewness: -self.skewness,
        };
        -underestimate.lower_limit(delta)
    }
}
