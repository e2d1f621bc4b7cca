//! Splitting by episode, and drawing rows from a part.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Batch, Dataset, EpisodeSpan};
use crate::error::{Error, Result};
use crate::rng::Stream;

/// Some whole episodes of a dataset. Holds indices only.
#[derive(Debug, Clone)]
pub struct Subset<'a> {
    dataset: &'a Dataset,
    /// Indices into the dataset's episodes, increasing.
    episodes: Vec<usize>,
    /// `row_ends[i]` is the number of rows in the first `i + 1` episodes of this subset.
    row_ends: Vec<usize>,
}

impl Dataset {
    /// All episodes.
    pub fn all(&self) -> Subset<'_> {
        Subset::new(self, (0..self.episodes.len()).collect())
    }

    /// A copy of these episodes, in this order; panics on one that does not exist.
    pub fn selected(&self, episodes: Vec<usize>) -> Self {
        Subset::in_order(self, episodes).to_dataset()
    }
}

impl<'a> Subset<'a> {
    fn new(dataset: &'a Dataset, mut episodes: Vec<usize>) -> Self {
        episodes.sort_unstable();
        Self::in_order(dataset, episodes)
    }

    fn in_order(dataset: &'a Dataset, episodes: Vec<usize>) -> Self {
        let mut rows = 0;
        let row_ends = episodes
            .iter()
            .map(|&episode| {
                rows += dataset.episodes[episode].rows.len();
                rows
            })
            .collect();
        Self { dataset, episodes, row_ends }
    }

    /// Sets aside random whole episodes until they hold `fraction` of the rows, and returns the
    /// rest and the part set aside. Both have at least one episode.
    ///
    /// Steps of one episode resemble each other, so a split inside an episode would let a model be
    /// judged on what it has practically seen.
    pub fn split(&self, fraction: f64, rng: &mut Stream) -> Result<(Self, Self)> {
        if !(fraction > 0.0 && fraction < 1.0) {
            let value = fraction.to_string();
            return Err(Error::Setting { name: "fraction", value, expected: "between 0 and 1" });
        }
        if self.episodes.len() < 2 {
            return Err(Error::TooFewEpisodes { found: self.episodes.len() });
        }
        let mut order = self.episodes.clone();
        order.shuffle(rng);
        let wanted = fraction * self.rows() as f64;
        let mut aside = 0;
        let mut rows = 0;
        while aside + 1 < order.len() && (aside == 0 || (rows as f64) < wanted) {
            rows += self.dataset.episodes[order[aside]].rows.len();
            aside += 1;
        }
        let rest = order.split_off(aside);
        Ok((Self::new(self.dataset, rest), Self::new(self.dataset, order)))
    }

    /// Those of its episodes that are wanted.
    pub(crate) fn only(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let episodes = self.episodes.iter().copied().filter(|&episode| is_wanted(episode));
        Self::new(self.dataset, episodes.collect())
    }

    /// A dataset of its own: a copy.
    pub fn to_dataset(&self) -> Dataset {
        let (all, rows) = (self.dataset, (0..self.rows()).map(|index| self.row(index)));
        let rows: Vec<usize> = rows.collect();
        let Batch { states, actions, rewards, next_states } = all.gather(&rows);
        let of_rows = |values: &Vec<f64>| rows.iter().map(|&row| values[row]).collect();
        let span = |(&episode, &end): (&usize, &usize)| {
            let mut span = all.episodes[episode].clone();
            let rows = end - span.rows.len()..end;
            span.gaps.iter_mut().for_each(|gap| *gap = *gap - span.rows.start + rows.start);
            EpisodeSpan { rows, ..span }
        };
        Dataset {
            state_dim: all.state_dim,
            action_dim: all.action_dim,
            states: states.into_raw_vec_and_offset().0.into(),
            actions: actions.into_raw_vec_and_offset().0.into(),
            rewards: rewards.into_raw_vec_and_offset().0.into(),
            next_states: next_states.into_raw_vec_and_offset().0.into(),
            episodes: self.episodes.iter().zip(&self.row_ends).map(span).collect(),
            sources: all.sources.as_ref().map(|sources| sources.among(&self.episodes)),
            log_probs: all.log_probs.as_ref().map(of_rows),
            exogenous: all.exogenous.clone(),
            history: all.history.clone(),
            names: all.names.clone(),
            notes: all.notes.clone(),
            marks: self
                .episodes
                .iter()
                .map(|&episode| all.marks()[episode])
                .collect::<Vec<_>>()
                .into(),
        }
    }

    /// The whole dataset that this is a part of.
    pub fn dataset(&self) -> &'a Dataset {
        self.dataset
    }

    /// The episodes of this part, as indices into the dataset's.
    pub fn episodes(&self) -> &[usize] {
        &self.episodes
    }

    /// Number of transitions.
    pub fn rows(&self) -> usize {
        self.row_ends.last().copied().unwrap_or(0)
    }

    /// The dataset row of this part's `index`-th row.
    pub fn row(&self, index: usize) -> usize {
        let position = self.row_ends.partition_point(|&end| end <= index);
        let before = if position == 0 { 0 } else { self.row_ends[position - 1] };
        self.dataset.episodes[self.episodes[position]].rows.start + index - before
    }

    /// This part's rows from `start`, at most `count`: for passes over everything.
    pub fn slice(&self, start: usize, count: usize) -> Batch {
        let end = start.saturating_add(count).min(self.rows());
        let rows: Vec<usize> = (start..end).map(|index| self.row(index)).collect();
        self.dataset.gather(&rows)
    }

    /// `count` rows of the dataset, drawn uniformly with replacement, so that no permutation of a
    /// large one has to be held.
    pub fn sample(&self, count: usize, rng: &mut Stream) -> Vec<usize> {
        let total = self.rows();
        (0..count).map(|_| self.row(rng.random_range(0..total))).collect()
    }

    /// All rows in consecutive batches of `size`.
    pub fn batches(&self, size: usize) -> impl Iterator<Item = Batch> + '_ {
        (0..self.rows()).step_by(size.max(1)).map(move |start| self.slice(start, size))
    }
}
