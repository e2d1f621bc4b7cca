//! Where episodes came from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The source of every episode: a policy, a machine, a week, a patient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// In alphabetical order.
    names: Vec<String>,
    /// Indices into `names`, one per episode.
    of_episodes: Vec<usize>,
}

impl Sources {
    /// One name per episode.
    pub fn new(of_episodes: &[String]) -> Self {
        let names: Vec<String> =
            of_episodes.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let index = |name: &String| names.partition_point(|other| other < name);
        Self { of_episodes: of_episodes.iter().map(index).collect(), names }
    }

    /// All of them, in alphabetical order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Of some of the episodes, by the same names.
    pub(crate) fn only(&self, episodes: &[usize]) -> Self {
        let of_episodes = episodes.iter().map(|&episode| self.of_episodes[episode]).collect();
        Self { names: self.names.clone(), of_episodes }
    }

    /// Of some of the episodes, without the names of all others.
    pub(crate) fn among(&self, episodes: &[usize]) -> Self {
        let of_episodes = episodes.iter().map(|&episode| self.names[self.of(episode)].clone());
        Self::new(&of_episodes.collect::<Vec<_>>())
    }

    /// Whether it can be of so many episodes: needed after loading.
    pub(crate) fn fits(&self, episodes: usize) -> bool {
        self.of_episodes.len() == episodes
            && self.of_episodes.iter().all(|&source| source < self.names.len())
    }

    /// The source of an episode, as an index into the names.
    pub fn of(&self, episode: usize) -> usize {
        self.of_episodes[episode]
    }
}
