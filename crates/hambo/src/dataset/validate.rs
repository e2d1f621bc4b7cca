//! The checks behind [`Dataset`](super::Dataset): one pass over the rows, no copies.

use std::collections::HashMap;

use super::{
    Column, ColumnNames, DatasetError, DatasetNote, Episode, EpisodeSpan, FlatColumns, Quantity,
};

/// A next state may differ from the following state by rounding (text formats, float64 to float32),
/// by no more: at most `1e-5` of the value, or `1e-6` near zero.
const SAME_STATE_RELATIVE: f32 = 1e-5;
const SAME_STATE_ABSOLUTE: f32 = 1e-6;

pub(super) struct Checked {
    pub episodes: Vec<EpisodeSpan>,
    pub notes: Vec<DatasetNote>,
}

/// Lays episodes out one after the other, after checking that their shapes agree.
pub(super) fn flatten(episodes: &[Episode]) -> Result<FlatColumns, DatasetError> {
    let first = episodes.first().ok_or(DatasetError::Empty)?;
    let (state_dim, action_dim) = (first.states.ncols(), first.actions.ncols());
    let (mut states, mut actions, mut rewards, mut next_states) = (vec![], vec![], vec![], vec![]);
    let (mut terminated, mut truncated, mut episode_ends) = (vec![], vec![], vec![]);
    for (index, episode) in episodes.iter().enumerate() {
        check_shapes(index, episode, state_dim, action_dim)?;
        states.extend(&episode.states);
        actions.extend(&episode.actions);
        rewards.extend(&episode.rewards);
        next_states.extend(&episode.next_states);
        let steps = episode.rewards.len();
        terminated.extend((1..=steps).map(|step| episode.terminated && step == steps));
        truncated.extend((1..=steps).map(|step| episode.truncated && step == steps));
        episode_ends.push(rewards.len());
    }
    Ok(FlatColumns {
        state_dim,
        action_dim,
        states: states.into(),
        actions: actions.into(),
        rewards: rewards.into(),
        next_states: next_states.into(),
        terminated,
        truncated,
        episode_ends,
        gaps: Vec::new(),
    })
}

fn check_shapes(
    index: usize,
    episode: &Episode,
    state_dim: usize,
    action_dim: usize,
) -> Result<(), DatasetError> {
    let widths = [
        (Quantity::State, state_dim, episode.states.ncols()),
        (Quantity::Action, action_dim, episode.actions.ncols()),
        (Quantity::NextState, state_dim, episode.next_states.ncols()),
    ];
    for (quantity, expected, found) in widths {
        if found != expected {
            return Err(DatasetError::Width { episode: index, quantity, expected, found });
        }
    }
    let expected = episode.states.nrows();
    let rows = [
        (Quantity::Action, episode.actions.nrows()),
        (Quantity::Reward, episode.rewards.len()),
        (Quantity::NextState, episode.next_states.nrows()),
    ];
    for (quantity, found) in rows {
        if found != expected {
            return Err(DatasetError::Rows { episode: index, quantity, expected, found });
        }
    }
    Ok(())
}

/// Everything that must hold of flat columns.
pub(super) fn check(
    columns: &FlatColumns,
    names: Option<&ColumnNames>,
) -> Result<Checked, DatasetError> {
    check_lengths(columns)?;
    if let Some(names) = names {
        check_names(names, columns.state_dim, columns.action_dim)?;
    }
    let episodes = spans(columns)?;
    let blocks = Blocks::new(columns, names);
    for (index, span) in episodes.iter().enumerate() {
        let mut before = None;
        for row in span.rows.clone() {
            let step = row - span.rows.start;
            let transition = blocks.transition(row);
            if span.gaps.binary_search(&row).is_ok() {
                before = None;
            }
            check_transition((index, step), &transition, before, names)?;
            if row + 1 < span.rows.end {
                check_goes_on(columns, index, step, row, span.rows.end)?;
            }
            before = Some(transition.next_state);
        }
    }
    let notes = blocks.notes();
    Ok(Checked { episodes, notes })
}

