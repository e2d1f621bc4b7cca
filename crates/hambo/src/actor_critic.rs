//! Soft actor-critic (Haarnoja et al., 2018), whoever learns by it: an adversary or a policy.
//!
//! A tanh-squashed Gaussian over choices in [-1, 1], or a probability for each of a few choices; twin critics
//! with slowly following targets, and a learned entropy coefficient.

use std::cell::Cell;

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::error::BoxError;
use crate::exchange::{Exchange, Interruptible};
use crate::nn::{Adam, Device, Layout, Mlps, Tensor, array, log_softmax, softplus};
use crate::rng::Stream;

/// Limits of the Gaussian's log std before squashing.
pub(crate) const LOG_STD: (f64, f64) = (-5.0, 2.0);

/// How random the choice between a few is kept, as a share of choosing blindly.
const LEAST_ENTROPY: f64 = 0.1;

/// How an actor chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// By a Gaussian that is squashed into [-1, 1], in so many columns. Its network gives means, then log stds;
    /// critics look at the choice.
    Squashed(usize),
    /// One of so many, written as a one and zeros. Its network gives log probabilities, less a constant; critics
    /// value every choice.
    Categorical(usize),
}

impl Head {
    /// Columns of a choice.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Squashed(width) | Self::Categorical(width) => width,
        }
    }

    /// Outputs of the actor's network.
    fn outputs(self) -> usize {
        match self {
            Self::Squashed(width) => 2 * width,
            Self::Categorical(choices) => choices,
        }
    }

    /// Inputs and outputs of critics who know so many columns.
    fn critic(self, known: usize) -> (usize, usize) {
        match self {
            Self::Squashed(width) => (known + width, 1),
            Self::Categorical(choices) => (known, choices),
        }
    }

    /// Numbers that make a choice.
    fn freedoms(self) -> usize {
        match self {
            Self::Squashed(width) => width,
            Self::Categorical(_) => 1,
        }
    }

    /// Entropy below which choices are made more random.
    fn least_entropy(self) -> f64 {
        match self {
            Self::Squashed(width) => -(width as f64),
            Self::Categorical(choices) => LEAST_ENTROPY * (choices as f64).ln(),
        }
    }
}

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
    head: Head,
    leash: Option<Leash>,
}

/// Keeps an actor near another one: in place of entropy it pays for relative entropy, KL(actor, other).
#[derive(Debug, Clone)]
pub(crate) struct Leash {
    /// The other one, of the same layout.
    pub to: Mlps,
    /// Nats per column of a choice, or per choice between a few, beyond which it pays more.
    pub length: f64,
}

impl ActorCritic {
    /// Untrained: an actor that looks at `seen` columns, and critics who look at `known` ones.
    pub(crate) fn new(
        seen: usize,
        known: usize,
        head: Head,
        hidden: &[usize],
        entropy_coef: f64,
        device: Device,
        rng: &mut Stream,
    ) -> Self {
        let (inputs, outputs) = head.critic(known);
        let critics = Mlps::random(Layout::new(inputs, hidden, outputs), 2, device, rng);
        let actor = Layout::new(seen, hidden, head.outputs());
        Self {
            actor: Mlps::random(actor, 1, device, rng),
            targets: critics.clone(),
            critics,
            actor_adam: Adam::default(),
            critic_adam: Adam::default(),
            log_entropy_coef: entropy_coef.ln(),
            entropy_adam: ScalarAdam::default(),
            head,
            leash: None,
        }
    }

    /// The actor's network.
    pub(crate) fn actor(&self) -> &Mlps {
        &self.actor
    }

    /// The same judges, for another actor of the same layout.
    pub(crate) fn with_actor(self, actor: Mlps) -> Self {
        Self { actor, actor_adam: Adam::default(), ..self }
    }

    /// The same, but the actor stays near another one.
    pub(crate) fn on(self, leash: Leash) -> Self {
        Self { leash: Some(leash), ..self }
    }

    /// Makes the leash longer or shorter, if there is one.
    pub(crate) fn set_leash(&mut self, length: f64) {
        self.leash.iter_mut().for_each(|leash| leash.length = length);
    }

    /// The mean choice of a Gaussian.
    pub(crate) fn mean(&self, seen: Tensor<2>) -> Array2<f32> {
        let raw = self.actor.outputs(seen);
        let ([_, rows, _], width) = (raw.dims(), self.head.width());
        array(raw.narrow(2, 0, width).reshape([rows, width]).tanh())
    }

