//! How the other estimators are computed.

use serde::{Deserialize, Serialize};

use crate::dynamics::ensemble::EnsembleSettings;
use crate::error::{Error, Result};

/// How the other estimators are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct BaselineSettings {
    /// Value functions of fitted Q evaluation, each on a draw of the episodes.
    pub members: usize,
    /// Widths of their hidden layers.
    pub hidden: Vec<usize>,
    /// Steps of gradient descent.
    pub steps: usize,
    /// Transitions per step.
    pub batch_size: usize,
    /// Of Adam, at the beginning; it falls to zero along a cosine.
    pub learning_rate: f64,
    /// Share of the learning rate by which the networks' weights shrink in every step.
    pub weight_decay: f64,
    /// Share of the way that the targets follow the values in every step; by default so large that values are carried
    /// over the horizon five times, and 0.02 at least.
    pub target_rate: Option<f64>,
    /// Rollouts behind MOPO, MOReL and the bootstrap of models.
    pub episodes: usize,
    /// Weights on MOPO's penalty; none to do without it.
    pub penalties: Vec<f64>,
    /// Resampled sets of episodes behind a bootstrap limit.
    pub resamples: usize,
    /// Whether the probabilities of logged actions are estimated where the logs do not say them. Whatever is weighed by
    /// them is as wrong as they are.
    pub estimate_probabilities: bool,
    /// How worlds without random functions are fitted again, on the same logs, for a plain bootstrap of models; none to
    /// do without it, because it takes as long as the fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refit: Option<EnsembleSettings>,
}

impl Default for BaselineSettings {
    fn default() -> Self {
        Self {
            members: 10,
            hidden: vec![64; 2],
            steps: 5_000,
            batch_size: 256,
            learning_rate: 2e-3,
            weight_decay: 0.01,
            target_rate: None,
            episodes: 1_000,
            penalties: vec![0.25, 0.5, 1.0, 2.0, 5.0],
            resamples: 2_000,
            estimate_probabilities: false,
            refit: None,
        }
    }
}

impl BaselineSettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |name, value: String, expected| Err(Error::Setting { name, value, expected });
        let counts = [
            ("baselines.members", self.members, 2, "at least two"),
            ("baselines.steps", self.steps, 1, "at least one"),
            ("baselines.batch_size", self.batch_size, 1, "at least one"),
            ("baselines.episodes", self.episodes, 2, "at least two"),
            ("baselines.resamples", self.resamples, 100, "at least a hundred"),
        ];
        for (name, value, least, expected) in counts {
            if value < least {
                return wrong(name, value.to_string(), expected);
            }
        }
        if self.hidden.contains(&0) {
            return wrong(
                "baselines.hidden",
                format!("{:?}", self.hidden),
                "widths of at least one",
            );
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return wrong("baselines.learning_rate", self.learning_rate.to_string(), "above zero");
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return wrong("baselines.weight_decay", self.weight_decay.to_string(), "not negative");
        }
        if let Some(rate) = self.target_rate.filter(|rate| !(*rate > 0.0 && *rate <= 1.0)) {
            return wrong("baselines.target_rate", rate.to_string(), "in (0, 1]");
        }
        if let Some(weight) =
            self.penalties.iter().find(|weight| !(**weight >= 0.0 && weight.is_finite()))
        {
            return wrong("baselines.penalties", weight.to_string(), "not negative");
        }
        Ok(())
    }
}
