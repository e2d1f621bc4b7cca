//! What a model's directory tells about the data behind it, so that evaluations need no data: names of
//! the columns, their ranges, where episodes started, and a sample of what was done where.
//!
//! It is a file of its own beside those of [`hambo_io::model`], with its own checksum.

use std::path::Path;

use hambo::dataset::{ColumnNames, DataIdentity, Episode, Summary};
use hambo::{Dataset, Model};
use hambo_io::expression::{column_names, numbered_names};
use ndarray::{Array1, Array2, s};
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::failure::{Failure, Result};

const FILE: &str = "data.json";
/// Schema 1 had no summary.
const SCHEMA: u64 = 2;
const OLDEST_SCHEMA: u64 = 1;

/// Rows that are kept as a sample at the most.
const SAMPLE: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// What the user called the data.
    pub source: String,
    pub identity: DataIdentity,
    /// None if an earlier version wrote the model, or another program.
    #[serde(default)]
    pub summary: Option<Summary>,
    pub state_names: Vec<String>,
    pub action_names: Vec<String>,
    /// The first states of the episodes, `[episodes, d_s]`.
    pub starts: Array2<f32>,
    /// Rows of the data, among them those with the largest and smallest actions.
    sampled_states: Array2<f32>,
    sampled_actions: Array2<f32>,
    /// The settings of the fit, as TOML.
    pub settings: String,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: u64,
    /// BLAKE3 of `data`, written without spaces.
    blake3: String,
    data: serde_json::Value,
}

impl Origin {
    pub fn of(dataset: &Dataset, source: &Path, settings: String) -> Self {
        let names = column_names(dataset);
        let rows = sample_rows(dataset);
        let sample = dataset.gather(&rows);
        Self {
            source: source.display().to_string(),
            identity: dataset.identity(),
            summary: Some(dataset.summary()),
            state_names: names.states,
            action_names: names.actions,
            starts: dataset.initial_states(),
            sampled_states: sample.states,
            sampled_actions: sample.actions,
            settings,
        }
    }

    pub fn names(&self) -> ColumnNames {
        ColumnNames { states: self.state_names.clone(), actions: self.action_names.clone() }
    }

    /// The sampled rows as a dataset, in which nothing moves.
    pub fn sample(&self) -> Result<Dataset> {
        let episode = |row: usize| Episode {
            states: self.sampled_states.slice(s![row..row + 1, ..]).to_owned(),
            actions: self.sampled_actions.slice(s![row..row + 1, ..]).to_owned(),
            rewards: Array1::zeros(1),
            next_states: self.sampled_states.slice(s![row..row + 1, ..]).to_owned(),
            terminated: false,
            truncated: true,
        };
        let episodes = (0..self.sampled_states.nrows()).map(episode).collect();
        let dataset = Dataset::from_episodes(episodes).map_err(hambo::Error::from)?;
        Ok(dataset.with_names(self.names()).map_err(hambo::Error::from)?)
    }

    /// Adds it to a model's directory.
    pub fn save(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE);
        let broken = |error: serde_json::Error| Failure::Internal(format!("{FILE}: {error}"));
        let data = serde_json::to_value(self).map_err(broken)?;
        let blake3 = blake3::hash(data.to_string().as_bytes()).to_string();
        let document = Document { schema: SCHEMA, blake3, data };
        atomic::write(&path, &serde_json::to_vec(&document).map_err(broken)?)
    }

    /// What stands beside `model`, or what can be said without it.
    pub fn load(directory: &Path, model: &Model) -> Result<Self> {
        let path = directory.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::unknown(model));
            }
            Err(error) => return Err(Failure::io(&path, "read it", &error)),
        };
        let wrong = |message: &str| {
            Failure::input(format!("{}: {message}; fit the model again", path.display()))
        };
        let document: Document =
            serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
        if !(OLDEST_SCHEMA..=SCHEMA).contains(&document.schema) {
            let message = format!(
                "written in schema {}, this version reads {OLDEST_SCHEMA} to {SCHEMA}",
                document.schema
            );
            return Err(wrong(&message));
        }
        if blake3::hash(document.data.to_string().as_bytes()).to_string() != document.blake3 {
            return Err(wrong("it has changed since the model was saved"));
        }
        let origin: Self =
            serde_json::from_value(document.data).map_err(|error| wrong(&error.to_string()))?;
        let dynamics = &model.dynamics;
        let (d_s, d_a) = (dynamics.state_dim(), dynamics.action_dim());
        let widths = [
            (origin.state_names.len(), d_s),
            (origin.action_names.len(), d_a),
            (origin.starts.ncols(), d_s),
            (origin.sampled_states.ncols(), d_s),
            (origin.sampled_actions.ncols(), d_a),
            (origin.sampled_actions.nrows(), origin.sampled_states.nrows()),
            (origin.summary.as_ref().map_or(d_s, |summary| summary.states.len()), d_s),
            (origin.summary.as_ref().map_or(d_a, |summary| summary.actions.len()), d_a),
        ];
        if origin.identity != model.data || widths.iter().any(|(found, expected)| found != expected)
        {
            return Err(wrong("it belongs to other data than the model"));
        }
        Ok(origin)
    }

    fn unknown(model: &Model) -> Self {
        let (d_s, d_a) = (model.dynamics.state_dim(), model.dynamics.action_dim());
        let names = numbered_names(d_s, d_a);
        Self {
            source: String::new(),
            identity: model.data.clone(),
            summary: None,
            state_names: names.states,
            action_names: names.actions,
            starts: Array2::zeros((0, d_s)),
            sampled_states: Array2::zeros((0, d_s)),
            sampled_actions: Array2::zeros((0, d_a)),
            settings: String::new(),
        }
    }

    pub fn has_sample(&self) -> bool {
        self.sampled_states.nrows() > 0
    }
}

/// Evenly spread rows, and those with the extreme actions.
fn sample_rows(dataset: &Dataset) -> Vec<usize> {
    let stride = dataset.rows().div_ceil(SAMPLE).max(1);
    let mut rows: Vec<usize> = (0..dataset.rows()).step_by(stride).collect();
    let actions = dataset.actions();
    for column in actions.columns() {
        let by_value = |&a: &usize, &b: &usize| column[a].total_cmp(&column[b]);
        rows.extend((0..dataset.rows()).min_by(by_value));
        rows.extend((0..dataset.rows()).max_by(by_value));
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}
