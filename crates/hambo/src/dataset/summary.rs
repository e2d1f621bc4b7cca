//! What is in a dataset, in a few numbers.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{Dataset, EpisodeSpan, Sources};

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
    /// Undiscounted sum of rewards per episode; of those without gaps only, if there are any.
    pub returns: Range,
    /// Rewards of single steps.
    pub rewards: Range,
    /// One range per column of the states.
    pub states: Vec<Range>,
    /// One range per column of the actions.
    pub actions: Vec<Range>,
    /// One per source, if the data tells where episodes came from.
    #[serde(default)]
    pub sources: Vec<SourceSummary>,
}

/// What came from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// Its name.
    pub name: String,
    /// Number of episodes.
    pub episodes: usize,
    /// As [`Summary::returns`].
    pub returns: Range,
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
        // A part of a day has earned a part of what days earn.
        let returns = |episodes: &[&EpisodeSpan]| -> Range {
            let has_whole = episodes.iter().any(|episode| episode.gaps.is_empty());
            let counted = episodes.iter().filter(|episode| episode.gaps.is_empty() || !has_whole);
            let of = |row: usize| f64::from(rewards[row]);
            range(counted.map(|episode| episode.rows.clone().map(of).sum()))
        };
        let sources = self.sources().map(Sources::names).unwrap_or_default();
        let mut own: Vec<Vec<&EpisodeSpan>> = vec![Vec::new(); sources.len()];
        if let Some(sources) = self.sources() {
            (0..episodes.len()).for_each(|e| own[sources.of(e)].push(&episodes[e]));
        }
        let of_source = |(name, own): (&String, &Vec<&EpisodeSpan>)| SourceSummary {
            name: name.clone(),
            episodes: own.len(),
            returns: returns(own),
        };
        let present = sources.iter().zip(&own).filter(|(_, own)| !own.is_empty());
        Summary {
            rows: self.rows(),
            episodes: episodes.len(),
            terminated_episodes: episodes.iter().filter(|episode| episode.terminated).count(),
            truncated_episodes: episodes.iter().filter(|episode| episode.truncated).count(),
            lengths: range(episodes.iter().map(|episode| episode.rows.len() as f64)),
            returns: returns(&episodes.iter().collect::<Vec<_>>()),
            rewards: range(rewards.iter().map(|&reward| f64::from(reward))),
            states: ranges(self.states()),
            actions: ranges(self.actions()),
            sources: present.map(of_source).collect(),
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
