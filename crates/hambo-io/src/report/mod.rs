//! An evaluation as one page that stands alone: HTML with inline SVG, without scripts and without
//! anything fetched from elsewhere. The first screen is the decision, the rest its evidence.

mod data;
mod figures;
mod guarantee;
mod markup;
mod page;
mod plot;
mod png;
mod text;
mod words;

use hambo::dataset::Summary;
use hambo::{Evaluation, Variant, VariantResult};

pub use png::{DrawingError, png};
pub use words::in_settings_file;

use crate::verdict::Verdict;

/// What a report says beside the evaluation's own content. All of it may be any text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    pub title: String,
    /// The policy's name, such as its file.
    pub policy: Option<String>,
    /// Where the data came from.
    pub data: Option<String>,
    pub date: Option<String>,
    /// The return that the policy should reach.
    pub threshold: Option<f64>,
    /// Command that makes the same evaluation again.
    pub command: Option<String>,
    /// Names of the state's dimensions; those that are missing are numbered.
    pub state_names: Vec<String>,
    /// Likewise of the action's.
    pub action_names: Vec<String>,
    /// What is in the data. Without it the report tells no more of it than the evaluation does.
    pub summary: Option<Summary>,
    /// Doubts that others have beside the evaluation's own.
    pub doubts: Vec<Doubt>,
    /// Name settings as `hambo.toml` does.
    pub settings_in_file: bool,
}

/// Something to think about that the evaluation does not know of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Doubt {
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

/// The report as one HTML file.
pub fn html(evaluation: &Evaluation, options: &ReportOptions) -> String {
    page::page(&Subject::new(evaluation, options))
}

/// The report's figures as SVG files that stand alone: names without extension, and contents.
/// Figures for which the evaluation holds no evidence are left out. [`png()`] turns them into pixels.
pub fn figures(evaluation: &Evaluation, options: &ReportOptions) -> Vec<(&'static str, String)> {
    let subject = Subject::new(evaluation, options);
    figures::all(&subject).iter().map(|figure| (figure.name, figure.standalone())).collect()
}

/// What the report is about.
struct Subject<'a> {
    evaluation: &'a Evaluation,
    options: &'a ReportOptions,
    verdict: Verdict,
    /// The conservative variant with the smallest bound.
    deciding: Option<&'a VariantResult>,
    /// A neutral variant to compare with.
    neutral: Option<&'a VariantResult>,
    /// Names of the model's outputs.
    outputs: Vec<String>,
    /// Decimals with which returns are printed.
    decimals: usize,
}

impl<'a> Subject<'a> {
    fn new(evaluation: &'a Evaluation, options: &'a ReportOptions) -> Self {
        let variants = &evaluation.variants;
        let dimensions = evaluation.data_range.len();
        let name = |index: usize| match options.state_names.get(index) {
            Some(name) if index < dimensions => name.clone(),
            _ if index < dimensions => format!("state {}", index + 1),
            _ => "reward".to_owned(),
        };
        Self {
            evaluation,
            options,
            verdict: Verdict::of(evaluation, options.threshold),
            deciding: variants
                .iter()
                .filter(|variant| variant.name.is_conservative())
                .min_by(|a, b| a.lower_bound.total_cmp(&b.lower_bound)),
            neutral: variants
                .iter()
                .find(|variant| variant.name == Variant::Ds)
                .or_else(|| variants.iter().find(|variant| !variant.name.is_conservative())),
            outputs: (0..evaluation.calibration.temperatures.len()).map(name).collect(),
            decimals: decimals(evaluation, options.threshold),
        }
    }

    fn decides(&self, variant: &VariantResult) -> bool {
        self.deciding.is_some_and(|deciding| std::ptr::eq(deciding, variant))
    }

    /// The variant whose episodes are shown: the one that decides, else any.
    fn shown(&self) -> Option<&'a VariantResult> {
        self.deciding.or(self.evaluation.variants.first())
    }
}

/// Two digits of the smallest standard error; more if the bound, rounded down, would otherwise seem
/// to lie on the other side of the threshold.
fn decimals(evaluation: &Evaluation, threshold: Option<f64>) -> usize {
    let errors = evaluation.variants.iter().map(|variant| variant.estimate.std_error);
    let least = text::decimals_for(errors);
    let Some((bound, threshold)) = evaluation.lower_bound.zip(threshold) else { return least };
    let keeps_side = |decimals: &usize| {
        let factor = 10f64.powi(*decimals as i32);
        ((bound * factor).floor() / factor >= threshold) == (bound >= threshold)
    };
    (least..=9).find(keeps_side).unwrap_or(9)
}
