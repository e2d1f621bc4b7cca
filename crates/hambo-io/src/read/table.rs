//! What all tabular formats have in common: named columns, read piece by piece.

use std::path::Path;

use super::time;
use crate::error::{Error, Result};

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    pub name: String,
    /// Values per row.
    pub width: usize,
    pub kind: Kind,
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Float,
    Integer,
    Flag,
    Text,
    /// Moments, in milliseconds since 1970.
    Time,
    /// A type that holds no plain values.
    Other,
}

/// A file with columns. Pieces can be read in any order and at the same time.
pub(crate) trait Table: Send + Sync {
    fn path(&self) -> &Path;

    fn columns(&self) -> &[ColumnInfo];

    fn pieces(&self) -> usize;

    /// The row of the file at which a piece starts.
    fn first_row(&self, piece: usize) -> u64;

    /// How its text is written, if that is unusual.
    fn writing(&self) -> Option<String> {
        None
    }

    /// The given columns (indices into [`columns`](Self::columns)) of a piece, in that order.
    fn read(&self, piece: usize, columns: &[usize]) -> Result<Vec<Values>>;
}

/// Values of one column, row by row, `width` for each row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Integer(Vec<i64>),
    Flag(Vec<bool>),
    Text(Vec<String>),
    /// Milliseconds since 1970.
    Time(Vec<i64>),
}

/// What tells episodes apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Number(i64),
    Text(String),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "`{text}`"),
        }
    }
}

impl Key {
    /// Both, one after the other.
    pub(crate) fn with(self, other: Self) -> Self {
        Self::Text(format!("{}, {}", self.into_name(), other.into_name()))
    }

    /// As a name, without the quotes that messages put around text.
    pub(crate) fn into_name(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// Where in a file a piece of a column lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub path: &'a Path,
    pub first_row: u64,
    pub column: &'a ColumnInfo,
}

impl Place<'_> {
    /// The value at `index` of the piece cannot be used.
    pub(crate) fn bad(&self, index: usize, value: impl ToString, advice: &'static str) -> Error {
        Error::Value {
            path: self.path.to_owned(),
            row: self.first_row + (index / self.column.width.max(1)) as u64,
            column: self.column.name.clone(),
            value: value.to_string(),
            advice,
        }
    }

    pub(crate) fn wrong_width(&self, role: &'static str, expected: usize, found: usize) -> Error {
        let (path, column) = (self.path.to_owned(), self.column.name.clone());
        Error::ColumnWidth { path, role, column, expected, found }
    }

