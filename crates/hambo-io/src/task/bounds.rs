//! Limits of the state, as text gives them.

use std::collections::BTreeMap;
use std::fmt;

use hambo::StateBounds;
use ndarray::Array1;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::error::TaskError;

/// What every state obeys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bounds {
    /// The limits of a built-in task.
    Task(String),
    /// Limits of one's own.
    Own(OwnBounds),
}

/// Limits per column, and columns that are an angle's cosine and sine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnBounds {
    /// One number per state column, `-inf` for none; or numbers by the columns' names.
    #[serde(default)]
    pub low: Limits,
    /// One number per state column, `inf` for none; or numbers by the columns' names.
    #[serde(default)]
    pub high: Limits,
    /// Pairs of columns that are an angle's cosine and sine, by name or number.
    #[serde(default)]
    pub angles: Vec<[ColumnReference; 2]>,
}

/// Limits in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Limits {
    /// One per column.
    List(Vec<f32>),
    /// By name; columns that are left out have none.
    ByName(BTreeMap<String, f32>),
}

/// None at all.
impl Default for Limits {
    fn default() -> Self {
        Self::ByName(BTreeMap::new())
    }
}

/// A column of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ColumnReference {
    /// Counted from zero.
    Number(usize),
    /// What it is called.
    Name(String),
}

/// By hand, because a derived one could not say which key of the table is wrong.
impl<'de> Deserialize<'de> for Bounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = Bounds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a built-in task, or a table with `low` and `high`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Bounds, E> {
                Ok(Bounds::Task(name.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Bounds, A::Error> {
                OwnBounds::deserialize(MapAccessDeserializer::new(map)).map(Bounds::Own)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

impl OwnBounds {
    /// The limits of a state with these columns.
    pub(super) fn limits(&self, columns: &[String]) -> Result<StateBounds, TaskError> {
        let low = self.low.values("`low`", f32::NEG_INFINITY, columns)?;
        let high = self.high.values("`high`", f32::INFINITY, columns)?;
        let mut bounds = StateBounds::new(low, high)?;
        for [cosine, sine] in &self.angles {
            bounds = bounds.with_angle(cosine.index(columns)?, sine.index(columns)?)?;
        }
        Ok(bounds)
    }
}

impl Limits {
    fn values(&self, what: &str, none: f32, columns: &[String]) -> Result<Array1<f32>, TaskError> {
        match self {
            Self::List(limits) if limits.len() == columns.len() => Ok(limits.clone().into()),
            Self::List(limits) => {
                let (expected, found) = (columns.len(), limits.len());
                Err(TaskError::Length { what: what.into(), expected, found })
            }
            Self::ByName(limits) => {
                let mut values = Array1::from_elem(columns.len(), none);
                for (name, &limit) in limits {
                    values[index_of(name, columns)?] = limit;
                }
                Ok(values)
            }
        }
    }
}

impl ColumnReference {
    fn index(&self, columns: &[String]) -> Result<usize, TaskError> {
        match self {
            Self::Number(index) => Ok(*index),
            Self::Name(name) => index_of(name, columns),
        }
    }
}

fn index_of(name: &str, columns: &[String]) -> Result<usize, TaskError> {
    columns
        .iter()
        .position(|column| column == name)
        .ok_or_else(|| TaskError::NoColumn { name: name.into(), columns: columns.join("`, `") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<String> {
        ["cos", "sin", "speed"].map(String::from).to_vec()
    }

    fn limits(json: &str) -> Result<StateBounds, String> {
        match serde_json::from_str(json).map_err(|error| error.to_string())? {
            Bounds::Own(own) => own.limits(&columns()).map_err(|error| error.to_string()),
            Bounds::Task(name) => Err(name),
        }
    }

    #[test]
    fn names_and_numbers_say_the_same() {
        let by_name = r#"{"low": {"speed": -8}, "high": {"speed": 8}, "angles": [["cos", "sin"]]}"#;
        let bounds = limits(by_name).unwrap();
        assert_eq!(bounds.low().to_vec(), [f32::NEG_INFINITY, f32::NEG_INFINITY, -8.0]);
        let by_number = r#"{"low": [-1, -1, -8], "high": [1, 1, 8], "angles": [[0, 1]]}"#;
        let listed = limits(by_number).unwrap();
        let unlimited = f32::INFINITY;
        let expected = StateBounds::new(
            ndarray::array![-unlimited, -unlimited, -8.0],
            ndarray::array![unlimited, unlimited, 8.0],
        );
        assert_eq!(bounds, expected.unwrap().with_angle(0, 1).unwrap());
        assert_ne!(bounds, listed);
        assert_eq!(limits("\"pendulum\"").unwrap_err(), "pendulum");
    }

    #[test]
    fn a_mistake_is_named() {
        let cases = [
            (r#"{"low": [0], "high": [1, 1, 1]}"#, "`low` has 1 numbers"),
            (r#"{"low": {"sped": 0}, "high": [1, 1, 1]}"#, "no state column `sped`"),
            (r#"{"low": [0, 0, 0], "top": [1, 1, 1]}"#, "unknown field `top`"),
            (r#"{"low": [2, 0, 0], "high": [1, 1, 1]}"#, "low <= high"),
            ("3", "built-in task"),
        ];
        for (json, expected) in cases {
            let message = limits(json).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
