//! Which column of a file holds what.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use super::table::{ColumnInfo, Kind};
use crate::error::{Error, Result};

/// Says which columns hold what. What is left out is found by the names that libraries use.
///
/// A name stands for a column of that name, of any width, or for the columns `name_0`, `name_1`, ….
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Mapping {
    /// Columns of the state.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub state: Vec<String>,
    /// Columns of the action; one column of choices if `discrete_actions` is given.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub action: Vec<String>,
    /// The reward of the step.
    pub reward: Option<String>,
    /// Without next states they are taken from the following row of the same episode.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub next_state: Vec<String>,
    /// The transition led into a state from which no reward follows.
    pub terminated: Option<String>,
    /// The episode was cut off, by a time limit for instance.
    pub truncated: Option<String>,
    /// Names the episode that the row belongs to.
    pub episode: Option<String>,
    /// Number of the step within its episode.
    pub step: Option<String>,
    /// Where the row's episode came from, such as a policy, a machine, a week or a patient. An
    /// evaluation is then held against each source by itself.
    pub source: Option<String>,
    /// The action is the number of a choice, from 0 to one less than this, and is one-hot encoded.
    pub discrete_actions: Option<usize>,
}

/// A name, or a list of them.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a column's name, or a list of names")]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrSeveral::deserialize(from)? {
        OneOrSeveral::One(name) => vec![name],
        OneOrSeveral::Several(names) => names,
    })
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    State,
    Action,
    Reward,
    NextState,
    Terminated,
    Truncated,
    Episode,
    Step,
    Source,
}

impl Role {
    /// Its key in a [`Mapping`].
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Action => "action",
            Self::Reward => "reward",
            Self::NextState => "next_state",
            Self::Terminated => "terminated",
            Self::Truncated => "truncated",
            Self::Episode => "episode",
            Self::Step => "step",
            Self::Source => "source",
        }
    }

    /// The names by which Minari, D4RL, RLlib and others call it. Two names are missing on purpose:
    /// `done` and `terminal` mean a true end in some libraries, a time limit in others.
    fn conventions(self) -> &'static [&'static str] {
        match self {
            Self::State => &["observations", "observation", "obs", "states", "state"],
            Self::Action => &["actions", "action"],
            Self::Reward => &["rewards", "reward"],
            Self::NextState => &[
                "next_observations",
                "next_observation",
                "next_obs",
                "new_obs",
                "next_states",
                "next_state",
            ],
            Self::Terminated => &["terminations", "terminated", "terminateds", "terminals"],
            Self::Truncated => &["truncations", "truncated", "truncateds", "timeouts"],
            Self::Episode => &["episode", "episode_id", "episode_ids", "eps_id"],
            Self::Step => &["step", "steps", "t", "timestep"],
            // Nobody's convention: it has to be named.
            Self::Source => &[],
        }
    }
}

/// Names that do not say which end they mean.
const AMBIGUOUS: [&str; 5] = ["done", "dones", "terminal", "is_terminal", "is_last"];

/// The columns to read, as indices into a file's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub state: Vec<usize>,
    pub action: Vec<usize>,
    pub reward: usize,
    /// Empty when next states must be rebuilt.
    pub next_state: Vec<usize>,
    pub terminated: Option<usize>,
    pub truncated: Option<usize>,
    pub episode: Option<usize>,
    pub step: Option<usize>,
    pub source: Option<usize>,
    pub discrete_actions: Option<usize>,
}

impl Mapping {
    /// Finds every column in a file that has `columns`.
    pub fn resolve(&self, path: &Path, columns: &[ColumnInfo]) -> Result<Plan> {
        let finder = Finder { path, columns };
        let plan = Plan {
            state: finder.block(Role::State, &self.state)?,
            action: finder.block(Role::Action, &self.action)?,
            reward: finder.needed(Role::Reward, self.reward.as_deref())?,
            next_state: finder.optional_block(Role::NextState, &self.next_state)?,
            terminated: finder.optional(Role::Terminated, self.terminated.as_deref())?,
            truncated: finder.optional(Role::Truncated, self.truncated.as_deref())?,
            episode: finder.optional(Role::Episode, self.episode.as_deref())?,
            step: finder.step(self.step.as_deref())?,
            source: finder.optional(Role::Source, self.source.as_deref())?,
            discrete_actions: self.discrete_actions,
        };
        finder.check(&plan)?;
        Ok(plan)
    }
}

/// Most values of one column in a row. Every value gets a name, so a file must not claim any number.
const MAX_WIDTH: usize = 1 << 16;

struct Finder<'a> {
    path: &'a Path,
    columns: &'a [ColumnInfo],
}

