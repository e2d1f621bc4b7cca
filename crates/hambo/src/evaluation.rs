//! What an evaluation found: the bound, and every doubt about it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::adversary::Round;
use crate::bound::Estimate;
use crate::calibration::Calibration;
use crate::dataset::DataIdentity;
use crate::evidence::Evidence;
use crate::guarantee::Guarantee;
use crate::settings::EvaluationSettings;

/// A way of using the model; see [`hallucination`](crate::hallucination).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Continuous adversary: shifts every next state within the calibrated confidence box.
    Ca,
    /// Discrete adversary: picks a member of the ensemble in every step.
    Da1,
    /// The worst member, for whole episodes.
    DaInf,
    /// Neutral, distribution sampling: one Gaussian with the total variance.
    Ds,
    /// Neutral, trajectory sampling: a random member in every step.
    Ts1,
    /// Neutral, trajectory sampling: a random member for whole episodes.
    TsInf,
}

impl Variant {
    /// What runs when nothing else is asked for: all adversaries that a model with so many members
    /// admits, and one neutral variant beside them.
    pub(crate) fn suitable(members: usize) -> Vec<Self> {
        match members {
            0 => vec![Self::Ca, Self::Ds],
            _ => vec![Self::Ca, Self::Da1, Self::DaInf, Self::Ds],
        }
    }

    /// Whether its return is meant as a lower bound. The others are neutral estimates.
    pub fn is_conservative(self) -> bool {
        matches!(self, Self::Ca | Self::Da1 | Self::DaInf)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ca => "CA",
            Self::Da1 => "DA1",
            Self::DaInf => "DAinf",
            Self::Ds => "DS",
            Self::Ts1 => "TS1",
            Self::TsInf => "TSinf",
        })
    }
}

/// The result of [`evaluate`](crate::evaluate()).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The smallest bound of the conservative variants that ran; `None` if only neutral ones did.
    pub lower_bound: Option<f64>,
    pub delta: f64,
    /// What `delta` is the probability of, in plain words.
    pub delta_covers: String,
    pub variants: Vec<VariantResult>,
    /// The return if the model errs as it did on logged transitions like each step. No bound;
    /// but a bound above it has the logs against it.
    #[serde(default)]
    pub second_opinion: Option<Estimate>,
    pub constraints: Vec<ConstraintResult>,
    pub calibration: Calibration,
    /// What is proven, for a model about which anything is.
    pub guarantee: Option<Guarantee>,
    /// The data behind the model.
    pub data: DataIdentity,
    /// Members of the ensemble; none for Gaussian processes.
    pub members: usize,
    pub horizon: usize,
    pub discount: f32,
    /// Smallest and largest value of every state dimension in the data.
    pub data_range: Vec<[f32; 2]>,
    /// Which limits hallucinated states were moved into.
    pub state_limits: StateLimits,
    pub warnings: Vec<Warning>,
    pub seed: u64,
    pub settings: EvaluationSettings,
    /// Seconds per stage.
    pub timings: BTreeMap<String, f64>,
    /// Version of this crate.
    pub version: String,
}

/// What one variant found about the return or about a constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    pub name: Variant,
    /// Mean return under this variant, on fresh rollouts.
    pub estimate: Estimate,
    /// Its one-sided Monte Carlo limit. For a neutral variant this bounds the neutral estimate, not
    /// the policy's return.
    pub lower_bound: f64,
    /// For committed adversaries: each member's estimate.
    pub members: Vec<Estimate>,
    /// For learned adversaries: whether the last rounds no longer improved.
    pub converged: Option<bool>,
    pub rounds: Vec<Round>,
    /// Times that training diverged and began again with a smaller step.
    pub restarts_after_divergence: usize,
    /// Share of steps whose epistemic std exceeds that of every calibration point. Variants in which
    /// members decide are asked about in the first few hundred episodes only.
    pub outside_data: f64,
    /// Share of steps whose next state was moved into the limits of the states.
    #[serde(default)]
    pub at_limits: f64,
    /// Share of steps in which the policy did what nobody did in the data: an action beyond its range, or
    /// between the few values that it has there.
    #[serde(default)]
    pub foreign_actions: f64,
    /// Share of the episodes that terminated.
    #[serde(default)]
    pub ended: f64,
    /// The episodes with the lowest returns among the first few hundred, worst first.
    pub worst: Vec<Trajectory>,
    pub evidence: Evidence,
}

