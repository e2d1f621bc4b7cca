//! Several policies: a short look at all of them, and what their order is worth.

use hambo::{Evaluation, Look, Policy, Ranking, Seed};
use hambo_io::result::ResultDocument;
use pyo3::prelude::*;

use crate::errors::{Failure, not_json};
use crate::evaluate::{Plan, where_to_start};
use crate::model::Model;
use crate::parts::{self, Functions, Part};
use crate::work::{self, Manner};

/// What a short look at each policy showed, as JSON. Arguments are as for an evaluation.
#[pyfunction]
#[pyo3(signature = (model, policies, plan_json, seed, *, reward, termination, starts, progress, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn look<'py>(
    model: &Bound<'py, Model>,
    policies: Vec<Bound<'py, PyAny>>,
    plan_json: &str,
    seed: u64,
    reward: Option<&Bound<'py, PyAny>>,
    termination: Option<&Bound<'py, PyAny>>,
    starts: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Vec<String>> {
    let py = model.py();
    let plan = Plan::read(py, plan_json)?;
    let mut functions = Functions::default();
    let policies: Vec<Part> =
        policies.iter().map(|part| functions.part(part)).collect::<PyResult<_>>()?;
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    let starts = where_to_start(starts, model.get(), &mut functions)?;
    let model = Model { saved: model.get().saved.clone() };
    work::run(py, &functions.0, Manner { progress, threads }, move |desk| {
        let mut reader = parts::reader(&model);
        let starts = starts.ready(desk);
        let task = plan.task(starts, (reward, termination), &mut reader, desk)?;
        let mut played: Vec<Box<dyn Policy>> = Vec::new();
        for part in policies {
            played.push(plan.policy(part, None, &mut reader, &model, desk)?);
        }
        let policies: Vec<&dyn Policy> = played.iter().map(|policy| &**policy).collect();
        let model = &model.saved.model;
        let found = model.look(&policies, &task, &plan.settings, Seed(seed), desk)?;
        found.iter().map(|look| serde_json::to_string(look).map_err(Failure::internal)).collect()
    })
}

/// By which policy each one is dominated, of looks at all of them.
#[pyfunction]
pub(crate) fn dominated(py: Python<'_>, looks: Vec<String>) -> PyResult<Vec<Option<usize>>> {
    let looks: Result<Vec<Look>, _> = looks.iter().map(|json| serde_json::from_str(json)).collect();
    let looks = looks.map_err(not_json("a short look")).map_err(|failure| failure.raise(py))?;
    Ok(Look::compare(&looks).into_iter().map(|found| found.dominated_by).collect())
}

/// Who is better than whom, as JSON, of evaluations as JSON.
#[pyfunction]
pub(crate) fn ranking(py: Python<'_>, evaluations: Vec<String>) -> PyResult<String> {
    let mut found: Vec<Evaluation> = Vec::new();
    for json in &evaluations {
        let document = ResultDocument::from_json(json.as_bytes());
        let document = document.map_err(|message| {
            Failure::new("SettingError", format!("this is no result of this version: {message}"))
        });
        found.push(document.map_err(|failure| failure.raise(py))?.evaluation);
    }
    let ranking = Ranking::of(&found.iter().collect::<Vec<_>>());
    serde_json::to_string(&ranking)
        .map_err(not_json("the ranking"))
        .map_err(|failure| failure.raise(py))
}
