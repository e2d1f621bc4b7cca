//! Readings that cannot be: a value far beyond all others, for one row, and then everything is as before.
//!
//! One temperature of 850 degrees stretches every scale that is made of the data. It is taken for a value that is
//! missing, and named. What lasts for longer, or shows in the reward, may be real, and stays.

use hambo::dataset::Usual;

use super::memory::Memory;

/// More than this share of the rows is no spike.
const MOST: f64 = 0.001;

/// What is within so many widths of the usual values is as usual.
const NEAR: f32 = 1.0;

/// Spikes of one column.
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
}

/// Takes spikes out of the data, and tells which.
pub(super) fn remove(memory: &mut Memory, names: &[String]) -> Vec<Spikes> {
    let (width, rows) = (names.len(), memory.rewards.len());
    let rewards = Usual::of(memory.rewards.iter().copied());
    let mut is_spike = vec![false; rows];
    let mut found = Vec::new();
    for (column, name) in names.iter().enumerate() {
        let value = |row: usize| memory.states[row * width + column];
        let after = |row: usize| memory.next_states[row * width + column];
        let Some(usual) = Usual::of((0..rows).map(value)) else { continue };
        let is_first = |row: usize| row == 0 || memory.is_boundary(row);
        let is_lone = |row: usize| {
            let before = is_first(row) || is_near(&usual, value(row - 1));
            let is_plain = rewards.is_none_or(|usual| is_near(&usual, memory.rewards[row]));
            before && is_near(&usual, after(row)) && is_plain && !memory.terminated[row]
        };
        let far: Vec<usize> = (0..rows).filter(|&row| usual.is_far(value(row))).collect();
        let spikes: Vec<usize> = far.iter().copied().filter(|&row| is_lone(row)).collect();
        if spikes.is_empty() || spikes.len() as f64 > (MOST * rows as f64).max(3.0) {
            continue;
        }
        let worst = spikes.iter().map(|&row| value(row));
        let worst = worst.max_by(|a, b| usual.beyond(*a).total_cmp(&usual.beyond(*b)));
        found.push(Spikes {
            column: name.clone(),
            count: spikes.len(),
            worst: worst.unwrap_or_default(),
            usual: [usual.low, usual.high],
        });
        for row in spikes {
            is_spike[row] = true;
            // The step into it is as wrong as the step out of it.
            if !is_first(row) {
                is_spike[row - 1] = true;
            }
        }
    }
    if !found.is_empty() {
        memory.drop_rows(|row| is_spike[row], width);
    }
    found
}

fn is_near(usual: &Usual, value: f32) -> bool {
    usual.beyond(value) < NEAR
}
