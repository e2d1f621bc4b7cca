//! The continuous adversary: soft actor-critic over shifts in the confidence box.
//!
//! A tanh-squashed Gaussian over η given (s, a), twin critics with slowly following targets, and a
//! learned entropy coefficient (`alg:hambo_ca`; Haarnoja et al., 2018).

use std::cell::Cell;

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::learner::{Learner, Scales, held, inputs};
use super::replay::ReplayBatch;
use super::settings::AdversarySettings;
use crate::error::Result;
use crate::hallucination::{Choice, ShiftAdversary};
use crate::nn::{Adam, Device, Layout, Mlps, Tensor, array, softplus};
use crate::rng::Stream;
use crate::rollout::Moment;

/// Limits of the Gaussian's log std before squashing.
const LOG_STD: (f64, f64) = (-5.0, 2.0);

/// An adversary that shifts next states.
#[derive(Debug, Clone)]
pub struct Sac {
    actor: Mlps,
    critics: Mlps,
    targets: Mlps,
    actor_adam: Adam,
    critic_adam: Adam,
    log_entropy_coef: f64,
    entropy_adam: ScalarAdam,
    scales: Scales,
    settings: AdversarySettings,
    choice_dim: usize,
    /// How it acts.
    manner: Manner,
    /// Shifts that some episodes are pushed by from start to end, while exploring.
    held: Vec<Option<Array1<f32>>>,
}

/// How shifts follow from the Gaussian over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// A sample.
    Random,
    /// The mean.
    Greedy,
    /// The nearest corner of the box. A tanh never gets there, and harm that grows with the shift is
    /// largest there.
    Edge,
}

impl Sac {
    /// Mean shift, or a sample around it, for standardised inputs.
    fn shift_of(&self, inputs: Tensor<2>, rng: &mut Stream) -> Array2<f32> {
        let raw = self.actor.outputs(inputs);
        if self.manner == Manner::Random {
            return array(self.squash(raw, rng).0);
        }
        let [_, rows, _] = raw.dims();
        let mean = raw.narrow(2, 0, self.choice_dim).reshape([rows, self.choice_dim]);
        let shift = array(mean.tanh());
        match self.manner {
            Manner::Edge => shift.mapv(f32::signum),
            _ => shift,
        }
    }

    /// A sampled shift `[rows, d_s]` and its log density `[rows, 1]`, from the actor's raw output:
    ///
    ///   u = m + σ ε      η = tanh u      log p(η) = Σ_j [ log N(u_j; m_j, σ_j²) - log(1 - η_j²) ]
    ///
    /// with log(1 - tanh² u) = 2 (log 2 - u - softplus(-2 u)), which does not cancel.
    fn squash(&self, raw: Tensor<3>, rng: &mut Stream) -> (Tensor<2>, Tensor<2>) {
        let d = self.choice_dim;
        let [_, rows, _] = raw.dims();
        let normal = Array2::from_shape_simple_fn((rows, d), || rng.sample(StandardNormal));
        let mut noise = Device::Cpu.tensor(normal.view());
        if raw.is_autodiff() {
            noise = noise.autodiff();
        }
        let raw = raw.reshape([rows, 2 * d]);
        let mean = raw.clone().narrow(1, 0, d);
        let log_std = raw.narrow(1, d, d).clamp(LOG_STD.0, LOG_STD.1);
        let u = mean + log_std.clone().exp() * noise.clone();
        let squash = (u.clone() * -1.0 - softplus(u.clone() * -2.0, 1.0) + 2.0_f64.ln()) * 2.0;
        let half_log_2_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
        let density = noise.square() * -0.5 - log_std - half_log_2_pi - squash;
        (u.tanh(), density.sum_dim(1))
    }

    /// The smaller of the two critics, `[rows, 1]`.
    fn smaller(values: Tensor<3>) -> Tensor<2> {
        let [_, rows, _] = values.dims();
        let first = values.clone().narrow(0, 0, 1).reshape([rows, 1]);
        first.min_pair(values.narrow(0, 1, 1).reshape([rows, 1]))
    }

    fn critic_step(&mut self, batch: &Tensors, rng: &mut Stream) {
        let (next_shift, log_density) = self.squash(self.actor.outputs(batch.next.clone()), rng);
        let next = Tensor::cat(vec![batch.next.clone(), next_shift], 1);
        let soft_value =
            Self::smaller(self.targets.outputs(next)) - log_density * self.log_entropy_coef.exp();
        let target = batch.rewards.clone()
            + soft_value * batch.goes_on.clone() * f64::from(self.scales.discount);
        let [rows, _] = target.dims();
        let target = target.reshape([1, rows, 1]).autodiff();
        let inputs = Tensor::cat(vec![batch.inputs.clone(), batch.choices.clone()], 1);
        let gradient =
            self.critics.gradient(inputs, |values| (values - target).square().sum() / rows as f64);
        let rate = self.settings.learning_rate;
        let adam = &mut self.critic_adam;
        self.critics.update_params(|params| adam.step(params, gradient, rate));
    }

