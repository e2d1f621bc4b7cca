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
#[serde(default, deny_unknown_fields)]
pub struct EnsembleSettings {
    /// Networks, K; at least one.
    pub members: usize,
    /// Widths of the hidden layers; none makes the model linear.
    pub hidden: Vec<usize>,
    /// Weight of the standard normal prior against the mean log-likelihood; not negative.
    pub prior_temperature: f64,
    pub kernel: SteinKernel,
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
    /// Learn the reward as one more output.
    pub learn_reward: bool,
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
            learn_reward: false,
            device: Device::Cpu,
        }
    }
}

impl EnsembleSettings {
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
pub struct FitReport {
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
    ) -> Result<(Self, FitReport)> {
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
        Ok((model, FitReport { steps: step, best_step, held_out: history }))
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
mod tests {
    use ndarray::{Array1, Array2};
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::dataset::{Dataset, Episode};
    use crate::progress::Silent;

    /// Short episodes of a noisy linear system with a reward.
    fn data(episodes: usize) -> Dataset {
        let mut rng = Seed(7).stream("linear system");
        let mut normal = move || -> f32 { rng.sample(StandardNormal) };
        let episodes = (0..episodes).map(|_| {
            let mut states = Array2::zeros((21, 2));
            let actions = Array2::from_shape_simple_fn((20, 1), &mut normal);
            states.row_mut(0).assign(&Array1::from_shape_simple_fn(2, &mut normal));
            for t in 0..20 {
                let (x, v, a) = (states[[t, 0]], states[[t, 1]], actions[[t, 0]]);
                states[[t + 1, 0]] = x + 0.1 * v;
                states[[t + 1, 1]] = 0.9 * v + 0.2 * a - 0.1 * x + 0.05 * normal();
            }
            Episode {
                rewards: -states.slice(s![..20, 0]).mapv(f32::abs),
                next_states: states.slice(s![1.., ..]).to_owned(),
                states: states.slice(s![..20, ..]).to_owned(),
                actions,
                terminated: false,
                truncated: true,
            }
        });
        Dataset::from_episodes(episodes.collect()).unwrap()
    }

    fn quick() -> EnsembleSettings {
        EnsembleSettings {
            members: 3,
            hidden: vec![16, 16],
            batch_size: 64,
            max_steps: 300,
            evaluate_every: 20,
            ..Default::default()
        }
    }

    fn thorough() -> EnsembleSettings {
        EnsembleSettings { learning_rate: 5e-3, max_steps: 3000, ..quick() }
    }

    #[test]
    fn the_parameters_kept_are_those_of_the_best_look() {
        let data = data(8);
        // A step this large and a set this small overfit within the run.
        let settings = EnsembleSettings { learning_rate: 0.02, patience: 5, ..quick() };
        let (model, report) = Ensemble::fit(&data.all(), &settings, Seed(1), &Silent).unwrap();
        let (best_step, best) =
            report.held_out.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap();
        assert_eq!(report.best_step, best_step);
        assert!(best_step < report.steps, "the run must go on past its best look");
        let (_, held_out) = data
            .all()
            .split(settings.held_out, &mut Seed(1).stream("fit: held-out split"))
            .unwrap();
        assert_eq!(model.log_likelihood(&held_out), best);
    }

    /// Log-likelihood plus tempered log-prior of one network, written out in float64.
    fn log_posterior(
        theta: &[f64],
        sizes: &[usize],
        inputs: &Array2<f64>,
        targets: &Array2<f64>,
        prior_temperature: f64,
    ) -> f64 {
        let (mut x, mut start) = (inputs.clone(), 0);
        for (index, pair) in sizes.windows(2).enumerate() {
            let (bias_at, end) = (start + pair[0] * pair[1], start + (pair[0] + 1) * pair[1]);
            let weight =
                ArrayView2::from_shape((pair[0], pair[1]), &theta[start..bias_at]).unwrap();
            x = x.dot(&weight) + ndarray::ArrayView1::from(&theta[bias_at..end]);
            if index + 2 < sizes.len() {
                x.mapv_inplace(|value| value.max(0.0));
            }
            start = end;
        }
        let width = targets.ncols();
        let term = |(row, column): (usize, usize)| {
            let std = x[[row, width + column]].exp().ln_1p() + MIN_STD;
            -0.5 * ((targets[[row, column]] - x[[row, column]]) / std).powi(2) - std.ln()
        };
        let likelihood: f64 = ndarray::indices(targets.dim()).into_iter().map(term).sum();
        let norm: f64 = theta.iter().map(|t| t * t).sum();
        likelihood / targets.nrows() as f64 - 0.5 * prior_temperature * norm
    }

    #[test]
    fn gradient_of_likelihood_plus_prior_agrees_with_finite_differences() {
        let data = data(4);
        let settings = EnsembleSettings { members: 1, hidden: vec![7, 5], ..quick() };
        let model = Ensemble::untrained(&data.all(), &settings, Seed(2));
        let (inputs, targets) = model.standardized(&data.all().slice(0, 40));
        let gradient = model
            .networks
            .gradient(inputs.clone(), |o| log_likelihoods(o, targets.clone().autodiff()).sum());
        // A single particle feels no kernel: its direction is the score itself.
        let particle = model.networks.params().clone();
        let score = array(svgd::direction(particle, gradient, 0.3, SteinKernel::default()));
        let theta: Vec<f64> =
            array(model.networks.params().clone()).iter().map(|&t| t.into()).collect();
        let (inputs, targets) = (array(inputs).mapv(f64::from), array(targets).mapv(f64::from));
        let scale = score.mapv(|s| s * s).mean().unwrap().sqrt();
        for index in 0..theta.len() {
            let at = |h: f64| {
                let mut moved = theta.clone();
                moved[index] += h;
                log_posterior(&moved, &[3, 7, 5, 4], &inputs, &targets, 0.3)
            };
            let expected = ((at(1e-6) - at(-1e-6)) / 2e-6) as f32;
            let error = (score[[0, index]] - expected).abs() / expected.abs().max(scale);
            assert!(error < 1e-3, "weight {index}: {} instead of {expected}", score[[0, index]]);
        }
    }

    #[test]
    fn a_learned_reward_is_one_more_output() {
        let data = data(40);
        let settings = EnsembleSettings { learn_reward: true, ..thorough() };
        let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(4), &Silent).unwrap();
        let batch = data.all().slice(0, 400);
        let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
        assert_eq!((model.outputs(), prediction.mean.ncols()), (3, 3));
        let error = (&prediction.mean.index_axis(Axis(1), 2) - &batch.rewards).mapv(|e| e * e);
        assert!(error.mean().unwrap().sqrt() < 0.1 * batch.rewards.std(0.0));
    }

    #[test]
    fn either_target_predicts_the_next_state() {
        let data = data(100);
        let batch = data.all().slice(0, 1000);
        for target in [Target::Difference, Target::NextState] {
            let settings = EnsembleSettings { target, ..thorough() };
            let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(8), &Silent).unwrap();
            let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
            let error = (&prediction.mean - &batch.next_states).std_axis(Axis(0), 0.0);
            // The noise of the velocity is 0.05, the position has none.
            assert!(error[0] < 0.02 && error[1] < 0.06, "{target:?}: {error}");
        }
    }

