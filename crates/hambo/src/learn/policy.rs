//! Policies as networks.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::actions::ActionSpace;
use crate::actor_critic::LOG_STD;
use crate::dataset::{EpisodeMarks, Standardizer};
use crate::error::BoxError;
use crate::nn::Mlps;
use crate::rng::{RowStreams, Stream};
use crate::task::Policy;

/// A policy that was learned: the mean of a squashed Gaussian, or the likeliest of a few choices.
#[derive(Debug, Clone)]
pub struct LearnedPolicy {
    pub(super) actor: Mlps,
    pub(super) states: Standardizer,
    pub(super) actions: ActionSpace,
    /// Whether it draws its actions, as it does while it learns.
    pub(super) explores: bool,
    /// What the worlds were fitted on that chose it.
    pub(super) learned_from: EpisodeMarks,
    /// Whether those taught it.
    pub(super) learned_in_worlds: bool,
}

impl LearnedPolicy {
    /// What is done, as plain arithmetic.
    pub fn parts(&self) -> PolicyParts {
        let mut layers = self.actor.layers(0);
        if let Some((weight, bias)) = layers.last_mut() {
            let columns = self.actions.head().width();
            *weight = weight.slice(s![.., ..columns]).to_owned();
            *bias = bias.slice(s![..columns]).to_owned();
        }
        PolicyParts {
            mean: self.states.mean().clone(),
            std: self.states.std().clone(),
            layers,
            actions: self.actions.clone(),
        }
    }

    /// What a row draws from, if anything.
    fn draws<'a>(&self, draws: &'a mut RowStreams, row: usize) -> Option<&'a mut Stream> {
        self.explores.then(|| draws.row(row))
    }
}

/// A learned policy as numbers: states are standardised and pass the layers, with max(0, x) between them. What comes out
/// of the last is squashed by a tanh and spread over the limits of the actions, or its largest value tells which of
/// the actions it is.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyParts {
    /// What is taken off states.
    pub mean: Array1<f32>,
    /// What they are divided by.
    pub std: Array1<f32>,
    /// Weights `[inputs, outputs]` and biases.
    pub layers: Vec<(Array2<f32>, Array1<f32>)>,
    /// What may be done.
    pub actions: ActionSpace,
}

impl Policy for LearnedPolicy {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let raw = self.actor.predict(self.states.apply(states).view());
        let raw = raw.index_axis(Axis(0), 0);
        let rows = raw.rows().into_iter().enumerate();
        Ok(match &self.actions {
            ActionSpace::Within(limits) => {
                let mut choices = Array2::zeros((states.nrows(), limits.low.len()));
                for (row, raw) in rows {
                    choices.row_mut(row).assign(&squashed(raw, self.draws(draws, row)));
                }
                limits.actions(&choices)
            }
            ActionSpace::OneOf(actions) => {
                let chosen: Vec<usize> =
                    rows.map(|(row, raw)| likeliest(raw, self.draws(draws, row))).collect();
                actions.select(Axis(0), &chosen)
            }
        })
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        (!self.learned_from.is_empty()).then_some(&self.learned_from)
    }

    fn learned_in_worlds(&self) -> bool {
        self.learned_in_worlds
    }
}

/// A choice in [-1, 1] from means and log stds: the mean, or a sample.
fn squashed(raw: ArrayView1<'_, f32>, rng: Option<&mut Stream>) -> Array1<f32> {
    let (mean, log_std) = raw.split_at(Axis(0), raw.len() / 2);
    let mut choice = mean.to_owned();
    if let Some(rng) = rng {
        for (value, log_std) in choice.iter_mut().zip(log_std) {
            let normal: f32 = rng.sample(StandardNormal);
            *value += log_std.clamp(LOG_STD.0 as f32, LOG_STD.1 as f32).exp() * normal;
        }
    }
    choice.mapv(f32::tanh)
}

/// The choice with the largest log probability, or one by its probability: the largest after Gumbel's noise.
fn likeliest(raw: ArrayView1<'_, f32>, rng: Option<&mut Stream>) -> usize {
    let mut values = raw.to_owned();
    if let Some(rng) = rng {
        // One minus a number in [0, 1) is above zero.
        let gumbel =
            |rng: &mut Stream| -(-(1.0 - rng.random::<f32>()).ln()).max(f32::MIN_POSITIVE).ln();
        values.mapv_inplace(|value| value + gumbel(rng));
    }
    let better = |best: usize, next: usize| if values[next] > values[best] { next } else { best };
    (1..values.len()).fold(0, better)
}
