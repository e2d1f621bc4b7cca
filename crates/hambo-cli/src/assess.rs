//! What `evaluate`, `certify` and `rank` have in common: a policy is loaded, evaluated on a model as
//! far as its run has not done so, and what was found is written down.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use hambo::dataset::{ColumnNames, EpisodeMarks};
use hambo::task::WithLogProb;
use hambo::{Against, Baseline, Evaluation, Policy, Seed};
use hambo_io::cache::Entry;
use hambo_io::model::{Origin, SavedModel};
use hambo_io::onnx::OnnxPolicy;
use hambo_io::result::{FileNote, PolicyFile, ResultDocument};

use crate::args::{BoundFlags, Settings};
use crate::config::{self, Config, Loaded, Preset};
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::run::{Run, RunCheckpoints, RunRecord, SCHEMA};
use crate::task::{self, Defined};

/// The settings, with the flags of the bound applied.
pub(crate) fn settings(settings: &Settings, bound: &BoundFlags) -> Result<Loaded> {
    let mut loaded = Loaded::of(settings)?;
    let config = &mut loaded.config;
    config.task.horizon = bound.horizon.or(config.task.horizon);
    config.evaluation.delta = bound.delta.unwrap_or(config.evaluation.delta);
    if !bound.variants.is_empty() {
        config.evaluation.variants = bound.variants.clone();
    }
    config.evaluation.stress |= bound.stress;
    if bound.baselines {
        config.evaluation.baselines.get_or_insert_default();
    }
    if !bound.inputs.is_empty() {
        config.policy.inputs = bound.inputs.clone();
    }
    let variants = std::mem::take(&mut config.evaluation.variants);
    for variant in variants {
        if !config.evaluation.variants.contains(&variant) {
            config.evaluation.variants.push(variant);
        }
    }
    config.evaluation.accept_weaker.extend(bound.accept_weaker.iter().cloned());
    config.evaluation.allow.extend(bound.allow.iter().cloned());
    config.evaluation.validate()?;
    config.model.validate()?;
    Ok(loaded)
}

/// A policy, with what its file tells before it is played.
pub(crate) struct Candidate {
    pub file: PolicyFile,
    policy: Arc<OnnxPolicy>,
    pub notes: Vec<FileNote>,
}

impl Candidate {
    /// Of `inputs`, for data with these columns.
    pub(crate) fn load(path: &Path, inputs: &[String], columns: &ColumnNames) -> Result<Self> {
        let policy = Arc::new(OnnxPolicy::load_for(path, inputs, columns)?);
        let file = PolicyFile { file: path.display().to_string(), blake3: task::hash(path)? };
        Ok(Self { file, policy, notes: Vec::new() })
    }

    pub(crate) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// The episodes that it was learned from, if its file says so.
    pub(crate) fn learned_from(&self) -> Option<&EpisodeMarks> {
        self.policy.learned_from()
    }

    /// Compares its actions with those in the logs of a model, and says so if the work is quick.
    pub(crate) fn compare(&mut self, saved: &SavedModel, config: &Config) -> Result<()> {
        let model = &saved.model;
        let notes = self.policy.action_range_notes(&model.logged, &model.data.names)?;
        self.notes = notes
            .into_iter()
            .map(|note| FileNote {
                code: "action_range".into(),
                message: note.to_string(),
                help: note.help().into(),
            })
            .collect();
        let is_quick = config.preset == Some(Preset::Quick);
        self.notes.extend(FileNote::on_quick(saved.origin.is_quick(), is_quick));
        Ok(())
    }
}

/// The task with what the flags say the policy must be better than.
pub(crate) fn with_baseline(
    mut defined: Defined,
    bound: &BoundFlags,
    margin: Option<f64>,
    inputs: &[String],
    columns: &ColumnNames,
) -> Result<Defined> {
    let Some(against) = &bound.against else { return Ok(defined) };
    let baseline = match against == Path::new("logged") {
        true => Baseline::Logged,
        false if !against.is_file() => {
            let message = format!(
                "--against {}: there is no such file; give `logged` for the logged policy, or a policy as \
                 an ONNX file",
                against.display()
            );
            return Err(Failure::input(message));
        }
        false => {
            let policy = Arc::new(OnnxPolicy::load_for(against, inputs, columns)?);
            defined.files.push((against.display().to_string(), task::hash(against)?));
            let name = against.file_name().unwrap_or(against.as_os_str());
            Baseline::Policy { name: name.to_string_lossy().into_owned(), policy }
        }
    };
    defined.task.against = Some(Against { baseline, margin });
    defined.task.validate()?;
    Ok(defined)
}

