//! What the columns of a table are probably for.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::columns::{Column, Content, Groups};
use super::remarks::unread_times;

use crate::read::{AMBIGUOUS, Cut, Mapping, Role as Part};

/// Parts of names that tell what a column is for.
const EARNS: [&str; 6] = ["reward", "rewards", "profit", "revenue", "earnings", "score"];
const COSTS: [&str; 8] =
    ["cost", "costs", "penalty", "loss", "losses", "expense", "expenses", "fine"];
const ACTS: [&str; 12] = [
    "action", "actions", "control", "command", "cmd", "order", "dose", "torque", "throttle",
    "brake", "steering", "u",
];
const ACTUATORS: [&str; 10] = [
    "heater",
    "cooler",
    "valve",
    "pump",
    "fan",
    "compressor",
    "motor",
    "charge",
    "discharge",
    "burner",
];
const OUTSIDE: [&str; 21] = [
    "outdoor",
    "outside",
    "ambient",
    "weather",
    "solar",
    "sun",
    "irradiance",
    "wind",
    "rain",
    "price",
    "tariff",
    "hour",
    "minute",
    "weekday",
    "day",
    "month",
    "season",
    "inflow",
    "holiday",
    "forecast",
    "setpoint",
];
const EPISODES: [&str; 5] = ["episode", "episode_id", "episode_ids", "eps_id", "trajectory"];

/// What a column is probably for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Role {
    /// The column.
    pub column: String,
    /// The key of a mapping.
    pub role: &'static str,
    /// Why.
    pub why: String,
}

/// What the columns of a table are probably for.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// As a mapping.
    pub mapping: Mapping,
    /// Column by column, with reasons.
    pub roles: Vec<Role>,
    /// Steps of an episode, where the log is cut.
    pub horizon: Option<usize>,
    /// Columns that are not used.
    pub unused: Vec<String>,
    /// Milliseconds between two rows.
    pub(super) period: Option<i64>,
    /// A column seems to hold times that cannot be read: without them rows may be joined that are apart.
    has_unread_times: bool,
}