    /// The choice of a Gaussian as it is drawn.
    pub(crate) fn sample(&self, seen: Tensor<2>, rng: &mut Stream) -> Array2<f32> {
        let raw = self.actor.outputs(seen);
        array(draw(raw, self.head.width(), self.actor.device(), rng).0.tanh())
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

    /// What the smaller critic expects of an actor with these raw outputs, with its entropy, `[rows, 1]`; and the mean
    /// log density of its choices, `[rows, 1]`, less that of the other one if it is on a leash.
    fn soft_value(
        &self,
        critics: &Mlps,
        raw: Tensor<3>,
        (seen, known): (&Tensor<2>, &Tensor<2>),
        rng: &mut Stream,
    ) -> (Tensor<2>, Tensor<2>) {
        let alike = |of: Tensor<2>| if raw.is_autodiff() { of.autodiff() } else { of };
        let known = alike(known.clone());
        let [_, rows, outputs] = raw.dims();
        let others = self
            .leash
            .as_ref()
            .map(|leash| alike(leash.to.outputs(seen.clone()).reshape([rows, outputs])));
        let coef = self.log_entropy_coef.exp();
        match self.head {
            Head::Squashed(width) => {
                let (u, density) = draw(raw, width, self.actor.device(), rng);
                let choice = u.clone().tanh();
                let values = smaller(critics.outputs(Tensor::cat(vec![known, choice], 1)));
                let log_density = match others {
                    Some(others) => density - log_density_at(u, others, width),
                    None => density - log_slope(u),
                };
                let log_density = log_density.sum_dim(1);
                (values - log_density.clone() * coef, log_density)
            }
            Head::Categorical(choices) => {
                let log_shares = log_softmax(raw.reshape([rows, choices]), 1);
                let shares = log_shares.clone().exp();
                let log_shares = match others {
                    Some(others) => log_shares - log_softmax(others, 1),
                    None => log_shares,
                };
                let values = smaller(critics.outputs(known)) - log_shares.clone() * coef;
                ((shares.clone() * values).sum_dim(1), (shares * log_shares).sum_dim(1))
            }
        }
    }

    fn critic_step(&mut self, batch: &Experience, rates: Rates, rng: &mut Stream) {
        let raw = self.actor.outputs(batch.next_seen.clone());
        let (at, targets) = ((&batch.next_seen, &batch.next_known), &self.targets);
        let (soft_value, _) = self.soft_value(targets, raw, at, rng);
        let target = batch.rewards.clone() + soft_value * batch.goes_on.clone() * rates.discount;
        let [rows, _] = target.dims();
        let target = target.reshape([1, rows, 1]).autodiff();
        let (known, choices) = (batch.known.clone(), batch.choices.clone());
        let (inputs, chosen) = match self.head {
            Head::Squashed(_) => (Tensor::cat(vec![known, choices], 1), None),
            Head::Categorical(_) => (known, Some(choices.autodiff().unsqueeze_dim::<3>(0))),
        };
        let gradient = self.critics.gradient(inputs, |values| {
            let values = match chosen {
                Some(chosen) => (values * chosen).sum_dim(2),
                None => values,
            };
            (values - target).square().sum() / rows as f64
        });
        let adam = &mut self.critic_adam;
        self.critics.update_params(|params| adam.step(params, gradient, rates.critics));
    }

    /// Returns the mean log density of the choices.
    fn actor_step(&mut self, batch: &Experience, rates: Rates, rng: &mut Stream) -> f64 {
        let mean_log_density = Cell::new(0.0);
        let gradient = self.actor.gradient(batch.seen.clone(), |raw| {
            let at = (&batch.seen, &batch.known);
            let (soft_value, log_density) = self.soft_value(&self.critics, raw, at, rng);
            mean_log_density.set(scalar(log_density.inner().mean()));
            -soft_value.mean()
        });
        let adam = &mut self.actor_adam;
        self.actor.update_params(|params| adam.step(params, gradient, rates.actor));
        mean_log_density.get()
    }

    /// Raises the coefficient when the choices are not random enough, or the leash is taut, and lowers it otherwise.
    fn entropy_step(&mut self, mean_log_density: f64, rates: Rates) {
        let most = match &self.leash {
            Some(leash) => leash.length * self.head.freedoms() as f64,
            None => -self.head.least_entropy(),
        };
        let gradient = most - mean_log_density;
        self.log_entropy_coef -= self.entropy_adam.step(gradient, rates.entropy);
    }

    fn follow(&mut self, rates: Rates) {
        let critics = self.critics.params().clone();
        self.targets.update_params(|params| params * (1.0 - rates.target) + critics * rates.target);
    }
}

impl Interruptible for ActorCritic {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        with.networks("actor", &mut self.actor)?;
        with.networks("critics", &mut self.critics)?;
        with.networks("target critics", &mut self.targets)?;
        with.adam("adam of the actor", &mut self.actor_adam, &self.actor)?;
        with.adam("adam of the critics", &mut self.critic_adam, &self.critics)?;
        with.value("log entropy coefficient", &mut self.log_entropy_coef)?;
        with.value("adam of the entropy", &mut self.entropy_adam)
    }
}

