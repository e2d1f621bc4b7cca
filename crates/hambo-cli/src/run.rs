//! A run as a directory, written stage by stage, so that it can go on after any interruption.
//!
//! | file | content |
//! |---|---|
//! | `run.json` | what the run is about: policy, model, files, command; written first |
//! | `settings.toml` | the effective settings |
//! | `model/` | the fitted model, if the run began with data |
//! | `stages/` | what each variant found, as soon as it did |
//! | `lock` | held while somebody works on the run |
//! | `evaluation.json` | everything that was found |
//! | `result.json` | the same as `--json` |
//!
//! Every file appears as a whole. A stage is a function of what `run.json` and `settings.toml` say, so a
//! resumed run that finds them unchanged gives the same bits.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hambo::dataset::Summary;
use hambo::{BoxError, Checkpoints, Evaluation, Event, Finding, Observer, Variant};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::config;
use crate::failure::{Failure, Result};
use crate::json::WarningRow;
use crate::progress::{Progress, duration};
use crate::screen::number;

pub const SCHEMA: u64 = 1;

const SUBJECT: &str = "run.json";
const SETTINGS: &str = "settings.toml";
const LOCK: &str = "lock";
const STAGES: &str = "stages";
const EVALUATION: &str = "evaluation.json";
pub const RESULT: &str = "result.json";
pub const MODEL: &str = "model";

/// What a run is about. Two runs with the same subject and settings find the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    pub schema: u64,
    pub version: String,
    /// As it was typed.
    pub command: String,
    /// When it was begun.
    pub begun: String,
    /// The policy's file, and its BLAKE3.
    pub policy: String,
    pub policy_blake3: String,
    /// Where the model or the data came from.
    pub source: String,
    /// What identifies the model: its checksums, or the data's fingerprint.
    pub basis: String,
    /// Other files that the settings name, with their BLAKE3.
    pub files: Vec<(String, String)>,
    pub state_names: Vec<String>,
    pub threshold: Option<f64>,
    /// What follows is for the report only. Earlier versions did not write it.
    #[serde(default)]
    pub action_names: Vec<String>,
    #[serde(default)]
    pub summary: Option<Summary>,
    /// What the policy's file gives to think about.
    #[serde(default)]
    pub warnings: Vec<WarningRow>,
}

impl Subject {
    /// Why findings about `self` say nothing about `other`.
    fn difference(&self, other: &Self) -> Option<String> {
        let parts = [
            ("version", &self.version, &other.version),
            ("policy", &self.policy_blake3, &other.policy_blake3),
            ("model or data", &self.basis, &other.basis),
        ];
        let changed = parts.iter().find(|(_, before, now)| before != now);
        if let Some((part, ..)) = changed {
            return Some(format!("another {part}"));
        }
        (self.files != other.files).then(|| "other files behind the task".into())
    }
}

/// A run's directory.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    /// Held while the run is worked on; the system lets go of it when the process ends.
    _lock: Option<File>,
}

impl Run {
    /// Begins a run in a new directory, or goes on with one that is about the same.
    pub fn begin(
        directory: &Path,
        subject: &Subject,
        settings: &str,
        resume: bool,
    ) -> Result<Self> {
        if !directory.exists() {
            atomic::directory(directory, |unfinished| {
                let failed = |error| Failure::io(directory, "create it", &error);
                fs::create_dir(unfinished).map_err(failed)?;
                fs::create_dir(unfinished.join(STAGES)).map_err(failed)?;
                atomic::write(&unfinished.join(SUBJECT), &pretty(subject)?)?;
                atomic::write(&unfinished.join(SETTINGS), settings.as_bytes())
            })?;
            return Self { directory: directory.into(), _lock: None }.locked();
        }
        let name = directory.display();
        if !resume {
            let message = format!("{name} exists already; choose another --out, or add --resume");
            return Err(Failure::input(message));
        }
        let run = Self::open(directory)?.locked()?;
        let before = run.subject()?;
        if let Some(difference) = before.difference(subject) {
            let message =
                format!("{name} was begun with {difference}; choose another --out for this one");
            return Err(Failure::input(message));
        }
        let changed = config::differences(&run.settings()?, settings);
        if !changed.is_empty() {
            let message = format!(
                "{name} was begun with other settings: {}; choose another --out for these",
                changed.join(", ")
            );
            return Err(Failure::input(message));
        }
        // The threshold is not part of what was found.
        if before.threshold != subject.threshold {
            let subject = Subject { threshold: subject.threshold, ..before };
            atomic::write(&directory.join(SUBJECT), &pretty(&subject)?)?;
        }
        run.sweep();
        Ok(run)
    }

