//! Rows of transitions, as they stand in a file, before they are known to be episodes.

use std::collections::HashMap;
use std::path::Path;

use hambo::Transitions;
use hambo::dataset::ColumnNames;
use hambo::task::Reward;
use ndarray::ArrayView2;

use super::choices::DiscreteActions;
use super::lerobot::PartNames;
use super::mapping::{Cut, Missing, Plan, RewardPlan};
use super::table::{ColumnInfo, Key, Kind, Place, Table, Values, side_by_side};
use super::words::Words;
use crate::error::{Error, Result};
use crate::expression::Expression;

/// Some consecutive rows. Blocks are row-major.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    pub count: usize,
    pub states: Vec<f32>,
    pub actions: Vec<f32>,
    pub rewards: Vec<f32>,
    /// What a formula of the reward needs beside states and actions.
    pub others: Vec<f32>,
    pub next_states: Option<Vec<f32>>,
    pub terminated: Option<Vec<bool>>,
    pub truncated: Option<Vec<bool>>,
    pub episode: Option<Vec<Key>>,
    pub step: Option<Vec<i64>>,
    pub source: Option<Vec<Key>>,
    /// Logarithms; NaN where nobody knows.
    pub log_probs: Option<Vec<f64>>,
}

impl Rows {
    /// More rows of the same columns.
    pub(crate) fn append(&mut self, more: Self) {
        fn join<T>(all: &mut Option<Vec<T>>, more: Option<Vec<T>>) {
            match (all.as_mut(), more) {
                (Some(all), Some(more)) => all.extend(more),
                (_, more) => *all = more,
            }
        }
        if self.count == 0 {
            *self = more;
            return;
        }
        self.count += more.count;
        self.states.extend(more.states);
        self.actions.extend(more.actions);
        self.rewards.extend(more.rewards);
        self.others.extend(more.others);
        join(&mut self.next_states, more.next_states);
        join(&mut self.terminated, more.terminated);
        join(&mut self.truncated, more.truncated);
        join(&mut self.episode, more.episode);
        join(&mut self.step, more.step);
        join(&mut self.source, more.source);
        join(&mut self.log_probs, more.log_probs);
    }

    /// Episode by episode, as each appears for the first time, and in each of them step by step; and where each row
    /// was before.
    pub(crate) fn sorted(
        self,
        state_dim: usize,
        action_dim: usize,
        others: usize,
    ) -> (Self, Vec<usize>) {
        let mut appeared = HashMap::new();
        let mut rank = |row: usize| {
            let count = appeared.len();
            let key = self.episode.as_ref().map(|keys| &keys[row]);
            let number = *appeared.entry(key).or_insert(count);
            (number, self.step.as_ref().map(|steps| steps[row]))
        };
        let ranks: Vec<_> = (0..self.count).map(&mut rank).collect();
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by_key(|&row| ranks[row]);
        fn pick<T: Clone>(values: &[T], order: &[usize], width: usize) -> Vec<T> {
            let row = |&row: &usize| values[row * width..(row + 1) * width].to_vec();
            order.iter().flat_map(row).collect()
        }
        fn each<T: Clone>(values: &Option<Vec<T>>, order: &[usize]) -> Option<Vec<T>> {
            values.as_ref().map(|values| pick(values, order, 1))
        }
        let sorted = Self {
            count: self.count,
            states: pick(&self.states, &order, state_dim),
            actions: pick(&self.actions, &order, action_dim),
            rewards: pick(&self.rewards, &order, 1),
            others: pick(&self.others, &order, others),
            next_states: self.next_states.as_ref().map(|next| pick(next, &order, state_dim)),
            terminated: each(&self.terminated, &order),
            truncated: each(&self.truncated, &order),
            episode: each(&self.episode, &order),
            step: each(&self.step, &order),
            source: each(&self.source, &order),
            log_probs: each(&self.log_probs, &order),
        };
        (sorted, order)
    }
}

