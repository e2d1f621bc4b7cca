//! Readings that cannot be: far beyond all others, for one row, or always the same number.
//!
//! One temperature of 850 degrees stretches every scale that is made of the data, and so do the -999 that some
//! loggers write for what is missing. They are taken for missing values, and named. What lasts, or shows in the
//! reward, may be real: it stays, and is named as well.

use hambo::dataset::{ColumnNames, Usual};

use super::memory::Memory;

/// More than this share of the rows is no spike.
const MOST: f64 = 0.001;

/// What is within so many widths of the usual values is as usual.
const NEAR: f32 = 1.0;

/// Readings of one column that are like no other.
#[derive(Debug, Clone, PartialEq)]
pub struct Spikes {
    /// The column.
    pub column: String,
    /// How many there are.
    pub count: usize,
    /// The one that is farthest from what is usual.
    pub worst: f32,
    /// Smallest and largest of what is usual.
    pub usual: [f32; 2],
    /// Whether they are still in the data.
    pub kept: bool,
}

/// Takes spikes out of the data, and tells which.
pub(crate) fn remove(memory: &mut Memory, names: &ColumnNames) -> Vec<Spikes> {
    let (width, rows) = (names.states.len(), memory.rewards.len());
    let rewards = Usual::of(memory.rewards.iter().copied());
    let is_plain = |row: usize| {
        let as_usual = rewards.is_none_or(|usual| is_near(&usual, memory.rewards[row]));
        as_usual && !memory.terminated[row]
    };
    let is_first = |row: usize| row == 0 || row == rows || memory.is_boundary(row);
    let mut is_dropped = vec![false; rows];
    let mut found = Vec::new();
    for (column, name) in names.states.iter().enumerate() {
        let value = |row: usize| memory.states[row * width + column];
        let after = |row: usize| memory.next_states[row * width + column];
        let Some(usual) = Usual::of((0..rows).map(value)) else { continue };
        let far: Vec<usize> = (0..rows).filter(|&row| usual.is_far(value(row))).collect();
        let Some(&first) = far.first() else { continue };
        let is_lone = |row: usize| {
            let before = is_first(row) || is_near(&usual, value(row - 1));
            before && is_near(&usual, after(row)) && is_plain(row)
        };
        // Always the same number: a mark for what is missing.
        let is_mark =
            far.len() > 1 && far.iter().all(|&row| value(row) == value(first) && is_plain(row));
        let lone: Vec<usize> = far.iter().copied().filter(|&row| is_lone(row)).collect();
        let are_few = lone.len() as f64 <= (MOST * rows as f64).max(3.0);
        let removed = match (is_mark, are_few) {
            (true, _) => far.clone(),
            (false, true) => lone,
            (false, false) => Vec::new(),
        };
        let told = |of: &[usize], kept: bool| {
            let values = of.iter().map(|&row| value(row));
            let worst = values.max_by(|a, b| usual.beyond(*a).total_cmp(&usual.beyond(*b)))?;
            let (column, usual) = (name.clone(), [usual.low, usual.high]);
            Some(Spikes { column, count: of.len(), worst, usual, kept })
        };
        let kept: Vec<usize> = far.into_iter().filter(|row| !removed.contains(row)).collect();
        found.extend(told(&removed, false));
        found.extend(told(&kept, true));
        removed.iter().for_each(|&row| is_dropped[row] = true);
        // The step into a spike is as wrong as the step out of it.
        for row in (0..rows).filter(|_| !removed.is_empty()) {
            let into_spike = is_first(row + 1) || removed.binary_search(&(row + 1)).is_ok();
            is_dropped[row] |= into_spike && usual.is_far(after(row));
        }
    }
    for (column, name) in names.actions.iter().enumerate() {
        let value = |row: usize| memory.actions[row * names.actions.len() + column];
        found.extend(marks(name, rows, value, |_, _| true, &mut is_dropped));
    }
    // A rare and low reward is what a bound must not miss; a high one would only raise it.
    let is_high = |usual: &Usual, value: f32| value > usual.high;
    found.extend(marks("the reward", rows, |row| memory.rewards[row], is_high, &mut is_dropped));
    if is_dropped.contains(&true) {
        memory.drop_rows(|row| is_dropped[row], width);
    }
    found
}

/// Drops rows with one and the same number far from all others, if `may_drop` agrees, and tells of all that are far.
fn marks(
    name: &str,
    rows: usize,
    value: impl Fn(usize) -> f32,
    may_drop: impl Fn(&Usual, f32) -> bool,
    is_dropped: &mut [bool],
) -> Vec<Spikes> {
    let Some(usual) = Usual::of((0..rows).map(&value)) else { return Vec::new() };
    let far: Vec<usize> = (0..rows).filter(|&row| usual.is_far(value(row))).collect();
    let Some(&first) = far.first() else { return Vec::new() };
    let worst = value(first);
    let is_mark = far.len() > 1 && far.iter().all(|&row| value(row) == worst);
    let removed = is_mark && may_drop(&usual, worst);
    if removed {
        far.iter().for_each(|&row| is_dropped[row] = true);
    }
    let usual = [usual.low, usual.high];
    vec![Spikes { column: name.into(), count: far.len(), worst, usual, kept: !removed }]
}

fn is_near(usual: &Usual, value: f32) -> bool {
    usual.beyond(value) < NEAR
}