impl Finder<'_> {
    fn index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The column called `name`, or the columns `name_0`, `name_1`, ….
    fn named(&self, name: &str) -> Vec<usize> {
        match self.index(name) {
            Some(index) => vec![index],
            None => (0..).map_while(|i| self.index(&format!("{name}_{i}"))).collect(),
        }
    }

    fn missing(&self, role: Role, names: &[impl AsRef<str>]) -> Error {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let found: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        Error::MissingColumn {
            path: self.path.to_owned(),
            role: role.key(),
            similar: similar(&names, &found).map(String::from),
            looked_for: names.join("`, `"),
            found: shortened(&found),
        }
    }

    fn block(&self, role: Role, names: &[String]) -> Result<Vec<usize>> {
        let found = self.optional_block(role, names)?;
        match found.is_empty() {
            true => Err(self.missing(role, role.conventions())),
            false => Ok(found),
        }
    }

    fn optional_block(&self, role: Role, names: &[String]) -> Result<Vec<usize>> {
        if names.is_empty() {
            let mut candidates = role.conventions().iter().map(|name| self.named(name));
            return Ok(candidates.find(|found| !found.is_empty()).unwrap_or_default());
        }
        let mut indices = Vec::new();
        for name in names {
            let found = self.named(name);
            if found.is_empty() {
                return Err(self.missing(role, &[name]));
            }
            indices.extend(found);
        }
        Ok(indices)
    }

    fn optional(&self, role: Role, name: Option<&str>) -> Result<Option<usize>> {
        match name {
            Some(name) => self.index(name).map(Some).ok_or_else(|| self.missing(role, &[name])),
            None => Ok(role.conventions().iter().find_map(|name| self.index(name))),
        }
    }

    fn needed(&self, role: Role, name: Option<&str>) -> Result<usize> {
        let found = self.optional(role, name)?;
        found.ok_or_else(|| self.missing(role, role.conventions()))
    }

    /// A column that merely looks like a step number, such as a time `t` in seconds, is left alone.
    fn step(&self, name: Option<&str>) -> Result<Option<usize>> {
        let found = self.optional(Role::Step, name)?;
        let counts = |&index: &usize| name.is_some() || self.columns[index].kind == Kind::Integer;
        Ok(found.filter(counts))
    }

    fn check(&self, plan: &Plan) -> Result<()> {
        let singles = [
            (Role::Reward, Some(plan.reward)),
            (Role::Terminated, plan.terminated),
            (Role::Truncated, plan.truncated),
            (Role::Episode, plan.episode),
            (Role::Step, plan.step),
            (Role::Source, plan.source),
        ];
        for (role, index) in singles {
            let Some(column) = index.map(|index| &self.columns[index]) else { continue };
            if column.width != 1 {
                let (expected, found) = (1, column.width);
                return Err(self.width(role, &column.name, expected, found));
            }
        }
        let width = |indices: &[usize]| indices.iter().map(|&i| self.columns[i].width).sum();
        let (states, next): (usize, usize) = (width(&plan.state), width(&plan.next_state));
        for &index in plan.state.iter().chain(&plan.action).chain(&plan.next_state) {
            let column = &self.columns[index];
            if column.width > MAX_WIDTH {
                return Err(Error::Unreadable {
                    path: self.path.to_owned(),
                    place: format!("column `{}`", column.name),
                    message: format!("a row of it has {} values", column.width),
                    advice: "the file is damaged, or holds images, which are not read here",
                });
            }
        }
        if !plan.next_state.is_empty() && states != next {
            let name = &self.columns[plan.next_state[0]].name;
            return Err(self.width(Role::NextState, name, states, next));
        }
        let actions = width(&plan.action);
        if plan.discrete_actions.is_some() && actions != 1 {
            let name = &self.columns[plan.action[0]].name;
            return Err(self.width(Role::Action, name, 1, actions));
        }
        self.check_ends(plan)
    }

    fn width(&self, role: Role, column: &str, expected: usize, found: usize) -> Error {
        Error::ColumnWidth {
            path: self.path.to_owned(),
            role: role.key(),
            column: column.into(),
            expected,
            found,
        }
    }

    /// Something must say where episodes end, and what it means.
    fn check_ends(&self, plan: &Plan) -> Result<()> {
        let path = || self.path.to_owned();
        if plan.terminated.is_none() && plan.truncated.is_none() {
            let doubtful = AMBIGUOUS.iter().find(|&name| self.index(name).is_some());
            if let Some(&column) = doubtful {
                return Err(Error::AmbiguousEnd { path: path(), column });
            }
            if plan.episode.is_none() && plan.step.is_none() {
                return Err(Error::NoEpisodes { path: path() });
            }
        }
        Ok(())
    }
}

/// The name among those found that is most like one that was looked for, if it is much like it.
fn similar<'a>(looked_for: &[&str], found: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.8;
    let likeness = |name: &str| {
        let to = looked_for.iter().map(|wanted| strsim::jaro_winkler(wanted, name));
        to.fold(0.0, f64::max)
    };
    let best = found.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) > ALIKE).then_some(best)
}

/// At most a dozen names, for a message.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0 => "no columns".into(),
        1..=SHOWN => format!("`{}`", names.join("`, `")),
        more => format!("`{}` and {} more", names[..SHOWN].join("`, `"), more - SHOWN),
    }
}
