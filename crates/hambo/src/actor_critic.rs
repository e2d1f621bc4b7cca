//! Soft actor-critic (Haarnoja et al., 2018), whoever learns by it: an adversary or a policy.
//!
//! A tanh-squashed Gaussian over choices in [-1, 1], twin critics with slowly following targets, and a
//! learned entropy coefficient.

use std::cell::Cell;

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::nn::{Adam, Device, Layout, Mlps, Tensor, array, softplus};
use crate::rng::Stream;

/// Limits of the Gaussian's log std before squashing.
pub(crate) const LOG_STD: (f64, f64) = (-5.0, 2.0);

/// How fast it learns, and what it weighs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    /// Adam's step for the critics.
    pub critics: f64,
    /// Adam's step for the actor.
    pub actor: f64,
    /// Adam's step for the entropy coefficient.
    pub entropy: f64,
    /// Share of the way that target critics go towards the critics in every step.
    pub target: f64,
    /// What a reward weighs for the critics, relative to the one before it.
    pub discount: f64,
}

/// Steps to learn from, standardised.
pub(crate) struct Experience {
    /// What the actor looks at.
    pub seen: Tensor<2>,
    /// What the critics look at beside the choice.
    pub known: Tensor<2>,
    pub choices: Tensor<2>,
    pub rewards: Tensor<2>,
    pub next_seen: Tensor<2>,
    pub next_known: Tensor<2>,
    /// One where the episode goes on, zero where it ended.
    pub goes_on: Tensor<2>,
}

/// An actor and those who judge it.
#[derive(Debug, Clone)]
pub(crate) struct ActorCritic {
    actor: Mlps,
    critics: Mlps,
    targets: Mlps,
    actor_adam: Adam,
    critic_adam: Adam,
    log_entropy_coef: f64,
    entropy_adam: ScalarAdam,
    choice_dim: usize,
}

impl ActorCritic {
    /// Untrained: an actor that looks at `seen` columns, and critics who look at `known` ones.
    pub(crate) fn new(
        seen: usize,
        known: usize,
        choice_dim: usize,
        hidden: &[usize],
        entropy_coef: f64,
        rng: &mut Stream,
    ) -> Self {
        let critic = Layout::new(known + choice_dim, hidden, 1);
        let critics = Mlps::random(critic, 2, Device::Cpu, rng);
        let actor = Layout::new(seen, hidden, 2 * choice_dim);
        Self {
            actor: Mlps::random(actor, 1, Device::Cpu, rng),
            targets: critics.clone(),
            critics,
            actor_adam: Adam::default(),
            critic_adam: Adam::default(),
            log_entropy_coef: entropy_coef.ln(),
            entropy_adam: ScalarAdam::default(),
            choice_dim,
        }
    }

    /// The actor's network: means, then log stds.
    pub(crate) fn actor(&self) -> &Mlps {
        &self.actor
    }

    /// The same judges, for another actor of the same layout.
    pub(crate) fn with_actor(self, actor: Mlps) -> Self {
        Self { actor, actor_adam: Adam::default(), ..self }
    }

    /// The mean choice.
    pub(crate) fn mean(&self, seen: Tensor<2>) -> Array2<f32> {
        let raw = self.actor.outputs(seen);
        let [_, rows, _] = raw.dims();
        let mean = raw.narrow(2, 0, self.choice_dim).reshape([rows, self.choice_dim]);
        array(mean.tanh())
    }

    /// A choice as it is drawn.
    pub(crate) fn sample(&self, seen: Tensor<2>, rng: &mut Stream) -> Array2<f32> {
        array(self.squash(self.actor.outputs(seen), rng).0)
    }

    /// One step of critics, actor, entropy and targets.
    pub(crate) fn learn(&mut self, batch: &Experience, rates: Rates, rng: &mut Stream) {
        self.critic_step(batch, rates, rng);
        let mean_log_density = self.actor_step(batch, rates, rng);
        self.entropy_step(mean_log_density, rates);
        self.follow(rates);
    }

    /// Whether all parameters are still numbers.
    pub(crate) fn is_finite(&self) -> bool {
        let total = self.actor.params().clone().sum() + self.critics.params().clone().sum();
        scalar(total).is_finite() && self.log_entropy_coef.is_finite()
    }

    /// A sampled choice `[rows, d]` and its log density `[rows, 1]`, from the actor's raw output:
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

    fn critic_step(&mut self, batch: &Experience, rates: Rates, rng: &mut Stream) {
        let (next, log_density) = self.squash(self.actor.outputs(batch.next_seen.clone()), rng);
        let next = Tensor::cat(vec![batch.next_known.clone(), next], 1);
        let soft_value =
            Self::smaller(self.targets.outputs(next)) - log_density * self.log_entropy_coef.exp();
        let target = batch.rewards.clone() + soft_value * batch.goes_on.clone() * rates.discount;
        let [rows, _] = target.dims();
        let target = target.reshape([1, rows, 1]).autodiff();
        let inputs = Tensor::cat(vec![batch.known.clone(), batch.choices.clone()], 1);
        let gradient =
            self.critics.gradient(inputs, |values| (values - target).square().sum() / rows as f64);
        let adam = &mut self.critic_adam;
        self.critics.update_params(|params| adam.step(params, gradient, rates.critics));
    }

    /// Returns the mean log density of the sampled choices.
    fn actor_step(&mut self, batch: &Experience, rates: Rates, rng: &mut Stream) -> f64 {
        let mean_log_density = Cell::new(0.0);
        let gradient = self.actor.gradient(batch.seen.clone(), |raw| {
            let (choice, log_density) = self.squash(raw, rng);
            mean_log_density.set(scalar(log_density.clone().inner().mean()));
            let inputs = Tensor::cat(vec![batch.known.clone().autodiff(), choice], 1);
            let value = Self::smaller(self.critics.outputs(inputs));
            (log_density * self.log_entropy_coef.exp() - value).mean()
        });
        let adam = &mut self.actor_adam;
        self.actor.update_params(|params| adam.step(params, gradient, rates.actor));
        mean_log_density.get()
    }

    /// Raises the coefficient when the choices are less random than `-d`, and lowers it otherwise.
    fn entropy_step(&mut self, mean_log_density: f64, rates: Rates) {
        let target_entropy = -(self.choice_dim as f64);
        let gradient = -(mean_log_density + target_entropy);
        self.log_entropy_coef -= self.entropy_adam.step(gradient, rates.entropy);
    }

    fn follow(&mut self, rates: Rates) {
        let critics = self.critics.params().clone();
        self.targets.update_params(|params| params * (1.0 - rates.target) + critics * rates.target);
    }
}

/// Numbers as a column on the device.
pub(crate) fn column(values: &ndarray::Array1<f32>) -> Tensor<2> {
    Device::Cpu.tensor(values.view().insert_axis(Axis(1)))
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