/// The states of one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// `return` as the task defines it.
    pub total: f64,
    /// `[steps][d_s]`
    pub states: Vec<Vec<f32>>,
}

/// What was found about one constraint; see [`Constraint`](crate::Constraint) for the units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintResult {
    pub name: String,
    pub lower_bound: Option<f64>,
    pub variants: Vec<VariantResult>,
    #[serde(default)]
    pub second_opinion: Option<Estimate>,
}

/// Where hallucinated states may go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateLimits {
    /// The limits that the task declares.
    Task,
    /// The range of the data, widened on both sides by this share of its width.
    Data { widened: f32 },
}

/// A reason to doubt a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    NotConverged {
        objective: String,
        variant: Variant,
        rounds: usize,
    },
    /// An adversary that may change its mind did less harm than one that may not.
    UnderTrained {
        objective: String,
        difference: f64,
        std_error: f64,
    },
    OutsideData {
        objective: String,
        variant: Variant,
        share: f64,
    },
    WeakCalibration {
        error: f64,
    },
    /// Errors of the model that others like them follow: the state may lack something, or the model be
    /// trained too little.
    PersistentErrors {
        /// Which output of the model, counted from zero; a learned reward is the last.
        output: usize,
        autocorrelation: f64,
    },
    /// Rollouts with the errors that the model made on similar logged transitions fall below the bound.
    SecondOpinion {
        objective: String,
        bound: f64,
        estimate: f64,
        std_error: f64,
    },
    /// Episodes end far more often than the logged ones did, and what an end costs is learned from those.
    MoreEnds {
        objective: String,
        /// Shares of the episodes that terminate.
        hallucinated: f64,
        logged: f64,
    },
    /// The termination does not end the logged episodes where they ended.
    TerminationContradictsLogs {
        /// Logged ends at which the rule says that it goes on, of how many.
        missed: usize,
        terminal: usize,
        /// Other logged steps at which the rule says that it ends, of how many.
        invented: usize,
        ongoing: usize,
    },
    /// The reward is not the logged one.
    RewardContradictsLogs {
        /// Mean absolute difference, and that of the logged reward from its own mean.
        difference: f64,
        varies: f64,
        /// By how much the rule is higher on average.
        higher: f64,
    },
    /// The policy does what nobody did in the data.
    ForeignActions {
        objective: String,
        variant: Variant,
        share: f64,
    },
    /// Many states were moved into the data's range, so that harm beyond it is not seen.
    AtLimits {
        objective: String,
        variant: Variant,
        share: f64,
    },
    /// Nobody said how large the functions' norms may be.
    EstimatedNorm {
        largest: f64,
    },
    /// The data chose the kernel that the proof takes as given.
    LearnedKernel,
    FewStarts {
        observed: usize,
    },
    /// So few returns, some of them so low, that the Monte Carlo limit fails more often than it says.
    SkewedReturns {
        objective: String,
        variant: Variant,
        observed: usize,
        skewness: f64,
        /// About how often it fails.
        failures: f64,
    },
    /// Logged episodes terminated, but the task does not say when.
    NoTermination {
        terminated_episodes: usize,
    },
    Diverged {
        objective: String,
        variant: Variant,
        restarts: usize,
    },
}