/// What a run is about.
pub(crate) fn record(
    policy: &Candidate,
    basis: &str,
    origin: &Origin,
    defined: &Defined,
    words: &[String],
) -> RunRecord {
    RunRecord {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: command(words),
        begun: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        policy: policy.file.clone(),
        source: origin.source.clone(),
        basis: basis.into(),
        files: defined.files.clone(),
        against: defined.task.against.as_ref().map(|against| against.baseline.to_string()),
        threshold: None,
        summary: origin.summary.clone(),
    }
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

/// Where to look for what was found before, and to keep what is found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kept<'a> {
    pub run: Option<&'a Run>,
    /// Of a cache.
    pub entry: Option<&'a Entry>,
}

/// Evaluates one policy, or goes on with its run; `prefix` tells several policies apart.
pub(crate) fn assess(
    saved: &SavedModel,
    policy: &Candidate,
    defined: &Defined,
    loaded: &Loaded,
    kept: Kept<'_>,
    progress: &Progress,
    prefix: &str,
) -> Result<Evaluation> {
    let finished = kept.run.map(Run::result).transpose()?.flatten();
    let cached = || {
        let found = kept.entry.and_then(Entry::recall)?;
        progress.note(&format!("{prefix}nothing has changed since it was evaluated"));
        Some(found)
    };
    if let Some(document) = finished.or_else(cached) {
        let mut found = document.evaluation;
        // The margin, as the threshold, is not part of what was found.
        let against = &defined.task.against;
        if let (Some(improvement), Some(against)) = (&mut found.improvement, against) {
            improvement.margin = against.margin;
        }
        return Ok(found);
    }
    let run = kept.run;
    let keeper = RunCheckpoints { run, progress, prefix: prefix.into() };
    let (settings, seed) = (&loaded.config.evaluation, Seed(loaded.config.seed));
    let policy: Arc<dyn Policy> = match &defined.log_prob {
        Some(log_prob) => {
            let (policy, log_prob) = (policy.policy.clone(), log_prob.clone());
            Arc::new(WithLogProb { policy, log_prob })
        }
        None => policy.policy.clone(),
    };
    let found = saved.model.evaluate(&*policy, &defined.task, settings, seed, &keeper);
    progress.end();
    let found = found.map_err(|error| resumable(error.into(), run.is_some()))?;
    match kept.entry {
        Some(entry) => {
            let document = ResultDocument::of(found);
            entry.keep(&document)?;
            Ok(document.evaluation)
        }
        None => Ok(found),
    }
}

/// Says how to go on.
pub(crate) fn resumable(failure: Failure, is_kept: bool) -> Failure {
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

/// The result, as `--json` writes it and a run keeps it.
pub(crate) fn document(
    found: Evaluation,
    policy: &Candidate,
    threshold: Option<f64>,
    loaded: &Loaded,
) -> Result<ResultDocument> {
    let broken = |error: toml::ser::Error| Failure::Internal(format!("the result: {error}"));
    let settings = toml::Value::try_from(&loaded.config).map_err(broken)?;
    Ok(ResultDocument {
        policy: Some(policy.file.clone()),
        notes: policy.notes.clone(),
        config: Some(config::json(&settings)),
        ..ResultDocument::of(found).with_threshold(threshold)
    })
}

/// A document as text.
pub(crate) fn to_json(document: &ResultDocument) -> Result<Vec<u8>> {
    let broken = |error: serde_json::Error| Failure::Internal(format!("the result: {error}"));
    let mut json = serde_json::to_vec_pretty(document).map_err(broken)?;
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