/// Where rows come from. Pieces can be read in any order and at the same time.
pub(crate) trait Source: Send + Sync {
    fn path(&self) -> &Path;

    fn state_dim(&self) -> usize;

    fn action_dim(&self) -> usize;

    /// Names of the state and action columns, where the file has a name for each.
    fn names(&self) -> (Vec<String>, Vec<String>);

    /// The actions are whole numbers that are not one-hot encoded.
    fn has_integer_actions(&self) -> bool;

    /// The file says which episodes terminated.
    fn knows_terminations(&self) -> bool;

    /// The file says how probable logged actions were.
    fn knows_probabilities(&self) -> bool {
        false
    }

    /// Columns of the state that no action influences.
    fn exogenous(&self) -> Vec<usize> {
        Vec::new()
    }

    /// How rows become episodes.
    fn rules(&self) -> Rules {
        Rules::default()
    }

    fn pieces(&self) -> usize;

    /// The row of the file, or the episode of a Minari dataset, at which a piece starts.
    fn first_row(&self, piece: usize) -> u64;

    fn read(&self, piece: usize) -> Result<Rows>;
}

/// How rows become episodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub missing: Missing,
    pub cut: Option<Cut>,
    /// Steps are times.
    pub times: bool,
    /// The reward, if it is no column.
    pub reward: Option<Formula>,
}

/// A reward over the columns of a row, and of the next one.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    expression: Expression,
    /// Columns beside states and actions.
    pub others: usize,
}

impl Formula {
    /// NaN where it has no value.
    pub(crate) fn reward(
        &self,
        state: &[f32],
        action: &[f32],
        others: &[f32],
        next: &[f32],
    ) -> Result<f32> {
        let seen: Vec<f32> = action.iter().chain(others).copied().collect();
        let row = |values| ArrayView2::from_shape((1, <[f32]>::len(values)), values);
        let parts = (row(state), row(&seen), row(next));
        let (Ok(states), Ok(actions), Ok(next_states)) = parts else { return Ok(f32::NAN) };
        let rewards = self.expression.reward(&Transitions { states, actions, next_states });
        rewards
            .map(|rewards| rewards[0])
            .map_err(|error| Error::Formula { message: error.to_string() })
    }
}

/// A table whose columns are known.
pub(crate) struct MappedTable {
    table: Box<dyn Table>,
    plan: Plan,
    words: Words,
    parts: PartNames,
    formula: Option<Formula>,
}

impl MappedTable {
    /// `words` are those of columns of text in the state, `parts` the names of what columns have several of.
    pub(crate) fn new(
        table: Box<dyn Table>,
        plan: Plan,
        words: Words,
        parts: PartNames,
    ) -> Result<Self> {
        let mut mapped = Self { table, plan, words, parts, formula: None };
        if let RewardPlan::Formula { text, others } = &mapped.plan.reward {
            let (states, mut actions) = mapped.names();
            actions.extend(others.iter().map(|&index| mapped.column(index).name.clone()));
            let expression = Expression::parse(text, &ColumnNames { states, actions });
            let expression =
                expression.map_err(|error| Error::Formula { message: error.to_string() })?;
            mapped.formula = Some(Formula { expression, others: others.len() });
        }
        Ok(mapped)
    }

    fn column(&self, index: usize) -> &ColumnInfo {
        &self.table.columns()[index]
    }

    /// How many columns it becomes.
    fn width_of(&self, index: usize) -> usize {
        let column = self.column(index);
        self.words.of(column).map_or(column.width, <[String]>::len)
    }

    fn width(&self, columns: &[usize]) -> usize {
        columns.iter().map(|&index| self.width_of(index)).sum()
    }