/// A choice before it is squashed, u, and its log density in every column, from the raw output of a Gaussian's network.
/// It is squashed to η = tanh u:
///
///   u = m + σ ε      log p(η) = Σ_j [ log N(u_j; m_j, σ_j²) - log(1 - η_j²) ]
///
/// The last term is the same whoever draws, so that it cancels where two are compared.
fn draw(raw: Tensor<3>, d: usize, device: Device, rng: &mut Stream) -> (Tensor<2>, Tensor<2>) {
    let [_, rows, _] = raw.dims();
    let normal = Array2::from_shape_simple_fn((rows, d), || rng.sample(StandardNormal));
    let mut noise = device.tensor(normal.view());
    if raw.is_autodiff() {
        noise = noise.autodiff();
    }
    let raw = raw.reshape([rows, 2 * d]);
    let mean = raw.clone().narrow(1, 0, d);
    let log_std = raw.narrow(1, d, d).clamp(LOG_STD.0, LOG_STD.1);
    let u = mean + log_std.clone().exp() * noise.clone();
    (u, noise.square() * -0.5 - log_std - half_log_2_pi())
}

/// log N(u; m, σ²) in every column, of what somebody else drew, by the raw outputs `[rows, 2 d]` of this one's network.
fn log_density_at(u: Tensor<2>, raw: Tensor<2>, d: usize) -> Tensor<2> {
    let mean = raw.clone().narrow(1, 0, d);
    let log_std = raw.narrow(1, d, d).clamp(LOG_STD.0, LOG_STD.1);
    let off = (u - mean) / log_std.clone().exp();
    off.square() * -0.5 - log_std - half_log_2_pi()
}

/// log(1 - tanh² u) = 2 (log 2 - u - softplus(-2 u)), which does not cancel.
fn log_slope(u: Tensor<2>) -> Tensor<2> {
    (u.clone() * -1.0 - softplus(u * -2.0, 1.0) + 2.0_f64.ln()) * 2.0
}

fn half_log_2_pi() -> f64 {
    0.5 * (2.0 * std::f64::consts::PI).ln()
}

/// What the smaller of two critics says, `[rows, outputs]`.
fn smaller(values: Tensor<3>) -> Tensor<2> {
    let [_, rows, outputs] = values.dims();
    let first = values.clone().narrow(0, 0, 1).reshape([rows, outputs]);
    first.min_pair(values.narrow(0, 1, 1).reshape([rows, outputs]))
}

/// Numbers as a column on the device.
pub(crate) fn column(device: Device, values: &ndarray::Array1<f32>) -> Tensor<2> {
    device.tensor(values.view().insert_axis(Axis(1)))
}

fn scalar(tensor: Tensor<1>) -> f64 {
    f64::from(array(tensor)[0])
}

