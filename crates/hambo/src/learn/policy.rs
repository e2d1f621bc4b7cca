//! Policies as networks.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::actor_critic::LOG_STD;
use crate::dataset::{EpisodeMarks, Standardizer};
use crate::error::BoxError;
use crate::nn::Mlps;
use crate::rng::RowStreams;
use crate::task::Policy;

/// Smallest and largest action, per column.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionLimits {
    /// The smallest.
    pub low: Array1<f32>,
    /// The largest.
    pub high: Array1<f32>,
}

impl ActionLimits {
    fn middle(&self) -> Array1<f32> {
        (&self.low + &self.high) / 2.0
    }

    fn half_width(&self) -> Array1<f32> {
        (&self.high - &self.low) / 2.0
    }

    /// Actions for choices in [-1, 1].
    pub(super) fn actions(&self, choices: &Array2<f32>) -> Array2<f32> {
        choices * &self.half_width() + &self.middle()
    }

    /// Choices in [-1, 1] for actions; zero where there is nothing to choose.
    pub(super) fn choices(&self, actions: &Array2<f32>) -> Array2<f32> {
        let half = self.half_width().mapv(|half| if half > 0.0 { half } else { 1.0 });
        ((actions - &self.middle()) / &half).mapv(|choice| choice.clamp(-1.0, 1.0))
    }
}

/// A policy that was learned: the mean of a squashed Gaussian, within the limits of the actions.
#[derive(Debug, Clone)]
pub struct LearnedPolicy {
    /// Means of the choices before squashing, then their log stds.
    pub(super) actor: Mlps,
    pub(super) states: Standardizer,
    pub(super) limits: ActionLimits,
    /// Whether it draws its actions, as it does while it learns.
    pub(super) explores: bool,
    /// What its worlds were fitted on.
    pub(super) learned_from: EpisodeMarks,
}

impl LearnedPolicy {
    /// What is done, as plain arithmetic: states are standardised, pass the layers, with max(0, x) between them and
    /// tanh after the last, and are spread over the limits of the actions.
    pub fn parts(&self) -> PolicyParts {
        let mut layers = self.actor.layers(0);
        if let Some((weight, bias)) = layers.last_mut() {
            let columns = self.limits.low.len();
            *weight = weight.slice(s![.., ..columns]).to_owned();
            *bias = bias.slice(s![..columns]).to_owned();
        }
        PolicyParts {
            mean: self.states.mean().clone(),
            std: self.states.std().clone(),
            layers,
            half_width: self.limits.half_width(),
            middle: self.limits.middle(),
        }
    }
}

/// A learned policy as numbers: `middle + half_width tanh(layers((s - mean) / std))`.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyParts {
    /// What is taken off states.
    pub mean: Array1<f32>,
    /// What they are divided by.
    pub std: Array1<f32>,
    /// Weights `[inputs, outputs]` and biases.
    pub layers: Vec<(Array2<f32>, Array1<f32>)>,
    /// What choices in [-1, 1] are multiplied by.
    pub half_width: Array1<f32>,
    /// What is added to them.
    pub middle: Array1<f32>,
}

impl Policy for LearnedPolicy {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let raw = self.actor.predict(self.states.apply(states).view());
        let (raw, columns) = (raw.index_axis(Axis(0), 0), self.limits.low.len());
        let mut choices = raw.slice(s![.., ..columns]).to_owned();
        if self.explores {
            let log_stds = raw.slice(s![.., columns..]);
            for (row, mut choice) in choices.rows_mut().into_iter().enumerate() {
                let rng = draws.row(row);
                for (value, &log_std) in choice.iter_mut().zip(log_stds.row(row)) {
                    let normal: f32 = rng.sample(StandardNormal);
                    *value += log_std.clamp(LOG_STD.0 as f32, LOG_STD.1 as f32).exp() * normal;
                }
            }
        }
        Ok(self.limits.actions(&choices.mapv(f32::tanh)))
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        (!self.learned_from.is_empty()).then_some(&self.learned_from)
    }
}
