//! Actions that are choices.

use hambo::dataset::ColumnNames;
use serde::{Deserialize, Serialize};

use super::table::{ColumnInfo, Kind, Place, Values, side_by_side};
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

/// What is in the rows of formats that name no columns.
pub(crate) struct Unnamed {
    pub(crate) observation: ColumnInfo,
    pub(crate) action: ColumnInfo,
    pub(crate) discrete_actions: Option<DiscreteActions>,
}

impl Unnamed {
    /// Columns of an action as it is encoded.
    pub(crate) fn action_dim(&self) -> usize {
        let choices = self.discrete_actions.as_ref();
        choices.map_or(self.action.width, DiscreteActions::encoded_width)
    }

    /// Numbered names of states and of actions as they are encoded.
    pub(crate) fn names(&self) -> (Vec<String>, Vec<String>) {
        let ColumnNames { states, actions } =
            ColumnNames::numbered(self.observation.width, self.action.width);
        match &self.discrete_actions {
            Some(choices) => (states, choices.names(&actions)),
            None => (states, actions),
        }
    }

    /// Whether actions are whole numbers that nobody has called choices.
    pub(crate) fn has_integer_actions(&self) -> bool {
        self.discrete_actions.is_none() && self.action.kind == Kind::Integer
    }

    /// Logged actions as they are encoded.
    pub(crate) fn encode(&self, place: Place<'_>, actions: Values) -> Result<Vec<f32>> {
        match &self.discrete_actions {
            Some(choices) => choices.encode(vec![(place, actions)]),
            None => actions.into_numbers(place),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;

    fn column(name: &str, width: usize) -> ColumnInfo {
        ColumnInfo { name: name.into(), width, kind: Kind::Integer }
    }

    fn place(column: &ColumnInfo) -> Place<'_> {
        Place { path: Path::new("logs"), first_row: 0, column }
    }

    #[test]
    fn columns_of_choices_and_numbers_are_put_side_by_side() {
        let each = DiscreteActions::Each(vec![3, 0, 2]);
        let (valve, rest) = (column("valve", 1), column("rest", 2));
        let values = || {
            vec![
                (place(&valve), Values::Integer(vec![2, 0])),
                (place(&rest), Values::F64(vec![0.5, 1.0, -0.5, 0.0])),
            ]
        };
        let expected = [0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0, -0.5, 1.0, 0.0];
        assert_eq!(each.encode(values()).unwrap(), expected);
        assert_eq!(each.encoded_width(), 6);
        let logged = ["valve", "power", "pump"].map(String::from);
        assert_eq!(
            each.names(&logged),
            ["valve_0", "valve_1", "valve_2", "power", "pump_0", "pump_1"]
        );
        // One number for every column, and no more.
        for wrong in [vec![3, 0], vec![3]] {
            let message = DiscreteActions::Each(wrong).encode(values()).unwrap_err().to_string();
            assert!(message.contains("2 values a row"), "{message}");
        }
    }

    #[test]
    fn what_is_no_choice_is_named_with_its_row() {
        let of = column("actions", 1);
        let encode = |value: f64| {
            let values = Values::F64(vec![0.0, 1.0, value]);
            DiscreteActions::Single(2).encode(vec![(place(&of), values)]).unwrap_err().to_string()
        };
        assert!(encode(2.0).contains("the value is 2"), "{}", encode(2.0));
        assert!(encode(-1.0).contains("discrete_actions") && encode(0.5).contains("0.5"));
        assert!(encode(f64::NAN).contains("missing"), "{}", encode(f64::NAN));
    }
}
