//! What values are learned from, and what is asked of them.

use ndarray::{Array1, Array2, Axis, concatenate};

use crate::baselines::logged::Logs;
use crate::opinions::BaselineSettings;
use crate::progress::Observer;
use crate::rng::Seed;

/// Pairs whose values are asked for, with the steps that are left.
pub(in crate::baselines) struct Questions {
    pub states: Array2<f32>,
    pub actions: Array2<f32>,
    pub left: Vec<usize>,
}

impl Questions {
    /// All of some.
    pub(in crate::baselines) fn together(parts: &[Self]) -> Self {
        let join = |of: fn(&Self) -> &Array2<f32>| {
            let views: Vec<_> = parts.iter().map(|part| of(part).view()).collect();
            concatenate(Axis(0), &views).expect("as many columns")
        };
        Self {
            states: join(|part| &part.states),
            actions: join(|part| &part.actions),
            left: parts.iter().flat_map(|part| part.left.iter().copied()).collect(),
        }
    }

    pub(in crate::baselines) fn len(&self) -> usize {
        self.left.len()
    }
}

/// How values are learned.
pub(in crate::baselines) struct Fitting<'a> {
    pub logs: &'a Logs<'a>,
    /// `[members, episodes]`
    pub bag: &'a Array2<f32>,
    /// Whether states are names, whose values are counted.
    pub names: bool,
    pub settings: &'a BaselineSettings,
    pub seed: Seed,
    pub observer: &'a dyn Observer,
}

impl Fitting<'_> {
    /// How often each member sees each row, `[members, rows]`.
    pub(super) fn weights(&self) -> Array2<f32> {
        self.bag.select(Axis(1), &self.logs.episodes)
    }

    /// One where something follows a row, zero where the episode ended.
    pub(super) fn goes_on(&self) -> Array1<f32> {
        self.logs.ends.mapv(|ended| if ended { 0.0 } else { 1.0 })
    }
}
