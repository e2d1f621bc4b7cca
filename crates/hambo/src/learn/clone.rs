//! A policy that does what was done in the logs: where learning begins.

use ndarray::{Array2, Axis};
use rand::RngExt;

use super::actions::ActionSpace;
use crate::nn::{Adam, Mlps, Tensor, log_softmax};
use crate::rng::Stream;

/// Std that a copy has at least, before squashing: logs that always do the same do not say that a little more or less
/// is harmful.
const LEAST_STD: f64 = 0.2;

/// Adam's step at the start; it falls to zero.
const RATE: f64 = 3e-3;

/// The farthest that a copied choice is from zero: a tanh never reaches one.
const FARTHEST: f32 = 0.98;

/// Teaches an actor what was done in standardised states: of numbers the mean, and how far from it; of a few choices
/// how often each.
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
        ActionSpace::Within(_) => choices.mapv(|at| at.clamp(-FARTHEST, FARTHEST).atanh()),
        ActionSpace::OneOf(_) => choices,
    };
    let (mut adam, device) = (Adam::default(), actor.device());
    for step in 0..steps {
        let rows: Vec<usize> = (0..BATCH).map(|_| rng.random_range(0..states.nrows())).collect();
        let of = |all: &Array2<f32>| device.tensor(all.select(Axis(0), &rows).view());
        let wanted = of(&wanted).autodiff().unsqueeze_dim::<3>(0);
        let gradient = actor.gradient(of(states), |outputs| {
            let loss = match space {
                ActionSpace::Within(_) => mean_and_spread(outputs, wanted),
                ActionSpace::OneOf(_) => -(log_softmax(outputs, 2) * wanted),
            };
            loss.sum() / BATCH as f64
        });
        let rate = RATE * (1.0 - step as f64 / steps as f64);
        actor.update_params(|params| adam.step(params, gradient, rate));
    }
}

/// The squared error of the means, and a Gaussian's of the stds about them: how far apart things were done
/// does not change what is taken for their mean.
fn mean_and_spread(outputs: Tensor<3>, wanted: Tensor<3>) -> Tensor<3> {
    let columns = wanted.dims()[2];
    let square = (outputs.clone().narrow(2, 0, columns) - wanted).square();
    let log_std = outputs.narrow(2, columns, columns);
    let variance = square.clone().detach() + LEAST_STD * LEAST_STD;
    square + log_std.clone() + variance * (log_std * -2.0).exp() * 0.5
}
