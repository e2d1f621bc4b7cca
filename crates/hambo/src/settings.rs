//! How a policy is evaluated.

use serde::{Deserialize, Serialize};

use crate::adversary::AdversarySettings;
use crate::error::{Error, Result};
use crate::evaluation::Variant;

/// How a policy is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSettings {
    /// If empty, those that suit the model: CA and DS, and for an ensemble DA1 and DAinf.
    pub variants: Vec<Variant>,
    /// Probability with which the bound may fail; in (0, 1). For Gaussian processes one half of it
    /// is the model's and one half the Monte Carlo limit's; for an ensemble it is all the latter's.
    pub delta: f64,
    /// Factor on CA's confidence box, whose half-width is else the calibrated epistemic std or, for
    /// Gaussian processes, the one that is proven; not negative. The other variants have no box, and
    /// neither this nor the temperatures act on them.
    pub beta: f32,
    /// Whether rollouts draw aleatoric noise.
    pub noise: bool,
    /// Fresh episodes behind each estimate.
    pub episodes: usize,
    /// Adversaries trained from scratch per learned variant; the lowest bound counts.
    pub attempts: usize,
    /// Episodes of CA's adversary for each output that it may shift, which show what its harm is
    /// made of; zero leaves that out. No bound depends on them.
    pub cost_episodes: usize,
    pub adversary: AdversarySettings,
    /// A calibration error above this is warned about.
    pub weak_calibration: f64,
    /// A correlation above this between the model's errors in successive steps is warned about, where the
    /// errors matter.
    pub persistent_errors: f64,
    /// A share of steps outside the data above this is warned about: less certain than all of it, with
    /// actions like none of it, or moved back into its range.
    pub outside_data: f64,
    /// That the task's reward and termination differ from the logged ones on purpose, and that it is no
    /// doubt about the bound.
    pub rules_differ: bool,
}

impl Default for EvaluationSettings {
    fn default() -> Self {
        Self {
            variants: Vec::new(),
            delta: 0.05,
            beta: 1.0,
            noise: true,
            episodes: 10_000,
            attempts: 1,
            cost_episodes: 200,
            adversary: AdversarySettings::default(),
            weak_calibration: 0.01,
            persistent_errors: 0.2,
            outside_data: 0.05,
            rules_differ: false,
        }
    }
}

impl EvaluationSettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |name, value: String, expected| Err(Error::Setting { name, value, expected });
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return wrong("delta", self.delta.to_string(), "between 0 and 1");
        }
        if !(self.beta >= 0.0 && self.beta.is_finite()) {
            return wrong("beta", self.beta.to_string(), "not negative");
        }
        if self.episodes < 2 {
            return wrong("episodes", self.episodes.to_string(), "at least two");
        }
        if self.attempts == 0 {
            return wrong("attempts", "0".into(), "at least one");
        }
        self.adversary.validate()
    }
}
