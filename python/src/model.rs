//! Fitted models, with what an evaluation may want to know of their data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hambo::{FitReport, ModelSettings, Seed};
use hambo_io::model::{Origin, SavedModel};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;

use crate::dataset::Dataset;
use crate::errors::{Failure, not_json};
use crate::work::{self, Manner};

/// A fitted, calibrated model.
#[pyclass(frozen, module = "hambo._native")]
#[derive(Debug)]
pub struct Model {
    pub saved: Arc<SavedModel>,
}

impl Model {
    /// The first states of the data's episodes; none if it was saved without them.
    pub fn starts(&self) -> Option<&Array2<f32>> {
        Some(&self.saved.origin.starts).filter(|starts| starts.nrows() > 0)
    }
}

/// What a model tells about itself.
#[derive(Serialize)]
struct About<'a> {
    state_dim: usize,
    action_dim: usize,
    /// Earlier steps that it sees.
    history: usize,
    /// How many values the choices among the actions have; 0 for a number.
    choices: Vec<usize>,
    members: usize,
    predicts_reward: bool,
    state_names: &'a [String],
    action_names: &'a [String],
    calibration: &'a hambo::Calibration,
    persistence: &'a hambo::Persistence,
    data: &'a hambo::dataset::DataIdentity,
    report: &'a FitReport,
    preset: Option<&'a str>,
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (data, settings_json, effort, seed, *, progress, threads, checkpoint))]
    fn fit(
        data: &Bound<'_, Dataset>,
        settings_json: &str,
        effort: &str,
        seed: u64,
        progress: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        checkpoint: Option<PathBuf>,
    ) -> PyResult<Self> {
        let (py, dataset) = (data.py(), data.get().inner.clone());
        let source = data.get().format.clone();
        // As the command writes it.
        let preset = format!("preset = \"{effort}\"\n");
        let settings: ModelSettings = serde_json::from_str(settings_json)
            .map_err(not_json("the model's settings"))
            .map_err(|failure| failure.raise(py))?;
        work::run(py, &[], Manner { progress, threads }, move |desk| {
            let desk = desk.keeping(checkpoint.as_deref(), String::new());
            let model = hambo::Model::fit(&dataset, &settings, Seed(seed), &desk)?;
            let origin = Origin::of(&dataset, Path::new(&source), preset);
            Ok(Self { saved: Arc::new(SavedModel { model, origin }) })
        })
    }

    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let saved = self.saved.clone();
        work::run(py, &[], Manner::default(), move |_| Ok(saved.save(&directory)?))
    }

    /// Changes with everything that an evaluation depends on.
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        let saved = self.saved.clone();
        work::run(py, &[], Manner::default(), move |_| Ok(saved.fingerprint()?))
    }

    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        work::run(py, &[], Manner::default(), move |_| {
            Ok(Self { saved: Arc::new(SavedModel::load(&directory)?) })
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
        let (saved, states, actions) =
            (self.saved.clone(), states.to_owned_array(), actions.to_owned_array());
        let found = work::run(py, &[], Manner::default(), move |_| {
            let states = saved.model.begin(states.view());
            Ok(saved.model.dynamics.predict(states.view(), actions.view())?)
        })?;
        let [mean, epistemic, aleatoric] = [found.mean, found.epistemic_std, found.aleatoric_std]
            .map(|array| array.into_pyarray(py));
        Ok((mean, epistemic, aleatoric))
    }

    /// Mean and standard deviation of the noise by one network, each `[rows, outputs]`.
    #[allow(clippy::type_complexity)]
    fn predict_member<'py>(
        &self,
        py: Python<'py>,
        member: usize,
        states: &Bound<'py, PyArray2<f32>>,
        actions: &Bound<'py, PyArray2<f32>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>)> {
        let (saved, states, actions) =
            (self.saved.clone(), states.to_owned_array(), actions.to_owned_array());
        let found = work::run(py, &[], Manner::default(), move |_| {
            let states = saved.model.begin(states.view());
            Ok(saved.model.dynamics.predict_member(member, states.view(), actions.view())?)
        })?;
        Ok((found.mean.into_pyarray(py), found.std.into_pyarray(py)))
    }

    /// What follows, drawn by a random member, `[rows, outputs]`.
    fn draw<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'py, PyArray2<f32>>,
        actions: &Bound<'py, PyArray2<f32>>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (saved, states, actions) =
            (self.saved.clone(), states.to_owned_array(), actions.to_owned_array());
        let found = work::run(py, &[], Manner::default(), move |_| {
            Ok(saved.model.draw(states.view(), actions.view(), Seed(seed))?)
        })?;
        Ok(found.into_pyarray(py))
    }

    #[getter]
    fn initial_states<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f32>>> {
        self.starts().map(|starts| PyArray2::from_array(py, starts))
    }

    /// What it is, as JSON.
    fn about(&self, py: Python<'_>) -> PyResult<String> {
        let model = &self.saved.model;
        let (dynamics, names) = (&model.dynamics, &model.data.names);
        let about = About {
            state_dim: model.present_dim(),
            history: model.history.as_ref().map_or(0, |history| history.steps),
            action_dim: dynamics.action_dim(),
            choices: model.choices().sizes(),
            members: dynamics.members(),
            predicts_reward: dynamics.predicts_reward(),
            state_names: &names.states,
            action_names: &names.actions,
            calibration: &model.calibration,
            persistence: &model.persistence,
            data: &model.data,
            report: &model.report,
            preset: self.saved.origin.preset(),
        };
        serde_json::to_string(&about).map_err(|error| Failure::internal(error).raise(py))
    }
}
