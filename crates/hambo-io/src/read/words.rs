//! Columns of text in the state: one column per word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::table::{ColumnInfo, Kind, Place, Table, Values};
use crate::error::{Error, Result};

/// Words of one column, at most.
const MOST_WORDS: usize = 50;

/// The words of every column of text in the state, in alphabetical order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(BTreeMap<String, Vec<String>>);

impl Words {
    /// Reads these columns of all tables, each of which has its own places for them.
    pub(crate) fn find(tables: &[(&dyn Table, &[usize])]) -> Result<Self> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (table, columns) in tables {
            let is_text = |index: &usize| table.columns()[*index].kind == Kind::Text;
            let columns: Vec<usize> = columns.iter().copied().filter(is_text).collect();
            for piece in (0..table.pieces()).filter(|_| !columns.is_empty()) {
                for (&column, values) in columns.iter().zip(table.read(piece, &columns)?) {
                    let name = &table.columns()[column].name;
                    let words = all.entry(name.clone()).or_default();
                    if let Values::Text(values) = values {
                        words.extend(values);
                    }
                    if words.len() > MOST_WORDS {
                        return Err(too_many(table.path(), name));
                    }
                }
            }
        }
        Ok(Self(all.into_iter().map(|(name, words)| (name, words.into_iter().collect())).collect()))
    }

    /// `None` for a column of numbers.
    pub(crate) fn of(&self, column: &ColumnInfo) -> Option<&[String]> {
        let is_text = column.kind == Kind::Text;
        self.0.get(&column.name).filter(|_| is_text).map(Vec::as_slice)
    }

    /// One column per word, of which one is 1; NaN where the text is missing.
    pub(crate) fn one_hot(&self, place: Place<'_>, values: Values) -> Result<Vec<f32>> {
        let (words, Values::Text(values)) = (self.of(place.column).unwrap_or_default(), values)
        else {
            return Ok(Vec::new());
        };
        let flag = |value: &str, word: &str| match value {
            "" => f32::NAN,
            _ => f32::from(u8::from(value == word)),
        };
        Ok(values.iter().flat_map(|value| words.iter().map(|word| flag(value, word))).collect())
    }
}

fn too_many(path: &Path, column: &str) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        place: format!("column `{column}`"),
        message: format!("it holds text, of more than {MOST_WORDS} kinds"),
        advice: "leave it out of the state, or give numbers",
    }
}