    fn wrong_kind(&self, found: &'static str, expected: &'static str) -> Error {
        Error::ColumnKind {
            path: self.path.to_owned(),
            column: self.column.name.clone(),
            found,
            expected,
        }
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Flag(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Time(values) => values.len(),
        }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            Self::F32(values) => values.truncate(length),
            Self::F64(values) => values.truncate(length),
            Self::Integer(values) => values.truncate(length),
            Self::Flag(values) => values.truncate(length),
            Self::Text(values) => values.truncate(length),
            Self::Time(values) => values.truncate(length),
        }
    }

    /// More values of the same kind.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::F32(values), Self::F32(more)) => values.extend(more),
            (Self::F64(values), Self::F64(more)) => values.extend(more),
            (Self::Integer(values), Self::Integer(more)) => values.extend(more),
            (Self::Flag(values), Self::Flag(more)) => values.extend(more),
            (Self::Text(values), Self::Text(more)) => values.extend(more),
            (Self::Time(values), Self::Time(more)) => values.extend(more),
            _ => unreachable!("a column keeps its kind"),
        }
    }

    /// As float32, rounded to the nearest.
    pub(crate) fn into_numbers(self, place: Place<'_>) -> Result<Vec<f32>> {
        match self {
            Self::F32(values) => Ok(values),
            Self::F64(values) => Ok(values.into_iter().map(|value| value as f32).collect()),
            Self::Integer(values) => Ok(values.into_iter().map(|value| value as f32).collect()),
            Self::Flag(values) => {
                Ok(values.into_iter().map(|value| f32::from(u8::from(value))).collect())
            }
            Self::Text(_) => Err(place.wrong_kind("text", "numbers")),
            Self::Time(_) => Err(place.wrong_kind("times", "numbers")),
        }
    }

    /// As numbers of full precision.
    pub(crate) fn into_exact(self, place: Place<'_>) -> Result<Vec<f64>> {
        match self {
            Self::F64(values) => Ok(values),
            other => Ok(other.into_numbers(place)?.into_iter().map(f64::from).collect()),
        }
    }

    /// As true or false: booleans, or the numbers 0 and 1.
    pub(crate) fn into_flags(self, place: Place<'_>) -> Result<Vec<bool>> {
        let flag = |index: usize, value: f64| match value {
            0.0 => Ok(false),
            1.0 => Ok(true),
            _ => Err(place.bad(index, value, "a flag is true, false, 0 or 1")),
        };
        let flags = |values: &mut dyn Iterator<Item = f64>| {
            values.enumerate().map(|(index, value)| flag(index, value)).collect()
        };
        match self {
            Self::Flag(values) => Ok(values),
            Self::Integer(values) => flags(&mut values.iter().map(|&value| value as f64)),
            Self::F32(values) => flags(&mut values.iter().map(|&value| f64::from(value))),
            Self::F64(values) => flags(&mut values.iter().copied()),
            Self::Text(_) => Err(place.wrong_kind("text", "flags (true and false, or 0 and 1)")),
            Self::Time(_) => Err(place.wrong_kind("times", "flags (true and false, or 0 and 1)")),
        }
    }

    /// As whole numbers; floats must be whole.
    pub(crate) fn into_integers(self, place: Place<'_>) -> Result<Vec<i64>> {
        let whole = |index: usize, value: f64| {
            if value.is_nan() {
                return Err(place.bad(index, "missing", "this column must be complete"));
            }
            // Beyond 2^53 a float64 no longer tells neighbours apart.
            let exact = value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0;
            exact
                .then_some(value as i64)
                .ok_or_else(|| place.bad(index, value, "this column counts; give whole numbers"))
        };
        match self {
            Self::Integer(values) | Self::Time(values) => Ok(values),
            Self::Flag(values) => Ok(values.into_iter().map(i64::from).collect()),
            Self::F32(values) => {
                values.iter().enumerate().map(|(i, &value)| whole(i, f64::from(value))).collect()
            }
            Self::F64(values) => values.iter().enumerate().map(|(i, &v)| whole(i, v)).collect(),
            Self::Text(_) => Err(place.wrong_kind("text", "whole numbers")),
        }
    }

    /// As names of episodes.
    pub(crate) fn into_keys(self, place: Place<'_>) -> Result<Vec<Key>> {
        match self {
            Self::Text(values) => Ok(values.into_iter().map(Key::Text).collect()),
            Self::Time(values) => {
                Ok(values.into_iter().map(|value| Key::Text(time::moment(value))).collect())
            }
            numbers => Ok(numbers.into_integers(place)?.into_iter().map(Key::Number).collect()),
        }
    }
}

/// Columns with their widths, as one block.
pub(crate) fn side_by_side(mut columns: Vec<(usize, Vec<f32>)>, count: usize) -> Vec<f32> {
    if columns.len() == 1 {
        return columns.remove(0).1;
    }
    let total: usize = columns.iter().map(|(width, _)| width).sum();
    let mut block = vec![0.0; count * total];
    let mut offset = 0;
    for (width, numbers) in columns {
        for (row, source) in block.chunks_exact_mut(total).zip(numbers.chunks_exact(width)) {
            row[offset..offset + width].copy_from_slice(source);
        }
        offset += width;
    }
    block
}