/// Adam on one number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array3};
    use rand::RngExt;

    use super::*;
    use crate::rng::Seed;

    const HIDDEN: [usize; 1] = [16];

    fn on_a_leash(head: Head, length: f64, rng: &mut Stream) -> ActorCritic {
        let device = Device::default();
        let new = |rng: &mut Stream| ActorCritic::new(1, 1, head, &HIDDEN, 1.0, device, rng);
        let to = new(rng).actor;
        new(rng).on(Leash { to, length })
    }

    /// KL(actor, other) where the state is one, by the closed form.
    fn kl(learner: &ActorCritic) -> f64 {
        let at = Array2::ones((1, 1));
        let of = |networks: &Mlps| -> Array3<f32> { networks.predict(at.view()) };
        let (raw, others) = (of(&learner.actor), of(&learner.leash.as_ref().unwrap().to));
        let pairs = |columns: usize| {
            let at = |raw: &Array3<f32>, column: usize| f64::from(raw[[0, 0, column]]);
            (0..columns).map(|column| (at(&raw, column), at(&others, column))).collect::<Vec<_>>()
        };
        match learner.head {
            Head::Squashed(width) => {
                let (means, stds) = (pairs(width), pairs(2 * width).split_off(width));
                let of = |((m, other), (s, wide)): ((f64, f64), (f64, f64))| {
                    let ((s, wide), off) = ((s.exp(), wide.exp()), m - other);
                    (wide / s).ln() + (s * s + off * off) / (2.0 * wide * wide) - 0.5
                };
                means.into_iter().zip(stds).map(of).sum()
            }
            Head::Categorical(choices) => {
                let total = |of: fn(&(f64, f64)) -> f64| {
                    pairs(choices).iter().map(|pair| of(pair).exp()).sum::<f64>()
                };
                let (sum, others) = (total(|pair| pair.0), total(|pair| pair.1));
                let of = |(a, b): (f64, f64)| a.exp() / sum * (a - b - (sum / others).ln());
                pairs(choices).into_iter().map(of).sum()
            }
        }
    }

    #[test]
    fn a_leash_costs_relative_entropy() {
        const ROWS: usize = 20_000;
        let rng = &mut Seed(0).stream("leash");
        for head in [Head::Squashed(2), Head::Categorical(3)] {
            let learner = on_a_leash(head, 1.0, rng);
            let ones = learner.actor.device().tensor(Array2::ones((ROWS, 1)).view());
            let raw = learner.actor.outputs(ones.clone());
            let at = (&ones, &ones);
            let found = array(learner.soft_value(&learner.critics, raw, at, rng).1);
            let (mean, std) = (f64::from(found.mean().unwrap()), f64::from(found.std(1.0)));
            let expected = kl(&learner);
            assert!(expected > 1e-3, "{head:?}: nothing to tell apart");
            // Five standard errors, and rounding.
            let tolerance = 5.0 * std / (ROWS as f64).sqrt() + 1e-5;
            assert!((mean - expected).abs() < tolerance, "{head:?}: {mean}, not {expected}");
        }
    }

    /// The more of the first column, the better, in episodes of one step.
    #[test]
    fn an_actor_goes_as_far_as_its_leash() {
        const ROWS: usize = 128;
        let rng = &mut Seed(1).stream("leash");
        for (head, length) in [(Head::Squashed(1), 0.5), (Head::Categorical(3), 0.3)] {
            let mut learner = on_a_leash(head, length, rng);
            let rates =
                Rates { critics: 3e-3, actor: 3e-3, entropy: 3e-3, target: 5e-3, discount: 1.0 };
            let device = learner.actor.device();
            let ones = device.tensor(Array2::ones((ROWS, 1)).view());
            for _ in 0..3_000 {
                let choices = match head {
                    Head::Squashed(_) => {
                        Array2::from_shape_simple_fn((ROWS, 1), || rng.random_range(-1.0..1.0))
                    }
                    Head::Categorical(of) => {
                        let mut choices = Array2::zeros((ROWS, of));
                        choices.rows_mut().into_iter().for_each(|mut row| {
                            row[rng.random_range(0..of)] = 1.0;
                        });
                        choices
                    }
                };
                let rewards: Array1<f32> = choices.column(0).to_owned();
                let batch = Experience {
                    seen: ones.clone(),
                    known: ones.clone(),
                    choices: device.tensor(choices.view()),
                    rewards: column(device, &rewards),
                    next_seen: ones.clone(),
                    next_known: ones.clone(),
                    goes_on: ones.clone(),
                };
                learner.learn(&batch, rates, rng);
            }
            let found = kl(&learner);
            println!("{head:?}: {found:.3} of {length}");
            // The price of a nat is still moving a little.
            assert!((found / length - 1.0).abs() < 0.2, "{head:?}: {found}, not {length}");
        }
    }
}