    fn name(&self, columns: &[usize], default: &str) -> Vec<String> {
        let names = |&index: &usize| {
            let column = self.column(index);
            match (self.words.of(column), self.parts.get(&column.name)) {
                (Some(words), _) => {
                    Some(words.iter().map(|word| format!("{}={word}", column.name)).collect())
                }
                (None, Some(parts)) if parts.len() == column.width => Some(parts.clone()),
                _ => (column.width == 1).then(|| vec![column.name.clone()]),
            }
        };
        let named: Option<Vec<Vec<String>>> = columns.iter().map(names).collect();
        let numbered = || (0..self.width(columns)).map(|index| format!("{default}_{index}"));
        named.map_or_else(|| numbered().collect(), |names| names.concat())
    }
}

impl Source for MappedTable {
    fn path(&self) -> &Path {
        self.table.path()
    }

    fn state_dim(&self) -> usize {
        self.width(&self.plan.state)
    }

    fn action_dim(&self) -> usize {
        let choices = self.plan.discrete_actions.as_ref();
        choices.map_or_else(|| self.width(&self.plan.action), DiscreteActions::encoded_width)
    }

    fn names(&self) -> (Vec<String>, Vec<String>) {
        let states = self.name(&self.plan.state, "state");
        let logged = self.name(&self.plan.action, "action");
        let actions = match &self.plan.discrete_actions {
            Some(choices) => choices.names(&logged),
            None => logged,
        };
        (states, actions)
    }

    fn has_integer_actions(&self) -> bool {
        use super::table::Kind::Integer;
        let whole = |&index: &usize| self.table.columns()[index].kind == Integer;
        self.plan.discrete_actions.is_none() && self.plan.action.iter().all(whole)
    }

    fn knows_terminations(&self) -> bool {
        self.plan.terminated.is_some()
    }

    fn knows_probabilities(&self) -> bool {
        self.plan.probability.is_some()
    }

    fn exogenous(&self) -> Vec<usize> {
        let mut first = 0;
        let mut found = Vec::new();
        for &column in &self.plan.state {
            let width = self.width_of(column);
            if self.plan.exogenous.contains(&column) {
                found.extend(first..first + width);
            }
            first += width;
        }
        found
    }

    fn rules(&self) -> Rules {
        let Plan { missing, cut, step, .. } = self.plan;
        let times = step.is_some_and(|index| self.column(index).kind == Kind::Time);
        Rules { missing, cut, times, reward: self.formula.clone() }
    }

    fn pieces(&self) -> usize {
        self.table.pieces()
    }

    fn first_row(&self, piece: usize) -> u64 {
        self.table.first_row(piece)
    }

