//! What columns are called.

use serde::{Deserialize, Serialize};

/// Names of the state and action columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnNames {
    /// One per state column.
    pub states: Vec<String>,
    /// One per action column.
    pub actions: Vec<String>,
}

impl ColumnNames {
    /// `state_0`, `state_1`, ... and `action_0`, `action_1`, ...
    pub fn numbered(state_dim: usize, action_dim: usize) -> Self {
        let numbered =
            |stem: &str, count| (0..count).map(|index| format!("{stem}_{index}")).collect();
        Self { states: numbered("state", state_dim), actions: numbered("action", action_dim) }
    }

    /// What a model's output is called: a column of the state or, after those, `reward`.
    pub fn output(&self, index: usize) -> &str {
        self.states.get(index).map_or("reward", String::as_str)
    }
}