    /// Returns the mean log density of the sampled shifts.
    fn actor_step(&mut self, batch: &Tensors, rng: &mut Stream) -> f64 {
        let mean_log_density = Cell::new(0.0);
        let gradient = self.actor.gradient(batch.inputs.clone(), |raw| {
            let (shift, log_density) = self.squash(raw, rng);
            mean_log_density.set(scalar(log_density.clone().inner().mean()));
            let inputs = Tensor::cat(vec![batch.inputs.clone().autodiff(), shift], 1);
            let value = Self::smaller(self.critics.outputs(inputs));
            (log_density * self.log_entropy_coef.exp() - value).mean()
        });
        let rate = self.settings.learning_rate;
        let adam = &mut self.actor_adam;
        self.actor.update_params(|params| adam.step(params, gradient, rate));
        mean_log_density.get()
    }

    /// Raises the coefficient when the shifts are less random than `-d_s`, and lowers it otherwise.
    fn entropy_step(&mut self, mean_log_density: f64) {
        let target_entropy = -(self.choice_dim as f64);
        let gradient = -(mean_log_density + target_entropy);
        self.log_entropy_coef -=
            self.entropy_adam.step(gradient, self.settings.entropy_learning_rate);
    }

    fn follow(&mut self) {
        let rate = self.settings.target_rate;
        let critics = self.critics.params().clone();
        self.targets.update_params(|params| params * (1.0 - rate) + critics * rate);
    }
}

/// A replay batch on the device, standardised.
struct Tensors {
    inputs: Tensor<2>,
    choices: Tensor<2>,
    rewards: Tensor<2>,
    next: Tensor<2>,
    goes_on: Tensor<2>,
}

impl Learner for Sac {
    fn new(
        scales: Scales,
        choice_dim: usize,
        settings: &AdversarySettings,
        rng: &mut Stream,
    ) -> Self {
        let input_dim = scales.inputs.mean().len();
        let hidden = &settings.hidden;
        let actor = Layout::new(input_dim, hidden, 2 * choice_dim);
        let critic = Layout::new(input_dim + choice_dim, hidden, 1);
        let critics = Mlps::random(critic, 2, Device::Cpu, rng);
        Self {
            actor: Mlps::random(actor, 1, Device::Cpu, rng),
            targets: critics.clone(),
            critics,
            actor_adam: Adam::default(),
            critic_adam: Adam::default(),
            log_entropy_coef: settings.entropy_coef.ln(),
            entropy_adam: ScalarAdam::default(),
            scales,
            settings: settings.clone(),
            choice_dim,
            manner: Manner::Random,
            held: Vec::new(),
        }
    }

    fn greedy(&self) -> Self {
        Self { manner: Manner::Greedy, held: Vec::new(), ..self.clone() }
    }

    fn at_the_edge(&self) -> Option<Self> {
        Some(Self { manner: Manner::Edge, ..self.greedy() })
    }

    fn exploring(&self, round: usize, episodes: usize, rng: &mut Stream) -> Self {
        let held = held(&self.settings, round, episodes, rng, |rng| {
            (0..self.choice_dim).map(|_| rng.random_range(-1..=1) as f32).collect()
        });
        Self { manner: Manner::Random, held, ..self.clone() }
    }

    fn choice(&self) -> Choice<'_> {
        Choice::Shift(self)
    }

    fn learn(&mut self, batch: &ReplayBatch, rng: &mut Stream) {
        let column =
            |values: &ndarray::Array1<f32>| Device::Cpu.tensor(values.view().insert_axis(Axis(1)));
        let batch = Tensors {
            inputs: Device::Cpu.tensor(self.scales.inputs.apply(batch.inputs.view()).view()),
            choices: Device::Cpu.tensor(batch.choices.view()),
            // The adversary earns what the policy loses.
            rewards: column(&(&batch.rewards * -self.scales.reward)),
            next: Device::Cpu.tensor(self.scales.inputs.apply(batch.next_inputs.view()).view()),
            goes_on: column(&batch.goes_on),
        };
        self.critic_step(&batch, rng);
        let mean_log_density = self.actor_step(&batch, rng);
        self.entropy_step(mean_log_density);
        self.follow();
    }

    fn is_finite(&self) -> bool {
        let total = self.actor.params().clone().sum() + self.critics.params().clone().sum();
        scalar(total).is_finite() && self.log_entropy_coef.is_finite()
    }
}

impl ShiftAdversary for Sac {
    fn shift(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Array2<f32>> {
        let inputs =
            self.scales.inputs.apply(inputs(at.states, at.actions, at.time, at.horizon).view());
        let mut shift = self.shift_of(Device::Cpu.tensor(inputs.view()), rng);
        for (mut row, &episode) in shift.rows_mut().into_iter().zip(at.episodes) {
            if let Some(Some(held)) = self.held.get(episode) {
                row.assign(held);
            }
        }
        Ok(shift)
    }
}

fn scalar(tensor: Tensor<1>) -> f64 {
    f64::from(array(tensor)[0])
}

/// Adam on one number.
#[derive(Debug, Clone, Default)]
struct ScalarAdam {
    first: f64,
    second: f64,
    steps: i32,
}

impl ScalarAdam {
    /// What to subtract.
    fn step(&mut self, gradient: f64, rate: f64) -> f64 {
        self.steps += 1;
        self.first = 0.9 * self.first + 0.1 * gradient;
        self.second = 0.999 * self.second + 0.001 * gradient * gradient;
        let first = self.first / (1.0 - 0.9_f64.powi(self.steps));
        let second = self.second / (1.0 - 0.999_f64.powi(self.steps));
        rate * first / (second.sqrt() + 1e-8)
    }
}
