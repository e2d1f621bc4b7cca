//! Which data it was: counts, and a fingerprint of every value.

use serde::{Deserialize, Serialize};

use super::Dataset;

/// Tells datasets apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataIdentity {
    pub rows: usize,
    pub episodes: usize,
    pub terminated_episodes: usize,
    /// BLAKE3 of all columns and of where and how episodes end, as 64 hexadecimal digits. The names of
    /// the columns and the file's format do not matter.
    pub fingerprint: String,
}

impl Dataset {
    pub fn identity(&self) -> DataIdentity {
        let mut hasher = blake3::Hasher::new();
        let number = |hasher: &mut blake3::Hasher, value: usize| {
            hasher.update(&(value as u64).to_le_bytes());
        };
        for value in [self.state_dim, self.action_dim, self.rows()] {
            number(&mut hasher, value);
        }
        let mut bytes = Vec::new();
        for column in [&self.states, &self.actions, &self.rewards, &self.next_states] {
            for values in column.chunks(1 << 16) {
                bytes.clear();
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                hasher.update(&bytes);
            }
        }
        for episode in self.episodes() {
            number(&mut hasher, episode.rows.end);
            hasher.update(&[u8::from(episode.terminated), u8::from(episode.truncated)]);
        }
        DataIdentity {
            rows: self.rows(),
            episodes: self.episodes().len(),
            terminated_episodes: self.episodes().iter().filter(|e| e.terminated).count(),
            fingerprint: hasher.finalize().to_hex().to_string(),
        }
    }
}
