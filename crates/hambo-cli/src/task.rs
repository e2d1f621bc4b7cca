//! The task and its constraints, made from the settings and the columns' names.

use std::path::Path;
use std::sync::Arc;

use hambo::dataset::ColumnNames;
use hambo::task::{pendulum, point_env, point_safety};
use hambo::{Constraint, InitialStates, Reward, StateBounds, Task, Termination};
use hambo_io::expression::Expression;
use hambo_io::onnx::{OnnxReward, OnnxTermination};
use ndarray::Array2;

use crate::config::{Bounds, Loaded, Starts};
use crate::failure::{Failure, Result};
use crate::origin::Origin;

const BUILT_IN: [&str; 3] = ["pendulum", "point_env", "point_safety"];

/// A task, with what it was made of.
pub struct Defined {
    pub task: Task,
    pub constraints: Vec<Constraint>,
    /// Hashes of the files behind it: a resumed run must find the same ones.
    pub files: Vec<(String, String)>,
}

/// Makes the task that the settings describe, for the model whose data is `origin`.
pub fn define(loaded: &Loaded, origin: &Origin) -> Result<Defined> {
    let settings = &loaded.config.task;
    let horizon = settings.horizon.ok_or_else(|| {
        Failure::input("no horizon: give --horizon T, or `horizon` in [task] of hambo.toml")
    })?;
    let mut maker = Maker { loaded, names: origin.names(), files: Vec::new() };
    let initial_states = maker.starts(&settings.initial_states, origin)?;
    let reward = match &settings.reward {
        Some(text) => Some(maker.reward("task.reward", text)?),
        None => None,
    };
    let termination = match &settings.termination {
        Some(text) => Some(maker.termination(text)?),
        None => None,
    };
    let state_bounds = match &settings.state_bounds {
        Some(bounds) => Some(maker.bounds(bounds)?),
        None => None,
    };
    let mut constraints = Vec::new();
    for (name, text) in &loaded.config.constraints {
        if name == "return" {
            let message = "constraints: a constraint cannot be called `return`; rename it";
            return Err(Failure::input(message));
        }
        let function = maker.reward(&format!("constraints.{name}"), text)?;
        constraints.push(Constraint { name: name.clone(), function });
    }
    let discount = settings.discount;
    let task = Task { initial_states, reward, termination, horizon, discount, state_bounds };
    task.validate()?;
    Ok(Defined { task, constraints, files: maker.files })
}

struct Maker<'a> {
    loaded: &'a Loaded,
    names: ColumnNames,
    files: Vec<(String, String)>,
}

