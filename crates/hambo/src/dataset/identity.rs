//! Which data it was: counts, and a fingerprint of every value.

use blake3::Hasher;
use serde::{Deserialize, Serialize};

use super::{ColumnNames, Dataset};

/// Tells datasets apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataIdentity {
    /// Transitions.
    pub rows: usize,
    /// Episodes.
    pub episodes: usize,
    /// Episodes that terminated.
    pub terminated_episodes: usize,
    /// What the columns are called.
    pub names: ColumnNames,
    /// BLAKE3 of all columns and of where and how episodes end, as 64 hexadecimal digits. The names of
    /// the columns and the file's format do not matter.
    pub fingerprint: String,
}

/// Computes an identity from transitions as they come, for data that is never in memory as a whole.
#[derive(Debug, Clone)]
pub struct Identifier {
    names: ColumnNames,
    states: Hasher,
    actions: Hasher,
    rewards: Hasher,
    next_states: Hasher,
    ends: Hasher,
    rows: usize,
    episodes: usize,
    terminated_episodes: usize,
}

impl Identifier {
    /// Of data with these columns.
    pub fn new(names: ColumnNames) -> Self {
        Self {
            names,
            states: Hasher::new(),
            actions: Hasher::new(),
            rewards: Hasher::new(),
            next_states: Hasher::new(),
            ends: Hasher::new(),
            rows: 0,
            episodes: 0,
            terminated_episodes: 0,
        }
    }

    /// Any number of rows, row by row.
    pub fn add_rows(
        &mut self,
        states: &[f32],
        actions: &[f32],
        rewards: &[f32],
        next_states: &[f32],
    ) {
        add(&mut self.states, states);
        add(&mut self.actions, actions);
        add(&mut self.rewards, rewards);
        add(&mut self.next_states, next_states);
        self.rows += rewards.len();
    }

    /// An episode that ends before row `end`.
    pub fn end_episode(&mut self, end: usize, terminated: bool, truncated: bool) {
        self.ends.update(&(end as u64).to_le_bytes());
        self.ends.update(&[u8::from(terminated), u8::from(truncated)]);
        self.episodes += 1;
        self.terminated_episodes += usize::from(terminated);
    }

    /// What it was.
    pub fn finish(&self) -> DataIdentity {
        let mut all = Hasher::new();
        for size in [self.names.states.len(), self.names.actions.len(), self.rows] {
            all.update(&(size as u64).to_le_bytes());
        }
        for part in [&self.states, &self.actions, &self.rewards, &self.next_states, &self.ends] {
            all.update(part.finalize().as_bytes());
        }
        DataIdentity {
            rows: self.rows,
            episodes: self.episodes,
            terminated_episodes: self.terminated_episodes,
            names: self.names.clone(),
            fingerprint: all.finalize().to_hex().to_string(),
        }
    }
}

/// Values are little-endian on every machine.
fn add(hasher: &mut Hasher, values: &[f32]) {
    let mut bytes = [0; 4 << 10];
    for block in values.chunks(bytes.len() / 4) {
        for (into, value) in bytes.chunks_exact_mut(4).zip(block) {
            into.copy_from_slice(&value.to_le_bytes());
        }
        hasher.update(&bytes[..4 * block.len()]);
    }
}

impl Dataset {
    /// Which data it is.
    pub fn identity(&self) -> DataIdentity {
        let mut identifier = Identifier::new(self.names_or_numbers());
        identifier.add_rows(&self.states, &self.actions, &self.rewards, &self.next_states);
        for episode in self.episodes() {
            identifier.end_episode(episode.rows.end, episode.terminated, episode.truncated);
        }
        identifier.finish()
    }
}
