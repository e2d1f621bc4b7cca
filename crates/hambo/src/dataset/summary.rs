//! What is in a dataset, in a few numbers.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::Dataset;

/// Smallest, mean and largest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// Counts, ranges and returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of transitions.
    pub rows: usize,
    /// Number of episodes.
    pub episodes: usize,
    /// Episodes that ended in a state from which no reward follows.
    pub terminated_episodes: usize,
    /// Episodes that were cut off.
    pub truncated_episodes: usize,
    /// Steps per episode.
    pub lengths: Range,
    /// Undiscounted sum of rewards per episode.
    pub returns: Range,
    /// Rewards of single steps.
    pub rewards: Range,
    /// One range per column of the states.
    pub states: Vec<Range>,
    /// One range per column of the actions.
    pub actions: Vec<Range>,
}

/// A [`Range`] in the making.
#[derive(Clone)]
struct Tally {
    min: f64,
    sum: f64,
    max: f64,
    count: usize,
}

impl Tally {
    const EMPTY: Self = Self { min: f64::INFINITY, sum: 0.0, max: f64::NEG_INFINITY, count: 0 };

    fn add(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        self.count += 1;
    }

    fn range(&self) -> Range {
        Range { min: self.min, mean: self.sum / self.count as f64, max: self.max }
    }
}

impl Dataset {
    /// Summarises the dataset in one pass per quantity.
    pub fn summary(&self) -> Summary {
        let episodes = self.episodes();
        let rewards = self.rewards();
        let return_of = |rows: &std::ops::Range<usize>| -> f64 {
            rows.clone().map(|row| f64::from(rewards[row])).sum()
        };
        Summary {
            rows: self.rows(),
            episodes: episodes.len(),
            terminated_episodes: episodes.iter().filter(|episode| episode.terminated).count(),
            truncated_episodes: episodes.iter().filter(|episode| episode.truncated).count(),
            lengths: range(episodes.iter().map(|episode| episode.rows.len() as f64)),
            returns: range(episodes.iter().map(|episode| return_of(&episode.rows))),
            rewards: range(rewards.iter().map(|&reward| f64::from(reward))),
            states: ranges(self.states()),
            actions: ranges(self.actions()),
        }
    }
}

/// One range per column, in one pass over the rows.
fn ranges(block: ArrayView2<'_, f32>) -> Vec<Range> {
    let mut tallies = vec![Tally::EMPTY; block.ncols()];
    for row in block.rows() {
        tallies.iter_mut().zip(row).for_each(|(tally, &value)| tally.add(f64::from(value)));
    }
    tallies.iter().map(Tally::range).collect()
}

fn range(values: impl Iterator<Item = f64>) -> Range {
    let mut tally = Tally::EMPTY;
    values.for_each(|value| tally.add(value));
    tally.range()
}
