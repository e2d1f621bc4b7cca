//! The task, made from the settings and the columns' names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hambo::dataset::ColumnNames;
use hambo::task::InitialStates;
use hambo::{Constraint, Reward, Task};
use hambo_io::model::Origin;
use hambo_io::onnx::OnnxPolicy;
use hambo_io::task::TaskReader;
use ndarray::Array2;

use crate::config::Loaded;
use crate::failure::{Failure, Result};

/// A task, with what it was made of.
pub(crate) struct Defined {
    pub task: Task,
    /// How probable actions are for the policy, if somebody has said it.
    pub log_prob: Option<Arc<dyn Reward>>,
    /// Hashes of the files behind it: a resumed run must find the same ones.
    pub files: Vec<(String, String)>,
}

/// Makes the task that the settings describe, for data with these columns and of this origin.
pub(crate) fn define(loaded: &Loaded, names: &ColumnNames, origin: &Origin) -> Result<Defined> {
    let settings = &loaded.config.task;
    let horizon = settings.horizon.ok_or_else(|| {
        Failure::input("no horizon: give --horizon T, or `horizon` in [task] of hambo.toml")
    })?;
    let mut reader = TaskReader::new(names, &loaded.base);
    let starts = reader.starts(&settings.initial_states, origin);
    let mut task = Task::new(starts.map_err(at("task.initial_states"))?, None, horizon);
    add_rules(&mut task, loaded, &mut reader)?;
    task.validate()?;
    let log_prob = log_prob(loaded, &mut reader)?;
    let hashed = |path: PathBuf| Ok((path.display().to_string(), hash(&path)?));
    let files = reader.into_files().into_iter().map(hashed).collect::<Result<_>>()?;
    Ok(Defined { task, log_prob, files })
}

/// Says what is wrong with columns that rules and policies name, before hours of work.
pub(crate) fn check_names(loaded: &Loaded, names: &ColumnNames) -> Result<()> {
    let nowhere = InitialStates::Fixed(Array2::zeros((1, names.states.len())));
    let mut reader = TaskReader::new(names, &loaded.base);
    add_rules(&mut Task::new(nowhere, None, 1), loaded, &mut reader)?;
    log_prob(loaded, &mut reader)?;
    let inputs = OnnxPolicy::input_columns(&loaded.config.policy.inputs, names);
    inputs.map(drop).map_err(at("policy.inputs"))
}

fn log_prob(loaded: &Loaded, reader: &mut TaskReader<'_>) -> Result<Option<Arc<dyn Reward>>> {
    let text = loaded.config.policy.log_prob.as_ref();
    text.map(|text| reader.reward(text).map_err(at("policy.log_prob"))).transpose()
}

/// The parts of a task that speak of columns.
fn add_rules(task: &mut Task, loaded: &Loaded, reader: &mut TaskReader<'_>) -> Result<()> {
    let settings = &loaded.config.task;
    if let Some(text) = &settings.reward {
        task.reward = Some(reader.reward(text).map_err(at("task.reward"))?);
    }
    if let Some(text) = &settings.termination {
        task.termination = reader.termination(text).map_err(at("task.termination"))?;
    }
    if let Some(bounds) = &settings.state_bounds {
        task.state_bounds = Some(reader.bounds(bounds).map_err(at("task.state_bounds"))?);
    }
    for (name, text) in &loaded.config.constraints {
        let key = format!("constraints.{name}");
        let function = reader.reward(text).map_err(at(&key))?;
        task.constraints.push(Constraint { name: name.clone(), function });
    }
    task.discount = settings.discount;
    task.reward_bounds = settings.reward_bounds;
    task.floor = settings.floor;
    Ok(())
}

/// BLAKE3 of a file.
pub(crate) fn hash(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io(path, "read it", &error))?;
    Ok(blake3::hash(&bytes).to_string())
}

fn at<E: fmt::Display>(key: &str) -> impl FnOnce(E) -> Failure {
    let key = key.to_owned();
    move |error| Failure::input(format!("{key}: {error}"))
}
