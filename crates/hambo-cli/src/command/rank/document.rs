//! A ranking as a document, and as text.

use std::collections::BTreeMap;

use hambo::{AmongFirst, Ranking};
use hambo_io::report::ReportOptions;
use hambo_io::result::ResultDocument;
use serde::Serialize;

use crate::screen::{NOTICE, number, styled, table, wrap};

/// What was found about one policy.
pub(super) struct Found {
    pub name: String,
    pub document: ResultDocument,
    pub options: ReportOptions,
}

/// With which probability bounds may fail, and the seed.
pub(super) struct Terms {
    /// As it was asked for.
    pub delta: f64,
    pub delta_each: f64,
    pub separate: bool,
    pub seed: u64,
}

/// A policy with its place.
#[derive(Debug, Serialize)]
pub(super) struct Ranked {
    pub policy: String,
    pub lower_bound: Option<f64>,
    /// On the improvement, if there is a baseline.
    pub improvement: Option<f64>,
    /// The mean return of the first neutral variant.
    pub neutral: Option<f64>,
    #[serde(rename = "true")]
    pub truth: Option<f64>,
    /// Probability that it is better than the next one.
    pub beats_next: Option<f64>,
    /// Mean return of the worst tenth of its episodes, in the world that is worst for it.
    pub worst_tenth: Option<f64>,
    /// Warnings about its bound, and notes about its file.
    pub warnings: Vec<Remark>,
}

/// A policy that was not evaluated.
#[derive(Debug, Serialize)]
pub(super) struct Stopped {
    pub policy: String,
    /// Who earns clearly more in every world.
    pub dominated_by: String,
    /// Mean return of a few episodes in all worlds.
    pub neutral: f64,
    #[serde(rename = "true")]
    pub truth: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Remark {
    pub code: String,
    pub message: String,
    pub help: String,
    /// The bound may be too high for it.
    pub disqualifies: bool,
}

#[derive(Serialize)]
pub(super) struct RankingDocument<'a> {
    pub schema: u64,
    /// Probability with which any of the bounds may fail.
    pub delta: f64,
    /// Probability with which each of them may.
    pub delta_each: f64,
    pub seed: u64,
    /// Best bound first.
    pub policies: &'a [Ranked],
    /// Those that were not evaluated.
    pub stopped: &'a [Stopped],
    /// What is lost by looking only at the first ones, according to the worlds.
    pub among_first: &'a [AmongFirst],
    /// How much less the first one earns in truth than the best of all.
    pub true_regret: Option<f64>,
    /// Spearman's, between bounds and true returns.
    pub rank_correlation: Option<f64>,
}

pub(super) fn rank_correlation(ranked: &[Ranked]) -> Option<f64> {
    let pairs = ranked.iter().filter_map(|ranked| ranked.lower_bound.zip(ranked.truth));
    let (bounds, truths): (Vec<f64>, Vec<f64>) = pairs.unzip();
    Ranking::spearman(&bounds, &truths)
}

pub(super) fn true_regret(ranked: &[Ranked], stopped: &[Stopped]) -> Option<f64> {
    let truths = ranked.iter().map(|ranked| ranked.truth);
    let truths: Option<Vec<f64>> = truths.chain(stopped.iter().map(|other| other.truth)).collect();
    truths.filter(|_| !ranked.is_empty()).map(|truths| Ranking::true_regret(&truths, 1))
}

pub(super) fn of(name: &str, document: &ResultDocument, truth: Option<f64>) -> Ranked {
    let found = &document.evaluation;
    let warnings = found.warnings.iter().map(|warning| Remark {
        code: warning.code().into(),
        message: warning.to_string(),
        help: warning.help().into(),
        disqualifies: warning.disqualifies(),
    });
    let notes = document.notes.iter().cloned().map(|note| Remark {
        code: note.code,
        message: note.message,
        help: note.help,
        disqualifies: false,
    });
    Ranked {
        policy: name.into(),
        lower_bound: found.lower_bound,
        improvement: found.improvement.as_ref().map(|found| found.lower_bound),
        neutral: found.neutral(),
        truth,
        beats_next: None,
        worst_tenth: None,
        warnings: warnings.chain(notes).collect(),
    }
}

