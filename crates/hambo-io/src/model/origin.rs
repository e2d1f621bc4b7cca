//! What a model's directory tells about the data behind it, so that evaluations need no data.

use std::path::Path;

use hambo::dataset::Summary;
use hambo::{Dataset, Model};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// Where a model came from, beside what the model itself knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// What the user called the data; empty if nobody said.
    pub source: String,
    /// What is in the data.
    pub summary: Option<Summary>,
    /// The first states of the episodes, `[episodes, d_s]`; none if nobody kept them.
    pub starts: Array2<f32>,
    /// The settings of the fit, as TOML; empty if nobody kept them.
    pub settings: String,
}

impl Origin {
    /// Of data that the user calls `source`, and of a fit with these settings.
    pub fn of(dataset: &Dataset, source: &Path, settings: String) -> Self {
        Self {
            source: source.display().to_string(),
            summary: Some(dataset.summary()),
            starts: dataset.initial_states(),
            settings,
        }
    }

    /// Whether the fit was for a first look only.
    pub fn is_quick(&self) -> bool {
        self.preset() == Some("quick")
    }

    /// The preset that the fit was made with, if its settings say one.
    pub fn preset(&self) -> Option<&str> {
        let value = self.settings.lines().find_map(|line| line.strip_prefix("preset = "))?;
        Some(value.trim_matches('"'))
    }

    /// Of a model whose data nobody has kept anything of.
    pub fn unknown(model: &Model) -> Self {
        Self {
            source: String::new(),
            summary: None,
            starts: Array2::zeros((0, model.present_dim())),
            settings: String::new(),
        }
    }

    /// Whether it can belong to a model of these widths: needed after loading.
    pub(super) fn fits(&self, state_dim: usize, action_dim: usize) -> bool {
        let summarised = |summary: &Summary| {
            summary.states.len() == state_dim && summary.actions.len() == action_dim
        };
        self.starts.ncols() == state_dim && self.summary.as_ref().is_none_or(summarised)
    }
}
