//! A run as a directory, written stage by stage, so that it can go on after any interruption.
//!
//! | file | content |
//! |---|---|
//! | `run.json` | what the run is about: policy, model, files, command; written first |
//! | `settings.toml` | the effective settings |
//! | `model/` | the fitted model, if the run began with data |
//! | `stages/` | what each variant found, as soon as it did |
//! | `lock` | held while somebody works on the run |
//! | `result.json` | everything that was found, the same as `--json` |
//!
//! Every file appears as a whole. A stage is a function of what `run.json` and `settings.toml` say, so a
//! resumed run that finds them unchanged gives the same bits.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hambo::dataset::Summary;
use hambo::{BoxError, Event, Finding, Observer};
use hambo_io::cache::{Cache, Entry};
use hambo_io::checkpoints::Checkpoints;
use hambo_io::result::{PolicyFile, ResultDocument};
use hambo_io::{Error, atomic};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config;
use crate::failure::{Failure, Result};
use crate::progress::{Progress, duration};
use crate::screen::number;

/// Schema 1 kept the evaluation apart from the result.
pub(crate) const SCHEMA: u64 = 2;

const RECORD: &str = "run.json";
const SETTINGS: &str = "settings.toml";
const LOCK: &str = "lock";
const STAGES: &str = "stages";
const RESULT: &str = "result.json";
const MODEL: &str = "model";

/// What a run is about. Two runs with the same record and settings find the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    pub schema: u64,
    pub version: String,
    /// As it was typed.
    pub command: String,
    /// When it was begun.
    pub begun: String,
    pub policy: PolicyFile,
    /// Where the model or the data came from.
    pub source: String,
    /// What identifies the model: its checksums, or the data's fingerprint.
    pub basis: String,
    /// Other files that the settings name, with their BLAKE3.
    pub files: Vec<(String, String)>,
    /// What the policy is compared with.
    #[serde(default)]
    pub against: Option<String>,
    pub threshold: Option<f64>,
    /// What is in the data, for the report.
    pub summary: Option<Summary>,
}

impl RunRecord {
    /// Where a cache has what was found with these settings.
    pub(crate) fn entry(&self, cache: &Cache, settings: &str) -> Result<Entry> {
        let files: Vec<&str> = self.files.iter().map(|(_, hash)| hash.as_str()).collect();
        let depends_on = (&self.policy.blake3, &self.basis, files, &self.against, settings);
        Ok(cache.entry(&depends_on)?)
    }

    /// Why findings about `self` say nothing about `other`.
    fn difference(&self, other: &Self) -> Option<String> {
        let parts = [
            ("version", &self.version, &other.version),
            ("policy", &self.policy.blake3, &other.policy.blake3),
            ("model or data", &self.basis, &other.basis),
        ];
        let changed = parts.iter().find(|(_, before, now)| before != now);
        if let Some((part, ..)) = changed {
            return Some(format!("another {part}"));
        }
        if self.against != other.against {
            return Some("another baseline".into());
        }
        (self.files != other.files).then(|| "other files behind the task".into())
    }
}

/// A run's directory.
#[derive(Debug)]
pub(crate) struct Run {
    directory: PathBuf,
    /// Held while the run is worked on; the system lets go of it when the process ends.
    _lock: Option<File>,
}

