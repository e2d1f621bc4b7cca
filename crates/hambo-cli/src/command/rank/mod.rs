//! `hambo rank`: many policies on one model, ranked by their bounds, by one process or by several that share them.

mod document;
mod shards;

use std::collections::BTreeMap;
use std::path::Path;

use hambo::{Evaluation, Look, Policy, Ranking, Screened, Seed, Standing};
use hambo_io::cache::Cache;
use hambo_io::model::SavedModel;
use hambo_io::{atomic, model, report};

use crate::args::Rank;
use crate::assess::{self, Candidate, Kept, assess, document, record, with_baseline};
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::run::Run;
use crate::screen::count;
use crate::task::Defined;
use crate::{config, logs, screen, task};

use document::{Found, Ranked, RankingDocument, Stopped, Terms};
use shards::ShardRecord;

/// With so many policies, those that earn clearly less than another one in every world are not evaluated.
const SCREENED_FROM: usize = 10;

pub(crate) fn run(args: &Rank, words: &[String], quiet: bool, progress: &Progress) -> Result<Exit> {
    args.json.iter().chain(&args.report).try_for_each(|file| atomic::check_writable(file))?;
    if !args.merge.is_empty() {
        let merged = shards::merged(&args.merge)?;
        return conclude(args, merged.found, Vec::new(), &merged.terms, quiet);
    }
    let mut loaded = assess::settings(&args.settings, &args.bound)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    let names = names(args)?;
    // What is wrong with it is said before anything is played.
    if let Some(file) = &args.truth {
        read_truths(file, &names)?;
    }
    let Some(directory) = &args.model else {
        return Err(Failure::input("give --model MODEL, or --merge DIR for shards"));
    };
    let saved = logs::load(directory)?;
    let identity = model::fingerprint(directory)?;
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
    let evaluation = &mut loaded.config.evaluation;
    let (delta, separate, seed) = (evaluation.delta, args.separate, loaded.config.seed);
    if !separate {
        evaluation.delta = Ranking::shared(delta, names.len());
    }
    let terms = Terms { delta, delta_each: evaluation.delta, separate, seed };
    // Who is dominated by a policy of another shard, this one cannot know.
    let screened = match args.all || args.shard.is_some() || names.len() < SCREENED_FROM {
        true => None,
        false => Some(screen_all(&saved, &candidates, &defined, &loaded, progress)?),
    };
    let settings = loaded.config.to_toml()?;
    let cache = args.cache.as_ref().map(Cache::at);
    let (mut found, mut stopped) = (Vec::new(), Vec::new());
    for (index, (name, candidate)) in names.iter().zip(&candidates).enumerate() {
        if args.shard.is_some_and(|shard| !shard.has(index)) {
            continue;
        }
        let look = screened.as_ref().map(|screened| &screened[index]);
        if let Some((look, other)) = look.and_then(|look| Some((look, look.dominated_by?))) {
            let (policy, dominated_by) = (name.clone(), names[other].clone());
            stopped.push(Stopped { policy, dominated_by, neutral: look.mean(), truth: None });
            continue;
        }
        let record = record(candidate, &identity, &saved.origin, &defined, words);
        let run = match &args.out {
            Some(out) => Some(Run::begin(&out.join(name), &record, &settings, args.resume)?),
            None => None,
        };
        let entry = cache.as_ref().map(|cache| record.entry(cache, &settings)).transpose()?;
        let prefix = format!("{name} ({} of {}): ", index + 1, names.len());
        let kept = Kept { run: run.as_ref(), entry: entry.as_ref() };
        let evaluation = assess(&saved, candidate, &defined, &loaded, kept, progress, &prefix)?;
        let document = document(evaluation, candidate, None, &loaded)?;
        if let Some(run) = &run {
            run.finish(&assess::to_json(&document)?)?;
        }
        let options = crate::command::report::options(&record, &document);
        found.push(Found { name: name.clone(), document, options });
    }
    if let (Some(shard), Some(out)) = (args.shard, &args.out) {
        let policies = names.into_iter().zip(candidates.into_iter().map(|one| one.file.blake3));
        let about = record_of_task(&identity, &defined);
        ShardRecord::new(shard, &terms, about, settings, policies.collect()).write(out)?;
        let text = format!(
            "{} of {} policies are evaluated, shard {shard}; when all {} are there, `hambo rank --merge {}` ranks \
             them\n",
            count(found.len()),
            count(args.policies.len()),
            shard.of,
            out.display()
        );
        screen::print(&text)?;
        return Ok(Exit::Done);
    }
    conclude(args, found, stopped, &terms, quiet)
}

/// What the evaluations of a ranking have in common, besides the settings: the model, the other files, the baseline.
fn record_of_task(basis: &str, defined: &Defined) -> Vec<(String, String)> {
    let against = defined.task.against.as_ref().map(|against| against.baseline.to_string());
    let mut about = vec![("model".to_owned(), basis.to_owned())];
    about.extend(defined.files.iter().cloned());
    about.extend(against.map(|against| ("against".to_owned(), against)));
    about
}

/// Sorts, writes and prints.
fn conclude(
    args: &Rank,
    found: Vec<Found>,
    mut stopped: Vec<Stopped>,
    terms: &Terms,
    quiet: bool,
) -> Result<Exit> {
    let names = found.iter().map(|found| &found.name);
    let names: Vec<String> =
        names.chain(stopped.iter().map(|other| &other.policy)).cloned().collect();
    let truths = match &args.truth {
        Some(file) => read_truths(file, &names)?,
        None => BTreeMap::new(),
    };
    for other in &mut stopped {
        other.truth = truths.get(&other.policy).copied();
    }
    stopped.sort_by(|a, b| b.neutral.total_cmp(&a.neutral));
    let evaluations: Vec<&Evaluation> =
        found.iter().map(|found| &found.document.evaluation).collect();
    let ranking = Ranking::of(&evaluations);
    let mut found: Vec<Option<Found>> = found.into_iter().map(Some).collect();
    let (mut ranked, mut reported) = (Vec::new(), Vec::new());
    for Standing { index, beats_next, worst_tenth } in ranking.standings {
        let Some(Found { name, document, options }) = found[index].take() else { continue };
        let of = document::of(&name, &document, truths.get(&name).copied());
        ranked.push(Ranked { beats_next, worst_tenth, ..of });
        reported.push((document.evaluation, options));
    }
    if let Some(file) = &args.report {
        let title = format!("{} policies, ranked", reported.len());
        let named = ranked.iter().map(|ranked| ranked.policy.as_str()).zip(reported);
        let reported: Vec<_> =
            named.map(|(name, (evaluation, options))| (name, evaluation, options)).collect();
        atomic::write(file, report::ranking_html(&title, &reported).as_bytes())?;
    }
    let any =
        if terms.separate { (terms.delta * ranked.len() as f64).min(1.0) } else { terms.delta };
    let document = RankingDocument {
        schema: 2,
        delta: any,
        delta_each: terms.delta_each,
        seed: terms.seed,
        true_regret: document::true_regret(&ranked, &stopped),
        rank_correlation: document::rank_correlation(&ranked),
        policies: &ranked,
        stopped: &stopped,
        among_first: &ranking.among_first,
    };
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::Internal(format!("the ranking: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    screen::print(&document::describe(&document, quiet))?;
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
    let looks = saved.model.look(&policies, &defined.task, settings, seed, progress);
    progress.end();
    Ok(Look::compare(&looks?))
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
