//! Actions that are choices.

use hambo::dataset::ColumnNames;
use serde::{Deserialize, Serialize};

use super::table::{Place, Values, side_by_side};
use crate::error::Result;

/// Which columns of the action are numbers of choices, and how many choices there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DiscreteActions {
    /// The only column is one of so many.
    Single(usize),
    /// So many for every column; 0 for one that is a number.
    Each(Vec<usize>),
}

impl DiscreteActions {
    /// How many choices each column has; 0 for a number.
    pub fn sizes(&self) -> &[usize] {
        match self {
            Self::Single(choices) => std::slice::from_ref(choices),
            Self::Each(sizes) => sizes,
        }
    }

    /// Columns of an encoded action.
    pub(crate) fn encoded_width(&self) -> usize {
        self.sizes().iter().map(|&size| size.max(1)).sum()
    }

    /// What the columns of an encoded action are called, by the names of those that were logged if there are several.
    pub(crate) fn names(&self, logged: &[String]) -> Vec<String> {
        let of_column = |(column, &size): (usize, &usize)| match (self, size) {
            (Self::Single(_), _) => numbered("action", size),
            (_, 0) => vec![logged[column].clone()],
            _ => numbered(&logged[column], size),
        };
        self.sizes().iter().enumerate().flat_map(of_column).collect()
    }

    /// Values `[rows, columns]` of columns side by side, with a one and zeros for every choice.
    pub(crate) fn encode(&self, columns: Vec<(Place<'_>, Values)>) -> Result<Vec<f32>> {
        let mut sizes = self.sizes().iter();
        let mut parts: Vec<(usize, Vec<f32>)> = Vec::new();
        for (place, values) in columns {
            let mine: Vec<usize> = sizes.by_ref().take(place.column.width).copied().collect();
            if mine.len() != place.column.width || mine.is_empty() {
                let (expected, found) = (self.sizes().len(), place.column.width);
                return Err(place.wrong_width("discrete_actions", expected, found));
            }
            let exact = values.into_exact(place)?;
            let mut block = Vec::new();
            for (index, &value) in exact.iter().enumerate() {
                match mine[index % mine.len()] {
                    0 => block.push(value as f32),
                    _ if value.is_nan() => {
                        return Err(place.bad(index, "missing", "this column must be complete"));
                    }
                    size => {
                        let is_choice = value >= 0.0 && value < size as f64 && value.fract() == 0.0;
                        if !is_choice {
                            let advice = "`discrete_actions` says that choices count from 0 to one less than it";
                            return Err(place.bad(index, value, advice));
                        }
                        block.extend(
                            (0..size).map(|other| if other as f64 == value { 1.0 } else { 0.0 }),
                        );
                    }
                }
            }
            parts.push((mine.iter().map(|&size| size.max(1)).sum(), block));
        }
        let count = parts.first().map_or(0, |(width, block)| block.len() / (*width).max(1));
        Ok(side_by_side(parts, count))
    }
}

fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("{name}_{index}")).collect()
}

/// Numbered names of states and of actions as they are encoded.
pub(crate) fn numbered_names(
    states: usize,
    actions: usize,
    choices: Option<&DiscreteActions>,
) -> (Vec<String>, Vec<String>) {
    let ColumnNames { states, actions } = ColumnNames::numbered(states, actions);
    let actions = choices.map_or(actions.clone(), |choices| choices.names(&actions));
    (states, actions)
}