impl Ranked {
    /// How many warnings say that its bound may be too high.
    fn doubts(&self) -> usize {
        self.warnings.iter().filter(|warning| warning.disqualifies).count()
    }
}

pub(super) fn describe(document: &RankingDocument<'_>, quiet: bool) -> String {
    let ranked = document.policies;
    let shown = |value: Option<f64>| value.map_or("-".into(), number);
    let percent = |value: Option<f64>| value.map_or("-".into(), |v| format!("{:.0} %", 100.0 * v));
    let has_truth = ranked.iter().any(|ranked| ranked.truth.is_some());
    let has_baseline = ranked.iter().any(|ranked| ranked.improvement.is_some());
    let mut header = vec!["rank", "policy", "lower bound", "neutral", "worst tenth", "beats next"];
    header.extend(has_baseline.then_some("better by at least"));
    header.extend(has_truth.then_some(["true", "holds"]).into_iter().flatten());
    header.push("warnings");
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    for (index, ranked) in ranked.iter().enumerate() {
        let mut row = vec![(index + 1).to_string(), ranked.policy.clone()];
        row.extend([ranked.lower_bound, ranked.neutral, ranked.worst_tenth].map(shown));
        row.push(percent(ranked.beats_next));
        row.extend(has_baseline.then(|| shown(ranked.improvement)));
        if has_truth {
            let holds = ranked.truth.zip(ranked.lower_bound).map(|(truth, bound)| bound <= truth);
            row.push(shown(ranked.truth));
            row.push(holds.map_or("-", |holds| if holds { "yes" } else { "NO" }).into());
        }
        row.push(ranked.doubts().to_string());
        rows.push(row);
    }
    let mut text = table(&rows, 2);
    if quiet {
        return text;
    }
    // Warnings first, then notes.
    let mut told: BTreeMap<(bool, &str, &str), Vec<&str>> = BTreeMap::new();
    for ranked in ranked {
        for warning in &ranked.warnings {
            let key = (!warning.disqualifies, warning.code.as_str(), warning.help.as_str());
            let policies = told.entry(key).or_default();
            if !policies.contains(&ranked.policy.as_str()) {
                policies.push(&ranked.policy);
            }
        }
    }
    for ((is_note, code, help), policies) in told {
        let kind = if is_note { "note:".into() } else { styled(NOTICE, "warning:") };
        let message = format!("{kind} {code} ({}); {help}", policies.join(", "));
        text += &format!("{}\n", wrap(&message, 0, 2));
    }
    for line in remarks(document) {
        text += &format!("{}\n", wrap(&line, 0, 2));
    }
    text
}

/// What the order is worth.
fn remarks(document: &RankingDocument<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let names: Vec<&str> = document.stopped.iter().map(|other| other.policy.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!(
            "not evaluated, because another policy earns clearly more in every world (`--all` evaluates them, too): {}",
            names.join(", ")
        ));
    }
    for among in document.among_first {
        let first = match among.first {
            1 => "the first one".to_owned(),
            first => format!("one of the first {first}"),
        };
        lines.push(format!(
            "in {:.0} % of the worlds {first} is the best; who looks at no other loses {} on average",
            100.0 * among.best_is_among,
            number(among.regret)
        ));
    }
    lines.push(format!(
        "each bound may fail with probability {}, any of them with {}",
        number(document.delta_each),
        number(document.delta)
    ));
    lines.push(
        "a ranking certifies nothing: ask `hambo certify` about the policy that you choose".into(),
    );
    if let Some(correlation) = document.rank_correlation {
        lines.push(format!("rank correlation of bounds and true returns {correlation:.2}"));
    }
    if let Some(regret) = document.true_regret {
        lines.push(format!("in truth the first one earns {} less than the best", number(regret)));
    }
    lines
}