impl Run {
    /// Begins a run in a new directory, or goes on with one that is about the same.
    pub(crate) fn begin(
        directory: &Path,
        record: &RunRecord,
        settings: &str,
        resume: bool,
    ) -> Result<Self> {
        if !directory.exists() {
            let json = pretty(record)?;
            atomic::directory(directory, |unfinished| {
                let stages = unfinished.join(STAGES);
                let doing = "create it";
                fs::create_dir(&stages).map_err(|source| Error::Io {
                    path: stages,
                    doing,
                    source,
                })?;
                atomic::write(&unfinished.join(RECORD), &json)?;
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
        let before = run.record()?;
        if let Some(difference) = before.difference(record) {
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
        if before.threshold != record.threshold {
            let record = RunRecord { threshold: record.threshold, ..before };
            atomic::write(&directory.join(RECORD), &pretty(&record)?)?;
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
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let run = Self { directory: directory.into(), _lock: None };
        run.record().map(|_| run)
    }

    pub(crate) fn record(&self) -> Result<RunRecord> {
        let path = self.directory.join(RECORD);
        if !path.is_file() {
            let message = format!(
                "{} is not a run: it has no `{RECORD}`; give a directory that `hambo evaluate --out` \
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

    pub(crate) fn settings(&self) -> Result<String> {
        let path = self.directory.join(SETTINGS);
        fs::read_to_string(&path).map_err(|error| Failure::io(&path, "read it", &error))
    }

    pub(crate) fn model(&self) -> PathBuf {
        self.directory.join(MODEL)
    }

    /// What was found, if the run is finished.
    pub(crate) fn result(&self) -> Result<Option<ResultDocument>> {
        let path = self.directory.join(RESULT);
        if !path.is_file() {
            return Ok(None);
        }
        let bytes = fs::read(&path).map_err(|error| Failure::io(&path, "read it", &error))?;
        ResultDocument::from_json(&bytes).map(Some).map_err(|error| not_understood(&path, &error))
    }

    /// Writes what was found.
    pub(crate) fn finish(&self, json: &[u8]) -> Result<()> {
        Ok(atomic::write(&self.directory.join(RESULT), json)?)
    }

    fn stages(&self) -> Checkpoints {
        Checkpoints::at(self.directory.join(STAGES))
    }
}

/// A run in progress: findings go to its directory, if it has one, and events to the screen.
pub(crate) struct RunCheckpoints<'a> {
    pub run: Option<&'a Run>,
    pub progress: &'a Progress,
    /// Shown before the part when several policies are evaluated.
    pub prefix: String,
}

impl Observer for RunCheckpoints<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.progress.observe(event)
    }

    fn recall(&self, part: &str) -> Result<Option<Vec<u8>>, BoxError> {
        self.progress.begin(&format!("{}{part}", self.prefix));
        let Some(run) = self.run else { return Ok(None) };
        let stages = run.stages();
        let bytes = stages.recall(part).map_err(Failure::from)?;
        if let Some(bytes) = &bytes {
            let found: Result<Finding, _> = serde_json::from_slice(bytes);
            found.map_err(|error| not_understood(&stages.file(part), &error.to_string()))?;
        }
        Ok(bytes)
    }

    fn keep(&self, part: &str, found: &[u8]) -> Result<(), BoxError> {
        self.progress.end();
        let Finding { result, seconds, .. } = serde_json::from_slice(found)?;
        let (bound, time) = (number(result.lower_bound), duration(seconds));
        let is_bound = result.variant.is_conservative();
        let what = if is_bound { "lower bound" } else { "neutral, lower limit" };
        self.progress.note(&format!("{}{part}: {what} {bound}, {time}", self.prefix));
        let Some(run) = self.run else { return Ok(()) };
        Ok(run.stages().keep(part, found).map_err(Failure::from)?)
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
    serde_json::from_slice(&bytes).map_err(|error| not_understood(path, &error.to_string()))
}

fn not_understood(path: &Path, why: &str) -> Failure {
    let message = format!(
        "{}: cannot be understood: {why}; remove the file, and add `--resume` to the command that \
         began the run",
        path.display()
    );
    Failure::input(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        RunRecord {
            schema: SCHEMA,
            version: "1".into(),
            command: "hambo evaluate".into(),
            begun: "today".into(),
            policy: PolicyFile { file: "p.onnx".into(), blake3: "aa".into() },
            source: "model".into(),
            basis: "bb".into(),
            files: Vec::new(),
            against: None,
            threshold: None,
            summary: None,
        }
    }

    #[test]
    fn a_run_goes_on_only_if_it_is_asked_to_and_about_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &record(), "seed = 0", false).unwrap();
        let error = Run::begin(&path, &record(), "seed = 0", false).unwrap_err();
        assert!(error.to_string().contains("--resume"), "{error}");
        Run::begin(&path, &record(), "seed = 0", true).unwrap();
        let error = Run::begin(&path, &record(), "seed = 1", true).unwrap_err();
        assert!(error.to_string().contains("`seed` was 0, is 1"), "{error}");
        let policy = PolicyFile { file: "p.onnx".into(), blake3: "cc".into() };
        let other = RunRecord { policy, ..record() };
        let error = Run::begin(&path, &other, "seed = 0", true).unwrap_err();
        assert!(error.to_string().contains("another policy"), "{error}");
    }

    #[test]
    fn two_processes_do_not_work_on_one_run() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let first = Run::begin(&path, &record(), "", false).unwrap();
        let error = Run::begin(&path, &record(), "", true).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        Run::begin(&path, &record(), "", true).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_swept_away() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &record(), "", false).unwrap();
        let half = path.join(".unfinished-x");
        fs::create_dir(&half).unwrap();
        fs::write(path.join("stages/.unfinished-y"), b"half").unwrap();
        Run::begin(&path, &record(), "", true).unwrap();
        assert!(!half.exists());
        assert_eq!(fs::read_dir(path.join("stages")).unwrap().count(), 0);
    }

    #[test]
    fn another_threshold_is_no_other_run() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        Run::begin(&path, &record(), "", false).unwrap();
        let other = RunRecord { threshold: Some(3.0), ..record() };
        let run = Run::begin(&path, &other, "", true).unwrap();
        assert_eq!(run.record().unwrap().threshold, Some(3.0));
    }
}
