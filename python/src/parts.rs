//! Policies, rewards, terminations and starts, as they are given: a Python function or a text.

use std::path::Path;
use std::sync::Arc;

use hambo::task::{
    Policy, Reward, Simulator, Task, Termination, pendulum, point_env, point_safety,
};
use hambo::{BoxError, InitialStates, Stream};
use hambo_io::expression::Expression;
use hambo_io::onnx::{OnnxPolicy, OnnxReward, OnnxTermination};
use ndarray::{Array1, Array2, ArrayD, ArrayView2, Ix1, Ix2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rand::Rng;

use crate::errors::Failure;
use crate::model::Model;
use crate::work::{Arguments, Desk};

/// A part of a task, ready to travel to the worker.
#[derive(Debug, Clone)]
pub enum Part {
    /// The number of a Python function.
    Function(usize),
    /// A path, a built-in task or an expression.
    Text(String),
}

/// Collects the Python functions among the parts.
#[derive(Default)]
pub struct Functions<'py>(pub Vec<Bound<'py, PyAny>>);

impl<'py> Functions<'py> {
    pub fn part(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Part> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Part::Text(text.extract()?)),
            Err(_) => Ok(Part::Function(self.add(given))),
        }
    }

    pub fn add(&mut self, function: &Bound<'py, PyAny>) -> usize {
        self.0.push(function.clone());
        self.0.len() - 1
    }
}

/// A Python function, called through the desk.
pub struct Remote {
    pub desk: Desk,
    pub function: usize,
}

impl Remote {
    fn ask(&self, batches: &[ArrayView2<'_, f32>]) -> Result<ArrayD<f32>, BoxError> {
        let batches = batches.iter().map(|batch| batch.as_standard_layout().into_owned()).collect();
        self.desk.call(self.function, Arguments::Batches(batches))
    }
}

impl Policy for Remote {
    fn act(&self, states: ArrayView2<'_, f32>, _rng: &mut Stream) -> Result<Array2<f32>, BoxError> {
        Ok(self.ask(&[states])?.into_dimensionality::<Ix2>()?)
    }
}

impl Reward for Remote {
    fn reward(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next_states: ArrayView2<'_, f32>,
    ) -> Result<Array1<f32>, BoxError> {
        Ok(self.ask(&[states, actions, next_states])?.into_dimensionality::<Ix1>()?)
    }
}

impl Termination for Remote {
    fn terminated(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next_states: ArrayView2<'_, f32>,
    ) -> Result<Array1<bool>, BoxError> {
        let flags = self.ask(&[states, actions, next_states])?.into_dimensionality::<Ix1>()?;
        Ok(flags.mapv(|flag| flag != 0.0))
    }
}

/// A policy that notices when it is to stop, for the stages that report nothing.
struct Stoppable<P> {
    policy: P,
    desk: Desk,
}

impl<P: Policy> Policy for Stoppable<P> {
    fn act(&self, states: ArrayView2<'_, f32>, rng: &mut Stream) -> Result<Array2<f32>, BoxError> {
        match self.desk.is_stopped() {
            true => Err("it was stopped".into()),
            false => self.policy.act(states, rng),
        }
    }
}

fn is_onnx(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

/// A built-in task with its dynamics, by name.
pub fn built_in(name: &str, horizon: usize) -> Option<(Task, Arc<dyn Simulator>)> {
    match name {
        "pendulum" => Some((pendulum::task(horizon), Arc::new(pendulum::Pendulum))),
        "point_env" => Some((point_env::task(horizon), Arc::new(point_env::PointEnv))),
        "point_safety" => Some((point_safety::task(horizon), Arc::new(point_safety::PointSafety))),
        _ => None,
    }
}

pub fn policy(part: Part, dims: (usize, usize), desk: &Desk) -> Result<Box<dyn Policy>, Failure> {
    let desk = desk.clone();
    Ok(match part {
        Part::Function(function) => Box::new(Remote { desk, function }),
        Part::Text(path) => {
            Box::new(Stoppable { policy: OnnxPolicy::load(path, dims.0, dims.1)?, desk })
        }
    })
}

/// A reward for states and actions of the model's widths.
pub fn reward(part: Part, model: &Model, desk: &Desk) -> Result<Arc<dyn Reward>, Failure> {
    let text = match part {
        Part::Function(function) => return Ok(Arc::new(Remote { desk: desk.clone(), function })),
        Part::Text(text) => text,
    };
    let (states, actions) = dims(model);
    if let Some((Task { reward: Some(reward), .. }, simulator)) = built_in(&text, 1) {
        check_dims(&text, &*simulator, (states, actions))?;
        return Ok(reward);
    }
    Ok(match is_onnx(&text) {
        true => Arc::new(OnnxReward::load(&text, states, actions)?),
        false => Arc::new(Expression::parse(&text, &model.names())?),
    })
}

/// None for a built-in task that goes on to the horizon.
pub fn termination(
    part: Part,
    model: &Model,
    desk: &Desk,
) -> Result<Option<Arc<dyn Termination>>, Failure> {
    let text = match part {
        Part::Function(function) => {
            return Ok(Some(Arc::new(Remote { desk: desk.clone(), function })));
        }
        Part::Text(text) => text,
    };
    let (states, actions) = dims(model);
    if let Some((task, simulator)) = built_in(&text, 1) {
        check_dims(&text, &*simulator, (states, actions))?;
        return Ok(task.termination);
    }
    Ok(Some(match is_onnx(&text) {
        true => Arc::new(OnnxTermination::load(&text, states, actions)?),
        false => Arc::new(Expression::parse(&text, &model.names())?),
    }))
}

/// A Python function that draws initial states.
pub fn sampler(function: usize, desk: &Desk) -> InitialStates {
    let desk = desk.clone();
    InitialStates::sampler(move |count, rng| {
        let drawn = desk.call(function, Arguments::Draw { count, seed: rng.next_u64() })?;
        Ok(drawn.into_dimensionality::<Ix2>()?)
    })
}

pub fn dims(model: &Model) -> (usize, usize) {
    (model.inner.dynamics.state_dim(), model.inner.dynamics.action_dim())
}

fn check_dims(name: &str, simulator: &dyn Simulator, of: (usize, usize)) -> Result<(), Failure> {
    let (states, actions) = (simulator.state_dim(), simulator.action_dim());
    if (states, actions) == of {
        return Ok(());
    }
    let message = format!(
        "the built-in task `{name}` has {states} state and {actions} action columns, the model was \
         fitted on {} and {}",
        of.0, of.1
    );
    Err(Failure::new("SettingError", message))
}
