//! A fitted, calibrated model and the origin of its data as a directory.
//!
//! | file | content |
//! |---|---|
//! | `model.json` | schema, settings, data fingerprint, standardisation, calibration; Gaussian processes whole |
//! | `networks.safetensors` | an ensemble's parameters |
//! | `random.safetensors` | the frozen random networks that its members are added to, if there are any |
//! | `logged.safetensors` | a sample of the logged transitions, with which evaluations are compared |
//! | `episodes.safetensors` | whole logged episodes, which are played again in the model's worlds |
//! | `data.json` | the origin: what the data was called, its summary, its starts |
//! | `checksums.txt` | BLAKE3 of the other files |
//!
//! It is written beside its place and moved there when it is complete. Loading executes nothing, and
//! refuses a directory in which any bit has changed.

mod origin;

use std::any::Any;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use hambo::dataset::{DataIdentity, History, Sources};
use hambo::dynamics::ensemble::{Ensemble, SavedEnsemble};
use hambo::dynamics::gp::GaussianProcess;
use hambo::dynamics::table::Table;
use hambo::{
    Calibration, Dynamics, FitReport, LoggedActions, LoggedEpisodes, LoggedSample, Model,
    Persistence, StateBounds,
};
use serde::{Deserialize, Serialize};

pub use origin::Origin;

use crate::atomic;
use crate::error::{Error, Result};

/// The version of the format that this crate writes and reads. Schema 1 had no sample of the logs,
/// schema 2 no names of columns, and its origin stood apart; schema 3 kept no whole episodes, schema 4
/// not which episodes of the data they are, schema 5 no marks of all that it was fitted on, schema 6 no gaps.
pub const SCHEMA: u64 = 7;

pub(crate) const DOCUMENT: &str = "model.json";
const NETWORKS: &str = "networks.safetensors";
const RANDOM: &str = "random.safetensors";
const LOGGED: &str = "logged.safetensors";
const EPISODES: &str = "episodes.safetensors";
const ORIGIN: &str = "data.json";
const CHECKSUMS: &str = "checksums.txt";

/// Larger files are refused before they are read.
const LIMIT: u64 = 1 << 30;

/// A model, and what is known of its data.
#[derive(Debug, Clone)]
pub struct SavedModel {
    /// What evaluations start from.
    pub model: Model,
    /// Where it came from.
    pub origin: Origin,
}

/// `model.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    schema: u64,
    /// Version of the crate that wrote it.
    version: String,
    data: DataIdentity,
    dynamics: SavedDynamics,
    calibration: Calibration,
    persistence: Persistence,
    logged_actions: Vec<LoggedActions>,
    episode_sources: Option<Sources>,
    exogenous: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history: Option<History>,
    data_range: StateBounds,
    reward_range: [f32; 2],
    range_widening: f32,
    report: FitReport,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedDynamics {
    Ensemble(SavedEnsemble),
    Table(Table),
    Gp(GaussianProcess),
}