    fn read(&self, piece: usize) -> Result<Rows> {
        let plan = &self.plan;
        let probability = plan.probability.map(|plan| plan.column);
        let singles = [plan.terminated, plan.truncated, plan.step, plan.source, probability];
        let reward: &[usize] = match &plan.reward {
            RewardPlan::Column(column) => std::slice::from_ref(column),
            RewardPlan::Formula { others, .. } => others,
        };
        let mut wanted: Vec<usize> = plan.state.clone();
        wanted.extend(&plan.action);
        wanted.extend(reward);
        wanted.extend(&plan.next_state);
        wanted.extend(singles.iter().flatten());
        wanted.extend(&plan.episode);

        let mut values = self.table.read(piece, &wanted)?.into_iter();
        let (path, first_row) = (self.table.path(), self.table.first_row(piece));
        let place = |index: usize| Place { path, first_row, column: &self.table.columns()[index] };
        let mut next = || values.next().expect("one block of values for each column");

        let states: Vec<_> = plan.state.iter().map(|&index| (place(index), next())).collect();
        let actions: Vec<_> = plan.action.iter().map(|&index| (place(index), next())).collect();
        let rewards: Vec<_> = reward.iter().map(|&index| (place(index), next())).collect();
        let rows_of =
            |(place, values): &(Place<'_>, Values)| values.len() / place.column.width.max(1);
        let count = rewards.first().or(actions.first()).map_or(0, rows_of);
        let next_states: Vec<_> =
            plan.next_state.iter().map(|&index| (place(index), next())).collect();
        let mut single = |index: Option<usize>| index.map(|index| (place(index), next()));
        let (terminated, truncated) = (single(plan.terminated), single(plan.truncated));
        let (step, source) = (single(plan.step), single(plan.source));
        let probability = single(probability);
        let episode: Vec<_> = plan.episode.iter().map(|&index| (place(index), next())).collect();
        let numbers = states.iter().chain(&actions).chain(&next_states).chain(&rewards);
        for (place, values) in numbers.chain(&episode) {
            check_count(place, values, count)?;
        }
        let marks = [&terminated, &truncated, &step, &source, &probability];
        for (place, values) in marks.into_iter().flatten() {
            check_count(place, values, count)?;
        }

        let (rewards, others) = match &plan.reward {
            RewardPlan::Column(_) => (interleave(rewards, count)?, Vec::new()),
            RewardPlan::Formula { .. } => (vec![0.0; count], interleave(rewards, count)?),
        };
        let in_words = |(place, values): (Place<'_>, Values)| match self.words.of(place.column) {
            Some(words) => Ok((words.len(), self.words.one_hot(place, values)?)),
            None => Ok((place.column.width, values.into_numbers(place)?)),
        };
        let states = states.into_iter().map(in_words).collect::<Result<Vec<_>>>()?;
        Ok(Rows {
            count,
            states: side_by_side(states, count),
            actions: match &plan.discrete_actions {
                Some(choices) => choices.encode(actions)?,
                None => interleave(actions, count)?,
            },
            rewards,
            others,
            next_states: match next_states.is_empty() {
                true => None,
                false => Some(interleave(next_states, count)?),
            },
            terminated: terminated.map(|(place, values)| values.into_flags(place)).transpose()?,
            truncated: truncated.map(|(place, values)| values.into_flags(place)).transpose()?,
            episode: joined(episode)?,
            step: step.map(|(place, values)| values.into_integers(place)).transpose()?,
            source: source.map(|(place, values)| values.into_keys(place)).transpose()?,
            log_probs: match (probability, plan.probability) {
                (Some((place, values)), Some(plan)) => {
                    Some(log_probs(values.into_exact(place)?, plan.is_logarithm))
                }
                _ => None,
            },
        })
    }
}

/// Logarithms of probabilities. What was done cannot have been impossible: such a number says nothing.
fn log_probs(values: Vec<f64>, is_logarithm: bool) -> Vec<f64> {
    let log_prob = |value: f64| if is_logarithm { value } else { value.ln() };
    let known = |value: f64| if value.is_finite() { value } else { f64::NAN };
    values.into_iter().map(log_prob).map(known).collect()
}

/// All columns have as many rows as the reward.
fn check_count(place: &Place<'_>, values: &Values, count: usize) -> Result<()> {
    let ColumnInfo { name, width, .. } = place.column;
    let (found, expected) = (values.len(), count.saturating_mul(*width));
    if found == expected {
        return Ok(());
    }
    Err(Error::ColumnRows {
        path: place.path.to_owned(),
        column: name.clone(),
        expected: place.first_row + count as u64,
        found: place.first_row + (found / (*width).max(1)) as u64,
    })
}

/// The names of episodes, of which each may be in several columns.
fn joined(columns: Vec<(Place<'_>, Values)>) -> Result<Option<Vec<Key>>> {
    let mut all: Option<Vec<Key>> = None;
    for (place, values) in columns {
        let more = values.into_keys(place)?;
        all = Some(match all {
            None => more,
            Some(names) => names.into_iter().zip(more).map(|(a, b)| a.with(b)).collect(),
        });
    }
    Ok(all)
}

/// Columns side by side, row by row.
fn interleave(columns: Vec<(Place<'_>, Values)>, count: usize) -> Result<Vec<f32>> {
    let numbers = |(place, values): (Place<'_>, Values)| {
        Ok((place.column.width, values.into_numbers(place)?))
    };
    let columns = columns.into_iter().map(numbers).collect::<Result<Vec<_>>>()?;
    Ok(side_by_side(columns, count))
}
