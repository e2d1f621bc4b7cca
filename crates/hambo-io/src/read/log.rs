//! One log as transitions in order, for whoever collects them.

use std::path::{Path, PathBuf};

use hambo::Dataset;
use hambo::dataset::ColumnNames;
use rayon::prelude::*;

use super::detect::{self, Format};
use super::episodes::{Assembler, Sink};
use super::mapping::{Mapping, Missing};
use super::memory::Memory;
use super::note::{About, Note};
use super::rows::{Rows, Source};
use super::spikes;
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
    /// Columns of the state that no action influences.
    pub exogenous: Vec<usize>,
    /// Whether it says how probable logged actions were.
    pub knows_probabilities: bool,
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
        let knows_probabilities = sources.iter().any(|source| source.knows_probabilities());
        let (path, exogenous) = (path.to_owned(), first.exogenous());
        Ok(Self {
            path,
            format,
            state_dim,
            action_dim,
            names,
            exogenous,
            knows_probabilities,
            knows_terminations,
            sources,
        })
    }

    /// Whether values that are missing are gaps.
    pub(crate) fn splits(&self) -> bool {
        self.sources[0].rules().missing == Missing::Split
    }

    /// All of it in memory.
    pub(super) fn into_memory(self) -> Result<(Dataset, Vec<Note>)> {
        let (mut memory, mut notes) = self.read_in_any_order(Memory::default)?;
        if self.splits() {
            let found = spikes::remove(&mut memory, &self.names);
            notes.extend(found.into_iter().map(Note::Spikes));
        }
        if memory.len() == 0 {
            let missing = notes.iter().find_map(|note| match note {
                Note::MissingValues { rows, .. } => Some(*rows),
                _ => None,
            });
            let path = self.path.clone();
            return Err(Error::NoTransitions { path, missing: missing.unwrap_or(0) });
        }
        Ok((memory.into_dataset(&self.path, &self.names, &self.exogenous)?, notes))
    }

    /// As [`read`](Self::read), into a new sink. If the rows turn out to be in another order than that of episodes
    /// and steps, they are sorted, in memory.
    pub(crate) fn read_in_any_order<S: Sink>(
        &self,
        sink: impl Fn() -> S,
    ) -> Result<(S, Vec<Note>)> {
        let mut first = sink();
        match self.read(&mut first) {
            Ok(notes) => Ok((first, notes)),
            Err(
                error @ (Error::EpisodeReturns { .. }
                | Error::StepGap { .. }
                | Error::SourceChanges { .. }),
            ) => {
                let mut second = sink();
                match self.read_sorted(&mut second) {
                    Ok(Some(mut notes)) => {
                        notes.insert(0, Note::Sorted);
                        Ok((second, notes))
                    }
                    // Rows that come twice look like ones in another order at first.
                    Err(twice @ Error::StepGap { .. }) if self.sources[0].rules().times => {
                        Err(twice)
                    }
                    // The order was not the matter.
                    _ => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// `None` if no step numbers say in which order rows belong.
    fn read_sorted(&self, sink: &mut dyn Sink) -> Result<Option<Vec<Note>>> {
        let mut all = Rows::default();
        let mut places: Vec<(&Path, u64)> = Vec::new();
        for source in &self.sources {
            for piece in 0..source.pieces() {
                let rows = guarded(source.path(), || source.read(piece))?;
                let first = source.first_row(piece);
                places.extend((first..).take(rows.count).map(|row| (source.path(), row)));
                all.append(rows);
            }
        }
        if all.step.is_none() {
            return Ok(None);
        }
        let rules = self.sources[0].rules();
        let others = rules.reward.as_ref().map_or(0, |formula| formula.others);
        let mut assembler = Assembler::new(self.names.clone(), rules);
        let (sorted, order) = all.sorted(self.state_dim, self.action_dim, others);
        assembler.add(&self.path, 0, &sorted, sink).map_err(|error| match error {
            // Messages name rows as they are in the file.
            Error::StepGap { row, last, found, .. } => {
                let (path, row) = places[order[row as usize]];
                Error::StepGap { path: path.to_owned(), row, last, found }
            }
            other => other,
        })?;
        self.finish(assembler, sink).map(Some)
    }

    /// Hands all transitions to `sink`, in order. Pieces are read ahead by all threads.
    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<Vec<Note>> {
        let pieces: Vec<(&dyn Source, usize)> = self
            .sources
            .iter()
            .flat_map(|source| (0..source.pieces()).map(|piece| (&**source, piece)))
            .collect();
        let mut assembler = Assembler::new(self.names.clone(), self.sources[0].rules());
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
        self.finish(assembler, sink)
    }

    fn finish(&self, mut assembler: Assembler, sink: &mut dyn Sink) -> Result<Vec<Note>> {
        assembler.finish(sink)?;
        let integer_actions = self.sources.iter().any(|source| source.has_integer_actions());
        let about = About { knows_terminations: self.knows_terminations, integer_actions };
        Ok(Note::of(assembler.tally, &self.names, about))
    }
}

/// Runs a reader; what makes its library panic is taken for damage.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(read).unwrap_or_else(|reason| {
        Err(Error::damaged(path, "its content", format!("the reader stopped: {reason}")))
    })
}
