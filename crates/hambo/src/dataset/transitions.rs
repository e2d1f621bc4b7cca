//! A view of transitions side by side.

use ndarray::ArrayView2;

use super::Batch;

/// States, actions and what followed them: row `i` of each belongs to one transition.
#[derive(Debug, Clone, Copy)]
pub struct Transitions<'a> {
    /// `[rows, d_s]`
    pub states: ArrayView2<'a, f32>,
    /// `[rows, d_a]`
    pub actions: ArrayView2<'a, f32>,
    /// `[rows, d_s]`
    pub next_states: ArrayView2<'a, f32>,
}

impl Transitions<'_> {
    /// How many there are.
    pub fn rows(&self) -> usize {
        self.states.nrows()
    }
}

impl Batch {
    /// The rows without their rewards.
    pub fn transitions(&self) -> Transitions<'_> {
        Transitions {
            states: self.states.view(),
            actions: self.actions.view(),
            next_states: self.next_states.view(),
        }
    }
}
