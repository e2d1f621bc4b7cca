//! What the field's estimators say, as JSON.

use hambo::{Policy, Seed};
use pyo3::prelude::*;

use crate::dataset::Dataset;
use crate::errors::Failure;
use crate::evaluate::{Plan, where_to_start};
use crate::model::Model;
use crate::parts::{self, Functions};
use crate::work::{self, Manner};

/// Arguments are as for an evaluation.
#[pyfunction]
#[pyo3(signature = (model, policy, plan_json, seed, *, data, reward, termination, starts, log_prob, progress, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn baselines<'py>(
    model: &Bound<'py, Model>,
    policy: &Bound<'py, PyAny>,
    plan_json: &str,
    seed: u64,
    data: Option<&Bound<'py, Dataset>>,
    reward: Option<&Bound<'py, PyAny>>,
    termination: Option<&Bound<'py, PyAny>>,
    starts: Option<&Bound<'py, PyAny>>,
    log_prob: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let py = model.py();
    let plan = Plan::read(py, plan_json)?;
    let mut functions = Functions::default();
    let policy = functions.part(policy)?;
    let reward = reward.map(|part| functions.part(part)).transpose()?;
    let termination = termination.map(|part| functions.part(part)).transpose()?;
    let log_prob = log_prob.map(|part| functions.part(part)).transpose()?;
    let starts = where_to_start(starts, model.get(), &mut functions)?;
    let data = data.map(|data| data.get().inner.clone());
    let model = Model { saved: model.get().saved.clone() };
    work::run(py, &functions.0, Manner { progress, threads }, move |desk| {
        let mut reader = parts::reader(&model);
        let starts = starts.ready(desk);
        let task = plan.task(starts, (reward, termination), &mut reader, desk)?;
        let policy: Box<dyn Policy> = plan.policy(policy, log_prob, &mut reader, &model, desk)?;
        let (model, data, seed) = (&model.saved.model, data.as_deref(), Seed(seed));
        let found = model.baselines(&*policy, &task, data, &plan.settings, seed, desk)?;
        serde_json::to_string(&found).map_err(Failure::internal)
    })
}
