//! The result as one JSON document with a versioned schema.

use std::collections::BTreeMap;

use hambo::bound::Estimate;
use hambo::{
    Calibration, ConstraintResult, Evaluation, Guarantee, StateLimits, Variant, VariantResult,
};
use hambo_io::Verdict;
use hambo_io::report::in_settings_file;
use serde::{Deserialize, Serialize};

/// Raised whenever a field changes its meaning or disappears.
pub const SCHEMA: u64 = 1;

/// The document that `--json` writes.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u64,
    version: &'a str,
    /// Of the return, over all conservative variants; null if none was played.
    lower_bound: Option<f64>,
    delta: f64,
    delta_covers: &'a str,
    /// `certified`, `not_certified` or `inconclusive`; null without a threshold.
    verdict: Option<&'static str>,
    threshold: Option<f64>,
    policy: File<'a>,
    horizon: usize,
    discount: f32,
    variants: Vec<VariantRow>,
    /// The return if the model errs as it did on logged transitions like each step; no bound.
    second_opinion: Option<Estimate>,
    constraints: Vec<ConstraintRow<'a>>,
    calibration: CalibrationRow<'a>,
    /// The largest share of steps outside the data, over the conservative variants.
    outside_data: f64,
    warnings: Vec<WarningRow>,
    guarantee: Option<&'a Guarantee>,
    state_limits: &'a StateLimits,
    seed: u64,
    dataset: DatasetRow<'a>,
    settings: serde_json::Value,
    timings: &'a BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct File<'a> {
    pub file: &'a str,
    pub blake3: &'a str,
}

#[derive(Debug, Serialize)]
struct VariantRow {
    name: Variant,
    conservative: bool,
    estimate: f64,
    std_error: f64,
    lower_bound: f64,
    /// Null for variants that do not learn.
    converged: Option<bool>,
    rounds: usize,
    /// Independent observations behind the standard error.
    independent: usize,
    outside_data: f64,
}

#[derive(Debug, Serialize)]
struct ConstraintRow<'a> {
    name: &'a str,
    lower_bound: Option<f64>,
    variants: Vec<VariantRow>,
}

#[derive(Debug, Serialize)]
struct CalibrationRow<'a> {
    error_before: f64,
    error_after: f64,
    points: usize,
    temperatures: &'a ndarray::Array1<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarningRow {
    pub code: String,
    pub message: String,
    pub help: String,
}

#[derive(Debug, Serialize)]
struct DatasetRow<'a> {
    rows: usize,
    episodes: usize,
    terminated_episodes: usize,
    fingerprint: &'a str,
}

/// What the document says beside the evaluation.
#[derive(Debug)]
pub struct Context<'a> {
    pub policy: File<'a>,
    pub threshold: Option<f64>,
    pub warnings: &'a [WarningRow],
    pub settings: serde_json::Value,
}

impl<'a> Document<'a> {
    pub fn of(evaluation: &'a Evaluation, verdict: &Verdict, context: Context<'a>) -> Self {
        let Calibration { error_before, error_after, points, temperatures, .. } =
            &evaluation.calibration;
        Self {
            schema: SCHEMA,
            version: &evaluation.version,
            lower_bound: evaluation.lower_bound,
            delta: evaluation.delta,
            delta_covers: &evaluation.delta_covers,
            verdict: word(verdict),
            threshold: context.threshold,
            policy: context.policy,
            horizon: evaluation.horizon,
            discount: evaluation.discount,
            variants: evaluation.variants.iter().map(row).collect(),
            second_opinion: evaluation.second_opinion,
            constraints: evaluation.constraints.iter().map(constraint).collect(),
            calibration: CalibrationRow {
                error_before: *error_before,
                error_after: *error_after,
                points: *points,
                temperatures,
            },
            outside_data: evaluation
                .variants
                .iter()
                .filter(|variant| variant.name.is_conservative())
                .map(|variant| variant.outside_data)
                .fold(0.0, f64::max),
            warnings: warnings(evaluation).into_iter().chain(context.warnings.to_vec()).collect(),
            guarantee: evaluation.guarantee.as_ref(),
            state_limits: &evaluation.state_limits,
            seed: evaluation.seed,
            dataset: DatasetRow {
                rows: evaluation.data.rows,
                episodes: evaluation.data.episodes,
                terminated_episodes: evaluation.data.terminated_episodes,
                fingerprint: &evaluation.data.fingerprint,
            },
            settings: context.settings,
            timings: &evaluation.timings,
        }
    }
}

fn row(result: &VariantResult) -> VariantRow {
    VariantRow {
        name: result.name,
        conservative: result.name.is_conservative(),
        estimate: result.estimate.mean,
        std_error: result.estimate.std_error,
        lower_bound: result.lower_bound,
        converged: result.converged,
        rounds: result.rounds.len(),
        independent: result.estimate.independent,
        outside_data: result.outside_data,
    }
}

fn constraint(result: &ConstraintResult) -> ConstraintRow<'_> {
    ConstraintRow {
        name: &result.name,
        lower_bound: result.lower_bound,
        variants: result.variants.iter().map(row).collect(),
    }
}

/// The evaluation's warnings, with their codes.
pub fn warnings(evaluation: &Evaluation) -> Vec<WarningRow> {
    let code = |warning: &hambo::Warning| {
        let tagged = serde_json::to_value(warning).ok();
        let code = tagged.as_ref().and_then(|tagged| tagged.get("code")?.as_str());
        code.unwrap_or("other").to_owned()
    };
    let row = |warning: &hambo::Warning| WarningRow {
        code: code(warning),
        message: warning.to_string(),
        help: in_settings_file(warning.help()),
    };
    evaluation.warnings.iter().map(row).collect()
}

fn word(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Certified => Some("certified"),
        Verdict::NotCertified => Some("not_certified"),
        Verdict::Inconclusive { .. } => Some("inconclusive"),
        Verdict::NoThreshold => None,
    }
}
