//! Rows of transitions, as they stand in a file, before they are known to be episodes.

use std::path::Path;

use super::mapping::Plan;
use super::table::{ColumnInfo, Key, Place, Table, Values};
use crate::error::{Error, Result};

/// Some consecutive rows. Blocks are row-major.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    pub count: usize,
    pub states: Vec<f32>,
    pub actions: Vec<f32>,
    pub rewards: Vec<f32>,
    pub next_states: Option<Vec<f32>>,
    pub terminated: Option<Vec<bool>>,
    pub truncated: Option<Vec<bool>>,
    pub episode: Option<Vec<Key>>,
    pub step: Option<Vec<i64>>,
    pub source: Option<Vec<Key>>,
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

    fn pieces(&self) -> usize;

    /// The row of the file, or the episode of a Minari dataset, at which a piece starts.
    fn first_row(&self, piece: usize) -> u64;

    fn read(&self, piece: usize) -> Result<Rows>;
}

/// A table whose columns are known.
pub(crate) struct MappedTable {
    table: Box<dyn Table>,
    plan: Plan,
}

impl MappedTable {
    pub(crate) fn new(table: Box<dyn Table>, plan: Plan) -> Self {
        Self { table, plan }
    }

    fn width(&self, columns: &[usize]) -> usize {
        columns.iter().map(|&index| self.table.columns()[index].width).sum()
    }

    fn name(&self, columns: &[usize], default: &str) -> Vec<String> {
        let column = |&index: &usize| &self.table.columns()[index];
        if columns.iter().all(|index| column(index).width == 1) {
            return columns.iter().map(|index| column(index).name.clone()).collect();
        }
        (0..self.width(columns)).map(|index| format!("{default}_{index}")).collect()
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
        self.plan.discrete_actions.unwrap_or_else(|| self.width(&self.plan.action))
    }

    fn names(&self) -> (Vec<String>, Vec<String>) {
        let states = self.name(&self.plan.state, "state");
        let actions = match self.plan.discrete_actions {
            Some(choices) => (0..choices).map(|choice| format!("action_{choice}")).collect(),
            None => self.name(&self.plan.action, "action"),
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

    fn pieces(&self) -> usize {
        self.table.pieces()
    }

    fn first_row(&self, piece: usize) -> u64 {
        self.table.first_row(piece)
    }

    fn read(&self, piece: usize) -> Result<Rows> {
        let plan = &self.plan;
        let singles = [plan.terminated, plan.truncated, plan.episode, plan.step, plan.source];
        let mut wanted: Vec<usize> = plan.state.clone();
        wanted.extend(&plan.action);
        wanted.push(plan.reward);
        wanted.extend(&plan.next_state);
        wanted.extend(singles.iter().flatten());

        let mut values = self.table.read(piece, &wanted)?.into_iter();
        let (path, first_row) = (self.table.path(), self.table.first_row(piece));
        let place = |index: usize| Place { path, first_row, column: &self.table.columns()[index] };
        let mut next = || values.next().expect("one block of values for each column");

        let states: Vec<_> = plan.state.iter().map(|&index| (place(index), next())).collect();
        let actions: Vec<_> = plan.action.iter().map(|&index| (place(index), next())).collect();
        let (reward_place, reward) = (place(plan.reward), next());
        let count = reward.len();
        let next_states: Vec<_> =
            plan.next_state.iter().map(|&index| (place(index), next())).collect();
        let mut single = |index: Option<usize>| index.map(|index| (place(index), next()));
        let (terminated, truncated) = (single(plan.terminated), single(plan.truncated));
        let (episode, step) = (single(plan.episode), single(plan.step));
        let source = single(plan.source);
        for (place, values) in states.iter().chain(&actions).chain(&next_states) {
            check_count(place, values, count)?;
        }
        let marks = [&terminated, &truncated, &episode, &step, &source];
        for (place, values) in marks.into_iter().flatten() {
            check_count(place, values, count)?;
        }

        Ok(Rows {
            count,
            states: interleave(states, count)?,
            actions: match plan.discrete_actions {
                Some(choices) => one_hot(actions, choices)?,
                None => interleave(actions, count)?,
            },
            rewards: reward.into_numbers(reward_place)?,
            next_states: match next_states.is_empty() {
                true => None,
                false => Some(interleave(next_states, count)?),
            },
            terminated: terminated.map(|(place, values)| values.into_flags(place)).transpose()?,
            truncated: truncated.map(|(place, values)| values.into_flags(place)).transpose()?,
            episode: episode.map(|(place, values)| values.into_keys(place)).transpose()?,
            step: step.map(|(place, values)| values.into_integers(place)).transpose()?,
            source: source.map(|(place, values)| values.into_keys(place)).transpose()?,
        })
    }
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

/// Columns side by side, row by row.
fn interleave(columns: Vec<(Place<'_>, Values)>, count: usize) -> Result<Vec<f32>> {
    let total: usize = columns.iter().map(|(place, _)| place.column.width).sum();
    if columns.len() == 1 {
        let (place, values) = columns.into_iter().next().expect("one column");
        return values.into_numbers(place);
    }
    let mut block = vec![0.0; count * total];
    let mut offset = 0;
    for (place, values) in columns {
        let width = place.column.width;
        let numbers = values.into_numbers(place)?;
        for (row, source) in block.chunks_exact_mut(total).zip(numbers.chunks_exact(width)) {
            row[offset..offset + width].copy_from_slice(source);
        }
        offset += width;
    }
    Ok(block)
}

/// Numbers of choices as vectors with a single one.
pub(crate) fn one_hot(columns: Vec<(Place<'_>, Values)>, choices: usize) -> Result<Vec<f32>> {
    let mut block = Vec::new();
    for (place, values) in columns {
        for (index, choice) in values.into_integers(place)?.into_iter().enumerate() {
            let chosen = usize::try_from(choice).ok().filter(|&chosen| chosen < choices);
            let advice = "`discrete_actions` says that choices count from 0 to one less than it";
            let chosen = chosen.ok_or_else(|| place.bad(index, choice, advice))?;
            block.extend((0..choices).map(|other| if other == chosen { 1.0 } else { 0.0 }));
        }
    }
    Ok(block)
}
