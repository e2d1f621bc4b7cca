//! What happened before: for states that leave out something with a memory.
//!
//! A wall that keeps the warmth is in no log, but what the room did in the last steps tells how warm it is. So a state
//! is followed by its last changes and the actions that led to them, the latest first:
//!
//!   s_t | s_t - s_{t-1}, a_{t-1} | s_{t-1} - s_{t-2}, a_{t-2} | ...
//!
//! Changes, and not the earlier states: they are small beside the states, and all that those add to the present one.
//! Before an episode's first step nothing changes, and the usual action is taken.

use ndarray::{Array1, Array2, ArrayView2, Axis, CowArray, Ix2, concatenate, s};
use serde::{Deserialize, Serialize};

use super::{ColumnNames, Dataset};

/// How states are followed by what happened before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Steps that are remembered.
    pub steps: usize,
    /// Columns of the present state.
    pub states: usize,
    /// What is taken for the action before the first.
    pub usual_action: Array1<f32>,
}

impl History {
    /// Of the last `steps` steps in data like this.
    pub(crate) fn of(data: &Dataset, steps: usize) -> Self {
        let usual_action = data.actions().mapv(f64::from).mean_axis(Axis(0));
        let usual_action = usual_action.unwrap_or_default().mapv(|mean| mean as f32);
        Self { steps, states: data.state_dim(), usual_action }
    }

    /// Columns of a step that is remembered.
    fn width(&self) -> usize {
        self.states + self.usual_action.len()
    }

    /// Columns of a state with its history.
    pub fn columns(&self) -> usize {
        self.states + self.steps * self.width()
    }

    /// Whether it belongs to states and actions of these widths: needed after loading.
    pub fn fits(&self, columns: usize, actions: usize) -> bool {
        // Larger numbers might be too large to be multiplied.
        self.states.max(self.steps) <= columns
            && self.usual_action.len() == actions
            && self.usual_action.iter().all(|value| value.is_finite())
            && self.columns() == columns
    }

    /// States `[rows, d_s]` as the first of their episodes. Those that have a history keep it.
    pub(crate) fn begin(&self, states: ArrayView2<'_, f32>) -> Array2<f32> {
        if states.ncols() != self.states {
            return states.to_owned();
        }
        let mut begun = Array2::zeros((states.nrows(), self.columns()));
        begun.slice_mut(s![.., ..self.states]).assign(&states);
        for step in 0..self.steps {
            let from = self.states + step * self.width() + self.states;
            let to = from + self.usual_action.len();
            begun.slice_mut(s![.., from..to]).assign(&self.usual_action);
        }
        begun
    }

    /// What states with a history have become after actions that led to `next` present states.
    pub(crate) fn go_on(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next: ArrayView2<'_, f32>,
    ) -> Array2<f32> {
        let (before, last) = (self.states, self.columns() - self.width());
        let changes = &next - &states.slice(s![.., ..before]);
        // The earliest step is forgotten.
        let kept = states.slice(s![.., before..last.max(before)]);
        concatenate(Axis(1), &[next, changes.view(), actions, kept]).expect("one row per episode")
    }

    /// The data with its history.
    pub(crate) fn remember(&self, data: &Dataset) -> Dataset {
        let rows = data.rows();
        let mut states = Array2::zeros((rows, self.columns()));
        let mut next_states = Array2::zeros((rows, self.columns()));
        for piece in data.episodes.iter().flat_map(|episode| episode.pieces()) {
            let first = row_of(data.states(), piece.start);
            let mut state = self.begin(first.view());
            for row in piece {
                // The log may say it more exactly than the last next state did.
                state.slice_mut(s![0, ..self.states]).assign(&data.states().row(row));
                let (action, next) = (row_of(data.actions(), row), row_of(data.next_states(), row));
                let after = self.go_on(state.view(), action.view(), next.view());
                states.row_mut(row).assign(&state.row(0));
                next_states.row_mut(row).assign(&after.row(0));
                state = after;
            }
        }
        Dataset {
            state_dim: self.columns(),
            states: states.into_raw_vec_and_offset().0.into(),
            next_states: next_states.into_raw_vec_and_offset().0.into(),
            names: Some(self.names(&data.names_or_numbers())),
            // Episodes are what they were.
            marks: data.marks().to_vec().into(),
            history: Some(self.clone()),
            ..data.clone()
        }
    }

