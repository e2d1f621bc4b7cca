//! Data larger than memory: a directory of columns that are mapped, not loaded.
//!
//! [`convert`] reads any log once, checks it, and writes it piece by piece; [`open`] maps the columns, so
//! that a [`Dataset`] over them behaves as one in memory. The document `store.json` holds the
//! [`DataIdentity`], whose fingerprint is the checksum of all columns.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use hambo::Dataset;
use hambo::dataset::{
    Buffer, ColumnNames, DataIdentity, FlatColumns, Identifier, Transition, check_transition,
};
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::{Error, Result};
use crate::mapped::Mapped;
use crate::read::{Key, Log, Mapping, Note, Sink};
use crate::remote::locally;

/// Schema 1 kept names and widths apart from the data's identity.
const SCHEMA: u64 = 2;
const DOCUMENT: &str = "store.json";
const STATES: &str = "states.f32";
const ACTIONS: &str = "actions.f32";
const REWARDS: &str = "rewards.f32";
const NEXT_STATES: &str = "next_states.f32";
const EPISODES: &str = "episodes.u64";
const LOG_PROBS: &str = "log_probs.f64";
/// The end of an episode, above two bits for how it ended.
const TERMINATED: u64 = 1;
const TRUNCATED: u64 = 2;

// Columns are mapped as they are.
const _: () = assert!(cfg!(target_endian = "little"), "stores are little-endian");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreFile {
    schema: u64,
    data: DataIdentity,
    /// Where each episode came from, if the log said it.
    #[serde(default)]
    sources: Option<Vec<String>>,
    /// Rows before which the log has a gap.
    #[serde(default)]
    gaps: Vec<usize>,
    /// Columns of the state that no action influences.
    #[serde(default)]
    exogenous: Vec<usize>,
    /// Whether it is known how probable logged actions were.
    #[serde(default)]
    probabilities: bool,
}

/// What was converted.
#[derive(Debug)]
pub struct Converted {
    /// What the data is, with its fingerprint.
    pub data: DataIdentity,
    /// What the reader had to decide.
    pub notes: Vec<Note>,
}

/// Whether the directory is a store.
pub fn is_store(path: &Path) -> bool {
    path.join(DOCUMENT).is_file()
}

/// Reads `source` once and writes it to the new directory `into`, which appears when it is complete.
pub fn convert(source: impl AsRef<Path>, mapping: &Mapping, into: &Path) -> Result<Converted> {
    locally(source.as_ref(), |path| {
        let log = Log::open(path, mapping)?;
        atomic::directory(into, |unfinished| {
            let mut writer = Writer::new(unfinished, &log)?;
            let notes = log.read(&mut writer)?;
            let data = writer.finish()?;
            Ok(Converted { data, notes })
        })
    })
}

/// Maps a store and checks it: every value against the fingerprint, and all that a dataset promises.
///
/// The files must not be changed while the dataset is in use.
pub fn open(path: &Path) -> Result<Dataset> {
    let file = path.join(DOCUMENT);
    let text = std::fs::read(&file).map_err(Error::io(&file, "read the file"))?;
    let document: StoreFile =
        serde_json::from_slice(&text).map_err(|error| content(path, error))?;
    let (found, expected) = (document.schema, SCHEMA);
    if found != expected {
        return Err(Error::Schema { path: path.to_owned(), found, expected });
    }
    let rows = document.data.rows;
    let (mut terminated, mut truncated) = (vec![false; rows], vec![false; rows]);
    let mut episode_ends = Vec::new();
    for &word in map(path, EPISODES)?.words() {
        let end = (word >> 2) as usize;
        episode_ends.push(end);
        if let Some(last) = end.checked_sub(1).filter(|&last| last < rows) {
            terminated[last] = word & TERMINATED != 0;
            truncated[last] = word & TRUNCATED != 0;
        }
    }
    let column = |name| Ok::<_, Error>(Buffer::owned_by(map(path, name)?));
    let names = document.data.names.clone();
    let columns = FlatColumns {
        state_dim: names.states.len(),
        action_dim: names.actions.len(),
        states: column(STATES)?,
        actions: column(ACTIONS)?,
        rewards: column(REWARDS)?,
        next_states: column(NEXT_STATES)?,
        terminated,
        truncated,
        episode_ends,
        gaps: document.gaps,
    };
    let dataset = Dataset::from_columns(columns, Some(names))
        .map_err(|source| Error::Data { path: path.to_owned(), source })?;
    if dataset.identity() != document.data {
        return Err(Error::StoreDamaged { path: path.to_owned() });
    }
    let dataset = match document.sources {
        Some(sources) => dataset.with_sources(sources),
        None => Ok(dataset),
    };
    let log_probs = match document.probabilities {
        true => {
            Some(map(path, LOG_PROBS)?.words().iter().map(|&bits| f64::from_bits(bits)).collect())
        }
        false => None,
    };
    let dataset = dataset.and_then(|dataset| match log_probs {
        Some(log_probs) => dataset.with_log_probs(log_probs),
        None => Ok(dataset),
    });
    let dataset = dataset.and_then(|dataset| dataset.with_exogenous(document.exogenous));
    dataset.map_err(|error| content(path, error))
}

fn content(path: &Path, error: impl ToString) -> Error {
    Error::Content { path: path.to_owned(), file: DOCUMENT, message: error.to_string() }
}

fn map(directory: &Path, name: &'static str) -> Result<Mapped> {
    let value = if [EPISODES, LOG_PROBS].contains(&name) { 8 } else { 4 };
    Mapped::open(&directory.join(name), value)
}

