//! A policy that does what was done in the logs: where learning begins.

use ndarray::{Array2, Axis, s};
use rand::RngExt;

use super::actions::ActionSpace;
use crate::nn::{Adam, Mlps, log_softmax};
use crate::rng::Stream;

/// How random a copy is at first, before squashing.
const LOG_STD: f32 = -1.5;

/// Adam's step at the start; it falls to zero.
const RATE: f64 = 3e-3;

/// The farthest that a copied choice is from zero: a tanh never reaches one.
const FARTHEST: f32 = 0.98;

/// Teaches an actor what was done in standardised states.
pub(super) fn copy(
    actor: &mut Mlps,
    states: &Array2<f32>,
    actions: &Array2<f32>,
    space: &ActionSpace,
    steps: usize,
    rng: &mut Stream,
) {
    const BATCH: usize = 256;
    let choices = space.choices(actions);
    let wanted = match space {
        ActionSpace::Within(_) => before_squashing(&choices),
        ActionSpace::OneOf(_) => choices,
    };
    let (mut adam, device) = (Adam::default(), actor.device());
    for step in 0..steps {
        let rows: Vec<usize> = (0..BATCH).map(|_| rng.random_range(0..states.nrows())).collect();
        let of = |all: &Array2<f32>| device.tensor(all.select(Axis(0), &rows).view());
        let wanted = of(&wanted).autodiff().unsqueeze_dim::<3>(0);
        let gradient = actor.gradient(of(states), |outputs| {
            let loss = match space {
                ActionSpace::Within(_) => (outputs - wanted).square(),
                ActionSpace::OneOf(_) => -(log_softmax(outputs, 2) * wanted),
            };
            loss.sum() / BATCH as f64
        });
        let rate = RATE * (1.0 - step as f64 / steps as f64);
        actor.update_params(|params| adam.step(params, gradient, rate));
    }
}

/// Means and log stds of choices.
fn before_squashing(choices: &Array2<f32>) -> Array2<f32> {
    let columns = choices.ncols();
    let mut wanted = Array2::from_elem((choices.nrows(), 2 * columns), LOG_STD);
    let means = choices.mapv(|choice| choice.clamp(-FARTHEST, FARTHEST).atanh());
    wanted.slice_mut(s![.., ..columns]).assign(&means);
    wanted
}