impl SavedModel {
    /// Saves to a directory that does not exist yet, which appears when it is complete.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<()> {
        let directory = directory.as_ref();
        let mut files = self.files(directory)?;
        let checksums = checksums(&files).into_bytes();
        files.push((CHECKSUMS, checksums));
        atomic::directory(directory, |unfinished| {
            for (name, bytes) in &files {
                let path = unfinished.join(name);
                let mut file = File::create(&path).map_err(Error::io(&path, "create it"))?;
                file.write_all(bytes).map_err(Error::io(&path, "write it"))?;
                file.sync_all().map_err(Error::io(&path, "write it to the disk"))?;
            }
            Ok(())
        })
    }

    /// What [`fingerprint`] says of the directory that it would be saved to.
    pub fn fingerprint(&self) -> Result<String> {
        let files = self.files(Path::new("a model in memory"))?;
        Ok(blake3::hash(checksums(&files).as_bytes()).to_string())
    }

    /// All files of a directory, except for the checksums.
    fn files(&self, directory: &Path) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let model = &self.model;
        let TakenApart { dynamics, networks, random } = take_apart(&*model.dynamics)?;
        let document = ModelFile {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            data: model.data.clone(),
            dynamics,
            calibration: model.calibration.clone(),
            persistence: model.persistence.clone(),
            logged_actions: model.logged.actions.clone(),
            episode_sources: model.episodes.sources.clone(),
            exogenous: model.exogenous.clone(),
            history: model.history.clone(),
            data_range: model.data_range.clone(),
            reward_range: model.reward_range,
            range_widening: model.range_widening,
            report: model.report.clone(),
        };
        let unwritable = |file| {
            move |error: serde_json::Error| {
                let message = error.to_string();
                Error::Content { path: directory.into(), file, message }
            }
        };
        let json = serde_json::to_vec_pretty(&document).map_err(unwritable(DOCUMENT))?;
        let origin = serde_json::to_vec(&self.origin).map_err(unwritable(ORIGIN))?;
        let mut files = vec![(DOCUMENT, json)];
        files.extend(networks.map(|bytes| (NETWORKS, bytes)));
        files.extend(random.map(|bytes| (RANDOM, bytes)));
        files.push((LOGGED, model.logged.to_safetensors()));
        files.push((EPISODES, model.episodes.to_safetensors()));
        files.push((ORIGIN, origin));
        Ok(files)
    }

    /// Loads what [`save`](Self::save) wrote.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        let checksums_found = read(directory, CHECKSUMS)?;
        let document = read(directory, DOCUMENT)?;
        let if_any = |name| match read(directory, name) {
            Err(Error::NotAModel { .. }) => Ok(None),
            other => other.map(Some),
        };
        let (networks, random) = (if_any(NETWORKS)?, if_any(RANDOM)?);
        // An older or newer schema is named as such, before anything else is expected of the file.
        let schema = schema_of(directory, &document)?;
        if schema != SCHEMA {
            let path = directory.into();
            return Err(Error::Schema { path, found: schema, expected: SCHEMA });
        }
        let (logged, origin) = (read(directory, LOGGED)?, read(directory, ORIGIN)?);
        let episodes = read(directory, EPISODES)?;
        let mut files = vec![(DOCUMENT, &document[..])];
        files.extend(networks.as_ref().map(|bytes| (NETWORKS, &bytes[..])));
        files.extend(random.as_ref().map(|bytes| (RANDOM, &bytes[..])));
        files.push((LOGGED, &logged));
        files.push((EPISODES, &episodes));
        files.push((ORIGIN, &origin));
        compare(directory, &checksums_found, &files)?;

        let content =
            |file, message: String| Error::Content { path: directory.into(), file, message };
        let document: ModelFile = serde_json::from_slice(&document)
            .map_err(|error| content(DOCUMENT, error.to_string()))?;
        let origin: Origin =
            serde_json::from_slice(&origin).map_err(|error| content(ORIGIN, error.to_string()))?;
        let dynamics: Arc<dyn Dynamics> = match (document.dynamics, networks) {
            (SavedDynamics::Ensemble(saved), Some(bytes)) => {
                let ensemble = Ensemble::of_saved(saved, &bytes, random.as_deref())
                    .map_err(|error| content(NETWORKS, error.to_string()))?;
                Arc::new(ensemble)
            }
            (SavedDynamics::Ensemble(_), None) => {
                return Err(Error::NotAModel { path: directory.into(), missing: NETWORKS });
            }
            (SavedDynamics::Table(table), _) => Arc::new(table),
            (SavedDynamics::Gp(processes), _) if processes.is_consistent() => Arc::new(processes),
            (SavedDynamics::Gp(_), _) => {
                let message = "the Gaussian processes' parts do not fit together";
                return Err(content(DOCUMENT, message.into()));
            }
        };
        let logged = LoggedSample::from_safetensors(&logged, document.logged_actions)
            .map_err(|error| content(LOGGED, error.to_string()))?;
        let episodes = LoggedEpisodes::from_safetensors(&episodes, document.episode_sources)
            .map_err(|error| content(EPISODES, error.to_string()))?;
        let model = Model {
            dynamics,
            logged,
            episodes,
            persistence: document.persistence,
            calibration: document.calibration,
            data_range: document.data_range,
            reward_range: document.reward_range,
            range_widening: document.range_widening,
            data: document.data,
            exogenous: document.exogenous,
            history: document.history,
            report: document.report,
        };
        check_widths(&model, &origin).map_err(|(file, message)| content(file, message))?;
        Ok(Self { model, origin })
    }
}

