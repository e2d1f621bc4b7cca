//! Fitted models, with what an evaluation may want to know of their data.

use std::path::Path;
use std::sync::Arc;

use hambo::dataset::ColumnNames;
use hambo::{ModelSettings, Report, Seed};
use hambo_io::expression;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::errors::{Failure, not_json};
use crate::work;

/// Beside the files of a saved model, whose reader passes over it.
const ORIGIN: &str = "origin.json";

/// A fitted, calibrated model.
#[pyclass(frozen, module = "hambo._native")]
#[derive(Debug)]
pub struct Model {
    pub inner: Arc<hambo::Model>,
    /// None for a model that was saved without it.
    pub origin: Option<Arc<Origin>>,
}

/// What a model does not keep of its data, and evaluations may need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The data's fingerprint.
    data: String,
    state_names: Vec<String>,
    action_names: Vec<String>,
    /// The first state of every episode.
    pub initial_states: Array2<f32>,
}

/// `origin.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OriginFile {
    /// BLAKE3 of `content`.
    checksum: String,
    /// An [`Origin`] as JSON.
    content: String,
}

impl Origin {
    fn of(data: &hambo::Dataset, fingerprint: &str) -> Self {
        let names = expression::column_names(data);
        Self {
            data: fingerprint.into(),
            state_names: names.states,
            action_names: names.actions,
            initial_states: data.initial_states(),
        }
    }

    fn save(&self, directory: &Path) -> Result<(), Failure> {
        let path = directory.join(ORIGIN);
        let content = serde_json::to_string(self).map_err(Failure::internal)?;
        let checksum = blake3::hash(content.as_bytes()).to_string();
        let file = serde_json::to_vec(&OriginFile { checksum, content });
        std::fs::write(&path, file.map_err(Failure::internal)?)
            .map_err(|error| Failure::new("FileError", format!("{}: {error}", path.display())))
    }

    /// What was saved beside a model of the data with this fingerprint, if anything was.
    fn load(directory: &Path, fingerprint: &str) -> Result<Option<Self>, Failure> {
        let path = directory.join(ORIGIN);
        let wrong = |message: &str| {
            let advice = "save the model again";
            Failure::new("FileError", format!("{}: {message}; {advice}", path.display()))
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let file: OriginFile =
            serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
        if blake3::hash(file.content.as_bytes()).to_string() != file.checksum {
            return Err(wrong("it has changed since the model was saved"));
        }
        let origin: Self =
            serde_json::from_str(&file.content).map_err(|error| wrong(&error.to_string()))?;
        if origin.data != fingerprint {
            return Err(wrong("it belongs to a model of other data"));
        }
        Ok(Some(origin))
    }
}

impl Model {
    /// The names by which expressions go.
    pub fn names(&self) -> ColumnNames {
        let (states, actions) = (self.inner.dynamics.state_dim(), self.inner.dynamics.action_dim());
        match &self.origin {
            Some(origin) => ColumnNames {
                states: origin.state_names.clone(),
                actions: origin.action_names.clone(),
            },
            None => expression::numbered_names(states, actions),
        }
    }
}

/// What a model tells about itself.
#[derive(Serialize)]
struct About<'a> {
    state_dim: usize,
    action_dim: usize,
    members: usize,
    predicts_reward: bool,
    state_names: Vec<String>,
    action_names: Vec<String>,
    calibration: &'a hambo::Calibration,
    data: &'a hambo::dataset::DataIdentity,
    report: &'a Report,
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (data, settings_json, seed, progress))]
    fn fit(
        data: &Bound<'_, Dataset>,
        settings_json: &str,
        seed: u64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, dataset) = (data.py(), data.get().inner.clone());
        let settings: ModelSettings = serde_json::from_str(settings_json)
            .map_err(not_json("the model's settings"))
            .map_err(|failure| failure.raise(py))?;
        work::run(py, &[], progress, move |desk| {
            let model = hambo::Model::fit(&dataset, &settings, Seed(seed), desk)?;
            let origin = Origin::of(&dataset, &model.data.fingerprint);
            Ok(Self { inner: Arc::new(model), origin: Some(Arc::new(origin)) })
        })
    }

    fn save(&self, py: Python<'_>, directory: std::path::PathBuf) -> PyResult<()> {
        let (model, origin) = (self.inner.clone(), self.origin.clone());
        work::run(py, &[], None, move |_| {
            hambo_io::model::save(&model, &directory)?;
            origin.map_or(Ok(()), |origin| origin.save(&directory))
        })
    }

    #[staticmethod]
    fn load(py: Python<'_>, directory: std::path::PathBuf) -> PyResult<Self> {
        work::run(py, &[], None, move |_| {
            let model = hambo_io::model::load(&directory)?;
            let origin = Origin::load(&directory, &model.data.fingerprint)?;
            Ok(Self { inner: Arc::new(model), origin: origin.map(Arc::new) })
        })
    }

    /// Mean, epistemic and aleatoric standard deviation, each `[rows, outputs]`.
    #[allow(clippy::type_complexity)]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'py, PyArray2<f32>>,
        actions: &Bound<'py, PyArray2<f32>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>)>
    {
        let (model, states, actions) =
            (self.inner.clone(), states.to_owned_array(), actions.to_owned_array());
        let found = work::run(py, &[], None, move |_| {
            Ok(model.dynamics.predict(states.view(), actions.view())?)
        })?;
        let [mean, epistemic, aleatoric] = [found.mean, found.epistemic_std, found.aleatoric_std]
            .map(|array| array.into_pyarray(py));
        Ok((mean, epistemic, aleatoric))
    }

    #[getter]
    fn initial_states<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f32>>> {
        self.origin.as_ref().map(|origin| PyArray2::from_array(py, &origin.initial_states))
    }

    /// What it is, as JSON.
    fn about(&self, py: Python<'_>) -> PyResult<String> {
        let (dynamics, names) = (&self.inner.dynamics, self.names());
        let about = About {
            state_dim: dynamics.state_dim(),
            action_dim: dynamics.action_dim(),
            members: dynamics.members(),
            predicts_reward: dynamics.predicts_reward(),
            state_names: names.states,
            action_names: names.actions,
            calibration: &self.inner.calibration,
            data: &self.inner.data,
            report: &self.inner.report,
        };
        serde_json::to_string(&about).map_err(|error| Failure::internal(error).raise(py))
    }
}
