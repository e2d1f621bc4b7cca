//! Which column of a file holds what.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use super::choices::DiscreteActions;
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
    /// Columns of the state that no action influences, such as weather, prices, the clock, or which building it
    /// is. They are never predicted: episodes go through them as logged ones did. They count as columns of the
    /// state, whether `state` names them or not. Text becomes one column per word, such as `building=A`.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub exogenous: Vec<String>,
    /// Columns of the action; one column of choices if `discrete_actions` is given.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub action: Vec<String>,
    /// The reward of the step: a column, or a formula over the columns, such as `-cost_eur` or
    /// `-(next_temperature - 20)^2`.
    pub reward: Option<String>,
    /// The reward where the log has no column of it: a formula.
    #[serde(skip)]
    pub reward_otherwise: Option<String>,
    /// Without next states they are taken from the following row of the same episode.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub next_state: Vec<String>,
    /// The transition led into a state from which no reward follows.
    pub terminated: Option<String>,
    /// The episode was cut off, by a time limit for instance.
    pub truncated: Option<String>,
    /// Names the episode that the row belongs to: one column, or several, such as a building and a day.
    #[serde(deserialize_with = "one_or_several")]
    #[cfg_attr(feature = "schema", schemars(with = "OneOrSeveral"))]
    pub episode: Vec<String>,
    /// Number of the step within its episode, or the time at which it was logged.
    pub step: Option<String>,
    /// Cuts a log that goes on and on into episodes: at every full hour, at midnight, or at the beginning of every
    /// Monday. Needs times as `step`.
    pub cut: Option<Cut>,
    /// What happens at values that are missing, and where steps are: `split` goes on after them as after a gap,
    /// `refuse` stops.
    pub missing: Missing,
    /// Where the row's episode came from, such as a policy, a machine, a week or a patient. An
    /// evaluation is then compared with each source, up to five one by one, more in three groups.
    pub source: Option<String>,
    /// How probable the logged action was for whoever chose it, or its density: for estimators that weigh logged
    /// episodes. No bound depends on it.
    pub probability: Option<String>,
    /// The same as a logarithm.
    pub log_probability: Option<String>,
    /// The action is the number of a choice, from 0 to one less than this, and is one-hot encoded. If it has several
    /// columns, a list of such numbers, with 0 for columns that are no choices.
    pub discrete_actions: Option<DiscreteActions>,
}

/// Where a log that goes on and on is cut into episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// At every full hour.
    Hour,
    /// At midnight.
    Day,
    /// At the beginning of every Monday.
    Week,
}

impl Cut {
    /// Milliseconds from one cut to the next.
    pub(crate) fn period(self) -> i64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
            Self::Week => 7 * 86_400_000,
        }
    }

    /// How long after the last cut a moment is, in milliseconds.
    pub(crate) fn since(self, moment: i64) -> i64 {
        // The first of January 1970 was a Thursday.
        let origin = if self == Self::Week { 4 * 86_400_000 } else { 0 };
        (moment - origin).rem_euclid(self.period())
    }
}

/// What happens at values that are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The log goes on after them as after a gap.
    #[default]
    Split,
    /// The first one is an error.
    Refuse,
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
    Exogenous,
    Action,
    Reward,
    NextState,
    Terminated,
    Truncated,
    Episode,
    Step,
    Source,
    Probability,
    LogProbability,
}

impl Role {
    /// Its key in a [`Mapping`].
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Exogenous => "exogenous",
            Self::Action => "action",
            Self::Reward => "reward",
            Self::NextState => "next_state",
            Self::Terminated => "terminated",
            Self::Truncated => "truncated",
            Self::Episode => "episode",
            Self::Step => "step",
            Self::Source => "source",
            Self::Probability => "probability",
            Self::LogProbability => "log_probability",
        }
    }

    /// The names by which Minari, D4RL, RLlib, LeRobot and others call it. Two names are missing on purpose:
    /// `done` and `terminal` mean a true end in some libraries, a time limit in others.
    pub(crate) fn conventions(self) -> &'static [&'static str] {
        match self {
            Self::State => {
                &["observations", "observation", "obs", "states", "state", "observation.state"]
            }
            Self::Action => &["actions", "action"],
            Self::Reward => &["rewards", "reward", "next.reward"],
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
            Self::Episode => &["episode", "episode_id", "episode_ids", "eps_id", "episode_index"],
            Self::Step => &["step", "steps", "t", "timestep", "frame_index"],
            Self::Probability => {
                &["pscore", "action_prob", "behavior_prob", "behaviour_prob", "action_probability"]
            }
            Self::LogProbability => &["action_logp", "log_prob", "action_log_prob", "logp"],
            // Nobody's convention: they have to be named.
            Self::Source | Self::Exogenous => &[],
        }
    }
}

/// Names that do not say which end they mean.
pub(crate) const AMBIGUOUS: [&str; 5] = ["done", "dones", "terminal", "is_terminal", "is_last"];

/// The columns to read, as indices into a file's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// With those that are exogenous, which come last unless they are named as state.
    pub state: Vec<usize>,
    pub exogenous: Vec<usize>,
    pub action: Vec<usize>,
    pub reward: RewardPlan,
    /// Empty when next states must be rebuilt.
    pub next_state: Vec<usize>,
    pub terminated: Option<usize>,
    pub truncated: Option<usize>,
    pub episode: Vec<usize>,
    pub step: Option<usize>,
    pub source: Option<usize>,
    pub probability: Option<ProbabilityPlan>,
    pub discrete_actions: Option<DiscreteActions>,
    pub cut: Option<Cut>,
    pub missing: Missing,
}

/// Where probabilities of logged actions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbabilityPlan {
    pub column: usize,
    pub is_logarithm: bool,
}

