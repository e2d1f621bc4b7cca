//! Minari datasets: one folder per dataset, one group or folder per episode, and one observation more
//! than there are steps.

use std::path::{Path, PathBuf};

use hdf5_pure::Group;
use serde_json::Value;

use super::choices::{DiscreteActions, Unnamed};
use super::hdf5::{Array, Hdf5};
use super::ipc::IpcTable;
use super::mapping::Mapping;
use super::parquet::ParquetTable;
use super::rows::{Rows, Source};
use super::table::{ColumnInfo, Key, Kind, Place, Table, Values};
use crate::error::{Error, Result};

/// Where Minari keeps its datasets: `MINARI_DATASETS_PATH`, or `~/.minari/datasets`.
pub(crate) fn root() -> PathBuf {
    match std::env::var_os("MINARI_DATASETS_PATH") {
        Some(path) => path.into(),
        None => {
            let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
            Path::new(&home.unwrap_or_default()).join(".minari").join("datasets")
        }
    }
}

/// An episode's file, and what it is since Minari 0.5.3.
const ARROW: &str = "part-0.arrow";
const PARQUET: &str = "part-0.parquet";

/// Larger descriptions of a dataset are not read, and more choices of an action not believed.
const MOST_METADATA: u64 = 1 << 20;
const MOST_CHOICES: usize = 1 << 12;

/// One episode as it is stored: `[steps + 1]` observations, `[steps]` of the rest.
struct Stored {
    observations: (ColumnInfo, Values),
    actions: (ColumnInfo, Values),
    rewards: (ColumnInfo, Values),
    terminations: (ColumnInfo, Values),
    truncations: (ColumnInfo, Values),
}

/// A dataset's episodes.
pub(crate) struct Minari {
    path: PathBuf,
    episodes: Episodes,
    rows: Unnamed,
}

enum Episodes {
    Hdf5 { file: Hdf5, numbers: Vec<u64> },
    Arrow { folders: Vec<(u64, PathBuf)> },
}

impl Minari {
    /// From `main_data.hdf5`, if that is what the file is.
    pub(crate) fn in_hdf5(file: Hdf5, mapping: &Mapping) -> Result<Self> {
        let path = file.path.clone();
        let groups = file.file.root().groups().map_err(file.error("file"))?;
        let mut numbers: Vec<u64> = groups.iter().filter_map(|name| episode_number(name)).collect();
        numbers.sort_unstable();
        Self::new(path, Episodes::Hdf5 { file, numbers }, mapping)
    }

    /// From the folder `data`, with one folder of Arrow or Parquet files for each episode.
    pub(crate) fn in_folders(path: &Path, mapping: &Mapping) -> Result<Self> {
        let entries = std::fs::read_dir(path).map_err(Error::io(path, "list the folder"))?;
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io(path, "list the folder"))?;
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            folders.extend(number.map(|number| (number, entry.path())));
        }
        folders.sort_unstable();
        Self::new(path.to_owned(), Episodes::Arrow { folders }, mapping)
    }

    fn new(path: PathBuf, episodes: Episodes, mapping: &Mapping) -> Result<Self> {
        if let Some(column) = &mapping.source {
            return Err(Error::NoSources { path, column: column.clone() });
        }
        let told = || stored_choices(&path);
        let discrete_actions = mapping.discrete_actions.clone().or_else(told);
        let unknown = ColumnInfo { name: String::new(), width: 0, kind: Kind::Other };
        let rows = Unnamed { observation: unknown.clone(), action: unknown, discrete_actions };
        let mut minari = Self { path, episodes, rows };
        if minari.pieces() == 0 {
            let source = hambo::dataset::DatasetError::Empty;
            return Err(Error::Data { path: minari.path, source });
        }
        let first = minari.stored(0)?;
        (minari.rows.observation, minari.rows.action) = (first.observations.0, first.actions.0);
        Ok(minari)
    }

    fn stored(&self, index: usize) -> Result<Stored> {
        match &self.episodes {
            Episodes::Hdf5 { file, numbers } => hdf5_episode(file, numbers[index]),
            Episodes::Arrow { folders } => episode_in(&folders[index].1),
        }
    }

    fn number(&self, index: usize) -> u64 {
        match &self.episodes {
            Episodes::Hdf5 { numbers, .. } => numbers[index],
            Episodes::Arrow { folders } => folders[index].0,
        }
    }
}

