//! Evaluations, and what is made of their JSON.

use std::sync::Arc;

use hambo::{
    Constraint, Evaluation, EvaluationSettings, InitialStates, ModelSettings, Seed, StateBounds,
    Streams, Task, Warning,
};
use hambo_io::Verdict;
use hambo_io::report::{self, ReportOptions};
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
    settings: EvaluationSettings,
}

/// A built-in task's limits, or limits of one's own.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bounds {
    Task(String),
    Own { low: Vec<f32>, high: Vec<f32>, angles: Vec<(usize, usize)> },
}

impl Bounds {
    fn limits(self) -> Result<Option<StateBounds>, Failure> {
        match self {
            Self::Task(name) => Ok(known_task(&name, 1)?.0.state_bounds),
            Self::Own { low, high, angles } => {
                let bounds = StateBounds::new(low.into(), high.into())?;
                let with_angles =
                    angles.into_iter().try_fold(bounds, |bounds, (c, s)| bounds.with_angle(c, s));
                Ok(Some(with_angles?))
            }
        }
    }
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
pub fn evaluate<'py>(
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
    let model = Model { inner: model.get().inner.clone(), origin: model.get().origin.clone() };

    work::run(py, &functions.0, progress, move |desk| {
        let mut task = Task::new(
            match starts {
                Starts::Known(states) => states,
                Starts::Function(function) => parts::sampler(function, desk),
            },
            reward.map(|part| parts::reward(part, &model, desk)).transpose()?,
            plan.horizon,
        );
        task.discount = plan.discount;
        task.termination = match termination {
            Some(part) => parts::termination(part, &model, desk)?,
            None => None,
        };
        task.state_bounds = match plan.state_bounds {
            Some(bounds) => bounds.limits()?,
            None => None,
        };
        let constraints = constraints
            .into_iter()
            .map(|(name, part)| {
                Ok(Constraint { name, function: parts::reward(part, &model, desk)? })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let policy = parts::policy(policy, parts::dims(&model), desk)?;
        let found = hambo::evaluate(
            &model.inner,
            &*policy,
            &task,
            &constraints,
            &plan.settings,
            Seed(seed),
            desk,
        )?;
        serde_json::to_string(&found).map_err(Failure::internal)
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
        None => {
            let message = "this model was saved without its data's initial states; give \
                           `initial_states`, for instance those of `Dataset.initial_states`";
            Err(Python::attach(|py| Failure::new("SettingError", message).raise(py)))
        }
    }
}

fn known_task(
    name: &str,
    horizon: usize,
) -> Result<(Task, Arc<dyn hambo::task::Simulator>), Failure> {
    parts::built_in(name, horizon).ok_or_else(|| {
        let message = format!(
            "there is no built-in task `{name}`; there are `pendulum`, `point_env` and `point_safety`"
        );
        Failure::new("SettingError", message)
    })
}

/// Episodes of a function under the true dynamics of a built-in task.
#[pyfunction]
pub fn simulate(
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
        let (task, simulator) = known_task(&task, horizon)?;
        let dims = (simulator.state_dim(), simulator.action_dim());
        let policy = parts::policy(part, dims, desk)?;
        let streams = &mut Streams::new(Seed(seed), "logs");
        let data = hambo::collect(&*simulator, &task, &*policy, episodes, streams)?;
        Ok(Dataset::new(data, "simulation"))
    })
}

fn parse(py: Python<'_>, json: &str) -> PyResult<Evaluation> {
    serde_json::from_str(json)
        .map_err(not_json("this is not an evaluation of this version"))
        .map_err(|failure| failure.raise(py))
}

/// Checks that a text is an evaluation, and writes it in the one form that all have.
#[pyfunction]
pub fn check_evaluation(py: Python<'_>, json: &str) -> PyResult<String> {
    serde_json::to_string(&parse(py, json)?).map_err(|error| Failure::internal(error).raise(py))
}

/// What every warning says, and what to do about it.
#[pyfunction]
pub fn warning_texts(py: Python<'_>, json: &str) -> PyResult<Vec<(String, String)>> {
    let warnings: Vec<Warning> = serde_json::from_str(json)
        .map_err(not_json("the warnings"))
        .map_err(|failure| failure.raise(py))?;
    Ok(warnings.iter().map(|warning| (warning.to_string(), warning.help().into())).collect())
}

/// `certified`, `not certified`, `inconclusive` or `no threshold`.
#[pyfunction]
#[pyo3(signature = (json, threshold))]
pub fn verdict(py: Python<'_>, json: &str, threshold: Option<f64>) -> PyResult<String> {
    Ok(Verdict::of(&parse(py, json)?, threshold).word().to_lowercase())
}

/// A page that stands alone.
#[pyfunction]
#[pyo3(signature = (json, *, title, policy, data, date, threshold, state_names))]
#[allow(clippy::too_many_arguments)]
pub fn report_html(
    py: Python<'_>,
    json: &str,
    title: String,
    policy: Option<String>,
    data: Option<String>,
    date: Option<String>,
    threshold: Option<f64>,
    state_names: Vec<String>,
) -> PyResult<String> {
    let evaluation = parse(py, json)?;
    let options =
        ReportOptions { title, policy, data, date, threshold, state_names, ..Default::default() };
    Ok(py.detach(|| report::html(&evaluation, &options)))
}

/// All defaults as JSON, against which Python's own are tested.
#[pyfunction]
pub fn default_settings(py: Python<'_>) -> PyResult<String> {
    #[derive(Default, Serialize)]
    struct Defaults {
        model: ModelSettings,
        gp: hambo::dynamics::gp::GpSettings,
        evaluation: EvaluationSettings,
    }
    serde_json::to_string(&Defaults::default()).map_err(|error| Failure::internal(error).raise(py))
}
