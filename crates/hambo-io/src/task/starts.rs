//! Where episodes start, as text gives it.

use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::error::TaskError;

/// Where episodes start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Starts {
    /// `data`, a built-in task, or a CSV file.
    From(String),
    /// All the states there are.
    List(Vec<Vec<f32>>),
}

impl Default for Starts {
    fn default() -> Self {
        Self::From("data".into())
    }
}

/// A list of states `[count, d_s]`.
pub(super) fn matrix(list: &[Vec<f32>], state_dim: usize) -> Result<Array2<f32>, TaskError> {
    if let Some((index, row)) = list.iter().enumerate().find(|(_, row)| row.len() != state_dim) {
        let (what, found) = (format!("state {index}"), row.len());
        return Err(TaskError::Length { what, expected: state_dim, found });
    }
    let values: Vec<f32> = list.iter().flatten().copied().collect();
    match Array2::from_shape_vec((list.len(), state_dim), values) {
        Ok(states) if !states.is_empty() => Ok(states),
        _ => Err(TaskError::Starts("the list is empty; give at least one state".into())),
    }
}

/// States from a CSV file, whose columns may stand in any order.
pub(super) fn read(path: &Path, columns: &[String]) -> Result<Array2<f32>, String> {
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