impl Maker<'_> {
    fn dims(&self) -> (usize, usize) {
        (self.names.states.len(), self.names.actions.len())
    }

    fn reward(&mut self, key: &str, text: &str) -> Result<Arc<dyn Reward>> {
        let (d_s, d_a) = self.dims();
        if text.ends_with(".onnx") {
            let path = self.loaded.path(text);
            let reward = OnnxReward::load(&path, d_s, d_a).map_err(|error| at(key, error))?;
            self.remember(&path)?;
            return Ok(Arc::new(reward));
        }
        if BUILT_IN.contains(&text) {
            let task = self.built_in(key, text)?;
            return task.reward.ok_or_else(|| at(key, "this task has no reward of its own"));
        }
        Ok(Arc::new(Expression::parse(text, &self.names).map_err(|error| at(key, error))?))
    }

    fn termination(&mut self, text: &str) -> Result<Arc<dyn Termination>> {
        let key = "task.termination";
        let (d_s, d_a) = self.dims();
        if text.ends_with(".onnx") {
            let path = self.loaded.path(text);
            let rule = OnnxTermination::load(&path, d_s, d_a).map_err(|error| at(key, error))?;
            self.remember(&path)?;
            return Ok(Arc::new(rule));
        }
        Ok(Arc::new(Expression::parse(text, &self.names).map_err(|error| at(key, error))?))
    }

    fn built_in(&self, key: &str, name: &str) -> Result<Task> {
        let (task, needed) = match name {
            "pendulum" => (pendulum::task(1), (pendulum::STATE_DIM, pendulum::ACTION_DIM)),
            "point_env" => (point_env::task(1), (point_env::STATE_DIM, point_env::ACTION_DIM)),
            _ => (point_safety::task(1), (point_safety::STATE_DIM, point_safety::ACTION_DIM)),
        };
        if needed != self.dims() {
            let ((d_s, d_a), (s, a)) = (needed, self.dims());
            let message = format!(
                "`{name}` has {d_s} state and {d_a} action columns, the data has {s} and {a}; \
                 give an expression over your columns"
            );
            return Err(at(key, message));
        }
        Ok(task)
    }

    fn starts(&mut self, starts: &Starts, origin: &Origin) -> Result<InitialStates> {
        let key = "task.initial_states";
        match starts {
            Starts::From(text) if text == "data" => match origin.starts.nrows() {
                0 => Err(at(
                    key,
                    "the model does not know where its episodes started; fit it with `hambo fit`, or \
                     give a file or a list",
                )),
                _ => Ok(InitialStates::Observed(origin.starts.clone())),
            },
            Starts::From(name) if BUILT_IN.contains(&name.as_str()) => {
                Ok(self.built_in(key, name)?.initial_states)
            }
            Starts::From(file) => {
                let path = self.loaded.path(file);
                let states =
                    read_states(&path, &self.names.states).map_err(|error| at(key, error))?;
                self.remember(&path)?;
                Ok(InitialStates::Observed(states))
            }
            Starts::List(list) => {
                let d_s = self.dims().0;
                if let Some((index, row)) =
                    list.iter().enumerate().find(|(_, row)| row.len() != d_s)
                {
                    let found = row.len();
                    let message =
                        format!("state {index} has {found} values, the data has {d_s} columns");
                    return Err(at(key, message));
                }
                let values: Vec<f32> = list.iter().flatten().copied().collect();
                let states = Array2::from_shape_vec((list.len(), d_s), values);
                let states = states.map_err(|error| at(key, error))?;
                match states.is_empty() {
                    true => Err(at(key, "the list is empty; give at least one state")),
                    false => Ok(InitialStates::Fixed(states)),
                }
            }
        }
    }

    fn bounds(&self, bounds: &Bounds) -> Result<StateBounds> {
        let key = "task.state_bounds";
        let d_s = self.dims().0;
        for (name, limits) in [("low", &bounds.low), ("high", &bounds.high)] {
            if limits.len() != d_s {
                let found = limits.len();
                let message = format!("`{name}` has {found} numbers, the state has {d_s} columns");
                return Err(at(key, message));
            }
        }
        let mut made = StateBounds::new(bounds.low.clone().into(), bounds.high.clone().into())?;
        for pair in &bounds.angles {
            let [cosine, sine] = pair.each_ref().map(|name| {
                let found = self.names.states.iter().position(|column| column == name);
                found.ok_or_else(|| {
                    let columns = self.names.states.join("`, `");
                    at(key, format!("there is no state column `{name}`; they are `{columns}`"))
                })
            });
            made = made.with_angle(cosine?, sine?)?;
        }
        Ok(made)
    }

    fn remember(&mut self, path: &Path) -> Result<()> {
        self.files.push((path.display().to_string(), hash(path)?));
        Ok(())
    }
}

/// BLAKE3 of a file.
pub fn hash(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io(path, "read it", &error))?;
    Ok(blake3::hash(&bytes).to_string())
}

fn at(key: &str, message: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{key}: {message}"))
}

/// States from a CSV file, whose columns may stand in any order.
fn read_states(path: &Path, columns: &[String]) -> Result<Array2<f32>, String> {
    let place = path.display();
    let mut reader = csv::Reader::from_path(path)
        .map_err(|error| format!("{place}: {error}; give `data`, a built-in task or a CSV file"))?;
    let header = reader.headers().map_err(|error| format!("{place}: {error}"))?.clone();
    let mut indices = Vec::new();
    for column in columns {
        let found = header.iter().position(|name| name.trim() == column);
        indices.push(found.ok_or_else(|| {
            let found: Vec<&str> = header.iter().collect();
            format!(
                "{place}: no column `{column}`; it has `{}`, and needs all state columns: `{}`",
                found.join("`, `"),
                columns.join("`, `")
            )
        })?);
    }
    let mut values = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| format!("{place}: {error}"))?;
        for (&index, column) in indices.iter().zip(columns) {
            let text = record.get(index).unwrap_or_default().trim();
            let value: Option<f32> = text.parse().ok().filter(|value: &f32| value.is_finite());
            values.push(value.ok_or_else(|| {
                format!("{place}: row {row}, column `{column}`: `{text}` is not a finite number")
            })?);
        }
    }
    if values.is_empty() {
        return Err(format!("{place}: it has no rows; give at least one state"));
    }
    let shape = (values.len() / columns.len(), columns.len());
    Array2::from_shape_vec(shape, values).map_err(|error| format!("{place}: {error}"))
}