    /// Makes sure that nobody else works on the run.
    fn locked(self) -> Result<Self> {
        let path = self.directory.join(LOCK);
        let failed = |error| Failure::io(&path, "lock it", &error);
        let file = File::create(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _lock: Some(file), ..self }),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
            Err(fs::TryLockError::WouldBlock) => Err(Failure::input(format!(
                "another process is working on {}; wait for it, or choose another --out",
                self.directory.display()
            ))),
        }
    }

    /// Removes what a killed process left half-written.
    fn sweep(&self) {
        for directory in [self.directory.clone(), self.directory.join(STAGES)] {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(atomic::UNFINISHED) {
                    // What cannot be removed does no harm.
                    let _ =
                        fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
                }
            }
        }
    }

    /// Opens a run that was begun earlier.
    pub fn open(directory: &Path) -> Result<Self> {
        let run = Self { directory: directory.into(), _lock: None };
        run.subject().map(|_| run)
    }

    pub fn subject(&self) -> Result<Subject> {
        let path = self.directory.join(SUBJECT);
        if !path.is_file() {
            let message = format!(
                "{} is not a run: it has no `{SUBJECT}`; give a directory that `hambo evaluate --out` \
                 has written",
                self.directory.display()
            );
            return Err(Failure::input(message));
        }
        #[derive(Deserialize)]
        struct Versioned {
            schema: u64,
        }
        let Versioned { schema } = load(&path)?;
        if schema != SCHEMA {
            let message = format!(
                "{}: written in schema {schema}, this version reads {SCHEMA}; use the version that \
                 wrote it, or evaluate again",
                path.display()
            );
            return Err(Failure::input(message));
        }
        load(&path)
    }

    pub fn settings(&self) -> Result<String> {
        let path = self.directory.join(SETTINGS);
        fs::read_to_string(&path).map_err(|error| Failure::io(&path, "read it", &error))
    }

    pub fn model(&self) -> PathBuf {
        self.directory.join(MODEL)
    }

    pub fn evaluation(&self) -> Result<Option<Evaluation>> {
        let path = self.directory.join(EVALUATION);
        path.is_file().then(|| load(&path)).transpose()
    }

    pub fn finish(&self, evaluation: &Evaluation) -> Result<()> {
        let json = serde_json::to_vec(evaluation).map_err(unwritable)?;
        atomic::write(&self.directory.join(EVALUATION), &json)
    }

    pub fn write_result(&self, json: &[u8]) -> Result<()> {
        atomic::write(&self.directory.join(RESULT), json)
    }

    /// Names of objectives may hold anything, so files go by their hash.
    fn stage(&self, objective: &str, variant: Variant) -> PathBuf {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let readable: String = objective.chars().filter(|&c| plain(c)).take(40).collect();
        let hash = blake3::hash(objective.as_bytes()).to_hex();
        self.directory.join(STAGES).join(format!("{readable}-{}-{variant}.json", &hash[..8]))
    }
}

/// A run in progress: findings go to its directory, if it has one, and events to the screen.
pub struct Keeper<'a> {
    pub run: Option<&'a Run>,
    pub progress: &'a Progress,
    /// Shown before the objective when several policies are evaluated.
    pub prefix: String,
}