/// Changes when anything in the directory does that an evaluation depends on.
pub fn fingerprint(directory: impl AsRef<Path>) -> Result<String> {
    Ok(blake3::hash(&read(directory.as_ref(), CHECKSUMS)?).to_string())
}

/// Whether all parts belong to states and actions of the same widths; otherwise the file that does
/// not, and why.
fn check_widths(model: &Model, origin: &Origin) -> Result<(), (&'static str, String)> {
    let dynamics = &*model.dynamics;
    let (outputs, states, actions) =
        (dynamics.outputs(), dynamics.state_dim(), dynamics.action_dim());
    let calibrated = model.calibration.temperatures.len();
    let bounded = model.data_range.low().len();
    if calibrated != outputs || bounded != states {
        let message = format!(
            "{calibrated} temperatures and bounds of {bounded} columns do not fit {outputs} outputs \
             and states of {states} values"
        );
        return Err((DOCUMENT, message));
    }
    let present = model.present_dim();
    let is_other = |history: &History| !history.fits(states, actions);
    if model.history.as_ref().is_some_and(is_other) || dynamics.next_dim() != present {
        return Err((DOCUMENT, "the history does not fit the model".into()));
    }
    if model.exogenous.iter().any(|&column| column >= states) {
        return Err((DOCUMENT, "the exogenous columns do not fit the model".into()));
    }
    let names = &model.data.names;
    if names.states.len() != present || names.actions.len() != actions {
        return Err((DOCUMENT, "the names of the columns do not fit the model".into()));
    }
    let persistent = &model.persistence;
    if !model.logged.fits(states, actions)
        || [&persistent.autocorrelation, &persistent.unexplained].iter().any(|p| p.len() != outputs)
    {
        return Err((LOGGED, "the sample of the logs does not fit the model".into()));
    }
    if !model.episodes.fits(states, actions, dynamics.members()) {
        return Err((EPISODES, "the logged episodes do not fit the model".into()));
    }
    match origin.fits(present, actions) {
        true => Ok(()),
        false => Err((ORIGIN, "it belongs to other data than the model".into())),
    }
}

struct TakenApart {
    dynamics: SavedDynamics,
    networks: Option<Vec<u8>>,
    random: Option<Vec<u8>>,
}

fn take_apart(dynamics: &dyn Dynamics) -> Result<TakenApart> {
    let dynamics: &dyn Any = dynamics;
    if let Some(ensemble) = dynamics.downcast_ref::<Ensemble>() {
        let (saved, networks, random) = ensemble.to_saved();
        let (dynamics, networks) = (SavedDynamics::Ensemble(saved), Some(networks));
        return Ok(TakenApart { dynamics, networks, random });
    }
    if let Some(table) = dynamics.downcast_ref::<Table>() {
        let dynamics = SavedDynamics::Table(table.clone());
        return Ok(TakenApart { dynamics, networks: None, random: None });
    }
    match dynamics.downcast_ref::<GaussianProcess>() {
        Some(processes) => {
            let dynamics = SavedDynamics::Gp(processes.clone());
            Ok(TakenApart { dynamics, networks: None, random: None })
        }
        None => Err(Error::Unsupported),
    }
}

/// One line per file: hash, two spaces, name.
fn checksums(files: &[(&str, impl AsRef<[u8]>)]) -> String {
    let hashed = files.iter().map(|(name, bytes)| (name, blake3::hash(bytes.as_ref())));
    hashed.map(|(name, hash)| format!("{hash}  {name}\n")).collect()
}

/// The list must be exactly the one that would be written for these files.
fn compare(directory: &Path, found: &[u8], files: &[(&'static str, &[u8])]) -> Result<()> {
    let damaged = |file: &str| Error::Damaged { path: directory.into(), file: file.into() };
    let expected = checksums(files);
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