/// Checks, fingerprints and writes transitions as they come.
struct Writer {
    columns: [Column; 4],
    episodes: Column,
    /// If the log says them.
    log_probs: Option<Column>,
    names: ColumnNames,
    identifier: Identifier,
    rows: usize,
    /// Episodes that have ended.
    ended: usize,
    /// Transitions of the episode that has not.
    steps: usize,
    last_next_state: Vec<f32>,
    /// Of the episodes that have ended.
    sources: Vec<String>,
    gaps: Vec<usize>,
    exogenous: Vec<usize>,
    path: std::path::PathBuf,
}

/// A file that is written in large blocks.
struct Column {
    path: std::path::PathBuf,
    file: File,
    block: Vec<f32>,
    words: Vec<u64>,
}

impl Column {
    fn create(directory: &Path, name: &str) -> Result<Self> {
        let path = directory.join(name);
        let file = File::create(&path).map_err(Error::io(&path, "create the file"))?;
        Ok(Self { path, file, block: Vec::new(), words: Vec::new() })
    }

    fn flush(&mut self) -> Result<()> {
        let write = Error::io(&self.path, "write the file");
        self.file.write_all(bytemuck::cast_slice(&self.block)).map_err(write)?;
        let write = Error::io(&self.path, "write the file");
        self.file.write_all(bytemuck::cast_slice(&self.words)).map_err(write)?;
        self.block.clear();
        self.words.clear();
        Ok(())
    }
}

impl Writer {
    /// Rows that are hashed and written together.
    const BLOCK: usize = 1 << 14;

    fn new(directory: &Path, log: &Log) -> Result<Self> {
        let column = |name| Column::create(directory, name);
        Ok(Self {
            columns: [column(STATES)?, column(ACTIONS)?, column(REWARDS)?, column(NEXT_STATES)?],
            episodes: column(EPISODES)?,
            log_probs: log.knows_probabilities.then(|| column(LOG_PROBS)).transpose()?,
            names: log.names.clone(),
            identifier: Identifier::new(log.names.clone()),
            rows: 0,
            ended: 0,
            steps: 0,
            last_next_state: Vec::new(),
            sources: Vec::new(),
            gaps: Vec::new(),
            exogenous: log.exogenous.clone(),
            path: log.path.clone(),
        })
    }

    fn flush(&mut self) -> Result<()> {
        let [states, actions, rewards, next_states] = &self.columns;
        let blocks = [&states.block, &actions.block, &rewards.block, &next_states.block];
        self.identifier.add_rows(blocks[0], blocks[1], blocks[2], blocks[3]);
        self.columns.iter_mut().chain(&mut self.log_probs).try_for_each(Column::flush)?;
        self.episodes.flush()
    }

    fn finish(mut self) -> Result<DataIdentity> {
        self.flush()?;
        if self.ended == 0 {
            let source = hambo::dataset::DatasetError::Empty;
            return Err(Error::Data { path: self.path, source });
        }
        for column in self.columns.iter().chain([&self.episodes]).chain(&self.log_probs) {
            column.file.sync_all().map_err(Error::io(&column.path, "write the file"))?;
        }
        let data = self.identifier.finish();
        let sources = (!self.sources.is_empty()).then_some(self.sources);
        let document = StoreFile {
            schema: SCHEMA,
            data: data.clone(),
            sources,
            gaps: self.gaps,
            exogenous: self.exogenous,
            probabilities: self.log_probs.is_some(),
        };
        let directory = self.episodes.path.parent().unwrap_or(Path::new("."));
        let text = serde_json::to_vec_pretty(&document).map_err(|e| content(directory, e))?;
        let path = directory.join(DOCUMENT);
        std::fs::write(&path, text).map_err(Error::io(&path, "write the file"))?;
        Ok(data)
    }
}

impl Sink for Writer {
    fn push(&mut self, transition: Transition<'_>) -> Result<()> {
        let is_after_gap = self.gaps.last() == Some(&self.rows);
        let goes_on = self.steps > 0 && !is_after_gap;
        let before = goes_on.then_some(&self.last_next_state[..]);
        check_transition((self.ended, self.steps), &transition, before, Some(&self.names))
            .map_err(|source| Error::Data { path: self.path.clone(), source })?;
        let [states, actions, rewards, next_states] = &mut self.columns;
        states.block.extend_from_slice(transition.state);
        actions.block.extend_from_slice(transition.action);
        rewards.block.push(transition.reward);
        next_states.block.extend_from_slice(transition.next_state);
        if let Some(log_probs) = &mut self.log_probs {
            log_probs.words.push(transition.log_prob.to_bits());
        }
        self.last_next_state.clear();
        self.last_next_state.extend_from_slice(transition.next_state);
        self.rows += 1;
        self.steps += 1;
        if self.rows.is_multiple_of(Self::BLOCK) {
            self.flush()?;
        }
        Ok(())
    }

    fn gap(&mut self) {
        self.gaps.push(self.rows);
    }

    fn end(&mut self, terminated: bool, truncated: bool, source: Option<Key>) -> Result<()> {
        self.sources.extend(source.map(Key::into_name));
        let flags = TERMINATED * u64::from(terminated) + TRUNCATED * u64::from(truncated);
        self.episodes.words.push((self.rows as u64) << 2 | flags);
        self.identifier.end_episode(self.rows, terminated, truncated);
        self.ended += 1;
        self.steps = 0;
        Ok(())
    }
}
