//! A Bayesian neural network as K particles: the model of the paper's appendix A.2.
//!
//! Member k predicts a Gaussian over the standardised state difference (and reward, if learned):
//!
//!   s' - s ~ N(h_k(s, a), ν_k(s, a)²)      ν = softplus(raw) + 1e-4
//!
//! Departure: the paper predicts the next state itself, here an option ([`Target`]); see NOTATION.md.

mod saved;

use ndarray::{ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

pub use saved::SavedEnsemble;

use super::svgd::{self, SteinKernel};
use super::{Dynamics, MemberPrediction, Members, Prediction, check_batch};
use crate::dataset::{self, Batch, Standardizer, Subset, Target};
use crate::error::{Error, Result};
use crate::nn::{Adam, Device, Layout, Mlps, Tensor, array, softplus};
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;

/// Smallest aleatoric std, in standardised units.
const MIN_STD: f64 = 1e-4;

/// How an ensemble is fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EnsembleSettings {
    /// Networks, K; at least one.
    pub members: usize,
    /// Widths of the hidden layers; none makes the model linear.
    pub hidden: Vec<usize>,
    /// Weight of the standard normal prior against the mean log-likelihood; not negative.
    pub prior_temperature: f64,
    /// Keeps the members apart: `k(θ, θ') = exp(-‖θ - θ'‖² / (2 ℓ))`.
    pub kernel: SteinKernel,
    /// What the networks learn to predict of the next state.
    pub target: Target,
    /// Adam's step at the start; it falls to zero along a cosine.
    pub learning_rate: f64,
    /// Rows per step.
    pub batch_size: usize,
    /// Most gradient steps.
    pub max_steps: usize,
    /// Steps between two looks at the held-out likelihood.
    pub evaluate_every: usize,
    /// Looks without improvement before fitting stops.
    pub patience: usize,
    /// Share of the rows, in whole episodes, held out for stopping; in (0, 1).
    pub held_out: f64,
    /// Learn the reward as one more output, for tasks that give none.
    pub learn_reward: bool,
    /// Where the networks are trained and evaluated.
    pub device: Device,
}

impl Default for EnsembleSettings {
    fn default() -> Self {
        Self {
            members: 5,
            hidden: vec![256; 4],
            prior_temperature: 1e-4,
            kernel: SteinKernel::default(),
            target: Target::default(),
            learning_rate: 1e-3,
            batch_size: 256,
            max_steps: 5_000,
            evaluate_every: 100,
            patience: 20,
            held_out: 0.1,
            learn_reward: true,
            device: Device::Cpu,
        }
    }
}

impl EnsembleSettings {
    /// Whether the settings are usable; the error names the first that is not.
    pub fn validate(&self) -> Result<()> {
        let positive = [
            ("members", self.members),
            ("batch_size", self.batch_size),
            ("max_steps", self.max_steps),
            ("evaluate_every", self.evaluate_every),
            ("patience", self.patience),
            ("hidden", self.hidden.iter().copied().min().unwrap_or(1)),
        ];
        for (name, value) in positive {
            if value == 0 {
                let value = value.to_string();
                return Err(Error::Setting { name, value, expected: "at least one" });
            }
        }
        let finite = |name, value: f64, expected, good: bool| {
            if good && value.is_finite() {
                return Ok(());
            }
            Err(Error::Setting { name, value: value.to_string(), expected })
        };
        let (rate, prior) = (self.learning_rate, self.prior_temperature);
        finite("learning_rate", rate, "greater than zero", rate > 0.0)?;
        finite("prior_temperature", prior, "not negative", prior >= 0.0)?;
        if let SteinKernel::LengthScale(scale) = self.kernel {
            finite("kernel.length_scale", scale, "greater than zero", scale > 0.0)?;
        }
        let held_out = self.held_out;
        finite("held_out", held_out, "between 0 and 1", held_out > 0.0 && held_out < 1.0)
    }
}