pub(super) fn propose(
    columns: &[Column],
    apart: &[usize],
    time: Option<usize>,
    groups: &Groups,
) -> Proposal {
    let has_unread_times = columns.iter().any(|column| unread_times(column).is_some());
    let mut found = Proposal { has_unread_times, ..Proposal::default() };
    let name = |index: usize| columns[index].name.clone();
    let numbers: Vec<usize> =
        (0..columns.len()).filter(|&index| columns[index].numbers().is_some()).collect();
    let mut free = numbers.clone();

    if let Some(column) = time {
        found.add(&name(column), "step", "times");
        found.mapping.step = Some(name(column));
        found.period = period(&columns[column], groups);
    }
    for part in [Part::Step, Part::Terminated, Part::Truncated] {
        let is_called = |&&column: &&usize| part.conventions().contains(&name(column).as_str());
        let Some(&column) = free.iter().find(is_called) else { continue };
        free.retain(|&other| other != column);
        let place = match part {
            Part::Step => &mut found.mapping.step,
            Part::Terminated => &mut found.mapping.terminated,
            _ => &mut found.mapping.truncated,
        };
        if place.is_none() {
            *place = Some(name(column));
            found.add(&name(column), part.key(), "by its name");
        }
    }
    // Nothing of the plant. Readers find them by their names.
    for part in [Part::Probability, Part::LogProbability] {
        free.retain(|&column| !part.conventions().contains(&name(column).as_str()));
    }
    // Ends of which nobody can tell what they mean, and states after the step.
    free.retain(|&column| !AMBIGUOUS.contains(&name(column).as_str()));
    let (after, before): (Vec<usize>, _) =
        free.into_iter().partition(|&column| earlier(columns, column).is_some());
    free = before;
    for &column in apart {
        found.add(&name(column), "episode", "text that tells rows apart");
        found.mapping.episode.push(name(column));
    }
    if let Some(&first) = apart.first() {
        found.add(&name(first), "source", "each is then tested by itself");
        found.mapping.source = Some(name(first));
    }
    let is_name = |index: &usize| {
        let name = columns[*index].name.to_ascii_lowercase();
        EPISODES.contains(&name.as_str()) && !apart.contains(index)
    };
    let is_words = |index: &usize| matches!(columns[*index].values, Content::Words(..));
    let by_words = (0..columns.len()).find(|index| is_name(index) && is_words(index));
    let episode = by_words.or_else(|| free.iter().copied().find(is_name));
    if let Some(column) = episode {
        found.add(&name(column), "episode", "by its name");
        found.mapping.episode.push(name(column));
        free.retain(|&other| other != column);
    } else if let (Some(period), Some(column)) = (found.period, time) {
        found.mapping.cut = cut(&columns[column], groups, period);
        found.horizon = found.mapping.cut.map(|cut| (cut.period() / period) as usize);
    }

    let earns = free.iter().copied().find(|&column| has(&columns[column], &EARNS));
    let costs = free.iter().copied().find(|&column| has(&columns[column], &COSTS));
    if let Some(column) = earns.or(costs) {
        let is_cost = earns.is_none();
        let why = if is_cost { "a cost by its name, so it is negated" } else { "by its name" };
        found.add(&name(column), "reward", why);
        found.mapping.reward =
            Some(if is_cost { format!("-{}", quoted(&name(column))) } else { name(column) });
        free.retain(|&other| other != column);
    }
    let varies = |column: &usize| is_varied(columns[*column].numbers().unwrap_or_default());
    let last_of = |words: &[&str]| {
        free.iter().copied().rfind(|column| has(&columns[*column], words) && varies(column))
    };
    let by_name = last_of(&ACTS).or_else(|| last_of(&ACTUATORS));
    if let Some(column) = by_name.or_else(|| free.iter().copied().rfind(varies)) {
        let why = match by_name {
            Some(_) => "by its name",
            None => "the last column of numbers; name another one if that is wrong",
        };
        found.add(&name(column), "action", why);
        found.mapping.action.push(name(column));
        free.retain(|&other| other != column);
    }
    let days =
        found.mapping.cut.zip(time).map(|(cut, time)| Days::new(&columns[time], groups, cut));
    for column in free {
        let values = columns[column].numbers().unwrap_or_default();
        if !is_varied(values) {
            continue;
        }
        let is_outside = has(&columns[column], &OUTSIDE);
        let why = match &days {
            Some(days) if days.is_clock(values) => {
                Some("the same at the same time of every episode")
            }
            Some(days) if days.is_constant(values) => Some("does not change within an episode"),
            _ if is_outside => Some("by its name: check that no action influences it"),
            _ => None,
        };
        match why {
            Some(why) => {
                found.add(&name(column), "exogenous", why);
                found.mapping.exogenous.push(name(column));
            }
            None => {
                found.add(&name(column), "state", "numbers that are nothing else");
                found.mapping.state.push(name(column));
            }
        }
    }
    let follows = |state: &String| {
        let is_after = |&column: &usize| earlier(columns, column) == Some(state.as_str());
        after.iter().copied().find(is_after)
    };
    let states = found.mapping.state.iter().chain(&found.mapping.exogenous);
    // Without all of them, they are those of the following rows.
    if let Some(next) = states.map(follows).collect::<Option<Vec<usize>>>() {
        for column in next {
            found.add(&name(column), "next_state", "a state after the step, by its name");
            found.mapping.next_state.push(name(column));
        }
    }
    for &column in apart.iter().take(1) {
        found.add(&name(column), "exogenous", "the model may then tell them apart");
        found.mapping.exogenous.push(name(column));
    }
    let is_used = |name: &String| found.roles.iter().any(|role| role.column == *name);
    found.unused = columns.iter().map(|c| c.name.clone()).filter(|name| !is_used(name)).collect();
    found
}

impl Proposal {
    fn add(&mut self, column: &str, role: &'static str, why: &str) {
        self.roles.push(Role { column: column.into(), role, why: why.into() });
    }

