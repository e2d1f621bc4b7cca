//! Evaluations, and what is made of their JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hambo::dataset::{ColumnNames, EpisodeMarks};
use hambo::task::WithLogProb;
use hambo::{
    Against, Backtest, Baseline, BaselineSettings, Claim, Constraint, EvaluationSettings,
    InitialStates, LearnSettings, ModelSettings, Policy, Seed, Streams, Task, Verdict,
};
use hambo_io::report::{self, ReportOptions};
use hambo_io::result::{BacktestDocument, FileNote, ResultDocument};
use hambo_io::task::{Bounds, TaskError, TaskReader, built_in};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::errors::{Failure, not_json};
use crate::model::Model;
use crate::parts::{self, Functions, Part};
use crate::work::{self, Desk, Manner};

/// What Python says about a task and its evaluation in plain values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    horizon: usize,
    discount: f32,
    state_bounds: Option<Bounds>,
    reward_bounds: Option<[f32; 2]>,
    floor: Option<f32>,
    /// What a baseline is called, and by how much the policy must be better.
    against: Option<(String, Option<f64>)>,
    /// Columns that policies in files take; all if there are none.
    inputs: Vec<String>,
    pub(crate) settings: EvaluationSettings,
    /// Whether it is a first look only.
    #[serde(default)]
    quick: bool,
}

impl Plan {
    pub(crate) fn read(py: Python<'_>, json: &str) -> PyResult<Self> {
        serde_json::from_str(json)
            .map_err(not_json("the evaluation's settings"))
            .map_err(|failure| failure.raise(py))
    }

    /// The task, without constraints and baseline.
    pub(crate) fn task(
        &self,
        starts: InitialStates,
        (reward, termination): (Option<Part>, Option<Part>),
        reader: &mut TaskReader<'_>,
        desk: &Desk,
    ) -> Result<Task, Failure> {
        let reward = reward.map(|part| parts::reward(part, reader, desk)).transpose()?;
        let mut task = Task::new(starts, reward, self.horizon);
        task.discount = self.discount;
        task.reward_bounds = self.reward_bounds;
        task.floor = self.floor;
        if let Some(part) = termination {
            task.termination = parts::termination(part, reader, desk)?;
        }
        if let Some(bounds) = &self.state_bounds {
            task.state_bounds = Some(reader.bounds(bounds)?);
        }
        Ok(task)
    }

    /// A policy, with the function that says how probable its actions are, if there is one.
    pub(crate) fn policy(
        &self,
        part: Part,
        log_prob: Option<Part>,
        reader: &mut TaskReader<'_>,
        model: &Model,
        desk: &Desk,
    ) -> Result<Box<dyn Policy>, Failure> {
        let policy = parts::policy(part, &self.inputs, &model.saved.model.data.names, desk)?;
        match log_prob {
            Some(part) => {
                let log_prob = parts::reward(part, reader, desk)?;
                let policy = Arc::from(policy);
                Ok(Box::new(WithLogProb { policy, log_prob }))
            }
            None => Ok(policy),
        }
    }
}

/// Where episodes start, before there is a worker.
pub(crate) enum Starts {
    Function(usize),
    Known(InitialStates),
}

impl Starts {
    /// As the worker draws them.
    pub(crate) fn ready(self, desk: &Desk) -> InitialStates {
        match self {
            Self::Known(states) => states,
            Self::Function(function) => parts::sampler(function, desk),
        }
    }
}

/// The evaluation as JSON.
///
/// `policy`, `reward`, `termination` and the constraints are functions or texts; `starts` is a function,
/// or an array with the word `observed` or `fixed`, or nothing for those of the model's data; `baseline` is
/// a policy, or nothing for the logged one.
#[pyfunction]
#[pyo3(signature = (model, policy, plan_json, seed, *, reward, termination, starts, constraints, baseline, log_prob, trained_on, progress, threads, checkpoint))]
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
    baseline: Option<&Bound<'py, PyAny>>,
    log_prob: Option<&Bound<'py, PyAny>>,
    trained_on: Option<&Bound<'py, Dataset>>,
    progress: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    checkpoint: Option<PathBuf>,
) -> PyResult<String> {
    let py = model.py();
    let plan = Plan::read(py, plan_json)?;
    let mut functions = Functions::default();
    let policy = functions.part(policy)?;
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    let constraints = constraints
        .iter()
        .map(|(name, part)| Ok((name.clone(), functions.part(part)?)))
        .collect::<PyResult<Vec<(String, Part)>>>()?;
    let baseline = baseline.map(|part| functions.part(part)).transpose()?;
    let log_prob = log_prob.map(|part| functions.part(part)).transpose()?;
    let starts = where_to_start(starts, model.get(), &mut functions)?;
    let model = Model { saved: model.get().saved.clone() };
    let trained_on = trained_on.map(|data| data.get().inner.clone());

    work::run(py, &functions.0, Manner { progress, threads }, move |desk| {
        let mut reader = parts::reader(&model);
        let starts = starts.ready(desk);
        let mut task = plan.task(starts, (reward, termination), &mut reader, desk)?;
        for (name, part) in constraints {
            let function = parts::reward(part, &mut reader, desk)?;
            task.constraints.push(Constraint { name, function });
        }
        task.trained_on = trained_on.map(|data| EpisodeMarks::of(&data));
        if let Some((name, margin)) = plan.against.clone() {
            let baseline = match baseline {
                Some(part) => {
                    let policy =
                        parts::policy(part, &plan.inputs, &model.saved.model.data.names, desk)?;
                    Baseline::Policy { name, policy: Arc::from(policy) }
                }
                None => Baseline::Logged,
            };
            task.against = Some(Against { baseline, margin });
        }
        let policy = plan.policy(policy, log_prob, &mut reader, &model, desk)?;
        let notes = FileNote::on_quick(model.saved.origin.is_quick(), plan.quick);
        let model = &model.saved.model;
        let (settings, seed) = (&plan.settings, Seed(seed));
        let name = match &checkpoint {
            Some(_) => model.fingerprint(&*policy, &task, settings, seed)?,
            None => String::new(),
        };
        let desk = desk.keeping(checkpoint.as_deref(), name);
        let found = model.evaluate(&*policy, &task, settings, seed, &desk)?;
        let document =
            ResultDocument { notes: notes.into_iter().collect(), ..ResultDocument::of(found) };
        serde_json::to_string(&document).map_err(Failure::internal)
    })
}

