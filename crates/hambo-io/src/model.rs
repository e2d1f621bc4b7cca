//! A fitted, calibrated model as a directory.
//!
//! | file | content |
//! |---|---|
//! | `model.json` | schema, settings, data fingerprint, standardisation, calibration; Gaussian processes whole |
//! | `networks.safetensors` | an ensemble's parameters |
//! | `logged.safetensors` | a sample of the logged transitions, which evaluations are held against |
//! | `checksums.txt` | BLAKE3 of the other files |
//!
//! It is written beside its place and moved there when it is complete. Loading executes nothing, and
//! refuses a directory in which any bit has changed.

use std::any::Any;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use hambo::dataset::DataIdentity;
use hambo::dynamics::ensemble::{Ensemble, SavedEnsemble};
use hambo::dynamics::gp::GaussianProcess;
use hambo::nn::Device;
use hambo::{
    Calibration, Dynamics, LoggedActions, LoggedSample, Model, Persistence, Report, StateBounds,
};
use serde::{Deserialize, Serialize};

use crate::directory;
use crate::error::{Error, Result};

/// The version of the format that this crate writes and reads. Schema 1 had no sample of the logs.
pub const SCHEMA: u64 = 2;

pub(crate) const DOCUMENT: &str = "model.json";
const NETWORKS: &str = "networks.safetensors";
const LOGGED: &str = "logged.safetensors";
const CHECKSUMS: &str = "checksums.txt";

/// Larger files are refused before they are read.
const LIMIT: u64 = 1 << 30;

/// `model.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u64,
    /// Version of the crate that wrote it.
    version: String,
    data: DataIdentity,
    dynamics: SavedDynamics,
    calibration: Calibration,
    persistence: Persistence,
    logged_actions: Vec<LoggedActions>,
    state_range: StateBounds,
    range_widening: f32,
    report: Report,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedDynamics {
    Ensemble(SavedEnsemble),
    Gp(GaussianProcess),
}

/// Saves a model to a directory that does not exist yet.
pub fn save(model: &Model, directory: impl AsRef<Path>) -> Result<()> {
    let directory = directory.as_ref();
    let (dynamics, networks) = take_apart(&*model.dynamics)?;
    let document = Document {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        data: model.data.clone(),
        dynamics,
        calibration: model.calibration.clone(),
        persistence: model.persistence.clone(),
        logged_actions: model.logged.actions.clone(),
        state_range: model.state_range.clone(),
        range_widening: model.range_widening,
        report: model.report.clone(),
    };
    let json = serde_json::to_vec_pretty(&document).map_err(|error| Error::Content {
        path: directory.into(),
        file: DOCUMENT,
        message: error.to_string(),
    })?;
    let mut files = vec![(DOCUMENT, json)];
    files.extend(networks.map(|bytes| (NETWORKS, bytes)));
    files.push((LOGGED, model.logged.to_safetensors()));
    let listed = files.iter().map(|(name, bytes)| (*name, &bytes[..]));
    let checksums = checksums(listed).into_bytes();
    files.push((CHECKSUMS, checksums));
    directory::write(directory, |unfinished| {
        for (name, bytes) in &files {
            let path = unfinished.join(name);
            let mut file = File::create(&path).map_err(Error::io(&path, "create it"))?;
            file.write_all(bytes).map_err(Error::io(&path, "write it"))?;
            file.sync_all().map_err(Error::io(&path, "write it to the disk"))?;
        }
        Ok(())
    })
}

