//! One log as transitions in order, for whoever collects them.

use std::path::{Path, PathBuf};

use hambo::Dataset;
use hambo::dataset::{ColumnNames, FlatColumns, Transition};
use rayon::prelude::*;

use super::detect::{self, Format};
use super::episodes::{Assembler, Sink};
use super::mapping::Mapping;
use super::note::Note;
use super::rows::Source;
use super::table::Key;
use crate::error::{Error, Result};
use crate::guard::caught;

/// One log, possibly in several files.
pub(crate) struct Log {
    /// What the user called it.
    pub path: PathBuf,
    pub format: Format,
    pub state_dim: usize,
    pub action_dim: usize,
    pub names: ColumnNames,
    knows_terminations: bool,
    sources: Vec<Box<dyn Source>>,
}

impl Log {
    pub(crate) fn open(path: &Path, mapping: &Mapping) -> Result<Self> {
        let (format, sources) = guarded(path, || detect::sources(path, mapping))?;
        Self::of_sources(path, format, sources)
    }

    pub(super) fn of_sources(
        path: &Path,
        format: Format,
        sources: Vec<Box<dyn Source>>,
    ) -> Result<Self> {
        let first = sources.first().ok_or_else(|| Error::Data {
            path: path.to_owned(),
            source: hambo::dataset::DatasetError::Empty,
        })?;
        let (state_dim, action_dim) = (first.state_dim(), first.action_dim());
        for other in &sources[1..] {
            let widths = [
                ("states", state_dim, other.state_dim()),
                ("actions", action_dim, other.action_dim()),
            ];
            if let Some(&(what, expected, found)) = widths.iter().find(|(_, a, b)| a != b) {
                let (path, first) = (other.path().to_owned(), first.path().to_owned());
                return Err(Error::FilesDiffer { path, first, what, expected, found });
            }
        }
        let (states, actions) = first.names();
        let names = ColumnNames { states, actions };
        let knows_terminations = sources.iter().all(|source| source.knows_terminations());
        let path = path.to_owned();
        Ok(Self { path, format, state_dim, action_dim, names, knows_terminations, sources })
    }

    /// All of it in memory.
    pub(super) fn into_memory(self) -> Result<(Dataset, Vec<Note>)> {
        let mut memory = Memory::default();
        let notes = self.read(&mut memory)?;
        Ok((memory.into_dataset(&self)?, notes))
    }

    /// Hands all transitions to `sink`, in order. Pieces are read ahead by all threads.
    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<Vec<Note>> {
        let pieces: Vec<(&dyn Source, usize)> = self
            .sources
            .iter()
            .flat_map(|source| (0..source.pieces()).map(|piece| (&**source, piece)))
            .collect();
        let mut assembler = Assembler::new(self.state_dim, self.action_dim);
        // As many pieces at a time as there are threads: memory holds no more of a file than that.
        for group in pieces.chunks(rayon::current_num_threads().max(1)) {
            let read: Vec<_> = group
                .par_iter()
                .map(|(source, piece)| guarded(source.path(), || source.read(*piece)))
                .collect();
            for ((source, piece), rows) in group.iter().zip(read) {
                assembler.add(source.path(), source.first_row(*piece), &rows?, sink)?;
            }
        }
        assembler.finish(sink)?;
        let integer_actions = self.sources.iter().any(|source| source.has_integer_actions());
        Ok(Note::of(assembler.tally, self.knows_terminations, integer_actions))
    }
}

/// Runs a reader; what makes its library panic is taken for damage.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(read).unwrap_or_else(|reason| {
        Err(Error::damaged(path, "its content", format!("the reader stopped: {reason}")))
    })
}

/// Collects transitions in memory.
#[derive(Default)]
struct Memory {
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next_states: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    episode_ends: Vec<usize>,
    sources: Vec<String>,
}

impl Sink for Memory {
    fn push(&mut self, transition: Transition<'_>) -> Result<()> {
        self.states.extend_from_slice(transition.state);
        self.actions.extend_from_slice(transition.action);
        self.rewards.push(transition.reward);
        self.next_states.extend_from_slice(transition.next_state);
        Ok(())
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
    fn into_dataset(self, log: &Log) -> Result<Dataset> {
        let columns = FlatColumns {
            state_dim: log.state_dim,
            action_dim: log.action_dim,
            states: self.states.into(),
            actions: self.actions.into(),
            rewards: self.rewards.into(),
            next_states: self.next_states.into(),
            terminated: self.terminated,
            truncated: self.truncated,
            episode_ends: self.episode_ends,
        };
        let dataset = Dataset::from_columns(columns, Some(log.names.clone()));
        let dataset = dataset.and_then(|dataset| match self.sources.is_empty() {
            true => Ok(dataset),
            false => dataset.with_sources(self.sources),
        });
        dataset.map_err(|source| Error::Data { path: log.path.clone(), source })
    }
}