/// Where rewards come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewardPlan {
    Column(usize),
    /// A formula, and the columns beside states and actions that it may name.
    Formula {
        text: String,
        others: Vec<usize>,
    },
}

impl Mapping {
    /// Finds every column in a file that has `columns`.
    pub fn resolve(&self, path: &Path, columns: &[ColumnInfo]) -> Result<Plan> {
        let finder = Finder { path, columns };
        let exogenous = finder.optional_block(Role::Exogenous, &self.exogenous)?;
        let mut state = match self.state.is_empty() && !exogenous.is_empty() {
            true => finder.optional_block(Role::State, &self.state)?,
            false => finder.block(Role::State, &self.state)?,
        };
        let named = state.clone();
        state.extend(exogenous.iter().copied().filter(|column| !named.contains(column)));
        let action = finder.block(Role::Action, &self.action)?;
        let plan = Plan {
            reward: finder.reward(self, &state, &action)?,
            state,
            exogenous,
            action,
            next_state: finder.optional_block(Role::NextState, &self.next_state)?,
            terminated: finder.optional(Role::Terminated, self.terminated.as_deref())?,
            truncated: finder.optional(Role::Truncated, self.truncated.as_deref())?,
            episode: finder.several(Role::Episode, &self.episode)?,
            step: finder.step(self.step.as_deref())?,
            cut: self.cut,
            missing: self.missing,
            source: finder.optional(Role::Source, self.source.as_deref())?,
            probability: finder.probability(self)?,
            discrete_actions: self.discrete_actions.clone(),
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

    /// Columns of width one, each by its name, or one that is conventional.
    fn several(&self, role: Role, names: &[String]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok(self.optional(role, None)?.into_iter().collect());
        }
        names
            .iter()
            .map(|name| self.index(name).ok_or_else(|| self.missing(role, &[name])))
            .collect()
    }

    /// A column or, if the text is no column's name and has more than a name in it, a formula.
    fn reward(&self, mapping: &Mapping, state: &[usize], action: &[usize]) -> Result<RewardPlan> {
        let role = Role::Reward;
        let has_none = mapping.reward.is_none() && self.optional(role, None)?.is_none();
        let otherwise = mapping.reward_otherwise.as_deref().filter(|_| has_none);
        let text = mapping.reward.as_deref().or(otherwise);
        let Some(text) = text.filter(|text| self.index(text).is_none() && !is_column_like(text))
        else {
            let found = self.optional(role, text)?;
            let found = found.ok_or_else(|| self.missing(role, role.conventions()))?;
            return Ok(RewardPlan::Column(found));
        };
        let is_other = |index: &usize| {
            let column = &self.columns[*index];
            let is_known = state.contains(index) || action.contains(index);
            let is_number = !matches!(column.kind, Kind::Text | Kind::Time | Kind::Other);
            !is_known && is_number && column.width == 1 && text.contains(&column.name)
        };
        let others = (0..self.columns.len()).filter(is_other).collect();
        Ok(RewardPlan::Formula { text: text.into(), others })
    }

    /// A logarithm before a probability, which may have been rounded to zero.
    fn probability(&self, mapping: &Mapping) -> Result<Option<ProbabilityPlan>> {
        let (plain, logarithm) = (&mapping.probability, &mapping.log_probability);
        let plan = |is_logarithm| move |column| ProbabilityPlan { column, is_logarithm };
        if plain.is_none() || logarithm.is_some() {
            let found = self.optional(Role::LogProbability, logarithm.as_deref())?;
            if let Some(found) = found.map(plan(true)) {
                return Ok(Some(found));
            }
        }
        Ok(self.optional(Role::Probability, plain.as_deref())?.map(plan(false)))
    }

    /// A column that merely looks like a step number, such as a time `t` in seconds, is left alone.
    fn step(&self, name: Option<&str>) -> Result<Option<usize>> {
        let found = self.optional(Role::Step, name)?;
        let counts = |&index: &usize| {
            name.is_some() || matches!(self.columns[index].kind, Kind::Integer | Kind::Time)
        };
        Ok(found.filter(counts))
    }

    fn check(&self, plan: &Plan) -> Result<()> {
        let reward = match plan.reward {
            RewardPlan::Column(column) => Some(column),
            RewardPlan::Formula { .. } => None,
        };
        let singles = [
            (Role::Reward, reward),
            (Role::Terminated, plan.terminated),
            (Role::Truncated, plan.truncated),
            (Role::Step, plan.step),
            (Role::Source, plan.source),
            (Role::Probability, plan.probability.map(|plan| plan.column)),
        ];
        let episode = plan.episode.iter().map(|&column| (Role::Episode, Some(column)));
        for (role, index) in singles.into_iter().chain(episode) {
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
        let choices = plan.discrete_actions.as_ref().map_or(actions, |each| each.sizes().len());
        if choices != actions {
            let name = &self.columns[plan.action[0]].name;
            return Err(self.width(Role::Action, name, choices, actions));
        }
        let is_time = |&column: &usize| self.columns[column].kind == Kind::Time;
        if plan.cut.is_some() && !plan.step.as_ref().is_some_and(is_time) {
            return Err(Error::CutWithoutTimes { path: self.path.to_owned() });
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
            if plan.episode.is_empty() && plan.step.is_none() {
                return Err(Error::NoEpisodes { path: path() });
            }
        }
        Ok(())
    }
}

/// Whether a text can only be a name: a formula is a number, or has an operator in it.
fn is_column_like(text: &str) -> bool {
    let is_operator = |c: char| "+-*/^()<>=".contains(c);
    text.parse::<f64>().is_err() && !text.contains(is_operator)
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
