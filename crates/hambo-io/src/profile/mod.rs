//! What is in a table that nobody has explained yet: its columns, and what each is probably for.
//!
//! A proposal is a guess by names, kinds and values. It is shown with its reasons, and never used unseen.

mod columns;
mod propose;
mod remarks;
mod units;

use std::path::Path;

use hambo::dataset::Usual;
use serde::Serialize;

pub use propose::{Proposal, Role};

use crate::error::Result;
use crate::read::{self, Format, duration, moment};
use crate::remote::locally;
use crate::store;
use columns::{Column, Content, Groups, MOST_WORDS};

/// A table, column by column.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What it was read from.
    pub format: Format,
    /// Rows that were looked at: all, or the first million.
    pub rows: usize,
    /// How its text is written, if that is unusual.
    pub writing: Option<String>,
    /// Its columns.
    pub columns: Vec<ColumnProfile>,
    /// Time between two rows, and the first and the last one.
    pub times: Option<Times>,
    /// What looks wrong.
    pub remarks: Vec<String>,
    /// What the columns are probably for.
    pub proposal: Proposal,
}

/// When rows were logged.
#[derive(Debug, Clone, Serialize)]
pub struct Times {
    /// Between most rows.
    pub period: String,
    /// The first.
    pub from: String,
    /// The last.
    pub to: String,
}

/// One column.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnProfile {
    /// What it is called.
    pub name: String,
    /// What it holds, in plain words.
    pub kind: String,
    /// Its unit, as far as the name tells.
    pub unit: Option<String>,
    /// Values that are missing.
    pub missing: usize,
    /// Smallest and largest number.
    pub range: Option<[f64; 2]>,
    /// What all but the lowest and the highest hundredth of the numbers lie within.
    pub usual: Option<[f64; 2]>,
}

/// Rows of every word that tells rows apart, on average.
const LEAST_OF_WORD: usize = 10;

/// Looks at a table. `None` for what is no table, such as a Minari dataset, which needs no explanation.
pub fn profile(source: impl AsRef<Path>) -> Result<Option<Profile>> {
    locally(source.as_ref(), |path| {
        if store::is_store(path) {
            return Ok(None);
        }
        let Some((format, tables)) = read::tables(path)? else { return Ok(None) };
        let (columns, rows) = columns::read(&tables)?;
        let writing = tables.first().and_then(|table| table.writing());
        let tells_apart = |index: &usize| {
            let Content::Words(_, words) = &columns[*index].values else { return false };
            let is_complete = !words.iter().any(String::is_empty);
            (2..=MOST_WORDS).contains(&words.len())
                && is_complete
                && rows >= LEAST_OF_WORD * words.len()
        };
        let is_time = |column: &Column| matches!(column.values, Content::Times(_));
        let time = columns.iter().position(is_time);
        let apart: Vec<usize> = (0..columns.len()).filter(tells_apart).collect();
        let apart = columns::needed(&columns, &apart, time, rows);
        let groups = Groups::new(&columns, &apart, time, rows);
        let proposal = propose::propose(&columns, &apart, time, &groups);
        let period = proposal.period;
        let times = time.and_then(|column| times(&columns[column], period));
        let remarks = remarks::about(&columns, rows, time, &groups, period);
        let columns = columns.iter().map(|column| described(column, rows)).collect();
        Ok(Some(Profile { format, rows, writing, columns, times, remarks, proposal }))
    })
}

/// What looks wrong in a source, if it is a table that can be looked at.
pub fn remarks(source: impl AsRef<Path>) -> Vec<String> {
    profile(source).ok().flatten().map(|profile| profile.remarks).unwrap_or_default()
}

fn described(column: &Column, rows: usize) -> ColumnProfile {
    let unit = units::of_name(&column.name);
    let plain = |kind: String, missing| {
        let name = column.name.clone();
        ColumnProfile { name, kind, unit: unit.clone(), missing, range: None, usual: None }
    };
    match &column.values {
        Content::Numbers(values) => {
            let known = || values.iter().copied().filter(|value| !value.is_nan());
            let missing = values.iter().filter(|value| value.is_nan()).count();
            let low = known().fold(f64::INFINITY, f64::min);
            let high = known().fold(f64::NEG_INFINITY, f64::max);
            let kind = match () {
                () if missing == values.len() => "nothing",
                () if low == high => "constant",
                () if known().all(|value| value == 0.0 || value == 1.0) => "flag",
                () if known().all(|value| value.fract() == 0.0) => "whole numbers",
                () => "numbers",
            };
            let usual = Usual::of(known().map(|value| value as f32));
            ColumnProfile {
                range: (low <= high).then_some([low, high]),
                usual: usual.map(|usual| [f64::from(usual.low), f64::from(usual.high)]),
                ..plain(kind.into(), missing)
            }
        }
        Content::Times(_) => plain("times".into(), 0),
        Content::Words(of_rows, words) => {
            let empty = words.iter().position(String::is_empty);
            let missing = of_rows.iter().filter(|&&word| Some(word) == empty).count();
            let kind = match words.len() {
                1..=3 => format!("text: {}", words.join(", ")),
                more => format!("text, {more} different"),
            };
            plain(kind, missing)
        }
        Content::Other(_) if rows == 0 => plain("nothing".into(), 0),
        Content::Other(width) => plain(format!("{width} values a row"), 0),
    }
}

fn times(column: &Column, period: Option<i64>) -> Option<Times> {
    let Content::Times(times) = &column.values else { return None };
    let (from, to) = (times.iter().min()?, times.iter().max()?);
    Some(Times { period: duration(period?), from: moment(*from), to: moment(*to) })
}
