//! d3rlpy's own files (`ReplayBuffer.dump`): HDF5 with the arrays `observations_0`, `actions_0`, `rewards_0` and the flag
//! `terminated_0` of the first episode, and so on. There is one observation per action, and none after the last.

use std::path::Path;

use super::choices::Unnamed;
use super::hdf5::Hdf5;
use super::mapping::Mapping;
use super::rows::{Rows, Source};
use super::table::{ColumnInfo, Key, Kind, Place, Values};
use crate::error::{Error, Result};

/// Its episodes.
pub(crate) struct D3rlpy {
    file: Hdf5,
    episodes: usize,
    rows: Unnamed,
}

/// Whether a file has these arrays.
pub(crate) fn is_of_d3rlpy(file: &Hdf5) -> Result<bool> {
    let names = file.file.root().datasets().map_err(file.error("file"))?;
    let has = |name: &str| names.iter().any(|found| found == name);
    Ok(has("num_episodes") && has("columns") && has("version"))
}

impl D3rlpy {
    pub(crate) fn new(file: Hdf5, mapping: &Mapping) -> Result<Self> {
        if let Some(column) = &mapping.source {
            return Err(Error::NoSources { path: file.path, column: column.clone() });
        }
        let names = file.file.root().datasets().map_err(file.error("file"))?;
        let has = |name: String| names.contains(&name);
        if has("observations_0_0".into()) {
            return Err(Error::Unreadable {
                path: file.path,
                place: "`observations_0`".into(),
                message: "observations have several parts".into(),
                advice: "join them into one array before the buffer is filled",
            });
        }
        let episodes = (0..).take_while(|index| has(format!("observations_{index}"))).count();
        if episodes == 0 {
            let source = hambo::dataset::DatasetError::Empty;
            return Err(Error::Data { path: file.path, source });
        }
        let unknown = ColumnInfo { name: String::new(), width: 0, kind: Kind::Other };
        let discrete_actions = mapping.discrete_actions.clone();
        let rows = Unnamed { observation: unknown.clone(), action: unknown, discrete_actions };
        let mut found = Self { file, episodes, rows };
        found.rows.observation = found.array("observations_0")?.0;
        found.rows.action = found.array("actions_0")?.0;
        Ok(found)
    }

    fn array(&self, name: &str) -> Result<(ColumnInfo, Values)> {
        let array = self.file.array(&self.file.file.root(), "", name)?;
        if array.shape.len() > 2 {
            return Err(Error::Unreadable {
                path: self.file.path.clone(),
                place: format!("`{name}`"),
                message: format!("it has {} dimensions, as images have", array.shape.len()),
                advice: "images are not read here; log what is known of the state as numbers",
            });
        }
        let info = ColumnInfo { name: name.into(), width: array.width(), kind: array.kind };
        let values = array.read(&self.file, 0, array.rows())?;
        Ok((info, values))
    }

    /// An array of an episode, as wide as that of the first one, and of so many rows.
    fn rows_of(&self, name: &str, width: usize, rows: usize) -> Result<(ColumnInfo, Values)> {
        let (info, values) = self.array(name)?;
        let path = || self.file.path.clone();
        if info.width != width {
            let (role, column) = ("the first episode's", info.name);
            return Err(Error::ColumnWidth {
                path: path(),
                role,
                column,
                expected: width,
                found: info.width,
            });
        }
        if values.len() != rows * width {
            let (expected, found) = (rows as u64, (values.len() / width.max(1)) as u64);
            return Err(Error::ColumnRows { path: path(), column: info.name, expected, found });
        }
        Ok((info, values))
    }

    fn is_terminated(&self, episode: usize) -> Result<bool> {
        let name = format!("terminated_{episode}");
        let flag = self.file.file.root().dataset(&name).map_err(self.file.error(&name))?;
        let bytes = flag.read_raw().map_err(self.file.error(&name))?;
        Ok(bytes.iter().any(|&byte| byte != 0))
    }
}

impl Source for D3rlpy {
    fn path(&self) -> &Path {
        &self.file.path
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
        self.episodes
    }

    fn first_row(&self, _piece: usize) -> u64 {
        0
    }

    fn read(&self, piece: usize) -> Result<Rows> {
        let place = |column| Place { path: &self.file.path, first_row: 0, column };
        let (info, rewards) = self.array(&format!("rewards_{piece}"))?;
        let rewards = rewards.into_numbers(place(&info))?;
        let count = rewards.len();
        let width = self.rows.observation.width;
        let (info, states) = self.rows_of(&format!("observations_{piece}"), width, count)?;
        let states = states.into_numbers(place(&info))?;
        let (info, actions) =
            self.rows_of(&format!("actions_{piece}"), self.rows.action.width, count)?;
        let actions = self.rows.encode(place(&info), actions)?;
        let terminated = self.is_terminated(piece)?;
        let at_end = |flag: bool| (1..=count).map(|row| flag && row == count).collect();
        Ok(Rows {
            count,
            states,
            next_states: None,
            actions,
            rewards,
            others: Vec::new(),
            terminated: Some(at_end(terminated)),
            truncated: Some(at_end(!terminated)),
            episode: Some(vec![Key::Number(piece as i64); count]),
            step: None,
            source: None,
            log_probs: None,
        })
    }
}
