//! What is in a table that nobody has explained yet: its columns, and what each is probably for.
//!
//! A proposal is a guess by names, kinds and values. It is shown with its reasons, and never used unseen.

mod columns;
mod propose;
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
        let words = |column: &Column| match &column.values {
            Content::Words(_, words) => words.len(),
            _ => 0,
        };
        let tells_apart = |index: &usize| {
            let column = &columns[*index];
            let is_complete = !matches!(&column.values, Content::Words(_, all) if all.iter().any(String::is_empty));
            let count = words(column);
            (2..=MOST_WORDS).contains(&count) && is_complete && rows >= LEAST_OF_WORD * count
        };
        let is_time = |column: &Column| matches!(column.values, Content::Times(_));
        let time = columns.iter().position(is_time);
        let apart: Vec<usize> = (0..columns.len()).filter(tells_apart).collect();
        let apart = columns::needed(&columns, &apart, time, rows);
        let groups = Groups::new(&columns, &apart, time, rows);
        let proposal = propose::propose(&columns, &apart, time, &groups);
        let mut proposal = proposal;
        proposal.has_unread_times = columns.iter().any(|column| unread_times(column).is_some());
        let mut remarks = Vec::new();
        remarks.extend(columns.iter().filter_map(unread_times));
        if rows == 0 {
            remarks.push("it has a header and no rows".to_owned());
        }
        if !groups.were_in_order && time.is_some() {
            remarks.push(
                "rows are not in the order of groups and times; they are sorted when they are read"
                    .into(),
            );
        }
        remarks.extend(columns.iter().filter_map(far_values));
        remarks.extend(columns.iter().filter_map(|column| other_unit(column, &groups)));
        let period = proposal.period;
        let times = time.and_then(|column| times(&columns[column], period));
        remarks.extend(time.and_then(|column| gaps(&columns[column], &groups, period)));
        let columns = columns.iter().map(|column| described(column, rows)).collect();
        Ok(Some(Profile { format, rows, writing, columns, times, remarks, proposal }))
    })
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

/// Values like no other in their column.
fn far_values(column: &Column) -> Option<String> {
    let values = column.numbers()?;
    let usual = Usual::of(values.iter().map(|&value| value as f32))?;
    let far = || values.iter().copied().filter(|&value| usual.is_far(value as f32));
    let count = far().count();
    let farthest =
        far().max_by(|a, b| usual.beyond(*a as f32).total_cmp(&usual.beyond(*b as f32)))?;
    let (low, high) = (usual.low, usual.high);
    Some(format!(
        "{}: {count} of its values are like no other, such as {farthest}, where {low} to {high} is usual; those that \
         stand alone, or are all the same, are taken for missing ones when they are read",
        column.name
    ))
}

/// Text that looks like times, but in a way that is not read.
fn unread_times(column: &Column) -> Option<String> {
    let Content::Words(_, words) = &column.values else { return None };
    let mut known = words.iter().filter(|word| !word.is_empty()).peekable();
    let first = (*known.peek()?).clone();
    known.all(|word| read::looks_like_one(word)).then(|| {
        format!(
            "{} seems to hold times, such as `{first}`, but nobody can tell how to read them; write them as \
             2025-11-01 00:15:00",
            column.name
        )
    })
}

/// A group in which a column lies elsewhere altogether.
fn other_unit(column: &Column, groups: &Groups) -> Option<String> {
    let values = column.numbers()?;
    let usual = |rows: &Vec<usize>| Usual::of(rows.iter().map(|&row| values[row] as f32));
    let known: Vec<(usize, Usual)> =
        groups.rows.iter().enumerate().filter_map(|(i, rows)| Some((i, usual(rows)?))).collect();
    for (group, mine) in &known {
        let (_, other) = known.iter().find(|(i, _)| i != group)?;
        let width = (mine.high - mine.low).max(other.high - other.low);
        if mine.low > other.high + width {
            let (name, column) = (&groups.names[*group], &column.name);
            let fahrenheit = |celsius: f32| celsius * 1.8 + 32.0;
            let middle = |usual: &Usual| (usual.low + usual.high) / 2.0;
            let looks_like =
                (fahrenheit(middle(other)) - middle(mine)).abs() < 0.2 * middle(mine).abs();
            let hint =
                if looks_like { "; one of them may be in °C and the other in °F" } else { "" };
            return Some(format!(
                "{column} lies between {} and {} in {name}, and between {} and {} elsewhere: is it in the same \
                 unit?{hint}",
                mine.low, mine.high, other.low, other.high
            ));
        }
    }
    None
}

fn times(column: &Column, period: Option<i64>) -> Option<Times> {
    let Content::Times(times) = &column.values else { return None };
    let (from, to) = (times.iter().min()?, times.iter().max()?);
    Some(Times { period: duration(period?), from: moment(*from), to: moment(*to) })
}

/// Where times are missing, or come twice.
fn gaps(column: &Column, groups: &Groups, period: Option<i64>) -> Option<String> {
    let (Content::Times(times), Some(period)) = (&column.values, period) else { return None };
    let steps = || {
        let in_group = |rows: &Vec<usize>| -> Vec<i64> {
            rows.windows(2).map(|pair| times[pair[1]] - times[pair[0]]).collect()
        };
        groups.rows.iter().flat_map(in_group)
    };
    let (longer, twice) = (
        steps().filter(|&step| step > period + period / 10).count(),
        steps().filter(|&step| step == 0).count(),
    );
    let longest = steps().max().filter(|_| longer > 0);
    let mut parts = Vec::new();
    if let Some(longest) = longest {
        let longest = duration(longest);
        parts.push(format!("times are missing at {longer} places, for {longest} at most"));
    }
    if twice > 0 {
        parts.push(format!(
            "{twice} times come twice: is there a column that tells these rows apart?"
        ));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", column.name, parts.join("; ")))
}