impl Warning {
    /// What to try next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotConverged { .. } => {
                "raise `adversary.max_rounds`; until then the bound may be too high"
            }
            Self::UnderTrained { .. } => "raise `adversary.max_rounds` or `adversary.patience`",
            Self::OutsideData { .. } => {
                "collect data where the policy goes, or shorten the horizon"
            }
            Self::WeakCalibration { .. } => {
                "give more calibration data, or look for heavy-tailed errors"
            }
            Self::PersistentErrors { .. } => {
                "add to the state whatever has a memory (earlier values, the hour), or train longer"
            }
            Self::SecondOpinion { .. } => {
                "give a reward that jumps as a rule, collect data where the policy goes, or train the \
                 model longer"
            }
            Self::MoreEnds { .. } => "give the reward as a rule",
            Self::TerminationContradictsLogs { .. } => {
                "check its columns and units, and `next_` for the next state; set `rules_differ` if it \
                 differs on purpose"
            }
            Self::RewardContradictsLogs { .. } => {
                "check its columns and units; set `rules_differ` if it differs on purpose"
            }
            Self::ForeignActions { .. } => {
                "check the units of the policy's actions; for choices, that it gives one of the logged \
                 values, not a score"
            }
            Self::AtLimits { .. } => "give the task its state bounds, or shorten the horizon",
            Self::EstimatedNorm { .. } => "give `gp.norm_bound` if you know one",
            Self::LearnedKernel => {
                "give `gp.fixed` if you know the kernel; else trust the calibration, not the proof"
            }
            Self::NoTermination { .. } => "give the task its termination; it is not learned",
            Self::FewStarts { .. } | Self::SkewedReturns { .. } => {
                "give a sampler of initial states, or logs with more episodes"
            }
            Self::Diverged { .. } => "lower `adversary.learning_rate`",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConverged { objective, variant, rounds } => write!(
                f,
                "{objective}, {variant}: the adversary still improved after {rounds} rounds"
            ),
            Self::UnderTrained { objective, difference, std_error } => write!(
                f,
                "{objective}: DA1 lies above DAinf by {difference:.3} ± {std_error:.3}, \
                 so its adversary is under-trained"
            ),
            Self::OutsideData { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: {:.0} % of the steps are less certain than any \
                 calibration point, where calibration says nothing",
                100.0 * share
            ),
            Self::WeakCalibration { error } => {
                write!(f, "the calibration error is {error:.4} even with the best temperatures")
            }
            Self::PersistentErrors { output, autocorrelation } => write!(
                f,
                "the model's errors in output {output} (from 0; a learned reward is the last) follow \
                 each other (correlation {autocorrelation:.2}), but it takes them for fresh noise: the state leaves out something \
                 that matters, or the model is not trained enough"
            ),
            Self::SecondOpinion { objective, bound, estimate, std_error } => write!(
                f,
                "{objective}: with the errors that the model made on similar logged transitions it is \
                 {estimate:.3} ± {std_error:.3}, below the bound of {bound:.3}"
            ),
            Self::MoreEnds { objective, hallucinated, logged } => write!(
                f,
                "{objective}: {:.0} % of the episodes end before the horizon, of the logged ones \
                 {:.1} %: too few to learn what an end costs",
                100.0 * hallucinated,
                100.0 * logged
            ),
            Self::TerminationContradictsLogs { missed, terminal, invented, ongoing } => write!(
                f,
                "the termination contradicts the logs: it goes on at {missed} of {terminal} logged \
                 ends, and ends at {invented} of {ongoing} other steps"
            ),
            Self::RewardContradictsLogs { difference, varies, higher } => {
                let direction = if *higher > 0.0 { "higher" } else { "lower" };
                write!(
                    f,
                    "the reward contradicts the logs: it differs by {difference:.4} on average, where \
                     the logged one varies by {varies:.4}, and is {direction} by {:.4}",
                    higher.abs()
                )
            }
            Self::ForeignActions { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: in {:.0} % of the steps the policy's action is like none in \
                 the data",
                100.0 * share
            ),
            Self::AtLimits { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: in {:.0} % of the steps the state left the data's range and \
                 was moved back",
                100.0 * share
            ),
            Self::EstimatedNorm { largest } => write!(
                f,
                "the norms that the guarantee assumes were estimated from the model itself \
                 (the largest is {largest:.1})"
            ),
            Self::LearnedKernel => f.write_str(
                "the kernel's hyper-parameters were learned from the data, which the guarantee \
                 does not allow for",
            ),
            Self::FewStarts { observed } => {
                write!(f, "the Monte Carlo error rests on only {observed} observed initial states")
            }
            Self::SkewedReturns { objective, variant, observed, skewness, failures } => write!(
                f,
                "{objective}, {variant}: {observed} independent returns with a skewness of {skewness:.1} \
                 are too few for the Monte Carlo limit, which fails in about {:.0} % of such cases",
                100.0 * failures
            ),
            Self::NoTermination { terminated_episodes } => write!(
                f,
                "{terminated_episodes} logged episodes terminated, but the task has no termination: \
                 hallucinated episodes go on to the horizon"
            ),
            Self::Diverged { objective, variant, restarts } => write!(
                f,
                "{objective}, {variant}: training diverged {restarts} times and began again \
                 with a smaller step"
            ),
        }
    }
}
