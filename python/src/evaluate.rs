//! Evaluations, and what is made of their JSON.

use hambo::{
    Constraint, EvaluationSettings, InitialStates, ModelSettings, Seed, Streams, Task, Verdict,
};
use hambo_io::report::{self, ReportOptions};
use hambo_io::result::ResultDocument;
use hambo_io::task::{Bounds, TaskError, built_in};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::errors::{Failure, not_json};
use crate::model::Model;
use crate::parts::{self, Functions, Part};
use crate::work;

/// What Python says about a task and its evaluation in plain values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    horizon: usize,
    discount: f32,
    state_bounds: Option<Bounds>,
    reward_bounds: Option<[f32; 2]>,
    floor: Option<f32>,
    settings: EvaluationSettings,
}

/// Where episodes start, before there is a worker.
enum Starts {
    Function(usize),
    Known(InitialStates),
}

/// The evaluation as JSON.
///
/// `policy`, `reward`, `termination` and the constraints are functions or texts; `starts` is a function,
/// or an array with the word `observed` or `fixed`, or nothing for those of the model's data.
#[pyfunction]
#[pyo3(signature = (model, policy, plan_json, seed, *, reward, termination, starts, constraints, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate<'py>(
    model: &Bound<'py, Model>,
    policy: &Bound<'py, PyAny>,
    plan_json: &str,
    seed: u64,
    reward: Option<&Bound<'py, PyAny>>,
    termination: Option<&Bound<'py, PyAny>>,
    starts: Option<&Bound<'py, PyAny>>,
    constraints: Vec<(String, Bound<'py, PyAny>)>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<String> {
    let py = model.py();
    let plan: Plan = serde_json::from_str(plan_json)
        .map_err(not_json("the evaluation's settings"))
        .map_err(|failure| failure.raise(py))?;
    let mut functions = Functions::default();
    let policy = functions.part(policy)?;
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    let constraints = constraints
        .iter()
        .map(|(name, part)| Ok((name.clone(), functions.part(part)?)))
        .collect::<PyResult<Vec<(String, Part)>>>()?;
    let starts = where_to_start(starts, model.get(), &mut functions)?;
    let model = Model { saved: model.get().saved.clone() };

    work::run(py, &functions.0, progress, move |desk| {
        let mut reader = parts::reader(&model);
        let mut task = Task::new(
            match starts {
                Starts::Known(states) => states,
                Starts::Function(function) => parts::sampler(function, desk),
            },
            reward.map(|part| parts::reward(part, &mut reader, desk)).transpose()?,
            plan.horizon,
        );
        task.discount = plan.discount;
        task.reward_bounds = plan.reward_bounds;
        task.floor = plan.floor;
        if let Some(part) = termination {
            task.termination = parts::termination(part, &mut reader, desk)?;
        }
        if let Some(bounds) = &plan.state_bounds {
            task.state_bounds = Some(reader.bounds(bounds)?);
        }
        for (name, part) in constraints {
            let function = parts::reward(part, &mut reader, desk)?;
            task.constraints.push(Constraint { name, function });
        }
        let policy = parts::policy(policy, parts::dims(&model), desk)?;
        let model = &model.saved.model;
        let found = model.evaluate(&*policy, &task, &plan.settings, Seed(seed), desk)?;
        serde_json::to_string(&ResultDocument::of(found)).map_err(Failure::internal)
    })
}

fn where_to_start<'py>(
    given: Option<&Bound<'py, PyAny>>,
    model: &Model,
    functions: &mut Functions<'py>,
) -> PyResult<Starts> {
    let Some(given) = given else { return starts_of_the_data(model) };
    let known: PyResult<(String, Bound<'py, PyArray2<f32>>)> = given.extract();
    Ok(match known {
        Ok((kind, states)) => {
            let states = states.to_owned_array();
            Starts::Known(match kind.as_str() {
                "fixed" => InitialStates::Fixed(states),
                _ => InitialStates::Observed(states),
            })
        }
        Err(_) => Starts::Function(functions.add(given)),
    })
}

fn starts_of_the_data(model: &Model) -> PyResult<Starts> {
    match model.starts() {
        Some(starts) => Ok(Starts::Known(InitialStates::Observed(starts.clone()))),
        None => Err(Python::attach(|py| Failure::from(TaskError::UnknownStarts).raise(py))),
    }
}

/// Episodes of a function under the true dynamics of a built-in task.
#[pyfunction]
pub(crate) fn simulate(
    policy: &Bound<'_, PyAny>,
    task: String,
    horizon: usize,
    episodes: usize,
    seed: u64,
) -> PyResult<Dataset> {
    let py = policy.py();
    let mut functions = Functions::default();
    let part = functions.part(policy)?;
    work::run(py, &functions.0, None, move |desk| {
        let (task, simulator) = built_in(&task, horizon)?;
        let dims = (simulator.state_dim(), simulator.action_dim());
        let policy = parts::policy(part, dims, desk)?;
        let streams = &mut Streams::new(Seed(seed), "logs");
        let data = hambo::collect(&*simulator, &task, &*policy, episodes, streams)?;
        Ok(Dataset::new(data, "simulation"))
    })
}

fn parse(py: Python<'_>, json: &str) -> PyResult<ResultDocument> {
    ResultDocument::from_json(json.as_bytes()).map_err(|message| {
        Failure::new("SettingError", format!("this is no result of this version: {message}"))
            .raise(py)
    })
}

/// Checks that a text is a result, and writes it in the one form that all have.
#[pyfunction]
pub(crate) fn check_evaluation(py: Python<'_>, json: &str) -> PyResult<String> {
    serde_json::to_string(&parse(py, json)?).map_err(|error| Failure::internal(error).raise(py))
}

/// `certified`, `not_certified`, `inconclusive` or `no_threshold`.
#[pyfunction]
#[pyo3(signature = (json, threshold))]
pub(crate) fn verdict(
    py: Python<'_>,
    json: &str,
    threshold: Option<f64>,
) -> PyResult<&'static str> {
    Ok(Verdict::of(&parse(py, json)?.evaluation, threshold).code())
}

/// Decimals that show the bound on its own side of the threshold.
#[pyfunction]
#[pyo3(signature = (json, threshold))]
pub(crate) fn decimals(py: Python<'_>, json: &str, threshold: Option<f64>) -> PyResult<usize> {
    Ok(report::decimals(&parse(py, json)?.evaluation, threshold))
}

/// A page that stands alone.
#[pyfunction]
#[pyo3(signature = (json, *, title, policy, data, date, threshold))]
pub(crate) fn report_html(
    py: Python<'_>,
    json: &str,
    title: String,
    policy: Option<String>,
    data: Option<String>,
    date: Option<String>,
    threshold: Option<f64>,
) -> PyResult<String> {
    let document = parse(py, json)?;
    let notes = document.notes.clone();
    let options =
        ReportOptions { title, policy, data, date, threshold, notes, ..Default::default() };
    Ok(py.detach(|| report::html(&document.evaluation, &options)))
}

/// All defaults as JSON, against which Python's own are tested.
#[pyfunction]
pub(crate) fn default_settings(py: Python<'_>) -> PyResult<String> {
    #[derive(Default, Serialize)]
    struct Defaults {
        model: ModelSettings,
        gp: hambo::dynamics::gp::GpSettings,
        evaluation: EvaluationSettings,
    }
    serde_json::to_string(&Defaults::default()).map_err(|error| Failure::internal(error).raise(py))
}