impl Observer for Keeper<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.progress.observe(event)
    }
}

impl Checkpoints for Keeper<'_> {
    fn recall(&self, objective: &str, variant: Variant) -> Result<Option<Finding>, BoxError> {
        self.progress.begin(&format!("{}{objective}, {variant}", self.prefix));
        let Some(run) = self.run else { return Ok(None) };
        let path = run.stage(objective, variant);
        let kept: Option<Finding> = path.is_file().then(|| load(&path)).transpose()?;
        Ok(kept.filter(|kept| kept.result.name == variant))
    }

    fn keep(&self, objective: &str, variant: Variant, found: &Finding) -> Result<(), BoxError> {
        self.progress.end();
        let (bound, time) = (number(found.result.lower_bound), duration(found.seconds));
        let what = if variant.is_conservative() { "lower bound" } else { "neutral, lower limit" };
        self.progress
            .note(&format!("{}{objective}, {variant}: {what} {bound}, {time}", self.prefix));
        let Some(run) = self.run else { return Ok(()) };
        let json = serde_json::to_vec(found).map_err(unwritable)?;
        Ok(atomic::write(&run.stage(objective, variant), &json)?)
    }
}

fn pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> Failure {
    Failure::Internal(format!("cannot be written as JSON: {error}"))
}

fn load<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs::read(path).map_err(|error| Failure::io(path, "read it", &error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!(
            "{}: cannot be understood: {error}; remove the file, and add `--resume` to the command that \
             began the run",
            path.display()
        );
        Failure::input(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            schema: SCHEMA,
            version: "1".into(),
            command: "hambo evaluate".into(),
            begun: "today".into(),
            policy: "p.onnx".into(),
            policy_blake3: "aa".into(),
            source: "model".into(),
            basis: "bb".into(),
            files: Vec::new(),
            state_names: vec!["x".into()],
            threshold: None,
            action_names: Vec::new(),
            summary: None,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_run_goes_on_only_if_it_is_asked_to_and_about_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &subject(), "seed = 0", false).unwrap();
        let error = Run::begin(&path, &subject(), "seed = 0", false).unwrap_err();
        assert!(error.to_string().contains("--resume"), "{error}");
        Run::begin(&path, &subject(), "seed = 0", true).unwrap();
        let error = Run::begin(&path, &subject(), "seed = 1", true).unwrap_err();
        assert!(error.to_string().contains("`seed` was 0, is 1"), "{error}");
        let other = Subject { policy_blake3: "cc".into(), ..subject() };
        let error = Run::begin(&path, &other, "seed = 0", true).unwrap_err();
        assert!(error.to_string().contains("another policy"), "{error}");
    }

    #[test]
    fn two_processes_do_not_work_on_one_run() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let first = Run::begin(&path, &subject(), "", false).unwrap();
        let error = Run::begin(&path, &subject(), "", true).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        Run::begin(&path, &subject(), "", true).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_swept_away() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &subject(), "", false).unwrap();
        let half = path.join(".unfinished-x");
        fs::create_dir(&half).unwrap();
        fs::write(path.join("stages/.unfinished-y"), b"half").unwrap();
        Run::begin(&path, &subject(), "", true).unwrap();
        assert!(!half.exists());
        assert_eq!(fs::read_dir(path.join("stages")).unwrap().count(), 0);
    }

    #[test]
    fn another_threshold_is_no_other_run() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &subject(), "", false).unwrap();
        let other = Subject { threshold: Some(3.0), ..subject() };
        let run = Run::begin(&path, &other, "", true).unwrap();
        assert_eq!(run.subject().unwrap().threshold, Some(3.0));
    }

    #[test]
    fn objectives_of_similar_names_have_stages_of_their_own() {
        let run = Run { directory: "run".into(), _lock: None };
        assert_ne!(run.stage("a/b", Variant::Ca), run.stage("a:b", Variant::Ca));
    }
}
