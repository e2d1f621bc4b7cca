//! What an evaluation found: the bound, and every reason to doubt it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adversary::Round;
use crate::bound::Estimate;
use crate::calibration::Calibration;
use crate::dataset::DataIdentity;
use crate::evidence::{Evidence, Trajectory};
use crate::guarantee::Guarantee;
use crate::improvement::Improvement;
use crate::opinions::Baselines;
use crate::settings::EvaluationSettings;
use crate::task::{Invariants, RewardLimits, StateLimits};
use crate::variant::Variant;
use crate::warning::{Warning, with_texts};
use crate::whereabouts::Whereabouts;
use crate::worlds::WorldsLimit;

/// The result of [`Model::evaluate`](crate::Model::evaluate).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The limit over worlds if it was asked for, otherwise the smallest bound of the conservative
    /// variants that ran; `None` if only neutral ones did.
    pub lower_bound: Option<f64>,
    /// The variant whose bound that is.
    pub deciding: Option<Variant>,
    /// Probability with which the bound may fail.
    pub delta: f64,
    /// The part of `delta` that the Monte Carlo limits got.
    pub monte_carlo_delta: f64,
    /// What `delta` is the probability of, in plain words.
    pub delta_covers: String,
    /// What each variant found.
    pub variants: Vec<VariantResult>,
    /// The return if the model errs as it did on logged transitions like each step. No bound;
    /// but a bound above it has the logs against it.
    #[serde(default)]
    pub second_opinion: Option<Estimate>,
    /// How much better the policy is than what it was compared with.
    #[serde(default)]
    pub improvement: Option<Improvement>,
    /// Whether the policy was trained on the same episodes, if somebody has said what it was trained on.
    #[serde(default)]
    pub reuse: Option<Reuse>,
    /// What the field's estimators say of the return, if they were asked. No bound depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baselines: Option<Baselines>,
    /// What was found about the constraints, in the task's order.
    pub constraints: Vec<ConstraintResult>,
    /// How the model was calibrated.
    pub calibration: Calibration,
    /// What is proven, for a model about which anything is.
    pub guarantee: Option<Guarantee>,
    /// Half-width of CA's confidence box per output, in epistemic standard deviations.
    pub box_half_widths: Vec<f32>,
    /// The data behind the model.
    pub data: DataIdentity,
    /// Members of the ensemble; none for Gaussian processes.
    pub members: usize,
    /// Steps of an episode, at most.
    pub horizon: usize,
    /// Discount factor per step.
    pub discount: f32,
    /// Smallest and largest value of every state dimension in the data.
    pub data_range: Vec<[f32; 2]>,
    /// What every step earns after an episode has left the data, if the task says that.
    #[serde(default)]
    pub floor: Option<f32>,
    /// Which limits hallucinated states were moved into.
    pub state_limits: StateLimits,
    /// What else they obey, because all logged states do.
    #[serde(default)]
    pub invariants: Invariants,
    /// Which limits learned rewards were moved into; none if the reward is a rule.
    #[serde(default)]
    pub reward_limits: Option<RewardLimits>,
    /// Reasons to doubt the bound.
    #[serde(serialize_with = "with_texts")]
    pub warnings: Vec<Warning>,
    /// The seed of all randomness.
    pub seed: u64,
    /// The settings of the evaluation.
    pub settings: EvaluationSettings,
    /// Seconds per stage.
    pub timings: BTreeMap<String, f64>,
    /// Version of this crate.
    pub version: String,
    /// The instructions of the processor that it ran on: others may round differently. Empty in results of earlier
    /// versions.
    #[serde(default)]
    pub instruction_set: String,
}

impl Evaluation {
    /// The largest factor on the worlds' disagreement at which the bound still reaches `threshold`, and the
    /// factor that was used. None if no factor makes it reach that, or every one.
    pub fn tipping_factor(&self, threshold: f64) -> Option<(f64, f64)> {
        let decides = deciding(&self.variants)?;
        let (limit, worlds) = (decides.worlds.as_ref()?, decides.members.len());
        let (mean, bound) = (decides.estimate.mean, decides.lower_bound);
        let tipping = limit.tipping_factor(mean, bound, worlds, threshold)?;
        Some((tipping, limit.factor))
    }

    /// What is expected without any caution: the mean over worlds, or else a neutral variant's.
    pub fn neutral(&self) -> Option<f64> {
        let rank = |result: &&VariantResult| match result.variant {
            Variant::Worlds => 0,
            Variant::Ds => 1,
            _ => 2,
        };
        let is_neutral = |result: &&VariantResult| {
            result.variant == Variant::Worlds || !result.variant.is_conservative()
        };
        let found = self.variants.iter().filter(is_neutral).min_by_key(rank);
        found.map(|result| result.estimate.mean)
    }
}

/// Episodes that both the model and the policy were made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reuse {
    /// How many of the model's episodes the policy was trained on.
    pub shared: usize,
    /// How many the model was fitted on.
    pub of: usize,
}

/// What one variant found about the return or about a constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// Who decides about the next state.
    pub variant: Variant,
    /// Mean return under this variant, on fresh rollouts.
    pub estimate: Estimate,
    /// Its one-sided Monte Carlo limit. For a neutral variant this bounds the neutral estimate, not
    /// the policy's return.
    pub lower_bound: f64,
    /// For worlds and committed adversaries: each member's estimate.
    pub members: Vec<Estimate>,
    /// For worlds: how the limit came about.
    #[serde(default)]
    pub worlds: Option<WorldsLimit>,
    /// For learned adversaries: each attempt's estimate. How far apart they are tells how much
    /// training depends on luck.
    #[serde(default)]
    pub attempts: Vec<Estimate>,
    /// For learned adversaries: whether the last rounds no longer improved.
    pub converged: Option<bool>,
    /// For learned adversaries: what each round of training came to.
    pub rounds: Vec<Round>,
    /// Times that training diverged and began again with a smaller step.
    pub restarts_after_divergence: usize,
    /// How far from the logs it went.
    #[serde(flatten)]
    pub went: Whereabouts,
    /// The episodes with the lowest returns among the first few hundred, worst first.
    pub worst: Vec<Trajectory>,
    /// What the report draws: the course over the horizon, and the costs.
    pub evidence: Evidence,
}

/// What was found about one constraint; see [`Constraint`](crate::Constraint) for the units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintResult {
    /// The constraint's name.
    pub name: String,
    /// Of its mean over the steps.
    pub lower_bound: Option<f64>,
    /// The variant whose bound that is.
    pub deciding: Option<Variant>,
    /// What each variant found.
    pub variants: Vec<VariantResult>,
    /// The mean if the model errs as it did on logged transitions like each step. No bound.
    #[serde(default)]
    pub second_opinion: Option<Estimate>,
}

impl ConstraintResult {
    pub(crate) fn new(
        name: &str,
        variants: Vec<VariantResult>,
        second_opinion: Option<Estimate>,
    ) -> Self {
        let decides = deciding(&variants);
        Self {
            name: name.into(),
            lower_bound: decides.map(|variant| variant.lower_bound),
            deciding: decides.map(|variant| variant.variant),
            variants,
            second_opinion,
        }
    }
}

/// The certificate is the limit over worlds or, where nobody asked for it, the smallest bound of the
/// conservative variants.
pub(crate) fn deciding(variants: &[VariantResult]) -> Option<&VariantResult> {
    let worlds = variants.iter().find(|result| result.variant == Variant::Worlds);
    let conservative = variants.iter().filter(|result| result.variant.is_conservative());
    worlds.or_else(|| conservative.min_by(|a, b| a.lower_bound.total_cmp(&b.lower_bound)))
}