/// The parts that a backtest leaves out.
#[pyfunction]
pub(crate) fn backtest_parts(data: &Bound<'_, Dataset>) -> PyResult<Vec<String>> {
    hambo::backtest_parts(&data.get().inner).map_err(|error| Failure::from(error).raise(data.py()))
}

/// The backtest of data as JSON, or the claims about one part of it; with the claims about all parts, what they
/// amount to.
#[pyfunction]
#[pyo3(signature = (data, model_json, plan_json, seed, *, part, claims, reward, termination, progress, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn backtest<'py>(
    data: &Bound<'py, Dataset>,
    model_json: &str,
    plan_json: &str,
    seed: u64,
    part: Option<usize>,
    claims: Option<Vec<String>>,
    reward: Option<&Bound<'py, PyAny>>,
    termination: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let (py, dataset) = (data.py(), data.get().inner.clone());
    let plan = Plan::read(py, plan_json)?;
    let settings: ModelSettings = serde_json::from_str(model_json)
        .map_err(not_json("the model's settings"))
        .map_err(|failure| failure.raise(py))?;
    let mut functions = Functions::default();
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    work::run(py, &functions.0, Manner { progress, threads }, move |desk| {
        let names = dataset.names_or_numbers();
        let mut reader = TaskReader::new(&names, Path::new(""));
        let starts = InitialStates::of_episodes(&dataset);
        let task = plan.task(starts, (reward, termination), &mut reader, desk)?;
        let seed = Seed(seed);
        if let Some(part) = part {
            let asked = &plan.settings;
            let found = hambo::backtest_part(&dataset, part, &settings, &task, asked, seed, desk)?;
            return serde_json::to_string(&found).map_err(Failure::internal);
        }
        let found = match claims {
            Some(claims) => {
                let parts: Result<Vec<Vec<Claim>>, _> =
                    claims.iter().map(|json| serde_json::from_str(json)).collect();
                let claims = parts.map_err(not_json("claims"))?.concat();
                Backtest::of_claims(claims, plan.settings.delta)
            }
            None => hambo::backtest(&dataset, &settings, &task, &plan.settings, seed, desk)?,
        };
        let document = BacktestDocument::new(found, &dataset, &task, seed);
        serde_json::to_string(&document).map_err(Failure::internal)
    })
}

pub(crate) fn where_to_start<'py>(
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
    work::run(py, &functions.0, Manner::default(), move |desk| {
        let (task, simulator) = built_in(&task, horizon)?;
        let columns = ColumnNames::numbered(simulator.state_dim(), simulator.action_dim());
        let policy = parts::policy(part, &[], &columns, desk)?;
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

type HowClose = (Option<(f64, f64)>, Option<usize>);

/// The factor on the worlds' disagreement at which the bound is the threshold, the one that was used, and how many
/// times as many logged episodes would do.
#[pyfunction]
pub(crate) fn how_close(py: Python<'_>, json: &str, threshold: f64) -> PyResult<HowClose> {
    let found = parse(py, json)?.evaluation;
    Ok((found.tipping_factor(threshold), found.times_as_many_episodes(threshold)))
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

/// One page about several policies, in this order.
#[pyfunction]
#[pyo3(signature = (policies, *, title, date))]
pub(crate) fn ranking_html(
    py: Python<'_>,
    policies: Vec<(String, String)>,
    title: &str,
    date: Option<String>,
) -> PyResult<String> {
    let mut reported = Vec::new();
    for (name, json) in &policies {
        let ResultDocument { evaluation, notes, .. } = parse(py, json)?;
        let (policy, date) = (Some(name.clone()), date.clone());
        let options = ReportOptions { policy, date, notes, ..Default::default() };
        reported.push((name.as_str(), evaluation, options));
    }
    Ok(py.detach(|| report::ranking_html(title, &reported)))
}

/// All defaults as JSON, against which Python's own are tested.
#[pyfunction]
pub(crate) fn default_settings(py: Python<'_>) -> PyResult<String> {
    #[derive(Default, Serialize)]
    struct Defaults {
        model: ModelSettings,
        gp: hambo::dynamics::gp::GpSettings,
        evaluation: EvaluationSettings,
        learn: LearnSettings,
        baselines: BaselineSettings,
    }
    serde_json::to_string(&Defaults::default()).map_err(|error| Failure::internal(error).raise(py))
}
