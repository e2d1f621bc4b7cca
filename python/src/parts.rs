//! Policies, rewards, terminations and starts, as they are given: a Python function or a text.

use std::path::Path;
use std::sync::Arc;

use hambo::dataset::{ColumnNames, EpisodeMarks};
use hambo::{BoxError, InitialStates, Policy, Reward, RowStreams, Termination, Transitions};
use hambo_io::onnx::OnnxPolicy;
use hambo_io::task::TaskReader;
use ndarray::{Array1, Array2, ArrayD, ArrayView2, Ix1, Ix2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use rand::Rng;

use crate::errors::Failure;
use crate::model::Model;
use crate::work::{Arguments, Desk};

/// A part of a task, ready to travel to the worker.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// The number of a Python function.
    Function(usize),
    /// A path, a built-in task or an expression.
    Text(String),
}

/// Collects the Python functions among the parts.
#[derive(Default)]
pub(crate) struct Functions<'py>(pub Vec<Bound<'py, PyAny>>);

impl<'py> Functions<'py> {
    pub(crate) fn part(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Part> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(Part::Text(text.extract()?)),
            Err(_) => Ok(Part::Function(self.add(given))),
        }
    }

    pub(crate) fn add(&mut self, function: &Bound<'py, PyAny>) -> usize {
        self.0.push(function.clone());
        self.0.len() - 1
    }
}

/// A Python function, called through the desk.
pub(crate) struct Remote {
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
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(self.ask(&[states])?.into_dimensionality::<Ix2>()?)
    }

    fn may_be_shared(&self) -> bool {
        false
    }
}

impl Reward for Remote {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, actions, next_states } = *transitions;
        Ok(self.ask(&[states, actions, next_states])?.into_dimensionality::<Ix1>()?)
    }
}

impl Termination for Remote {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        let Transitions { states, actions, next_states } = *transitions;
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
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        match self.desk.is_stopped() {
            true => Err("it was stopped".into()),
            false => self.policy.act(states, draws),
        }
    }

    fn gives_scores(&self) -> bool {
        self.policy.gives_scores()
    }

    fn may_be_shared(&self) -> bool {
        self.policy.may_be_shared()
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        self.policy.learned_from()
    }

    fn learned_in_worlds(&self) -> bool {
        self.policy.learned_in_worlds()
    }
}

pub(crate) fn policy(
    part: Part,
    inputs: &[String],
    columns: &ColumnNames,
    desk: &Desk,
) -> Result<Box<dyn Policy>, Failure> {
    let desk = desk.clone();
    Ok(match part {
        Part::Function(function) => Box::new(Remote { desk, function }),
        Part::Text(path) => {
            Box::new(Stoppable { policy: OnnxPolicy::load_for(path, inputs, columns)?, desk })
        }
    })
}

/// Reads the parts that are text, for data as the model has it. Paths are as they are.
pub(crate) fn reader(model: &Model) -> TaskReader<'_> {
    TaskReader::new(&model.saved.model.data.names, Path::new(""))
}

pub(crate) fn reward(
    part: Part,
    reader: &mut TaskReader<'_>,
    desk: &Desk,
) -> Result<Arc<dyn Reward>, Failure> {
    match part {
        Part::Function(function) => Ok(Arc::new(Remote { desk: desk.clone(), function })),
        Part::Text(text) => Ok(reader.reward(&text)?),
    }
}

/// None for a built-in task that goes on to the horizon.
pub(crate) fn termination(
    part: Part,
    reader: &mut TaskReader<'_>,
    desk: &Desk,
) -> Result<Option<Arc<dyn Termination>>, Failure> {
    match part {
        Part::Function(function) => Ok(Some(Arc::new(Remote { desk: desk.clone(), function }))),
        Part::Text(text) => Ok(reader.termination(&text)?),
    }
}

/// A Python function that draws initial states.
pub(crate) fn sampler(function: usize, desk: &Desk) -> InitialStates {
    let desk = desk.clone();
    InitialStates::sampler(move |count, rng| {
        let drawn = desk.call(function, Arguments::Draw { count, seed: rng.next_u64() })?;
        Ok(drawn.into_dimensionality::<Ix2>()?)
    })
}
