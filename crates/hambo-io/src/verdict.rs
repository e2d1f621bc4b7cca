//! The one word at the top of a report, and the rule behind it.

use std::fmt;

use hambo::{Evaluation, Warning};
use serde::{Deserialize, Serialize};

/// What an evaluation says about a threshold.
///
/// | verdict | when |
/// |---|---|
/// | no threshold | nobody said what the return should reach |
/// | not certified | the bound is below the threshold, or a constraint's bound is below zero |
/// | inconclusive | all bounds are high enough, but a doubt says that one of them may be too high; or there is no bound, because no conservative variant ran |
/// | certified | all bounds are high enough, and no such doubt exists |
///
/// A bound that is too low already is not helped by doubts: they all say that it may be too *high*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Certified,
    /// The data does not prove it. That is no proof of the opposite.
    NotCertified,
    /// `doubts` is empty if there is no bound at all.
    Inconclusive {
        doubts: Vec<Warning>,
    },
    NoThreshold,
}

impl Verdict {
    pub fn of(evaluation: &Evaluation, threshold: Option<f64>) -> Self {
        let Some(threshold) = threshold else { return Self::NoThreshold };
        let of_constraints = evaluation.constraints.iter().map(|c| (c.lower_bound, 0.0));
        let bounds: Vec<(Option<f64>, f64)> =
            std::iter::once((evaluation.lower_bound, threshold)).chain(of_constraints).collect();
        // Asked in this way, a NaN on either side certifies nothing.
        let reached = |&(bound, least): &(Option<f64>, f64)| bound.is_none_or(|b| b >= least);
        if !bounds.iter().all(reached) {
            return Self::NotCertified;
        }
        let doubts: Vec<Warning> =
            evaluation.warnings.iter().filter(|warning| disqualifies(warning)).cloned().collect();
        if doubts.is_empty() && bounds.iter().all(|(bound, _)| bound.is_some()) {
            Self::Certified
        } else {
            Self::Inconclusive { doubts }
        }
    }

    /// A word or two in capitals.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Certified => "CERTIFIED",
            Self::NotCertified => "NOT CERTIFIED",
            Self::Inconclusive { .. } => "INCONCLUSIVE",
            Self::NoThreshold => "NO THRESHOLD",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether a doubt is such that the bound may be too high.
///
/// | warning | disqualifies | because |
/// |---|---|---|
/// | `not_converged`, `under_trained` | yes | a stronger adversary would have found a lower bound |
/// | `outside_data` | yes, of conservative variants | no data says whether the model knows its error there |
/// | `weak_calibration` | yes | the box is not as wide as the model's error |
/// | `persistent_errors` | yes | true errors add up, where the model's cancel |
/// | `second_opinion` | yes | the model's own errors on the logs lead below the bound |
/// | `more_ends` | yes | what an end costs is learned from too few |
/// | `termination_contradicts_logs`, `reward_contradicts_logs` | yes | the bound is on another task than the logged one |
/// | `foreign_actions`, `at_limits` | yes, of conservative variants | no data says what follows there |
/// | `no_termination` | yes | the bound is on episodes that go on where real ones end |
/// | `estimated_norm`, `learned_kernel` | no | the proof no longer applies, but the bound stands where an ensemble's stands: on calibration |
/// | `few_starts` | no | the limit is wider for it already |
/// | `skewed_returns` | yes, of conservative variants | the limit fails more often than δ says |
/// | `diverged` | no | training began again, and whether it then converged is told apart |
/// | any other | yes | until somebody has thought about it |
///
/// Neutral variants bound nothing, so that their doubts are nobody's.
pub fn disqualifies(warning: &Warning) -> bool {
    match warning {
        Warning::NotConverged { variant, .. }
        | Warning::OutsideData { variant, .. }
        | Warning::ForeignActions { variant, .. }
        | Warning::AtLimits { variant, .. }
        | Warning::SkewedReturns { variant, .. } => variant.is_conservative(),
        Warning::EstimatedNorm { .. }
        | Warning::LearnedKernel
        | Warning::FewStarts { .. }
        | Warning::Diverged { .. } => false,
        _ => true,
    }
}
