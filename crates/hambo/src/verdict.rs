//! The one word that decides, and the rule behind it.

use std::fmt;

use crate::evaluation::Evaluation;
use crate::warning::Warning;

/// What an evaluation says about a threshold.
///
/// | verdict | when |
/// |---|---|
/// | no threshold | nobody said what the return should reach, or what the policy should be better than |
/// | not certified | the bound is below the threshold, that on the improvement below its margin, or a constraint's below zero |
/// | inconclusive | all bounds are high enough, but a warning says that one of them may be too high; or there is no bound, because no conservative variant ran |
/// | certified | all bounds are high enough, and there is no such warning, or the user has allowed it |
///
/// A bound that is too low already is not helped by warnings: they all say that it may be too
/// *high*.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// All bounds are high enough.
    Certified {
        /// Settings weaker than the defaults that the user has accepted, such as `beta = 0.5`, and warnings that
        /// the user has allowed, such as `allow = at_limits`.
        weaker: Vec<String>,
    },
    /// The data does not prove it. That is no proof of the opposite.
    NotCertified,
    /// A bound may be too high.
    Inconclusive {
        /// Why. Empty if there is no bound at all.
        warnings: Vec<Warning>,
    },
    /// Nothing was asked.
    NoThreshold,
}

impl Verdict {
    /// The verdict on an evaluation whose return should reach `threshold`.
    pub fn of(evaluation: &Evaluation, threshold: Option<f64>) -> Self {
        let of_return = threshold.map(|threshold| (evaluation.lower_bound, threshold));
        let of_improvement = evaluation
            .improvement
            .as_ref()
            .and_then(|found| found.margin.map(|margin| (Some(found.lower_bound), margin)));
        let mut bounds: Vec<(Option<f64>, f64)> =
            of_return.into_iter().chain(of_improvement).collect();
        if bounds.is_empty() {
            return Self::NoThreshold;
        }
        bounds.extend(evaluation.constraints.iter().map(|c| (c.lower_bound, 0.0)));
        // Asked in this way, a NaN on either side certifies nothing.
        let reached = |&(bound, least): &(Option<f64>, f64)| bound.is_none_or(|b| b >= least);
        if !bounds.iter().all(reached) {
            return Self::NotCertified;
        }
        let disqualifying = evaluation.warnings.iter().filter(|warning| warning.disqualifies());
        let is_allowed = |warning: &&Warning| evaluation.settings.allows(warning);
        let (allowed, warnings): (Vec<&Warning>, Vec<&Warning>) =
            disqualifying.partition(is_allowed);
        if warnings.is_empty() && bounds.iter().all(|(bound, _)| bound.is_some()) {
            let mut weaker = accepted(&evaluation.warnings);
            for warning in allowed {
                let text = format!("allow = {}", warning.code());
                if !weaker.contains(&text) {
                    weaker.push(text);
                }
            }
            Self::Certified { weaker }
        } else {
            Self::Inconclusive { warnings: warnings.into_iter().cloned().collect() }
        }
    }

    /// A word or two in capitals.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Certified { .. } => "CERTIFIED",
            Self::NotCertified => "NOT CERTIFIED",
            Self::Inconclusive { .. } => "INCONCLUSIVE",
            Self::NoThreshold => "NO THRESHOLD",
        }
    }

    /// The same for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Certified { .. } => "certified",
            Self::NotCertified => "not_certified",
            Self::Inconclusive { .. } => "inconclusive",
            Self::NoThreshold => "no_threshold",
        }
    }
}

fn accepted(warnings: &[Warning]) -> Vec<String> {
    let weaker = |warning: &Warning| match warning {
        Warning::WeakerSetting { setting, value, .. } => Some(format!("{setting} = {value}")),
        _ => None,
    };
    warnings.iter().filter_map(weaker).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Certified { weaker } if !weaker.is_empty() => {
                write!(f, " WITH WEAKER SETTINGS ({})", weaker.join(", "))
            }
            _ => Ok(()),
        }
    }
}