fn check_lengths(columns: &FlatColumns) -> Result<(), DatasetError> {
    let rows = columns.rewards.len();
    if rows == 0 && columns.episode_ends.is_empty() {
        return Err(DatasetError::Empty);
    }
    let blocks = [
        (Quantity::State, columns.state_dim, columns.states.len()),
        (Quantity::Action, columns.action_dim, columns.actions.len()),
        (Quantity::NextState, columns.state_dim, columns.next_states.len()),
    ];
    for (quantity, width, found) in blocks {
        if width == 0 {
            return Err(DatasetError::NoColumns { quantity });
        }
        // A width beyond any real array saturates instead of wrapping to a length that fits.
        let expected = rows.saturating_mul(width);
        if found != expected {
            return Err(DatasetError::Length { quantity, rows, width, expected, found });
        }
    }
    for (flag, found) in
        [("terminated", columns.terminated.len()), ("truncated", columns.truncated.len())]
    {
        if found != rows {
            return Err(DatasetError::FlagRows { flag, expected: rows, found });
        }
    }
    Ok(())
}

fn spans(columns: &FlatColumns) -> Result<Vec<EpisodeSpan>, DatasetError> {
    let rows = columns.rewards.len();
    if let Some(&row) = columns.gaps.iter().find(|&&row| row >= rows) {
        return Err(DatasetError::Gap { row, rows });
    }
    let mut spans = Vec::with_capacity(columns.episode_ends.len());
    let mut gaps = columns.gaps.clone();
    gaps.sort_unstable();
    gaps.dedup();
    let mut previous = 0;
    for (episode, &end) in columns.episode_ends.iter().enumerate() {
        if end > rows {
            return Err(DatasetError::BoundaryPastEnd { episode, end, rows });
        }
        if end < previous {
            return Err(DatasetError::BoundaryOrder { episode, end, previous });
        }
        if end == previous {
            return Err(DatasetError::EmptyEpisode { episode });
        }
        spans.push(EpisodeSpan {
            rows: previous..end,
            terminated: columns.terminated[end - 1],
            truncated: columns.truncated[end - 1],
            gaps: gaps[gaps.partition_point(|&row| row < previous)
                ..gaps.partition_point(|&row| row < end)]
                .to_vec(),
        });
        previous = end;
    }
    if previous != rows {
        return Err(DatasetError::BoundaryShort { end: previous, rows });
    }
    Ok(spans)
}

fn check_goes_on(
    columns: &FlatColumns,
    episode: usize,
    step: usize,
    row: usize,
    end: usize,
) -> Result<(), DatasetError> {
    let flags = [("terminated", columns.terminated[row]), ("truncated", columns.truncated[row])];
    match flags.iter().find(|(_, set)| *set) {
        Some((flag, _)) => {
            Err(DatasetError::EndsEarly { episode, step, flag, remaining: end - row - 1 })
        }
        None => Ok(()),
    }
}

pub(super) fn check_names(
    names: &ColumnNames,
    state_dim: usize,
    action_dim: usize,
) -> Result<(), DatasetError> {
    let counts = [
        (Quantity::State, state_dim, names.states.len()),
        (Quantity::Action, action_dim, names.actions.len()),
    ];
    for (quantity, expected, found) in counts {
        if expected != found {
            return Err(DatasetError::NameCount { quantity, expected, found });
        }
    }
    let mut seen = std::collections::HashSet::new();
    match names.states.iter().chain(&names.actions).find(|&name| !seen.insert(name)) {
        Some(name) => Err(DatasetError::NameTwice { name: name.clone() }),
        None => Ok(()),
    }
}

/// One transition.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a> {
    /// `[d_s]`
    pub state: &'a [f32],
    /// `[d_a]`
    pub action: &'a [f32],
    /// The reward of the step.
    pub reward: f32,
    /// `[d_s]`
    pub next_state: &'a [f32],
    /// The logarithm of how probable the action was for whoever chose it; NaN if nobody knows.
    pub log_prob: f64,
}

