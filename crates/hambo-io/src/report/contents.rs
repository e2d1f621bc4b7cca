//! What a report is about, for all of its parts.

use hambo::dataset::Summary;
use hambo::{Evaluation, Variant, VariantResult, Verdict};

use super::text::decimals;
use crate::result::FileNote;

/// What a report says beside the evaluation's own content. All of it may be any text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    /// On top of the page.
    pub title: String,
    /// The policy's name, such as its file.
    pub policy: Option<String>,
    /// Where the data came from.
    pub data: Option<String>,
    /// When it was made.
    pub date: Option<String>,
    /// The return that the policy should reach.
    pub threshold: Option<f64>,
    /// Command that makes the same evaluation again.
    pub command: Option<String>,
    /// What is in the data. Without it the report tells no more of it than the evaluation does.
    pub summary: Option<Summary>,
    /// What the policy's file gives to think about.
    pub notes: Vec<FileNote>,
    /// What returns are counted in, such as EUR.
    pub unit: Option<String>,
    /// How long an episode is, such as `day`.
    pub per: Option<String>,
    /// The formula of the reward, if it is not learned.
    pub reward: Option<String>,
}

/// What the report is about.
pub(super) struct Contents<'a> {
    pub(super) evaluation: &'a Evaluation,
    pub(super) options: &'a ReportOptions,
    pub(super) verdict: Verdict,
    /// The variant whose bound counts.
    pub(super) deciding: Option<&'a VariantResult>,
    /// A neutral variant to compare with.
    pub(super) neutral: Option<&'a VariantResult>,
    /// Names of the model's outputs.
    pub(super) outputs: Vec<String>,
    /// Decimals with which returns are printed.
    pub(super) decimals: usize,
}

impl<'a> Contents<'a> {
    pub(super) fn new(evaluation: &'a Evaluation, options: &'a ReportOptions) -> Self {
        let variants = &evaluation.variants;
        let name = |index: usize| evaluation.data.names.output(index).to_owned();
        Self {
            evaluation,
            options,
            verdict: Verdict::of(evaluation, options.threshold),
            deciding: variants.iter().find(|variant| Some(variant.variant) == evaluation.deciding),
            neutral: variants
                .iter()
                .find(|variant| variant.variant == Variant::Ds)
                .or_else(|| variants.iter().find(|variant| !variant.variant.is_conservative())),
            outputs: (0..evaluation.calibration.temperatures.len()).map(name).collect(),
            decimals: decimals(evaluation, options.threshold),
        }
    }

    /// A check speaks against the number, and nobody has allowed that.
    pub(super) fn is_doubtful(&self) -> bool {
        let is_certified = matches!(self.verdict, Verdict::Certified { .. });
        !is_certified && self.evaluation.warnings.iter().any(|warning| warning.disqualifies())
    }

    pub(super) fn decides(&self, variant: &VariantResult) -> bool {
        self.evaluation.deciding == Some(variant.variant)
    }

    /// The variant whose episodes are shown: the one that decides, otherwise any.
    pub(super) fn shown(&self) -> Option<&'a VariantResult> {
        self.deciding.or(self.evaluation.variants.first())
    }
}
