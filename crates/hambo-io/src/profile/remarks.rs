//! What looks wrong in a table.

use hambo::dataset::Usual;

use super::columns::{Column, Content, Groups};
use crate::read::{self, duration};

pub(super) fn about(
    columns: &[Column],
    rows: usize,
    time: Option<usize>,
    groups: &Groups,
    period: Option<i64>,
) -> Vec<String> {
    let mut remarks: Vec<String> = columns.iter().filter_map(unread_times).collect();
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
    remarks.extend(columns.iter().filter_map(|column| other_unit(column, groups)));
    remarks.extend(time.and_then(|column| gaps(&columns[column], groups, period)));
    remarks
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
pub(super) fn unread_times(column: &Column) -> Option<String> {
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