/// What must hold of a transition, the `at.1`-th of episode `at.0`: it is finite, and starts where the
/// one `before` it in the episode has led.
pub fn check_transition(
    at: (usize, usize),
    transition: &Transition<'_>,
    before: Option<&[f32]>,
    names: Option<&ColumnNames>,
) -> Result<(), DatasetError> {
    let (episode, step) = at;
    let column = |quantity: Quantity, index: usize| {
        let name = names.and_then(|names| name_of(names, quantity, index));
        Column { quantity, index, name }
    };
    let &Transition { state, action, reward, next_state, .. } = transition;
    let blocks = [
        (Quantity::State, state),
        (Quantity::Action, action),
        (Quantity::Reward, &[reward][..]),
        (Quantity::NextState, next_state),
    ];
    for (quantity, values) in blocks {
        let bad = values.iter().enumerate().find(|(_, value)| !value.is_finite());
        if let Some((index, &value)) = bad {
            let column = column(quantity, index);
            return Err(DatasetError::NotFinite { episode, step, column, value });
        }
    }
    for (index, (&next_state, &state)) in before.unwrap_or(&[]).iter().zip(state).enumerate() {
        let tolerance = SAME_STATE_ABSOLUTE + SAME_STATE_RELATIVE * state.abs();
        if (next_state - state).abs() > tolerance {
            let (step, column) = (step - 1, column(Quantity::State, index));
            return Err(DatasetError::Teleport { episode, step, column, next_state, state });
        }
    }
    Ok(())
}

/// The four column blocks, each with its quantity and width.
struct Blocks<'a> {
    blocks: [Block<'a>; 4],
    names: Option<&'a ColumnNames>,
}

struct Block<'a> {
    quantity: Quantity,
    width: usize,
    values: &'a [f32],
}

/// What one pass over the rows tells about a column.
#[derive(Clone)]
struct Profile {
    first: f32,
    constant: bool,
    /// Equal columns have equal hashes; unequal ones collide once in 2^64.
    hash: u64,
}

impl<'a> Block<'a> {
    fn profiles(&self) -> Vec<Profile> {
        let mut profiles: Vec<Profile> =
            self.row(0).iter().map(|&first| Profile { first, constant: true, hash: 0 }).collect();
        for row in self.values.chunks_exact(self.width) {
            for (profile, value) in profiles.iter_mut().zip(row) {
                profile.constant &= *value == profile.first;
                profile.hash = (profile.hash.rotate_left(5) ^ u64::from(value.to_bits()))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        profiles
    }

    fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
}

impl<'a> Blocks<'a> {
    fn new(columns: &'a FlatColumns, names: Option<&'a ColumnNames>) -> Self {
        let block = |quantity, width, values| Block { quantity, width, values };
        let blocks = [
            block(Quantity::State, columns.state_dim, &columns.states),
            block(Quantity::Action, columns.action_dim, &columns.actions),
            block(Quantity::Reward, 1, &columns.rewards),
            block(Quantity::NextState, columns.state_dim, &columns.next_states),
        ];
        Self { blocks, names }
    }

    fn column(&self, quantity: Quantity, index: usize) -> Column {
        let name = self.names.and_then(|names| name_of(names, quantity, index));
        Column { quantity, index, name }
    }

    fn transition(&self, row: usize) -> Transition<'a> {
        let [states, actions, rewards, next_states] = &self.blocks;
        Transition {
            state: states.row(row),
            action: actions.row(row),
            reward: rewards.row(row)[0],
            next_state: next_states.row(row),
            log_prob: f64::NAN,
        }
    }

    /// Constant and duplicate columns among states and actions.
    fn notes(&self) -> Vec<DatasetNote> {
        let mut notes = Vec::new();
        let mut seen: HashMap<u64, Column> = HashMap::new();
        for block in &self.blocks[..2] {
            for (index, profile) in block.profiles().into_iter().enumerate() {
                let column = self.column(block.quantity, index);
                if profile.constant {
                    let value = profile.first;
                    notes.push(DatasetNote::ConstantColumn { column, value });
                } else if let Some(first) = seen.get(&profile.hash) {
                    let first = first.clone();
                    notes.push(DatasetNote::DuplicateColumns { first, second: column });
                } else {
                    seen.insert(profile.hash, column);
                }
            }
        }
        notes
    }
}

/// Gives the columns of a note the names declared later.
pub(super) fn rename(note: &mut DatasetNote, names: &ColumnNames) {
    let columns = match note {
        DatasetNote::ConstantColumn { column, .. } => vec![column],
        DatasetNote::DuplicateColumns { first, second } => vec![first, second],
    };
    for column in columns {
        column.name = name_of(names, column.quantity, column.index);
    }
}

fn name_of(names: &ColumnNames, quantity: Quantity, index: usize) -> Option<String> {
    let list = match quantity {
        Quantity::State | Quantity::NextState => &names.states,
        Quantity::Action => &names.actions,
        Quantity::Reward => return None,
    };
    list.get(index).cloned()
}