/// How many choices the action space has that the dataset tells of, if it is one of choices that count from zero.
fn stored_choices(path: &Path) -> Option<DiscreteActions> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let file = folder.join("metadata.json");
    if std::fs::metadata(&file).ok()?.len() > MOST_METADATA {
        return None;
    }
    let about: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let space = &about["action_space"];
    let space: Value = match space.as_str() {
        Some(text) => serde_json::from_str(text).ok()?,
        None => space.clone(),
    };
    let starts_at_zero = match &space["start"] {
        Value::Null => true,
        Value::Array(starts) => starts.iter().all(|start| start.as_u64() == Some(0)),
        start => start.as_u64() == Some(0),
    };
    let size = |value: &Value| {
        let size = usize::try_from(value.as_u64()?).ok()?;
        (1..=MOST_CHOICES).contains(&size).then_some(size)
    };
    match space["type"].as_str()? {
        "Discrete" if starts_at_zero => size(&space["n"]).map(DiscreteActions::Single),
        "MultiDiscrete" if starts_at_zero => {
            let sizes = space["nvec"].as_array()?.iter().map(size);
            sizes.collect::<Option<_>>().map(DiscreteActions::Each)
        }
        _ => None,
    }
}

/// The number of a group called `episode_7`.
pub(crate) fn episode_number(group: &str) -> Option<u64> {
    group.strip_prefix("episode_")?.parse().ok()
}

fn hdf5_episode(file: &Hdf5, number: u64) -> Result<Stored> {
    let name = format!("episode_{number}");
    let group = file.file.group(&name).map_err(file.error(&name))?;
    let prefix = format!("{name}/");
    let read = |array: Array, name: &str| -> Result<(ColumnInfo, Values)> {
        let values = array.read(file, 0, array.rows())?;
        Ok((
            ColumnInfo { name: format!("{prefix}{name}"), width: array.width(), kind: array.kind },
            values,
        ))
    };
    let array = |name: &str| -> Result<(ColumnInfo, Values)> {
        check_is_array(file, &group, &prefix, name)?;
        read(file.array(&group, &prefix, name)?, name)
    };
    Ok(Stored {
        observations: array("observations")?,
        actions: array("actions")?,
        rewards: array("rewards")?,
        terminations: array("terminations")?,
        truncations: array("truncations")?,
    })
}

/// Spaces of several parts are groups, which have no order that is plain to see.
fn check_is_array(file: &Hdf5, group: &Group, prefix: &str, name: &str) -> Result<()> {
    if !group.groups().map_err(file.error(prefix))?.iter().any(|inner| inner == name) {
        return Ok(());
    }
    Err(Error::Unreadable {
        path: file.path.clone(),
        place: format!("`{prefix}{name}`"),
        message: "it is a group of arrays (a Dict or Tuple space)".into(),
        advice: "flatten the space before recording (gymnasium.wrappers.FlattenObservation)",
    })
}

/// Whether a folder holds one folder for each episode.
pub(crate) fn is_in_folders(data: &Path) -> bool {
    let first = data.join("0");
    [ARROW, PARQUET].iter().any(|name| first.join(name).is_file())
}

