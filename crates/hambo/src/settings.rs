//! How a policy is evaluated.

use serde::{Deserialize, Serialize};

use crate::adversary::AdversarySettings;
use crate::error::{Error, Result};
use crate::opinions::BaselineSettings;
use crate::thresholds::Thresholds;
use crate::variant::Variant;
use crate::warning::{Warning, WeakerSetting};

/// How a policy is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSettings {
    /// If empty, the one that certifies: the limit over an ensemble's worlds; for Gaussian processes
    /// CA, with DS beside it.
    pub variants: Vec<Variant>,
    /// Whether the paper's adversaries CA, DA1 and DAinf play as well. Where the limit over worlds is
    /// the certificate, they are stress tests, and it does not depend on them.
    pub stress: bool,
    /// Probability with which the bound may fail; in (0, 1). For Gaussian processes one half of it
    /// is the model's and one half the Monte Carlo limit's; for an ensemble the result says what it is.
    pub delta: f64,
    /// Factor on CA's confidence box, whose half-width is otherwise the calibrated epistemic
    /// standard deviation or, for Gaussian processes, the proven one; not negative. The other
    /// variants have no box, and neither this nor the temperatures affect them.
    pub beta: f32,
    /// Whether temperatures below one narrow CA's box, as they do in the paper.
    pub narrow_box: bool,
    /// Whether rollouts draw aleatoric noise.
    pub noise: bool,
    /// Fresh episodes behind each estimate.
    pub episodes: usize,
    /// Adversaries trained from scratch per learned variant; the lowest bound counts.
    pub attempts: usize,
    /// Episodes of CA's adversary for each output that it may shift, which show where its harm
    /// comes from; zero skips that. No bound depends on them.
    pub cost_episodes: usize,
    /// How the adversaries of CA and DA1 are trained.
    pub adversary: AdversarySettings,
    /// When warnings are raised.
    pub thresholds: Thresholds,
    /// How the field's estimators are computed beside the bound; none to do without them. No bound depends on
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baselines: Option<BaselineSettings>,
    /// Set this if the reward or termination deliberately differs from the logged one. Silences both
    /// warnings about it.
    pub rules_differ: bool,
    /// Settings weaker than the defaults that may nevertheless lead to CERTIFIED, by name: `beta`,
    /// `noise`, `variants`, `adversary.patience`, `thresholds.outside_data`, ...; of the fit, `max_steps`, `hidden`.
    pub accept_weaker: Vec<String>,
    /// Warnings that may nevertheless lead to CERTIFIED, by code, such as `at_limits`. The verdict names them.
    pub allow: Vec<String>,
}

impl Default for EvaluationSettings {
    fn default() -> Self {
        Self {
            variants: Vec::new(),
            stress: false,
            delta: 0.05,
            beta: 1.0,
            narrow_box: false,
            noise: true,
            episodes: 2_000,
            attempts: 1,
            cost_episodes: 200,
            adversary: AdversarySettings::default(),
            thresholds: Thresholds::default(),
            baselines: None,
            rules_differ: false,
            accept_weaker: Vec::new(),
            allow: Vec::new(),
        }
    }
}

impl EvaluationSettings {
    /// Changed to what the paper does with an ensemble: CA, DA1 and DAinf decide, with DS beside them.
    pub fn as_in_paper(self) -> Self {
        Self { variants: Variant::of_paper(1), narrow_box: true, ..self }
    }

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
        let is_known = |code: &&String| Warning::CODES.contains(&code.as_str());
        if let Some(code) = self.allow.iter().find(|code| !is_known(code)) {
            return wrong("allow", format!("`{code}`"), "codes of warnings, such as `at_limits`");
        }
        if self.allow.iter().any(|code| code == "weaker_setting") {
            let expected =
                "other warnings; settings are accepted by their names, in `accept_weaker`";
            return wrong("allow", "`weaker_setting`".into(), expected);
        }
        self.thresholds.validate()?;
        self.baselines.as_ref().map_or(Ok(()), BaselineSettings::validate)?;
        self.adversary.validate()
    }

    /// Whether the user has allowed this warning.
    pub(crate) fn allows(&self, warning: &Warning) -> bool {
        self.allow.iter().any(|code| code == warning.code())
    }

    /// What is played with a model of so many members.
    pub(crate) fn played(&self, members: usize) -> Vec<Variant> {
        let mut played = match (self.variants.is_empty(), members) {
            (false, _) => self.variants.clone(),
            (true, 0) => Variant::of_paper(0),
            (true, _) => vec![Variant::Worlds],
        };
        if self.stress {
            for variant in Variant::of_paper(members) {
                if !played.contains(&variant) {
                    played.push(variant);
                }
            }
        }
        played
    }

    /// What is weaker than the defaults, for a model with so many members.
    pub(crate) fn weaker(&self, members: usize) -> Vec<WeakerSetting> {
        let needed = Variant::certifying(members);
        let played = self.played(members);
        let mut weaker = Vec::new();
        // Without a conservative variant there is no bound that could be too high.
        if !played.iter().any(|variant| variant.is_conservative()) {
            return weaker;
        }
        let usual = Self::default();
        let mut add = |name: &str, value: String, default: String| {
            weaker.push(WeakerSetting::new(name, value, default));
        };
        let has_worlds = played.contains(&Variant::Worlds);
        if self.beta < usual.beta && !has_worlds {
            add("beta", self.beta.to_string(), usual.beta.to_string());
        }
        if self.narrow_box && !has_worlds {
            add("narrow_box", "true".into(), "false".into());
        }
        if !self.noise {
            add("noise", "false".into(), "true".into());
        }
        let (now, then) = (&self.adversary, &usual.adversary);
        let learns = !has_worlds
            && played.iter().any(|variant| matches!(variant, Variant::Ca | Variant::Da1));
        if learns && now.patience < then.patience {
            add("adversary.patience", now.patience.to_string(), then.patience.to_string());
        }
        if learns && now.tolerance > then.tolerance {
            add("adversary.tolerance", now.tolerance.to_string(), then.tolerance.to_string());
        }
        if !played.contains(&needed) {
            add("variants", listed(&played), needed.to_string());
        }
        for (name, value, default) in self.thresholds.loosened() {
            add(name, value.to_string(), default.to_string());
        }
        weaker
    }
}

fn listed(variants: &[Variant]) -> String {
    variants.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_not_weaker_than_themselves() {
        assert_eq!(EvaluationSettings::default().weaker(5), []);
    }

    #[test]
    fn every_way_to_a_higher_bound_is_named() {
        let mut settings = EvaluationSettings {
            beta: 0.5,
            narrow_box: true,
            noise: false,
            variants: vec![Variant::Da1, Variant::Ds],
            ..EvaluationSettings::default()
        };
        settings.adversary.patience = 1;
        settings.adversary.tolerance = 0.5;
        settings.thresholds.outside_data = 1.0;
        settings.thresholds.weak_calibration = 0.001;
        let weaker = settings.weaker(5);
        let names: Vec<&str> = weaker.iter().map(|weaker| &*weaker.name).collect();
        let expected = [
            "beta",
            "narrow_box",
            "noise",
            "adversary.patience",
            "adversary.tolerance",
            "variants",
            "thresholds.outside_data",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn gaussian_processes_have_no_members_to_play_with() {
        let variants = vec![Variant::Ca];
        let settings = EvaluationSettings { variants, ..EvaluationSettings::default() };
        assert_eq!(settings.weaker(0), []);
        assert_eq!(settings.weaker(5).len(), 1);
    }
}
