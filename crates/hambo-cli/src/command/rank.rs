//! `hambo rank`: many policies on one model, ranked by their bounds.

use std::collections::BTreeMap;
use std::path::Path;

use hambo_io::result::ResultDocument;
use hambo_io::{atomic, model, report};
use serde::Serialize;

use crate::args::Rank;
use crate::assess::{self, Candidate, assess, document, record, with_baseline};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::run::Run;
use crate::screen::{NOTICE, number, styled, table, wrap};
use crate::{config, logs, screen, task};

/// What was found about one policy.
#[derive(Debug, Serialize)]
struct Ranked {
    policy: String,
    lower_bound: Option<f64>,
    /// On the improvement, if there is a baseline.
    improvement: Option<f64>,
    /// The mean return of the first neutral variant.
    neutral: Option<f64>,
    #[serde(rename = "true")]
    truth: Option<f64>,
    /// Warnings about its bound, and notes about its file.
    warnings: Vec<Remark>,
}

#[derive(Debug, Serialize)]
struct Remark {
    code: String,
    message: String,
    help: String,
    /// The bound may be too high for it.
    disqualifies: bool,
}

#[derive(Serialize)]
struct Ranking<'a> {
    schema: u64,
    delta: f64,
    seed: u64,
    /// Best bound first.
    policies: &'a [Ranked],
    /// Spearman's, between bounds and true returns.
    rank_correlation: Option<f64>,
}