fn episode_in(folder: &Path) -> Result<Stored> {
    let (arrow, parquet) = (folder.join(ARROW), folder.join(PARQUET));
    // Whichever is missing is missed by its usual name.
    let (path, table): (_, Box<dyn Table>) = match parquet.is_file() {
        true => (parquet.clone(), Box::new(ParquetTable::open(&parquet)?)),
        false => (arrow.clone(), Box::new(IpcTable::file(&arrow)?)),
    };
    let column = |name: &str| -> Result<(ColumnInfo, Values)> {
        let index = table.columns().iter().position(|column| column.name == name);
        let index = index.ok_or_else(|| Error::damaged(&path, name, "the column is missing"))?;
        let mut all: Option<Values> = None;
        for piece in 0..table.pieces() {
            let values = table.read(piece, &[index])?.swap_remove(0);
            match &mut all {
                Some(before) => before.append(values),
                None => all = Some(values),
            }
        }
        let info = table.columns()[index].clone();
        Ok((info, all.unwrap_or(Values::F32(Vec::new()))))
    };
    // The last row's action, reward and flags are padding.
    let without_padding = |name: &str| -> Result<(ColumnInfo, Values)> {
        let (info, mut values) = column(name)?;
        let rows = values.len() / info.width.max(1);
        values.truncate(rows.saturating_sub(1) * info.width);
        Ok((info, values))
    };
    Ok(Stored {
        observations: column("observations")?,
        actions: without_padding("actions")?,
        rewards: without_padding("rewards")?,
        terminations: without_padding("terminations")?,
        truncations: without_padding("truncations")?,
    })
}

impl Source for Minari {
    fn path(&self) -> &Path {
        &self.path
    }

    fn state_dim(&self) -> usize {
        self.rows.observation.width
    }

    fn action_dim(&self) -> usize {
        self.rows.action_dim()
    }

    fn names(&self) -> (Vec<String>, Vec<String>) {
        self.rows.names()
    }

    fn has_integer_actions(&self) -> bool {
        self.rows.has_integer_actions()
    }

    fn knows_terminations(&self) -> bool {
        true
    }

    fn pieces(&self) -> usize {
        match &self.episodes {
            Episodes::Hdf5 { numbers, .. } => numbers.len(),
            Episodes::Arrow { folders } => folders.len(),
        }
    }

    fn first_row(&self, _piece: usize) -> u64 {
        0
    }

    fn read(&self, piece: usize) -> Result<Rows> {
        let stored = self.stored(piece)?;
        let path = match &self.episodes {
            Episodes::Hdf5 { file, .. } => &file.path,
            Episodes::Arrow { folders } => &folders[piece].1,
        };
        let count = stored.rewards.1.len();
        let rows = |what: &(ColumnInfo, Values), width: usize, expected: usize| {
            let (info, values) = what;
            if info.width != width {
                return Err(Error::ColumnWidth {
                    path: path.clone(),
                    role: "the first episode's",
                    column: info.name.clone(),
                    expected: width,
                    found: info.width,
                });
            }
            match values.len() == expected.saturating_mul(width) {
                true => Ok(()),
                false => Err(Error::ColumnRows {
                    path: path.clone(),
                    column: info.name.clone(),
                    expected: expected as u64,
                    found: (values.len() / width.max(1)) as u64,
                }),
            }
        };
        let width = self.rows.observation.width;
        rows(&stored.observations, width, count + 1)?;
        rows(&stored.actions, self.rows.action.width, count)?;
        rows(&stored.terminations, 1, count)?;
        rows(&stored.truncations, 1, count)?;

        let place = |column| Place { path, first_row: 0, column };
        let (info, values) = stored.observations;
        let observations = values.into_numbers(place(&info))?;
        let (info, values) = stored.actions;
        let actions = self.rows.encode(place(&info), values)?;
        let (info, values) = stored.rewards;
        let rewards = values.into_numbers(place(&info))?;
        let (info, values) = stored.terminations;
        let terminated = values.into_flags(place(&info))?;
        let (info, values) = stored.truncations;
        let truncated = values.into_flags(place(&info))?;
        let key = Key::Number(self.number(piece) as i64);
        Ok(Rows {
            count,
            states: observations[..count * width].to_vec(),
            next_states: Some(observations[width..].to_vec()),
            actions,
            rewards,
            others: Vec::new(),
            terminated: Some(terminated),
            truncated: Some(truncated),
            episode: Some(vec![key; count]),
            step: None,
            source: None,
            log_probs: None,
        })
    }
}
