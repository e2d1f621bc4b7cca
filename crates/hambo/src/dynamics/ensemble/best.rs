//! The best parameters of every member so far.

use ndarray::Array2;

use crate::nn::{Mlps, array};

/// The best parameters of every member so far.
pub(super) struct Best {
    /// `[K, len]`
    pub(super) params: Array2<f32>,
    pub(super) values: Vec<f64>,
    pub(super) steps: Vec<usize>,
    pub(super) looks_since: usize,
}

impl Best {
    pub(super) fn new(networks: &Mlps) -> Self {
        let members = networks.members();
        Self {
            params: array(networks.params().clone()),
            values: vec![f64::NEG_INFINITY; members],
            steps: vec![0; members],
            looks_since: 0,
        }
    }

    /// Keeps what has improved. A member about which nothing is known keeps its last parameters.
    pub(super) fn look(&mut self, step: usize, values: &[Option<f64>], networks: &Mlps) {
        let now = array(networks.params().clone());
        self.looks_since += 1;
        for (member, value) in values.iter().enumerate() {
            let improved = value.is_some_and(|value| value > self.values[member]);
            if let (true, Some(value)) = (improved, value) {
                self.values[member] = *value;
                self.looks_since = 0;
            }
            if improved || value.is_none() {
                self.steps[member] = step;
                self.params.row_mut(member).assign(&now.row(member));
            }
        }
    }
}