pub(crate) fn run(args: &Rank, words: &[String], quiet: bool, progress: &Progress) -> Result<Exit> {
    let loaded = assess::settings(&args.settings, &args.bound)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    args.json.iter().chain(&args.report).try_for_each(|file| atomic::check_writable(file))?;
    let names = names(args)?;
    let truths = match &args.truth {
        Some(file) => Some(read_truths(file, &names)?),
        None => None,
    };
    let saved = logs::load(&args.model)?;
    let identity = model::fingerprint(&args.model)?;
    let columns = &saved.model.data.names;
    let inputs = &loaded.config.policy.inputs;
    let defined = task::define(&loaded, columns, &saved.origin)?;
    let defined = with_baseline(defined, &args.bound, None, inputs, columns)?;
    // All files are looked at before the first one is played.
    let mut candidates = Vec::new();
    for path in &args.policies {
        let mut candidate = Candidate::load(path, inputs, columns)?;
        candidate.compare(&saved, &loaded.config)?;
        candidates.push(candidate);
    }
    let settings = loaded.config.to_toml()?;
    let mut found = Vec::new();
    for (index, (name, candidate)) in names.iter().zip(&candidates).enumerate() {
        let record = record(candidate, &identity, &saved.origin, &defined, words);
        let run = match &args.out {
            Some(out) => Some(Run::begin(&out.join(name), &record, &settings, args.resume)?),
            None => None,
        };
        let prefix = format!("{name} ({} of {}): ", index + 1, names.len());
        let run = run.as_ref();
        let evaluation = assess(&saved, candidate, &defined, &loaded, run, progress, &prefix)?;
        let document = document(evaluation, candidate, None, &loaded)?;
        if let Some(run) = run {
            run.finish(&assess::to_json(&document)?)?;
        }
        let truth = truths.as_ref().map(|truths| truths[name]);
        let ranked = of(name, &document, truth);
        let options = super::report::options(&record, &document);
        found.push((ranked, (name.as_str(), document.evaluation, options)));
    }
    found.sort_by(|(a, _), (b, _)| {
        let bound = |ranked: &Ranked| ranked.lower_bound.unwrap_or(f64::NEG_INFINITY);
        bound(b).total_cmp(&bound(a))
    });
    let (ranked, reported): (Vec<Ranked>, Vec<_>) = found.into_iter().unzip();
    if let Some(file) = &args.report {
        let title = format!("{} policies, ranked", reported.len());
        atomic::write(file, report::ranking_html(&title, &reported).as_bytes())?;
    }
    let rank_correlation = truths.is_some().then(|| spearman(&ranked)).flatten();
    if let Some(file) = &args.json {
        let (delta, seed) = (loaded.config.evaluation.delta, loaded.config.seed);
        let ranking = Ranking { schema: 1, delta, seed, policies: &ranked, rank_correlation };
        let text = serde_json::to_string_pretty(&ranking)
            .map_err(|error| Failure::Internal(format!("the ranking: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    screen::print(&describe(&ranked, rank_correlation, quiet))?;
    Ok(Exit::Done)
}

fn of(name: &str, document: &ResultDocument, truth: Option<f64>) -> Ranked {
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
        warnings: warnings.chain(notes).collect(),
    }
}

impl Ranked {
    /// How many warnings say that its bound may be too high.
    fn doubts(&self) -> usize {
        self.warnings.iter().filter(|warning| warning.disqualifies).count()
    }
}

fn describe(ranked: &[Ranked], rank_correlation: Option<f64>, quiet: bool) -> String {
    let shown = |value: Option<f64>| value.map_or("-".into(), number);
    let has_truth = ranked.iter().any(|ranked| ranked.truth.is_some());
    let has_baseline = ranked.iter().any(|ranked| ranked.improvement.is_some());
    let mut header = vec!["rank", "policy", "lower bound", "neutral"];
    header.extend(has_baseline.then_some("better by at least"));
    header.extend(has_truth.then_some(["true", "holds"]).into_iter().flatten());
    header.push("warnings");
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    for (index, ranked) in ranked.iter().enumerate() {
        let mut row = vec![(index + 1).to_string(), ranked.policy.clone()];
        row.extend([shown(ranked.lower_bound), shown(ranked.neutral)]);
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
    text += "a ranking certifies nothing: ask `hambo certify` about the policy that you choose\n";
    if let Some(correlation) = rank_correlation {
        text += &format!("rank correlation of bounds and true returns {correlation:.2}\n");
    }
    text
}

/// The policies by the names of their files, or by their paths if those are the same.
fn names(args: &Rank) -> Result<Vec<String>> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names = Vec::new();
    for path in &args.policies {
        let name = stem(path).unwrap_or_else(|| path.display().to_string());
        if names.contains(&name) {
            let message = format!("two policies are called `{name}`; rename one of the files");
            return Err(Failure::input(message));
        }
        names.push(name);
    }
    Ok(names)
}

/// True returns by policy: the name of the file, with or without its extension.
fn read_truths(file: &Path, names: &[String]) -> Result<BTreeMap<String, f64>> {
    let wrong = |message: String| Failure::input(format!("{}: {message}", file.display()));
    let mut reader = csv::Reader::from_path(file).map_err(|error| wrong(error.to_string()))?;
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|column| column.trim() == name);
        found.ok_or_else(|| wrong(format!("no column `{name}`; it needs `policy` and `return`")))
    };
    let (policies, returns) = (column("policy")?, column("return")?);
    let mut truths = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let name = record.get(policies).unwrap_or_default().trim();
        let text = record.get(returns).unwrap_or_default().trim();
        let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| wrong(format!("`{name}`: `{text}` is not a number")))?;
        truths.insert(name.trim_end_matches(".onnx").to_owned(), value);
    }
    match names.iter().find(|name| !truths.contains_key(*name)) {
        Some(name) => Err(wrong(format!("no return of the policy `{name}`; add a row for it"))),
        None => Ok(truths),
    }
}

/// Spearman's rank correlation, with mean ranks for ties; none for fewer than two policies.
fn spearman(ranked: &[Ranked]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        ranked.iter().filter_map(|ranked| ranked.lower_bound.zip(ranked.truth)).collect();
    let (bounds, truths): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let (a, b) = (ranks(&bounds), ranks(&truths));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(bounds_and_truths: &[(f64, f64)]) -> Vec<Ranked> {
        let of = |&(bound, truth): &(f64, f64)| Ranked {
            policy: String::new(),
            lower_bound: Some(bound),
            improvement: None,
            neutral: None,
            truth: Some(truth),
            warnings: Vec::new(),
        };
        bounds_and_truths.iter().map(of).collect()
    }

    #[test]
    fn rank_correlation_is_one_for_the_same_order_and_minus_one_for_the_reverse() {
        let same = ranked(&[(-3.0, 1.0), (-2.0, 5.0), (-1.0, 70.0)]);
        assert_eq!(spearman(&same), Some(1.0));
        let reverse = ranked(&[(-3.0, 9.0), (-2.0, 5.0), (-1.0, 2.0)]);
        assert_eq!(spearman(&reverse), Some(-1.0));
        assert_eq!(spearman(&ranked(&[(1.0, 1.0)])), None);
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
    }
}
