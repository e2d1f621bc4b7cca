//! `hambo evaluate` and `hambo certify`: a policy and a model, or data, in; a bound and a verdict out.

use std::path::Path;
use std::time::SystemTime;

use hambo::{Dataset, Evaluation, Seed, evaluate_resumable};
use hambo_io::Verdict;
use hambo_io::onnx::OnnxPolicy;

use super::report;
use crate::args::{Bound, Evaluate, Into};
use crate::config::{self, Loaded};
use crate::failure::{Exit, Failure, Result};
use crate::json::{Context, Document, File, WarningRow, warnings};
use crate::origin::Origin;
use crate::progress::Progress;
use crate::run::{Keeper, Run, SCHEMA, Subject};
use crate::source::{self, Source};
use crate::task::{self, Defined};
use crate::{atomic, describe, screen};

/// What was asked for.
pub struct Call<'a> {
    pub args: &'a Evaluate,
    pub threshold: Option<f64>,
    pub words: &'a [String],
}

pub fn run(call: &Call<'_>, quiet: bool, progress: &Progress) -> Result<Exit> {
    let args = call.args;
    let loaded = settings(&args.settings, &args.bound)?;
    if args.settings.show_config {
        return super::show_config(&loaded.config);
    }
    check_threshold(call.threshold)?;
    check_outputs(&args.into)?;
    let basis = Basis::of(args, &loaded, progress)?;
    let policy = Candidate::load(&args.policy, basis.origin())?;
    let defined = task::define(&loaded, basis.origin())?;
    let subject = Subject {
        threshold: call.threshold,
        ..subject(&policy, &basis.identity()?, basis.origin(), &defined, call.words)?
    };
    let settings = loaded.config.to_toml()?;
    let run = match &args.into.out {
        Some(out) => Some(Run::begin(out, &subject, &settings, args.into.resume)?),
        None => None,
    };
    let source = basis.source(&loaded, run.as_ref(), progress)?;
    let found = assess(&source, &policy, &defined, &loaded, run.as_ref(), progress, "")
        .map_err(|failure| resumable(failure, run.is_some()))?;

    let doubts: Vec<WarningRow> =
        warnings(&found).into_iter().chain(policy.warnings.clone()).collect();
    let verdict = Verdict::of(&found, call.threshold);
    let json = document(&found, &verdict, &policy, call.threshold, &loaded)?;
    if let Some(run) = &run {
        run.write_result(&json)?;
    }
    let to_stdout = args.into.json.as_deref() == Some(Path::new("-"));
    if let Some(file) = args.into.json.as_ref().filter(|_| !to_stdout) {
        atomic::write(file, &json)?;
    }
    if let Some(file) = &args.into.report {
        atomic::write(file, report::page(&found, &subject).as_bytes())?;
    }
    let text = match (to_stdout, quiet) {
        (true, _) => String::from_utf8_lossy(&json).into_owned(),
        (false, true) => {
            describe::doubts(&doubts) + &describe::conclusion(&found, &verdict, call.threshold)
        }
        (false, false) => describe::evaluation(&found, &doubts, call.threshold),
    };
    screen::print(&text)?;
    for (what, path) in [("run", &args.into.out), ("report", &args.into.report)] {
        if let Some(path) = path {
            progress.note(&format!("{what} written to {}", path.display()));
        }
    }
    Ok(describe::exit(&verdict))
}

/// The settings, with the flags of the bound applied.
pub fn settings(settings: &crate::args::Settings, bound: &Bound) -> Result<Loaded> {
    let mut loaded = Loaded::of(settings)?;
    let config = &mut loaded.config;
    config.task.horizon = bound.horizon.or(config.task.horizon);
    config.evaluation.delta = bound.delta.unwrap_or(config.evaluation.delta);
    if !bound.variants.is_empty() {
        config.evaluation.variants = bound.variants.clone();
    }
    let variants = std::mem::take(&mut config.evaluation.variants);
    for variant in variants {
        if !config.evaluation.variants.contains(&variant) {
            config.evaluation.variants.push(variant);
        }
    }
    config.evaluation.validate()?;
    config.model.validate()?;
    Ok(loaded)
}

fn check_threshold(threshold: Option<f64>) -> Result<()> {
    match threshold {
        Some(value) if !value.is_finite() => {
            Err(Failure::input(format!("--threshold {value}: give a finite number")))
        }
        _ => Ok(()),
    }
}

/// Hours of work should not end in a file that cannot be written.
fn check_outputs(into: &Into) -> Result<()> {
    let files = [&into.json, &into.report].into_iter().flatten();
    let mut written = files.filter(|file| *file != Path::new("-"));
    written.try_for_each(|file| atomic::check_writable(file))
}

