//! The parts of a task as a user writes them: expressions, ONNX files, built-in tasks, lists.

mod bounds;
mod error;
mod starts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hambo::dataset::ColumnNames;
use hambo::task::{Simulator, pendulum, point_env, point_safety};
use hambo::{InitialStates, Reward, StateBounds, Task, Termination};

pub use bounds::{Bounds, ColumnReference, Limits, OwnBounds};
pub use error::{BUILT_IN, TaskError};
pub use starts::Starts;

use crate::expression::Expression;
use crate::model::Origin;
use crate::onnx::{OnnxReward, OnnxTermination};

/// A built-in task with its true dynamics, by name.
pub fn built_in(name: &str, horizon: usize) -> Result<(Task, Arc<dyn Simulator>), TaskError> {
    match name {
        "pendulum" => Ok((pendulum::task(horizon), Arc::new(pendulum::Pendulum))),
        "point_env" => Ok((point_env::task(horizon), Arc::new(point_env::PointEnv))),
        "point_safety" => Ok((point_safety::task(horizon), Arc::new(point_safety::PointSafety))),
        _ => Err(TaskError::NoSuchTask { name: name.into() }),
    }
}

/// Whether a text names an ONNX file.
fn is_onnx(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

/// Reads parts of a task on data with these columns.
#[derive(Debug)]
pub struct TaskReader<'a> {
    names: &'a ColumnNames,
    base: &'a Path,
    files: Vec<PathBuf>,
}

impl<'a> TaskReader<'a> {
    /// Paths of files are relative to `base`.
    pub fn new(names: &'a ColumnNames, base: &'a Path) -> Self {
        Self { names, base, files: Vec::new() }
    }

    /// The files that were read so far.
    pub fn into_files(self) -> Vec<PathBuf> {
        self.files
    }

    /// An expression, an ONNX file or a built-in task.
    pub fn reward(&mut self, text: &str) -> Result<Arc<dyn Reward>, TaskError> {
        if BUILT_IN.contains(&text) {
            let no_reward = || TaskError::NoPart { name: text.into(), part: "reward" };
            return self.built_in(text)?.reward.ok_or_else(no_reward);
        }
        if is_onnx(text) {
            let (path, (d_s, d_a)) = (self.file(text), self.dims());
            return Ok(Arc::new(OnnxReward::load(path, d_s, d_a)?));
        }
        Ok(Arc::new(Expression::parse(text, self.names)?))
    }

    /// The same; none for a built-in task whose episodes last to the horizon.
    pub fn termination(&mut self, text: &str) -> Result<Option<Arc<dyn Termination>>, TaskError> {
        if BUILT_IN.contains(&text) {
            return Ok(self.built_in(text)?.termination);
        }
        if is_onnx(text) {
            let (path, (d_s, d_a)) = (self.file(text), self.dims());
            return Ok(Some(Arc::new(OnnxTermination::load(path, d_s, d_a)?)));
        }
        Ok(Some(Arc::new(Expression::parse(text, self.names)?)))
    }

    /// Limits of one's own or a built-in task's.
    pub fn bounds(&self, bounds: &Bounds) -> Result<StateBounds, TaskError> {
        match bounds {
            Bounds::Task(name) => {
                let none = || TaskError::NoPart { name: name.clone(), part: "state bounds" };
                self.built_in(name)?.state_bounds.ok_or_else(none)
            }
            Bounds::Own(own) => own.limits(&self.names.states),
        }
    }

    /// Where episodes start, for a model of this origin.
    pub fn starts(&mut self, starts: &Starts, origin: &Origin) -> Result<InitialStates, TaskError> {
        match starts {
            Starts::From(text) if text == "data" => match origin.starts.nrows() {
                0 => Err(TaskError::UnknownStarts),
                _ => Ok(InitialStates::Observed(origin.starts.clone())),
            },
            Starts::From(name) if BUILT_IN.contains(&name.as_str()) => {
                Ok(self.built_in(name)?.initial_states)
            }
            Starts::From(file) => {
                let path = self.file(file);
                let states = starts::read(&path, &self.names.states).map_err(TaskError::Starts)?;
                Ok(InitialStates::Observed(states))
            }
            Starts::List(list) => {
                Ok(InitialStates::Fixed(starts::matrix(list, self.names.states.len())?))
            }
        }
    }

    fn dims(&self) -> (usize, usize) {
        (self.names.states.len(), self.names.actions.len())
    }

    fn built_in(&self, name: &str) -> Result<Task, TaskError> {
        let (task, simulator) = built_in(name, 1)?;
        let (expected, found) = ((simulator.state_dim(), simulator.action_dim()), self.dims());
        match expected == found {
            true => Ok(task),
            false => Err(TaskError::OtherColumns { name: name.into(), expected, found }),
        }
    }

    fn file(&mut self, named: &str) -> PathBuf {
        let path = self.base.join(named);
        self.files.push(path.clone());
        path
    }
}
