//! From rows to episodes: where one ends, and what follows each step. Wrong boundaries are the most
//! common silent error in logged data, so everything that contradicts itself is refused.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hambo::dataset::Transition;

use super::rows::Rows;
use super::table::Key;
use crate::error::{Error, Result};

/// Takes transitions and the ends of episodes, in order. Only episodes with transitions end.
pub(crate) trait Sink {
    fn push(&mut self, transition: Transition<'_>) -> Result<()>;

    /// `source` is where the episode came from, if the log says it.
    fn end(&mut self, terminated: bool, truncated: bool, source: Option<Key>) -> Result<()>;
}

/// What had to be decided on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Last rows of episodes, dropped because nothing says where they led.
    pub dropped_rows: u64,
    /// How many of those were marked as terminated.
    pub dropped_terminations: u64,
    /// Episodes that end without a mark, and count as cut off.
    pub unmarked_ends: u64,
}

/// Turns rows into episodes.
#[derive(Debug)]
pub(crate) struct Assembler {
    state_dim: usize,
    action_dim: usize,
    open: Option<OpenEpisode>,
    closed: Closed,
    /// By how much step numbers grow, known from the first two rows of an episode.
    stride: Option<i64>,
    pub tally: Tally,
}

/// Episodes that are over. There may be as many as rows, and most have numbers.
#[derive(Debug, Default)]
struct Closed {
    numbers: HashSet<i64>,
    texts: HashSet<String>,
}

impl Closed {
    fn contains(&self, key: &Key) -> bool {
        match key {
            Key::Number(number) => self.numbers.contains(number),
            Key::Text(text) => self.texts.contains(text),
        }
    }

    fn insert(&mut self, key: Option<Key>) {
        match key {
            Some(Key::Number(number)) => {
                self.numbers.insert(number);
            }
            Some(Key::Text(text)) => {
                self.texts.insert(text);
            }
            None => {}
        }
    }
}

#[derive(Debug)]
struct OpenEpisode {
    key: Option<Key>,
    source: Option<Key>,
    /// The last row's step number.
    step: Option<i64>,
    /// Transitions handed to the sink.
    pushed: usize,
    /// The last row, while its next state is still unknown.
    waiting: Option<Waiting>,
    terminated: bool,
    truncated: bool,
    path: PathBuf,
    last_row: u64,
}

#[derive(Debug)]
struct Waiting {
    state: Vec<f32>,
    action: Vec<f32>,
    reward: f32,
}

/// One row of a file.
struct Row<'a> {
    at: At<'a>,
    state: &'a [f32],
    action: &'a [f32],
    reward: f32,
    next_state: Option<&'a [f32]>,
    terminated: bool,
    truncated: bool,
    key: Option<&'a Key>,
    step: Option<i64>,
    source: Option<&'a Key>,
}

#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a Path,
    row: u64,
}

impl Assembler {
    pub(crate) fn new(state_dim: usize, action_dim: usize) -> Self {
        let (open, closed, stride) = (None, Closed::default(), None);
        Self { state_dim, action_dim, open, closed, stride, tally: Tally::default() }
    }

    /// Takes the next rows, of which the first is row `first_row` of the file at `path`.
    pub(crate) fn add(
        &mut self,
        path: &Path,
        first_row: u64,
        rows: &Rows,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (ds, da) = (self.state_dim, self.action_dim);
        for index in 0..rows.count {
            let states = index * ds..(index + 1) * ds;
            let flag = |flags: &Option<Vec<bool>>| flags.as_ref().is_some_and(|f| f[index]);
            let row = Row {
                at: At { path, row: first_row + index as u64 },
                state: &rows.states[states.clone()],
                action: &rows.actions[index * da..(index + 1) * da],
                reward: rows.rewards[index],
                next_state: rows.next_states.as_ref().map(|next| &next[states]),
                terminated: flag(&rows.terminated),
                truncated: flag(&rows.truncated),
                key: rows.episode.as_ref().map(|keys| &keys[index]),
                step: rows.step.as_ref().map(|steps| steps[index]),
                source: rows.source.as_ref().map(|sources| &sources[index]),
            };
            self.row(row, sink)?;
        }
        Ok(())
    }