    /// Whether it says all that a log needs.
    pub fn is_complete(&self) -> bool {
        let Mapping { state, exogenous, action, reward, episode, step, .. } = &self.mapping;
        let has_ends = !episode.is_empty() || step.is_some();
        let has_state = !state.is_empty() || !exogenous.is_empty();
        let has_action = !action.is_empty();
        !self.has_unread_times && has_state && has_action && reward.is_some() && has_ends
    }
}

/// The name of the column that holds what this one holds a step later, if that is what its name says.
fn earlier(columns: &[Column], column: usize) -> Option<&str> {
    let name = columns[column].name.as_str();
    let stem = name.strip_prefix("next_").or_else(|| name.strip_suffix("_next"))?;
    columns.iter().map(|column| column.name.as_str()).find(|other| *other == stem)
}

/// A name as a formula can hold it.
fn quoted(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("{{{name}}}"),
    }
}

/// Whether one of the parts of a column's name is one of these.
fn has(column: &Column, words: &[&str]) -> bool {
    let name = column.name.to_ascii_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).any(|part| words.contains(&part))
}

fn is_varied(values: &[f64]) -> bool {
    let mut known = values.iter().filter(|value| !value.is_nan());
    let first = known.next();
    known.any(|value| Some(value) != first)
}

/// The time between most rows.
fn period(column: &Column, groups: &Groups) -> Option<i64> {
    let Content::Times(times) = &column.values else { return None };
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for rows in &groups.rows {
        for pair in rows.windows(2) {
            let step = times[pair[1]] - times[pair[0]];
            if step > 0 {
                *counts.entry(step).or_default() += 1;
            }
        }
    }
    counts
        .into_iter()
        .max_by_key(|&(step, count)| (count, std::cmp::Reverse(step)))
        .map(|(step, _)| step)
}

/// The longest part of time of which the log holds at least five.
fn cut(column: &Column, groups: &Groups, period: i64) -> Option<Cut> {
    const ENOUGH: i64 = 5;
    let Content::Times(times) = &column.values else { return None };
    let span = |rows: &Vec<usize>| Some(times[*rows.last()?] - times[*rows.first()?]);
    let longest = groups.rows.iter().filter_map(span).max()?;
    let fits = |cut: &Cut| longest >= ENOUGH * cut.period() && cut.period() >= 2 * period;
    [Cut::Day, Cut::Week, Cut::Hour].into_iter().find(fits)
}

/// Rows by the episode that they would be in, and by their time within it.
struct Days {
    /// Of rows in groups: which episode, and which time.
    of_rows: Vec<(usize, (usize, i64), i64)>,
}

impl Days {
    fn new(column: &Column, groups: &Groups, cut: Cut) -> Self {
        let Content::Times(times) = &column.values else { return Self { of_rows: Vec::new() } };
        let of_group = |(group, rows): (usize, &Vec<usize>)| {
            let of_row = |&row: &usize| {
                let since = cut.since(times[row]);
                (row, (group, times[row] - since), since)
            };
            rows.iter().map(of_row).collect::<Vec<_>>()
        };
        Self { of_rows: groups.rows.iter().enumerate().flat_map(of_group).collect() }
    }

    /// Whether there is one value for each of many keys.
    fn depends_only_on<K: std::hash::Hash + Eq>(
        &self,
        values: &[f64],
        key: impl Fn(&(usize, (usize, i64), i64)) -> K,
    ) -> bool {
        let known = values.iter().copied().filter(|value| !value.is_nan());
        let (low, high) = known.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let room = 1e-3 * (high - low);
        let mut seen: HashMap<K, f64> = HashMap::new();
        for row in &self.of_rows {
            let value = values[row.0];
            if !value.is_nan() && (*seen.entry(key(row)).or_insert(value) - value).abs() > room {
                return false;
            }
        }
        let kept: HashSet<i64> =
            seen.values().map(|value| (value / room.max(1e-300)) as i64).collect();
        kept.len() > 1
    }

    fn is_clock(&self, values: &[f64]) -> bool {
        self.depends_only_on(values, |&(_, _, since)| since)
    }

    fn is_constant(&self, values: &[f64]) -> bool {
        self.depends_only_on(values, |&(_, day, _)| day)
    }
}
