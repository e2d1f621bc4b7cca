//! Policies that are learned in the worlds of a model.

use std::path::PathBuf;

use hambo::{LearnSettings, Seed, Warning};
use hambo_io::onnx;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{Failure, not_json};
use crate::evaluate::{Plan, where_to_start};
use crate::model::Model;
use crate::parts::{self, Functions};
use crate::work::{self, Manner};

/// How learning went.
#[derive(Serialize)]
struct Course {
    rounds: Vec<Round>,
    best_round: usize,
}

#[derive(Serialize)]
struct Round {
    bound: f64,
    mean: f64,
    std_error: f64,
    worlds: Vec<f64>,
    doubts: Vec<&'static str>,
}

/// Writes the policy to `out`, and returns how learning went as JSON. The rest is as for `evaluate`.
#[pyfunction]
#[pyo3(signature = (model, out, settings_json, plan_json, seed, *, reward, termination, starts, progress, threads, checkpoint))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn learn<'py>(
    model: &Bound<'py, Model>,
    out: PathBuf,
    settings_json: &str,
    plan_json: &str,
    seed: u64,
    reward: Option<&Bound<'py, PyAny>>,
    termination: Option<&Bound<'py, PyAny>>,
    starts: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
) -> PyResult<String> {
    let py = model.py();
    let plan = Plan::read(py, plan_json)?;
    let settings: LearnSettings = serde_json::from_str(settings_json)
        .map_err(not_json("the learner's settings"))
        .map_err(|failure| failure.raise(py))?;
    let mut functions = Functions::default();
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    let starts = where_to_start(starts, model.get(), &mut functions)?;
    let model = Model { saved: model.get().saved.clone() };
    work::run(py, &functions.0, Manner { progress, threads }, move |desk| {
        let mut reader = parts::reader(&model);
        let starts = starts.ready(desk);
        let task = plan.task(starts, (reward, termination), &mut reader, desk)?;
        let (model, seed) = (&model.saved.model, Seed(seed));
        let desk = desk.keeping(checkpoint.as_deref(), String::new());
        let learned = model.learn(&task, &settings, &plan.settings, seed, &desk)?;
        onnx::write_policy(&out, &learned.policy)?;
        let rounds = learned.rounds.into_iter().map(|round| Round {
            bound: round.bound,
            mean: round.mean.mean,
            std_error: round.mean.std_error,
            worlds: round.worlds,
            doubts: round.doubts.iter().map(Warning::code).collect(),
        });
        let course = Course { rounds: rounds.collect(), best_round: learned.best_round };
        serde_json::to_string(&course).map_err(Failure::internal)
    })
}