/// Loads what [`save`] wrote.
pub fn load(directory: impl AsRef<Path>) -> Result<Model> {
    let directory = directory.as_ref();
    let checksums_found = read(directory, CHECKSUMS)?;
    let document = read(directory, DOCUMENT)?;
    let networks = match read(directory, NETWORKS) {
        Err(Error::NotAModel { .. }) => None,
        other => Some(other?),
    };
    // An older or newer schema is named as such, before anything else is expected of the file.
    let schema = schema_of(directory, &document)?;
    if schema != SCHEMA {
        let path = directory.into();
        return Err(Error::Schema { path, found: schema, expected: SCHEMA });
    }
    let logged = read(directory, LOGGED)?;
    let mut files = vec![(DOCUMENT, &document[..])];
    files.extend(networks.as_ref().map(|bytes| (NETWORKS, &bytes[..])));
    files.push((LOGGED, &logged));
    compare(directory, &checksums_found, &files)?;

    let content = |file, message: String| Error::Content { path: directory.into(), file, message };
    let document: Document =
        serde_json::from_slice(&document).map_err(|error| content(DOCUMENT, error.to_string()))?;
    let dynamics: Arc<dyn Dynamics> = match (document.dynamics, networks) {
        (SavedDynamics::Ensemble(saved), Some(bytes)) => {
            let ensemble = Ensemble::of_saved(saved, &bytes, Device::Cpu)
                .map_err(|error| content(NETWORKS, error.to_string()))?;
            Arc::new(ensemble)
        }
        (SavedDynamics::Ensemble(_), None) => {
            return Err(Error::NotAModel { path: directory.into(), missing: NETWORKS });
        }
        (SavedDynamics::Gp(processes), _) if processes.is_consistent() => Arc::new(processes),
        (SavedDynamics::Gp(_), _) => {
            return Err(content(
                DOCUMENT,
                "the Gaussian processes' parts do not fit together".into(),
            ));
        }
    };
    let (outputs, states) = (dynamics.outputs(), dynamics.state_dim());
    let calibrated = document.calibration.temperatures.len();
    let bounded = document.state_range.low().len();
    if calibrated != outputs || bounded != states {
        let message = format!(
            "{calibrated} temperatures and bounds of {bounded} columns do not fit {outputs} outputs and \
             states of {states} values"
        );
        return Err(content(DOCUMENT, message));
    }
    let logged = LoggedSample::from_safetensors(&logged, document.logged_actions)
        .map_err(|error| content(LOGGED, error.to_string()))?;
    let persistent = &document.persistence;
    if !logged.fits(states, dynamics.action_dim())
        || [&persistent.autocorrelation, &persistent.unexplained].iter().any(|p| p.len() != outputs)
    {
        return Err(content(LOGGED, "the sample of the logs does not fit the model".into()));
    }
    Ok(Model {
        dynamics,
        logged,
        persistence: document.persistence,
        calibration: document.calibration,
        state_range: document.state_range,
        range_widening: document.range_widening,
        data: document.data,
        report: document.report,
    })
}

fn take_apart(dynamics: &dyn Dynamics) -> Result<(SavedDynamics, Option<Vec<u8>>)> {
    let dynamics: &dyn Any = dynamics;
    if let Some(ensemble) = dynamics.downcast_ref::<Ensemble>() {
        let (saved, networks) = ensemble.to_saved();
        return Ok((SavedDynamics::Ensemble(saved), Some(networks)));
    }
    match dynamics.downcast_ref::<GaussianProcess>() {
        Some(processes) => Ok((SavedDynamics::Gp(processes.clone()), None)),
        None => Err(Error::Unsupported),
    }
}

/// One line per file: hash, two spaces, name.
fn checksums<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    files.map(|(name, bytes)| format!("{}  {name}\n", blake3::hash(bytes))).collect()
}

/// The list must be exactly the one that would be written for these files.
fn compare(directory: &Path, found: &[u8], files: &[(&'static str, &[u8])]) -> Result<()> {
    let damaged = |file: &str| Error::Damaged { path: directory.into(), file: file.into() };
    let expected = checksums(files.iter().copied());
    if found == expected.as_bytes() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found);
    let lines: Vec<&str> = found.lines().collect();
    // If one line differs in a well-formed list, its file is the one that changed.
    for (index, (name, _)) in files.iter().enumerate() {
        let listed = lines.get(index).is_some_and(|line| line.ends_with(&format!("  {name}")));
        if listed && expected.lines().nth(index) != lines.get(index).copied() {
            return Err(damaged(name));
        }
    }
    Err(damaged(CHECKSUMS))
}

/// Reads only the schema, so that other schemas need not be understood.
fn schema_of(directory: &Path, document: &[u8]) -> Result<u64> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let versioned: Versioned = serde_json::from_slice(document).map_err(|error| {
        Error::Content { path: directory.into(), file: DOCUMENT, message: error.to_string() }
    })?;
    Ok(versioned.schema)
}

fn read(directory: &Path, name: &'static str) -> Result<Vec<u8>> {
    let path = directory.join(name);
    let mut file = File::open(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::NotAModel { path: directory.into(), missing: name },
        _ => Error::io(&path, "open it")(error),
    })?;
    let bytes = file.metadata().map_err(Error::io(&path, "ask for its size"))?.len();
    if bytes > LIMIT {
        return Err(Error::TooLarge { path: directory.into(), file: name, bytes, limit: LIMIT });
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(Error::io(&path, "read it"))?;
    Ok(content)
}