    #[test]
    fn aleatoric_std_finds_the_noise_and_where_there_is_none() {
        let data = data(200);
        let (model, _) = Ensemble::fit(&data.all(), &thorough(), Seed(5), &Silent).unwrap();
        let batch = data.all().slice(0, 1000);
        let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
        let mean = prediction.aleatoric_std.mean_axis(Axis(0)).unwrap();
        assert!((mean[1] / 0.05 - 1.0).abs() < 0.1, "the noise has std 0.05, found {}", mean[1]);
        assert!(mean[0] < 0.005, "positions are noiseless, found {}", mean[0]);
    }

    #[test]
    fn epistemic_std_grows_away_from_data() {
        let data = data(60);
        let (model, _) = Ensemble::fit(&data.all(), &thorough(), Seed(6), &Silent).unwrap();
        let batch = data.all().slice(0, 500);
        let mean_std = |scale: f32| {
            let (states, actions) = (&batch.states * scale, &batch.actions * scale);
            let prediction = model.predict(states.view(), actions.view()).unwrap();
            prediction.epistemic_std.mean_axis(Axis(0)).unwrap()
        };
        // Five standard deviations out; ReLU networks extrapolate linearly, and differently.
        let (inside, outside) = (mean_std(1.0), mean_std(5.0));
        assert!((&outside / &inside).iter().all(|&ratio| ratio > 5.0), "{inside} to {outside}");
    }

    #[test]
    fn an_exploding_fit_is_reported_as_diverged() {
        let settings = EnsembleSettings { learning_rate: 1e30, ..quick() };
        let error =
            Ensemble::fit(&data(8).all(), &settings, Seed(0), &Silent).expect_err("diverged");
        assert!(matches!(error, Error::Diverged { .. }), "{error}");
    }

    #[test]
    fn the_observer_sees_every_step_and_can_stop_the_fit() {
        let stop_at = |event: &Event| {
            assert_eq!((event.stage, event.of), ("fit", 300));
            if event.step == 7 {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        };
        let error =
            Ensemble::fit(&data(8).all(), &quick(), Seed(0), &stop_at).expect_err("stopped");
        assert!(matches!(error, Error::Cancelled { stage: "fit", step: 7 }), "{error}");
    }

    #[test]
    fn a_batch_of_another_width_is_refused() {
        let data = data(8);
        let settings = EnsembleSettings { max_steps: 1, ..quick() };
        let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(0), &Silent).unwrap();
        let (states, actions) = (Array2::zeros((4, 3)), Array2::zeros((4, 1)));
        let error = model.predict(states.view(), actions.view()).expect_err("three columns");
        assert_eq!(error.to_string(), "states: got 3 columns, the model was fitted on 2");
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let cases = [
            (EnsembleSettings { members: 0, ..quick() }, "members"),
            (EnsembleSettings { hidden: vec![8, 0], ..quick() }, "hidden"),
            (EnsembleSettings { learning_rate: f64::NAN, ..quick() }, "learning_rate"),
            (EnsembleSettings { held_out: 1.0, ..quick() }, "held_out"),
            (EnsembleSettings { prior_temperature: -1.0, ..quick() }, "prior_temperature"),
            (EnsembleSettings { kernel: SteinKernel::LengthScale(0.0), ..quick() }, "kernel"),
        ];
        for (settings, name) in cases {
            let error = settings.validate().expect_err(name);
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
