//! Which episodes each member of an ensemble sees.

use ndarray::Array2;
use rand::RngExt;
use rand_distr::Poisson;

use super::EnsembleSettings;
use crate::dataset::{Dataset, Subset};
use crate::error::{Error, Result};
use crate::rng::{Seed, Stream, some_of};

/// With fewer sources than this, single episodes are drawn: a member that lacks one of three
/// sources lacks a third of what is known.
const LEAST_SOURCES: usize = 10;

/// Rows that members are compared on at most: more would take longer than the steps in between.
const MOST_LOOKED_AT: usize = 5_000;

/// How often each member sees each episode of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Bag {
    /// `[members, episodes]`
    weights: Array2<f32>,
    /// All members see the same episodes.
    shared: bool,
}

impl Bag {
    /// The same for the same data, settings and seed. Episodes that are not part of `data` are seen
    /// by nobody.
    pub fn draw(data: &Subset<'_>, settings: &EnsembleSettings, seed: Seed) -> Result<Self> {
        let dataset = data.dataset();
        let mut weights = Array2::zeros((settings.members, dataset.episodes().len()));
        if !settings.bootstrap {
            let rng = &mut seed.stream("fit: held-out split");
            let (train, _) = data.split(settings.held_out, rng)?;
            train.episodes().iter().for_each(|&episode| weights.column_mut(episode).fill(1.0));
            return Ok(Self { weights, shared: true });
        }
        let groups = groups(data);
        if groups.len() < 2 {
            return Err(Error::TooFewEpisodes { found: groups.len() });
        }
        let rng = &mut seed.stream("fit: bootstrap");
        for mut row in weights.rows_mut() {
            let counts = draw_counts(groups.len(), rng);
            for (group, &count) in groups.iter().zip(&counts) {
                group.iter().for_each(|&episode| row[episode] = count);
            }
        }
        Ok(Self { weights, shared: false })
    }

    /// Whether all members see the same episodes, each once.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Whether any member sees it.
    pub fn is_seen(&self, episode: usize) -> bool {
        self.weights.column(episode).iter().any(|&weight| weight > 0.0)
    }

    /// Which members do not see it, `[members]`.
    pub fn unseen(&self, episode: usize) -> Vec<bool> {
        self.weights.column(episode).iter().map(|&weight| weight == 0.0).collect()
    }

    /// How often each member sees each of the rows, `[members, rows]`.
    pub(crate) fn weights(&self, dataset: &Dataset, rows: &[usize]) -> Array2<f32> {
        let episodes: Vec<usize> = rows.iter().map(|&row| dataset.episode_of(row)).collect();
        self.weights.select(ndarray::Axis(1), &episodes)
    }

    /// The rows on which members that do not see them are compared while they are fitted: a share
    /// of the data.
    pub(super) fn rows_to_look_at(&self, data: &Subset<'_>, share: f64, seed: Seed) -> Vec<usize> {
        if self.shared {
            let held_out = data.only(|episode| !self.is_seen(episode));
            return (0..held_out.rows()).map(|index| held_out.row(index)).collect();
        }
        let wanted = ((share * data.rows() as f64).ceil() as usize).min(MOST_LOOKED_AT);
        let looked_at = some_of(data.rows(), wanted, &mut seed.stream("fit: rows to look at"));
        looked_at.into_iter().map(|index| data.row(index)).collect()
    }
}

/// What is drawn together: the episodes of a source, or each by itself.
fn groups(data: &Subset<'_>) -> Vec<Vec<usize>> {
    let episodes = data.episodes();
    if let Some(sources) = data.dataset().sources() {
        let mut groups = vec![Vec::new(); sources.names().len()];
        episodes.iter().for_each(|&episode| groups[sources.of(episode)].push(episode));
        groups.retain(|group| !group.is_empty());
        if groups.len() >= LEAST_SOURCES {
            return groups;
        }
    }
    episodes.iter().map(|&episode| vec![episode]).collect()
}

/// One count per group, as often as a draw with replacement takes it; drawn again if it takes none
/// or all of them.
fn draw_counts(groups: usize, rng: &mut Stream) -> Vec<f32> {
    let poisson = Poisson::new(1.0).expect("one is positive");
    loop {
        let counts: Vec<f32> = (0..groups).map(|_| rng.sample(poisson)).collect();
        let seen = counts.iter().filter(|&&count| count > 0.0).count();
        if (1..groups).contains(&seen) {
            return counts;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::dataset::Episode;

    fn data(episodes: usize) -> Dataset {
        let episode = |_| Episode {
            states: Array2::zeros((5, 1)),
            actions: Array2::zeros((5, 1)),
            rewards: Array1::zeros(5),
            next_states: Array2::zeros((5, 1)),
            terminated: false,
            truncated: true,
        };
        Dataset::from_episodes((0..episodes).map(episode).collect()).unwrap()
    }

    fn bag(data: &Dataset) -> Bag {
        let settings = EnsembleSettings { members: 20, ..Default::default() };
        Bag::draw(&data.all(), &settings, Seed(3)).unwrap()
    }

    #[test]
    fn a_third_of_the_members_have_not_seen_an_episode() {
        let data = data(200);
        let bag = bag(&data);
        let unseen: usize =
            (0..200).map(|e| bag.unseen(e).into_iter().filter(|&unseen| unseen).count()).sum();
        // 4,000 draws, each zero with probability 1/e: 1472 with a standard deviation of 31.
        assert!((1380..1565).contains(&unseen), "{unseen}");
        let mean = bag.weights.mean().unwrap();
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn episodes_of_one_source_are_drawn_together_if_there_are_enough_sources() {
        let names = |sources: usize| (0..60).map(|e| format!("{}", e % sources)).collect();
        let together = |sources: usize| {
            let data = data(60).with_sources(names(sources)).unwrap();
            let bag = bag(&data);
            (0..60 - sources).all(|e| bag.weights.column(e) == bag.weights.column(e + sources))
        };
        assert!(together(12));
        assert!(!together(3));
    }

    #[test]
    fn every_member_sees_something_and_misses_something() {
        let data = data(2);
        let bag = bag(&data);
        for row in bag.weights.rows() {
            assert_eq!(row.iter().filter(|&&weight| weight > 0.0).count(), 1, "{row}");
        }
    }
}
