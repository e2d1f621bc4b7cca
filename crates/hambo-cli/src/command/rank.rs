//! `hambo rank`: many policies on one model, ranked by their bounds.

use std::collections::BTreeMap;
use std::path::Path;

use hambo::{AmongFirst, Evaluation, Policy, Ranking, Screened, Seed, Standing};
use hambo_io::model::SavedModel;
use hambo_io::result::ResultDocument;
use hambo_io::{atomic, model, report};
use serde::Serialize;

use crate::args::Rank;
use crate::assess::{self, Candidate, assess, document, record, with_baseline};
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::run::Run;
use crate::screen::{NOTICE, number, styled, table, wrap};
use crate::task::Defined;
use crate::{config, logs, screen, task};

/// With so many policies, those that earn clearly less than another one in every world are not evaluated.
const SCREENED_FROM: usize = 10;

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
    /// Probability that it is better than the next one.
    beats_next: Option<f64>,
    /// Mean return of the worst tenth of its episodes, in the world that is worst for it.
    worst_tenth: Option<f64>,
    /// Warnings about its bound, and notes about its file.
    warnings: Vec<Remark>,
}

/// A policy that was not evaluated.
#[derive(Debug, Serialize)]
struct Stopped {
    policy: String,
    /// Who earns clearly more in every world.
    dominated_by: String,
    /// Mean return of a few episodes in all worlds.
    neutral: f64,
    #[serde(rename = "true")]
    truth: Option<f64>,
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
struct RankingDocument<'a> {
    schema: u64,
    /// Probability with which any of the bounds may fail.
    delta: f64,
    /// Probability with which each of them may.
    delta_each: f64,
    seed: u64,
    /// Best bound first.
    policies: &'a [Ranked],
    /// Those that were not evaluated.
    stopped: &'a [Stopped],
    /// What is lost by looking only at the first ones, according to the worlds.
    among_first: &'a [AmongFirst],
    /// How much less the first one earns in truth than the best of all.
    true_regret: Option<f64>,
    /// Spearman's, between bounds and true returns.
    rank_correlation: Option<f64>,
}

pub(crate) fn run(args: &Rank, words: &[String], quiet: bool, progress: &Progress) -> Result<Exit> {
    let mut loaded = assess::settings(&args.settings, &args.bound)?;
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
    let delta = loaded.config.evaluation.delta;
    if !args.separate {
        loaded.config.evaluation.delta = Ranking::shared(delta, names.len());
    }
    let screened = match args.all || names.len() < SCREENED_FROM {
        true => None,
        false => Some(screen_all(&saved, &candidates, &defined, &loaded, progress)?),
    };
    let dominated_by =
        |index: usize| screened.as_ref().and_then(|screened| screened[index].dominated_by);
    let settings = loaded.config.to_toml()?;
    let (mut found, mut stopped) = (Vec::new(), Vec::new());
    for (index, (name, candidate)) in names.iter().zip(&candidates).enumerate() {
        let truth = truths.as_ref().map(|truths| truths[name]);
        if let (Some(other), Some(screened)) = (dominated_by(index), &screened) {
            let (policy, dominated_by) = (name.clone(), names[other].clone());
            let neutral = screened[index].mean();
            stopped.push(Stopped { policy, dominated_by, neutral, truth });
            continue;
        }
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
        let options = super::report::options(&record, &document);
        found.push((of(name, &document, truth), (name.as_str(), document.evaluation, options)));
    }
    let evaluations: Vec<&Evaluation> = found.iter().map(|(_, (_, found, _))| found).collect();
    let ranking = Ranking::of(&evaluations);
    let mut found: Vec<Option<_>> = found.into_iter().map(Some).collect();
    let (mut ranked, mut reported) = (Vec::new(), Vec::new());
    for Standing { index, beats_next, worst_tenth } in ranking.standings {
        let Some((of, report)) = found[index].take() else { continue };
        ranked.push(Ranked { beats_next, worst_tenth, ..of });
        reported.push(report);
    }
    stopped.sort_by(|a, b| b.neutral.total_cmp(&a.neutral));
    if let Some(file) = &args.report {
        let title = format!("{} policies, ranked", reported.len());
        atomic::write(file, report::ranking_html(&title, &reported).as_bytes())?;
    }
    let document = RankingDocument {
        schema: 2,
        delta: if args.separate { (delta * ranked.len() as f64).min(1.0) } else { delta },
        delta_each: loaded.config.evaluation.delta,
        seed: loaded.config.seed,
        true_regret: true_regret(&ranked, &stopped),
        rank_correlation: rank_correlation(&ranked),
        policies: &ranked,
        stopped: &stopped,
        among_first: &ranking.among_first,
    };
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::Internal(format!("the ranking: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    screen::print(&describe(&document, quiet))?;
    Ok(Exit::Done)
}

/// A short look at all policies.
fn screen_all(
    saved: &SavedModel,
    candidates: &[Candidate],
    defined: &Defined,
    loaded: &Loaded,
    progress: &Progress,
) -> Result<Vec<Screened>> {
    let policies: Vec<&dyn Policy> = candidates.iter().map(Candidate::policy).collect();
    let (settings, seed) = (&loaded.config.evaluation, Seed(loaded.config.seed));
    let found = saved.model.screen(&policies, &defined.task, settings, seed, progress);
    progress.end();
    Ok(found?)
}

fn rank_correlation(ranked: &[Ranked]) -> Option<f64> {
    let pairs = ranked.iter().filter_map(|ranked| ranked.lower_bound.zip(ranked.truth));
    let (bounds, truths): (Vec<f64>, Vec<f64>) = pairs.unzip();
    Ranking::spearman(&bounds, &truths)
}

fn true_regret(ranked: &[Ranked], stopped: &[Stopped]) -> Option<f64> {
    let truths = ranked.iter().map(|ranked| ranked.truth);
    let truths: Option<Vec<f64>> = truths.chain(stopped.iter().map(|other| other.truth)).collect();
    truths.filter(|_| !ranked.is_empty()).map(|truths| Ranking::true_regret(&truths, 1))
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

fn describe(document: &RankingDocument<'_>, quiet: bool) -> String {
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