/// A fitted ensemble.
#[derive(Debug, Clone)]
pub struct Ensemble {
    networks: Mlps,
    inputs: Standardizer,
    targets: Standardizer,
    target: Target,
    state_dim: usize,
    predicts_reward: bool,
}

/// How the fitting went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnsembleReport {
    /// Steps taken.
    pub steps: usize,
    /// The step whose parameters were kept.
    pub best_step: usize,
    /// Held-out log-likelihood per row in standardised units, averaged over members, at each look.
    pub held_out: Vec<(usize, f64)>,
}

impl Ensemble {
    /// Fits an ensemble by SVGD on mini-batches, with Adam on the Stein direction, and keeps the
    /// parameters with the best held-out likelihood.
    pub fn fit(
        data: &Subset<'_>,
        settings: &EnsembleSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(Self, EnsembleReport)> {
        settings.validate()?;
        let (train, held_out) =
            data.split(settings.held_out, &mut seed.stream("fit: held-out split"))?;
        let mut model = Self::untrained(&train, settings, seed);
        let mut rng = seed.stream("fit: mini-batches");
        let mut adam = Adam::default();
        let mut best = (0, f64::NEG_INFINITY, model.networks.params().clone());
        let mut history = Vec::new();
        let mut looks_since_best = 0;
        let mut step = 0;
        while step < settings.max_steps && looks_since_best < settings.patience {
            let batch = train.sample(settings.batch_size, &mut rng);
            let rate = cosine(settings.learning_rate, step, settings.max_steps);
            model.step(&batch, &mut adam, settings, rate);
            step += 1;
            let metric = history.last().map(|&(_, value)| ("held-out log-likelihood", value));
            report(observer, &Event { stage: "fit", step, of: settings.max_steps, metric })?;
            if step % settings.evaluate_every == 0 || step == settings.max_steps {
                let value = model.log_likelihood(&held_out);
                if !value.is_finite() {
                    let metric = "held-out log-likelihood";
                    return Err(Error::Diverged { step, metric, value });
                }
                history.push((step, value));
                looks_since_best += 1;
                if value > best.1 {
                    best = (step, value, model.networks.params().clone());
                    looks_since_best = 0;
                }
            }
        }
        let (best_step, _, params) = best;
        model.networks.set_params(params);
        Ok((model, EnsembleReport { steps: step, best_step, held_out: history }))
    }

    fn untrained(train: &Subset<'_>, settings: &EnsembleSettings, seed: Seed) -> Self {
        const ROWS: usize = 4096;
        let dataset = train.dataset();
        let input_dim = dataset.state_dim() + dataset.action_dim();
        let output_dim = dataset.state_dim() + usize::from(settings.learn_reward);
        let layout = Layout::new(input_dim, &settings.hidden, 2 * output_dim);
        let rng = &mut seed.stream("fit: initial networks");
        let inputs = train.batches(ROWS).map(|batch| batch.inputs());
        let targets =
            train.batches(ROWS).map(|batch| batch.targets(settings.target, settings.learn_reward));
        Self {
            networks: Mlps::random(layout, settings.members, settings.device, rng),
            inputs: Standardizer::fit(input_dim, inputs),
            targets: Standardizer::fit(output_dim, targets),
            target: settings.target,
            state_dim: dataset.state_dim(),
            predicts_reward: settings.learn_reward,
        }
    }

    /// One SVGD step.
    fn step(&mut self, batch: &Batch, adam: &mut Adam, settings: &EnsembleSettings, rate: f64) {
        let (inputs, targets) = self.standardized(batch);
        // Members do not share parameters, so the gradient of the sum is every member's own.
        let gradients = self
            .networks
            .gradient(inputs, |outputs| log_likelihoods(outputs, targets.autodiff()).sum());
        let direction = svgd::direction(
            self.networks.params().clone(),
            gradients,
            settings.prior_temperature,
            settings.kernel,
        );
        // Adam descends; a negative rate climbs.
        self.networks.update_params(|params| adam.step(params, direction, -rate));
    }

    /// Log-likelihood per row in standardised units, averaged over members.
    fn log_likelihood(&self, data: &Subset<'_>) -> f64 {
        const ROWS: usize = 4096;
        let total: f64 = data
            .batches(ROWS)
            .map(|batch| {
                let (inputs, targets) = self.standardized(&batch);
                let members = log_likelihoods(self.networks.outputs(inputs), targets);
                f64::from(members.mean().into_scalar::<f32>()) * batch.rewards.len() as f64
            })
            .sum();
        total / data.rows() as f64
    }

    /// What the given networks predict, in the units of the data.
    fn predict_with(
        &self,
        networks: &Mlps,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Members> {
        check_batch(self, states, actions)?;
        let inputs = self.inputs.apply(dataset::inputs(states, actions).view());
        let outputs = networks.outputs(networks.device().tensor(inputs.view()));
        let (means, stds) = heads(outputs, self.outputs());
        let (mut means, mut stds) = (array(means), array(stds));
        means *= self.targets.std();
        means += self.targets.mean();
        stds *= self.targets.std();
        if self.target == Target::Difference {
            let mut next_states = means.slice_mut(s![.., .., ..self.state_dim]);
            next_states += &states;
        }
        Ok(Members { means, stds })
    }

    fn standardized(&self, batch: &Batch) -> (Tensor<2>, Tensor<2>) {
        let device = self.networks.device();
        let inputs = self.inputs.apply(batch.inputs().view());
        let targets = self.targets.apply(batch.targets(self.target, self.predicts_reward).view());
        (device.tensor(inputs.view()), device.tensor(targets.view()))
    }

    /// The members.
    pub fn networks(&self) -> &Mlps {
        &self.networks
    }
}

/// Each member's mean log-likelihood over the batch, `[K]`, without the constant:
///
///   1/B Σ_i Σ_j [ -½ ((y_ij - h_kj) / ν_kj)² - ln ν_kj ]
fn log_likelihoods(outputs: Tensor<3>, targets: Tensor<2>) -> Tensor<1> {
    let [members, rows, _] = outputs.dims();
    let width = targets.dims()[1];
    let (mean, std) = heads(outputs, width);
    let error = (targets.unsqueeze_dim::<3>(0) - mean) / std.clone();
    let terms = error.square() * -0.5 - std.log();
    terms.sum_dim(2).sum_dim(1).reshape([members]) / rows as f64
}

/// Means and stds `[K, rows, width]` from raw outputs `[K, rows, 2 width]`.
fn heads(outputs: Tensor<3>, width: usize) -> (Tensor<3>, Tensor<3>) {
    let mean = outputs.clone().narrow(2, 0, width);
    (mean, softplus(outputs.narrow(2, width, width), 1.0) + MIN_STD)
}

/// Falls from `rate` at step 0 to zero at `steps`.
fn cosine(rate: f64, step: usize, steps: usize) -> f64 {
    rate * 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos())
}

impl Dynamics for Ensemble {
    fn state_dim(&self) -> usize {
        self.state_dim
    }

    fn action_dim(&self) -> usize {
        self.inputs.mean().len() - self.state_dim
    }

    fn predicts_reward(&self) -> bool {
        self.predicts_reward
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let members = self.predict_with(&self.networks, states, actions)?;
        Ok(Prediction::of_members(members))
    }

    fn members(&self) -> usize {
        self.networks.members()
    }

    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        if member >= self.members() {
            let variant = format!("member {member}");
            return Err(Error::NoMembers { variant, members: self.members() });
        }
        let Members { means, stds } =
            self.predict_with(&self.networks.member(member), states, actions)?;
        Ok(MemberPrediction {
            mean: means.index_axis_move(Axis(0), 0),
            std: stds.index_axis_move(Axis(0), 0),
        })
    }
}

#[cfg(test)]
mod tests;