/// What the evaluation stands on.
enum Basis<'a> {
    Model { source: Box<Source>, directory: &'a Path },
    Data { dataset: Dataset, origin: Box<Origin>, path: &'a Path },
}

impl<'a> Basis<'a> {
    fn of(args: &'a Evaluate, loaded: &Loaded, progress: &Progress) -> Result<Self> {
        match (&args.on.model, &args.on.data) {
            (Some(directory), _) => {
                Ok(Self::Model { source: Box::new(Source::load(directory)?), directory })
            }
            (None, Some(path)) => {
                let dataset = source::read(path, loaded, progress)?;
                let origin = Box::new(Origin::of(&dataset, path, loaded.config.to_toml()?));
                Ok(Self::Data { dataset, origin, path })
            }
            (None, None) => Err(Failure::input("give --model MODEL, or data to fit one to")),
        }
    }

    fn origin(&self) -> &Origin {
        match self {
            Self::Model { source, .. } => &source.origin,
            Self::Data { origin, .. } => origin,
        }
    }

    fn identity(&self) -> Result<String> {
        match self {
            Self::Model { directory, .. } => model_identity(directory),
            Self::Data { origin, .. } => Ok(origin.identity.fingerprint.clone()),
        }
    }

    /// The model: loaded, fitted, or fitted before the run was interrupted.
    fn source(self, loaded: &Loaded, run: Option<&Run>, progress: &Progress) -> Result<Source> {
        let (dataset, path) = match self {
            Self::Model { source, .. } => return Ok(*source),
            Self::Data { dataset, path, .. } => (dataset, path),
        };
        let place = run.map(Run::model);
        if let Some(place) = place.as_ref().filter(|place| place.exists()) {
            return Source::load(place);
        }
        let source = Source::fit(&dataset, path, &loaded.config, progress)
            .map_err(|failure| resumable(failure, run.is_some()))?;
        if let Some(place) = &place {
            source.save(place)?;
        }
        Ok(source)
    }
}

/// Changes when anything in the model's directory does that an evaluation depends on.
pub fn model_identity(directory: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for file in ["checksums.txt", "data.json"] {
        let path = directory.join(file);
        match std::fs::read(&path) {
            Ok(bytes) => hasher.update(blake3::hash(&bytes).as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => hasher.update(&[0]),
            Err(error) => return Err(Failure::io(&path, "read it", &error)),
        };
    }
    Ok(hasher.finalize().to_string())
}

/// A policy, with what its file tells before it is played.
pub struct Candidate {
    pub file: String,
    pub blake3: String,
    policy: OnnxPolicy,
    pub warnings: Vec<WarningRow>,
}

impl Candidate {
    pub fn load(path: &Path, origin: &Origin) -> Result<Self> {
        let (d_s, d_a) = (origin.state_names.len(), origin.action_names.len());
        let policy = OnnxPolicy::load(path, d_s, d_a)?;
        let mut warnings = Vec::new();
        if origin.has_sample() {
            for warning in policy.action_range_warnings(&origin.sample()?)? {
                let text = warning.to_string();
                let (message, help) = text.split_once("; ").unwrap_or((&text, ""));
                warnings.push(WarningRow {
                    code: "action_range".into(),
                    message: message.into(),
                    help: help.into(),
                });
            }
        }
        let file = path.display().to_string();
        Ok(Self { file, blake3: task::hash(path)?, policy, warnings })
    }
}

pub fn subject(
    policy: &Candidate,
    basis: &str,
    origin: &Origin,
    defined: &Defined,
    words: &[String],
) -> Result<Subject> {
    Ok(Subject {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: command(words),
        begun: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        policy: policy.file.clone(),
        policy_blake3: policy.blake3.clone(),
        source: origin.source.clone(),
        basis: basis.into(),
        files: defined.files.clone(),
        state_names: origin.state_names.clone(),
        threshold: None,
        action_names: origin.action_names.clone(),
        summary: origin.summary.clone(),
        warnings: policy.warnings.clone(),
    })
}

/// The call, as it can be typed again.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = words.iter().skip(1).filter(|word| *word != "--resume").map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("hambo".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// Evaluates one policy, or goes on with its run.
pub fn assess(
    source: &Source,
    policy: &Candidate,
    defined: &Defined,
    loaded: &Loaded,
    run: Option<&Run>,
    progress: &Progress,
    prefix: &str,
) -> Result<Evaluation> {
    if let Some(found) = run.map(Run::evaluation).transpose()?.flatten() {
        return Ok(found);
    }
    let keeper = Keeper { run, progress, prefix: prefix.into() };
    let found = evaluate_resumable(
        &source.model,
        &policy.policy,
        &defined.task,
        &defined.constraints,
        &loaded.config.evaluation,
        Seed(loaded.config.seed.into()),
        &keeper,
    );
    progress.end();
    let found = found?;
    if let Some(run) = run {
        run.finish(&found)?;
    }
    Ok(found)
}

/// Says how to go on.
pub fn resumable(failure: Failure, is_kept: bool) -> Failure {
    match (&failure, is_kept) {
        (Failure::Interrupted(_), true) => {
            failure.with_advice("the same command with --resume goes on from here")
        }
        (Failure::Interrupted(_), false) => {
            failure.with_advice("nothing was kept: with --out RUN it could be resumed")
        }
        _ => failure,
    }
}

pub fn document(
    found: &Evaluation,
    verdict: &Verdict,
    policy: &Candidate,
    threshold: Option<f64>,
    loaded: &Loaded,
) -> Result<Vec<u8>> {
    let broken = |error: String| Failure::Internal(format!("the result: {error}"));
    let settings = toml::Value::try_from(&loaded.config).map_err(|e| broken(e.to_string()))?;
    let context = Context {
        policy: File { file: &policy.file, blake3: &policy.blake3 },
        threshold,
        warnings: &policy.warnings,
        settings: config::json(&settings),
    };
    let document = Document::of(found, verdict, context);
    let mut json = serde_json::to_vec_pretty(&document).map_err(|e| broken(e.to_string()))?;
    json.push(b'\n');
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["/usr/bin/hambo", "evaluate", "my logs.csv", "--resume", "it's"];
        let words = words.map(String::from);
        assert_eq!(command(&words), r"hambo evaluate 'my logs.csv' 'it'\''s'");
    }
}