    /// Data that already has it.
    pub(crate) fn is_in(&self, data: Dataset) -> Dataset {
        Dataset { history: Some(self.clone()), ..data }
    }

    /// What columns with a history are called.
    pub(crate) fn names(&self, names: &ColumnNames) -> ColumnNames {
        let mut states = names.states.clone();
        for step in 1..=self.steps {
            let ago = match step {
                1 => "1 step before".to_owned(),
                _ => format!("{step} steps before"),
            };
            let changes = names.states.iter().map(|name| format!("change of {name}, {ago}"));
            states.extend(changes);
            states.extend(names.actions.iter().map(|name| format!("{name}, {ago}")));
        }
        ColumnNames { states, actions: names.actions.clone() }
    }
}

/// The first columns.
pub(crate) fn present(states: ArrayView2<'_, f32>, columns: usize) -> CowArray<'_, f32, Ix2> {
    match states.ncols() > columns {
        // Whoever is asked may expect rows without gaps between them.
        true => states.slice(s![.., ..columns]).to_owned().into(),
        false => states.into(),
    }
}

fn row_of(of: ArrayView2<'_, f32>, row: usize) -> ArrayView2<'_, f32> {
    of.slice_move(s![row..row + 1, ..])
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::dataset::Episode;

    fn data() -> Dataset {
        let episode =
            |states: Array2<f32>, actions: Array2<f32>, next_states: Array2<f32>| Episode {
                rewards: Array1::zeros(states.nrows()),
                states,
                actions,
                next_states,
                terminated: false,
                truncated: true,
            };
        Dataset::from_episodes(vec![
            episode(
                array![[1.0], [3.0], [2.0]],
                array![[10.0], [20.0], [30.0]],
                array![[3.0], [2.0], [7.0]],
            ),
            episode(array![[5.0]], array![[40.0]], array![[4.0]]),
        ])
        .unwrap()
    }

    #[test]
    fn states_are_followed_by_the_last_changes_and_what_led_to_them() {
        let data = data();
        let history = History::of(&data, 2);
        let found = history.remember(&data);
        assert_eq!(
            found.states(),
            array![
                [1.0, 0.0, 25.0, 0.0, 25.0],
                [3.0, 2.0, 10.0, 0.0, 25.0],
                [2.0, -1.0, 20.0, 2.0, 10.0],
                [5.0, 0.0, 25.0, 0.0, 25.0],
            ]
        );
        assert_eq!(found.next_states().row(1), found.states().row(2));
        assert_eq!(found.next_states().row(2), array![7.0, 5.0, 30.0, -1.0, 20.0]);
        assert_eq!(found.names_or_numbers().states[3], "change of state_0, 2 steps before");
        assert_eq!(found.marks(), data.marks());
        assert_eq!(found.initial_states(), history.begin(data.initial_states().view()));
    }

    #[test]
    fn a_history_is_begun_once() {
        let history = History::of(&data(), 1);
        let begun = history.begin(array![[1.0]].view());
        assert_eq!(begun, array![[1.0, 0.0, 25.0]]);
        assert_eq!(history.begin(begun.view()), begun);
        assert_eq!(present(begun.view(), history.states), array![[1.0]]);
        assert!(history.fits(3, 1) && !history.fits(4, 1) && !history.fits(3, 2));
        assert_eq!(
            history.go_on(begun.view(), array![[2.0]].view(), array![[4.0]].view()),
            array![[4.0, 3.0, 2.0]]
        );
    }
}
