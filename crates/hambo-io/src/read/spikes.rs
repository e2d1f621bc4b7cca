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
        let Some(far) = Far::find(name, rows, value) else { continue };
        let is_lone = |row: &usize| {
            let before = is_first(*row) || is_near(&far.usual, value(row - 1));
            before && is_near(&far.usual, after(*row)) && is_plain(*row)
        };
        let lone: Vec<usize> = far.rows.iter().copied().filter(is_lone).collect();
        let are_few = lone.len() as f64 <= (MOST * rows as f64).max(3.0);
        let removed = match far.are_marks() && far.rows.iter().all(|&row| is_plain(row)) {
            true => far.rows.clone(),
            false if are_few => lone,
            false => Vec::new(),
        };
        found.extend(far.drop(&removed, &mut is_dropped));
        // The step into a spike is as wrong as the step out of it.
        for row in (0..rows).filter(|_| !removed.is_empty()) {
            let into_spike = is_first(row + 1) || removed.binary_search(&(row + 1)).is_ok();
            is_dropped[row] |= into_spike && far.usual.is_far(after(row));
        }
    }
    for (column, name) in names.actions.iter().enumerate() {
        let value = |row: usize| memory.actions[row * names.actions.len() + column];
        let Some(far) = Far::find(name, rows, value) else { continue };
        let removed = if far.are_marks() { &*far.rows } else { &[] };
        found.extend(far.drop(removed, &mut is_dropped));
    }
    if let Some(far) = Far::find("the reward", rows, |row| memory.rewards[row]) {
        // A rare and low reward is what a bound must not miss; a high one would only raise it.
        let are_high = far.values.iter().all(|&value| value > far.usual.high);
        let removed = if far.are_marks() && are_high { &*far.rows } else { &[] };
        found.extend(far.drop(removed, &mut is_dropped));
    }
    if is_dropped.contains(&true) {
        memory.drop_rows(|row| is_dropped[row], width);
    }
    found
}

/// What is far from all else in one column.
struct Far<'a> {
    name: &'a str,
    usual: Usual,
    rows: Vec<usize>,
    values: Vec<f32>,
}

impl<'a> Far<'a> {
    fn find(name: &'a str, rows: usize, value: impl Fn(usize) -> f32) -> Option<Self> {
        let usual = Usual::of((0..rows).map(&value))?;
        let rows: Vec<usize> = (0..rows).filter(|&row| usual.is_far(value(row))).collect();
        let values: Vec<f32> = rows.iter().map(|&row| value(row)).collect();
        (!rows.is_empty()).then_some(Self { name, usual, rows, values })
    }

    /// Always the same number: a mark for what is missing.
    fn are_marks(&self) -> bool {
        self.values.len() > 1 && self.values.iter().all(|value| *value == self.values[0])
    }

    /// Drops some of its rows, and tells of them and of those that stay.
    fn drop(&self, removed: &[usize], is_dropped: &mut [bool]) -> impl Iterator<Item = Spikes> {
        removed.iter().for_each(|&row| is_dropped[row] = true);
        let told = |kept: bool| {
            let of = self.rows.iter().zip(&self.values);
            let of = of.filter(|(row, _)| removed.binary_search(row).is_err() == kept);
            let values: Vec<f32> = of.map(|(_, &value)| value).collect();
            let farthest =
                |a: &&f32, b: &&f32| self.usual.beyond(**a).total_cmp(&self.usual.beyond(**b));
            Some(Spikes {
                column: self.name.to_owned(),
                count: values.len(),
                worst: *values.iter().max_by(farthest)?,
                usual: [self.usual.low, self.usual.high],
                kept,
            })
        };
        [told(false), told(true)].into_iter().flatten()
    }
}

fn is_near(usual: &Usual, value: f32) -> bool {
    usual.beyond(value) < NEAR
}
