//! Transitions in memory.

use std::path::Path;

use hambo::Dataset;
use hambo::dataset::{ColumnNames, FlatColumns, Transition};

use super::episodes::Sink;
use super::table::Key;
use crate::error::{Error, Result};

/// Collects transitions in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(super) states: Vec<f32>,
    pub(super) actions: Vec<f32>,
    pub(super) rewards: Vec<f32>,
    pub(super) next_states: Vec<f32>,
    pub(super) terminated: Vec<bool>,
    truncated: Vec<bool>,
    episode_ends: Vec<usize>,
    gaps: Vec<usize>,
    sources: Vec<String>,
    log_probs: Vec<f64>,
}

impl Sink for Memory {
    fn push(&mut self, transition: Transition<'_>) -> Result<()> {
        self.states.extend_from_slice(transition.state);
        self.actions.extend_from_slice(transition.action);
        self.rewards.push(transition.reward);
        self.next_states.extend_from_slice(transition.next_state);
        self.log_probs.push(transition.log_prob);
        Ok(())
    }

    fn gap(&mut self) {
        self.gaps.push(self.rewards.len());
    }

    fn end(&mut self, terminated: bool, truncated: bool, source: Option<Key>) -> Result<()> {
        self.terminated.resize(self.rewards.len(), false);
        self.truncated.resize(self.rewards.len(), false);
        if let (Some(last), Some(cut)) = (self.terminated.last_mut(), self.truncated.last_mut()) {
            (*last, *cut) = (terminated, truncated);
        }
        self.episode_ends.push(self.rewards.len());
        self.sources.extend(source.map(Key::into_name));
        Ok(())
    }
}

impl Memory {
    /// How many transitions there are.
    pub(crate) fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Whether a row does not follow the one before.
    pub(super) fn is_boundary(&self, row: usize) -> bool {
        self.episode_ends.binary_search(&row).is_ok() || self.gaps.binary_search(&row).is_ok()
    }

    /// Leaves gaps in place of some rows. Episodes of which nothing is left are gone.
    pub(super) fn drop_rows(&mut self, is_dropped: impl Fn(usize) -> bool, state_dim: usize) {
        let action_dim = self.actions.len() / self.rewards.len().max(1);
        let mut kept = Self::default();
        let (mut start, mut is_after_gap) = (0, false);
        for (episode, &end) in self.episode_ends.iter().enumerate() {
            let first = kept.rewards.len();
            for row in start..end {
                is_after_gap |= self.gaps.binary_search(&row).is_ok() || is_dropped(row);
                if is_dropped(row) {
                    continue;
                }
                if std::mem::take(&mut is_after_gap) {
                    kept.gaps.push(kept.rewards.len());
                }
                let (states, actions) = (row * state_dim, row * action_dim);
                kept.states.extend_from_slice(&self.states[states..states + state_dim]);
                kept.actions.extend_from_slice(&self.actions[actions..actions + action_dim]);
                kept.rewards.push(self.rewards[row]);
                kept.next_states.extend_from_slice(&self.next_states[states..states + state_dim]);
                kept.terminated.push(self.terminated[row]);
                kept.truncated.push(self.truncated[row]);
                kept.log_probs.push(self.log_probs[row]);
            }
            is_after_gap = false;
            if kept.rewards.len() > first {
                kept.episode_ends.push(kept.rewards.len());
                if let Some(last) = kept.truncated.last_mut() {
                    *last = self.truncated[end - 1];
                }
                kept.sources.extend(self.sources.get(episode).cloned());
            }
            start = end;
        }
        *self = kept;
    }

    /// `path` is what messages call it.
    pub(crate) fn into_dataset(
        self,
        path: &Path,
        names: &ColumnNames,
        exogenous: &[usize],
    ) -> Result<Dataset> {
        let columns = FlatColumns {
            state_dim: names.states.len(),
            action_dim: names.actions.len(),
            states: self.states.into(),
            actions: self.actions.into(),
            rewards: self.rewards.into(),
            next_states: self.next_states.into(),
            terminated: self.terminated,
            truncated: self.truncated,
            episode_ends: self.episode_ends,
            gaps: self.gaps,
        };
        let dataset = Dataset::from_columns(columns, Some(names.clone()));
        let dataset = dataset.and_then(|dataset| match self.sources.is_empty() {
            true => Ok(dataset),
            false => dataset.with_sources(self.sources),
        });
        let is_known = self.log_probs.iter().any(|value| !value.is_nan());
        let dataset = dataset.and_then(|dataset| match is_known {
            true => dataset.with_log_probs(self.log_probs),
            false => Ok(dataset),
        });
        let dataset = dataset.and_then(|dataset| dataset.with_exogenous(exogenous.to_vec()));
        dataset.map_err(|source| Error::Data { path: path.to_owned(), source })
    }
}