    /// The log is over.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.close(sink)
    }

    fn row(&mut self, row: Row<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.open.as_ref().is_some_and(|open| open.is_over_at(&row)) {
            self.close(sink)?;
        }
        match &mut self.open {
            Some(open) => open.check_goes_on(&row, &mut self.stride)?,
            None => self.open = Some(self.begin(&row)?),
        }
        let open = self.open.as_mut().expect("an episode was begun");
        if let Some(waiting) = open.waiting.take() {
            let Waiting { state, action, reward } = &waiting;
            let (reward, next_state) = (*reward, row.state);
            sink.push(Transition { state, action, reward, next_state })?;
            open.pushed += 1;
        }
        let Row { state, action, reward, .. } = row;
        match row.next_state {
            Some(next_state) => {
                sink.push(Transition { state, action, reward, next_state })?;
                open.pushed += 1;
            }
            None => {
                let (state, action) = (state.to_vec(), action.to_vec());
                open.waiting = Some(Waiting { state, action, reward });
            }
        }
        (open.terminated, open.truncated) = (row.terminated, row.truncated);
        (open.step, open.last_row) = (row.step, row.at.row);
        Ok(())
    }

    fn begin(&self, row: &Row<'_>) -> Result<OpenEpisode> {
        if let Some(key) = row.key.filter(|key| self.closed.contains(key)) {
            let path = row.at.path.to_owned();
            return Err(Error::EpisodeReturns { path, row: row.at.row, episode: key.to_string() });
        }
        Ok(OpenEpisode {
            key: row.key.cloned(),
            source: row.source.cloned(),
            step: row.step,
            pushed: 0,
            waiting: None,
            terminated: false,
            truncated: false,
            path: row.at.path.to_owned(),
            last_row: row.at.row,
        })
    }

    fn close(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.closed.insert(open.key);
        let marked = open.terminated || open.truncated;
        // Without its last row, an episode that terminated is one that was cut off before.
        let (terminated, truncated) = match open.waiting {
            Some(_) => {
                self.tally.dropped_rows += 1;
                self.tally.dropped_terminations += u64::from(open.terminated);
                (false, true)
            }
            None => (open.terminated, open.truncated || !marked),
        };
        self.tally.unmarked_ends += u64::from(!marked);
        match open.pushed {
            0 => Ok(()),
            _ => sink.end(terminated, truncated, open.source),
        }
    }
}

impl OpenEpisode {
    fn is_over_at(&self, row: &Row<'_>) -> bool {
        match (&self.key, row.key) {
            (Some(own), Some(next)) => own != next,
            _ => {
                let starts_again =
                    matches!((self.step, row.step), (Some(last), Some(next)) if next <= last);
                self.terminated || self.truncated || starts_again
            }
        }
    }

    /// The row belongs to this episode: nothing may say otherwise.
    fn check_goes_on(&self, row: &Row<'_>, stride: &mut Option<i64>) -> Result<()> {
        let flags = [("terminated", self.terminated), ("truncated", self.truncated)];
        if let Some((flag, _)) = flags.into_iter().find(|(_, set)| *set) {
            let (path, row) = (self.path.clone(), self.last_row);
            let episode = self.key.as_ref().map(Key::to_string).unwrap_or_default();
            return Err(Error::GoesOn { path, row, flag, episode });
        }
        if let (Some(own), Some(other)) = (&self.source, row.source)
            && own != other
        {
            let (path, row) = (row.at.path.to_owned(), row.at.row);
            let (source_before, found) = (own.to_string(), other.to_string());
            return Err(Error::SourceChanges { path, row, source_before, found });
        }
        if let (Some(last), Some(found)) = (self.step, row.step) {
            let grown = found.wrapping_sub(last);
            if grown <= 0 || grown != *stride.get_or_insert(grown) {
                let path = row.at.path.to_owned();
                return Err(Error::StepGap { path, row: row.at.row, last, found });
            }
        }
        Ok(())
    }
}
