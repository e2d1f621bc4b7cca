//! The policies that made the logs, learned from them.
//!
//! They are not evaluated. They say how the logged policy would have corrected the course, so that a
//! logged episode can be played again in a world that drifts away from it. They must be good: a world in
//! which a poor copy of the policy acts earns less, and that hides how much too high the world is.

use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rayon::prelude::*;

use crate::dataset::{Batch, Standardizer};
use crate::nn::{Activation, Adam, Device, Layout, Mlps};
use crate::rng::Seed;

/// With more sources than this, one network learns what all of them did.
const MOST_NETWORKS: usize = 8;

const HIDDEN: [usize; 2] = [128, 128];
const BATCH: usize = 256;
const RATE: f64 = 6e-3;

#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    /// One per source, or one for all.
    networks: Vec<Mlps>,
    /// The network that learned from each row.
    of_rows: Vec<usize>,
    states: Standardizer,
    actions: Standardizer,
}

impl Behaviour {
    /// From transitions, and the source of each.
    pub(super) fn learn(logged: &Batch, mut sources: Vec<usize>) -> Self {
        let mut count = sources.iter().max().map_or(0, |last| last + 1);
        if count > MOST_NETWORKS {
            sources.fill(0);
            count = 1;
        }
        let standard = |columns: &Array2<f32>| {
            Standardizer::fit(columns.ncols(), std::iter::once(columns.clone()))
        };
        let (states, actions) = (standard(&logged.states), standard(&logged.actions));
        let (inputs, targets) =
            (states.apply(logged.states.view()), actions.apply(logged.actions.view()));
        let networks = (0..count).into_par_iter().map(|network| {
            let mine: Vec<usize> =
                (0..sources.len()).filter(|&row| sources[row] == network).collect();
            learned(&inputs, &targets, &mine, Seed(network as u64))
        });
        Self { networks: networks.collect(), of_rows: sources, states, actions }
    }

    /// What is done on average in each state `[states, d_s]`, by the policy in the given logged rows.
    pub(crate) fn act(&self, states: ArrayView2<'_, f32>, rows: &[usize]) -> Array2<f32> {
        let inputs = self.states.apply(states);
        let mut actions = Array2::zeros((states.nrows(), self.actions.mean().len()));
        for (number, network) in self.networks.iter().enumerate() {
            let is_mine = |&row: &usize| self.of_rows[rows[row]] == number;
            let mine: Vec<usize> = (0..rows.len()).filter(is_mine).collect();
            let found = network.predict(inputs.select(Axis(0), &mine).view());
            for (&row, action) in mine.iter().zip(found.index_axis(Axis(0), 0).rows()) {
                actions.row_mut(row).assign(&action);
            }
        }
        actions * self.actions.std() + self.actions.mean()
    }
}

/// A network that learned from some rows what is done there, by least squares.
fn learned(inputs: &Array2<f32>, targets: &Array2<f32>, rows: &[usize], seed: Seed) -> Mlps {
    let layout = Layout::new(inputs.ncols(), &HIDDEN, targets.ncols()).with(Activation::Silu);
    let rng = &mut seed.stream("behaviour: networks");
    let mut network = Mlps::random(layout, 1, Device::Cpu, rng);
    let (mut adam, rng) = (Adam::default(), &mut seed.stream("behaviour: mini-batches"));
    let steps = if rows.is_empty() { 0 } else { steps(rows.len()) };
    for step in 0..steps {
        let batch: Vec<usize> = (0..BATCH).map(|_| rows[rng.random_range(0..rows.len())]).collect();
        let of = |all: &Array2<f32>| Device::Cpu.tensor(all.select(Axis(0), &batch).view());
        let targets = of(targets).autodiff().unsqueeze_dim::<3>(0);
        let gradient = network
            .gradient(of(inputs), |outputs| (outputs - targets).square().sum() / BATCH as f64);
        let rate = RATE * (1.0 - step as f64 / steps as f64);
        network.update_params(|params| adam.step(params, gradient, rate));
    }
    network
}

/// As many as for worlds, within narrower limits.
fn steps(rows: usize) -> usize {
    ((25.0 * (rows as f64).sqrt()) as usize).clamp(500, 5_000)
}
