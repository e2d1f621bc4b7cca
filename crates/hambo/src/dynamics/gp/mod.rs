//! Gaussian process dynamics: one exact process per output, the model with a proof
//! (`section:hambo_gp_models`).
//!
//! Inputs (s, a) and targets s' - s (and the reward, if learned) are standardised, as for the
//! ensemble. Processes are independent and have their own hyper-parameters.

mod hyper;
mod regression;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

pub use hyper::{Hyperparameters, most_likely};
pub use regression::Regression;

use super::kernel::{Kernel, KernelKind};
use super::{Confidence, Dynamics, Prediction, check_batch, theory};
use crate::dataset::{self, Standardizer, Subset, Target};
use crate::error::{Error, Result};
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;

/// Most rows of an exact process: its kernel matrix has as many columns, and a factorisation takes
/// their third power.
pub const MAX_ROWS: usize = 5_000;

/// How Gaussian processes are fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GpSettings {
    /// The kernels' shape, the same for all outputs.
    pub kernel: KernelKind,
    /// Hyper-parameters in standardised units, the same for all outputs; learned if there are none.
    /// The guarantee is for those that were chosen before the data was seen.
    pub fixed: Option<Hyperparameters>,
    /// The units of `fixed`. Without them the data chooses the units, and so the kernel, for
    /// which the guarantee is not.
    pub scales: Option<GpScales>,
    /// Searches for the hyper-parameters, from different starts; at least one.
    pub starts: usize,
    /// Most rows that hyper-parameters are learned on; at least two.
    pub likelihood_rows: usize,
    /// The system has no noise: the noise that is fitted is there for the algebra only.
    pub deterministic: bool,
    /// B, the largest norm of an output's function in the kernel's space, in standardised units.
    /// Without it, the norm of the posterior mean times `norm_factor` stands in.
    pub norm_bound: Option<f64>,
    /// Factor on the norm of the posterior mean, where no `norm_bound` is given; at least one.
    pub norm_factor: f64,
    /// Learn the reward as one more output, for tasks that give none.
    pub learn_reward: bool,
}

/// The units that hyper-parameters are meant in, chosen before the data was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpScales {
    /// One unit per column of the state, then of the action.
    pub inputs: Vec<f32>,
    /// One unit per column of the state, for its change in a step; then of the reward, if it is
    /// learned.
    pub outputs: Vec<f32>,
}

impl Default for GpSettings {
    fn default() -> Self {
        Self {
            kernel: KernelKind::Rbf,
            fixed: None,
            scales: None,
            starts: 2,
            likelihood_rows: 400,
            deterministic: false,
            norm_bound: None,
            norm_factor: 2.0,
            learn_reward: true,
        }
    }
}

impl GpSettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |name, value: String, expected| Err(Error::Setting { name, value, expected });
        if self.starts == 0 {
            return wrong("starts", "0".into(), "at least one");
        }
        if self.likelihood_rows < 2 {
            return wrong("likelihood_rows", self.likelihood_rows.to_string(), "at least two");
        }
        if !(self.norm_factor >= 1.0 && self.norm_factor.is_finite()) {
            return wrong("norm_factor", self.norm_factor.to_string(), "at least one");
        }
        if let Some(bound) = self.norm_bound.filter(|b| !(*b > 0.0 && b.is_finite())) {
            return wrong("norm_bound", bound.to_string(), "greater than zero");
        }
        if let Some(GpScales { inputs, outputs }) = &self.scales {
            let mut all = inputs.iter().chain(outputs);
            if let Some(bad) = all.find(|scale| !(**scale > 0.0 && scale.is_finite())) {
                return wrong("scales", bad.to_string(), "positive");
            }
        }
        if let Some(Hyperparameters { kernel, noise_variance }) = &self.fixed {
            let positive = |value: &f64| *value > 0.0 && value.is_finite();
            if !positive(&kernel.variance) {
                return wrong("fixed.kernel.variance", kernel.variance.to_string(), "positive");
            }
            if let Some(bad) = kernel.length_scales.iter().find(|scale| !positive(scale)) {
                return wrong("fixed.kernel.length_scales", bad.to_string(), "positive");
            }
            if !(*noise_variance >= 0.0 && noise_variance.is_finite()) {
                return wrong("fixed.noise_variance", noise_variance.to_string(), "not negative");
            }
        }
        Ok(())
    }
}

/// Fitted processes. They serialise to their data and hyper-parameters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianProcess {
    outputs: Vec<Regression>,
    inputs: Standardizer,
    targets: Standardizer,
    state_dim: usize,
    settings: GpSettings,
}

/// What a fit settled on, per output and in standardised units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpReport {
    /// Transitions that the processes are conditioned on.
    pub rows: usize,
    /// The kernel and the noise level, per output.
    pub hyperparameters: Vec<Hyperparameters>,
    /// Log marginal likelihood of the data, per output.
    pub log_likelihoods: Vec<f64>,
    /// What was added to the kernel matrices' diagonals to factorise them; zero if nothing was.
    pub jitters: Vec<f64>,
}

impl GaussianProcess {
    /// Conditions one process per output on all rows of `data`.
    pub fn fit(
        data: &Subset<'_>,
        settings: &GpSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(Self, GpReport)> {
        settings.validate()?;
        let rows = data.rows();
        if rows > MAX_ROWS {
            return Err(Error::TooManyRows { rows, most: MAX_ROWS });
        }
        let batch = data.slice(0, rows);
        let (inputs, targets) = (
            batch.inputs(),
            batch.targets(Target::Difference, batch.states.ncols(), settings.learn_reward),
        );
        let (input_scale, target_scale) = match &settings.scales {
            Some(given) => (
                chosen("scales of the inputs", &given.inputs, inputs.ncols())?,
                chosen("scales of the outputs", &given.outputs, targets.ncols())?,
            ),
            None => (
                Standardizer::fit(inputs.ncols(), [inputs.clone()].into_iter()),
                Standardizer::fit(targets.ncols(), [targets.clone()].into_iter()),
            ),
        };
        let x = input_scale.apply(inputs.view()).mapv(f64::from);
        let y = target_scale.apply(targets.view()).mapv(f64::from);
        let mut outputs = Vec::new();
        for (output, y) in y.columns().into_iter().enumerate() {
            let of = targets.ncols();
            report(observer, &Event { stage: "fit", step: output, of, metric: None })?;
            outputs.push(match &settings.fixed {
                Some(fixed) => fit_with(fixed, x.view(), y)?,
                None => {
                    let rng = &mut seed.stream(&format!("fit: hyper-parameters {output}"));
                    let step = rows.div_ceil(settings.likelihood_rows);
                    let (some_x, some_y) = (x.slice(s![..;step, ..]), y.slice(s![..;step]));
                    let found = most_likely(settings.kernel, settings.starts, some_x, some_y, rng)?;
                    with_noise_of_all_rows(found, x.view(), y)?
                }
            });
        }
        let model = Self {
            outputs,
            inputs: input_scale,
            targets: target_scale,
            state_dim: batch.states.ncols(),
            settings: settings.clone(),
        };
        let report = model.report();
        Ok((model, report))
    }

    /// Whether its parts fit together: to be asked after loading.
    pub fn is_consistent(&self) -> bool {
        let (columns, outputs) = (self.inputs.mean().len(), self.targets.mean().len());
        self.inputs.is_consistent()
            && self.targets.is_consistent()
            && outputs == self.outputs.len()
            && outputs == self.state_dim + usize::from(self.settings.learn_reward)
            && (1..columns).contains(&self.state_dim)
            && self.outputs.iter().all(|r| r.kernel().length_scales.len() == columns)
            && self.settings.validate().is_ok()
    }

    /// The processes, one per output, in standardised units.
    pub fn regressions(&self) -> &[Regression] {
        &self.outputs
    }

    fn report(&self) -> GpReport {
        let hyperparameters = |r: &Regression| Hyperparameters {
            kernel: r.kernel().clone(),
            noise_variance: r.noise_variance(),
        };
        GpReport {
            rows: self.outputs.first().map_or(0, Regression::rows),
            hyperparameters: self.outputs.iter().map(hyperparameters).collect(),
            log_likelihoods: self.outputs.iter().map(Regression::log_likelihood).collect(),
            jitters: self.outputs.iter().map(Regression::jitter).collect(),
        }
    }

    /// An output's kernel in the units of the data.
    fn kernel_in_data_units(&self, output: usize) -> Kernel {
        let kernel = self.outputs[output].kernel();
        let scale = f64::from(self.targets.std()[output]);
        let length_scales = kernel.length_scales.iter().zip(self.inputs.std());
        Kernel {
            kind: kernel.kind,
            variance: kernel.variance * scale * scale,
            length_scales: length_scales.map(|(l, &std)| l * f64::from(std)).collect(),
        }
    }
}

fn fit_with(
    of: &Hyperparameters,
    inputs: ArrayView2<'_, f64>,
    targets: ArrayView1<'_, f64>,
) -> Result<Regression> {
    if of.kernel.length_scales.len() != inputs.ncols() {
        let (expected, found) = (inputs.ncols(), of.kernel.length_scales.len());
        return Err(Error::Dimension { part: "length scales", expected, found });
    }
    Regression::fit(of.kernel.clone(), of.noise_variance, inputs, targets)
}

/// Raises the noise for as long as that makes all rows more likely: a part of them may have missed what
/// the kernel cannot follow.
fn with_noise_of_all_rows(
    mut of: Hyperparameters,
    inputs: ArrayView2<'_, f64>,
    targets: ArrayView1<'_, f64>,
) -> Result<Regression> {
    let mut best = fit_with(&of, inputs, targets)?;
    loop {
        of.noise_variance *= 2.0;
        let next = fit_with(&of, inputs, targets)?;
        if next.log_likelihood() > best.log_likelihood() {
            best = next;
        } else {
            return Ok(best);
        }
    }
}

impl Dynamics for GaussianProcess {
    fn state_dim(&self) -> usize {
        self.state_dim
    }

    fn action_dim(&self) -> usize {
        self.inputs.mean().len() - self.state_dim
    }

    fn predicts_reward(&self) -> bool {
        self.settings.learn_reward
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        check_batch(self, states, actions)?;
        let x = self.inputs.apply(dataset::inputs(states, actions).view()).mapv(f64::from);
        let shape = (states.nrows(), self.outputs.len());
        let (mut mean, mut epistemic_std) = (Array2::zeros(shape), Array2::zeros(shape));
        let mut aleatoric_std = Array2::zeros(shape);
        for (output, regression) in self.outputs.iter().enumerate() {
            let (means, stds) = regression.predict(x.view());
            let scale = f64::from(self.targets.std()[output]);
            let offset = f64::from(self.targets.mean()[output]);
            let in_units = |values: Vec<f64>, offset: f64| -> Array1<f32> {
                values.into_iter().map(|value| (value * scale + offset) as f32).collect()
            };
            mean.column_mut(output).assign(&in_units(means, offset));
            epistemic_std.column_mut(output).assign(&in_units(stds, 0.0));
            if !self.settings.deterministic {
                let noise = regression.noise_variance().sqrt() * scale;
                aleatoric_std.column_mut(output).fill(noise as f32);
            }
        }
        let mut next_states = mean.slice_axis_mut(Axis(1), (..self.state_dim).into());
        next_states += &states;
        Ok(Prediction { mean, epistemic_std, aleatoric_std, members: None })
    }

    /// `lem:gp_calibrated` and `lemma:lip_f_sigma_gp`.
    fn confidence(&self, delta: f64) -> Option<Confidence> {
        let outputs = self.outputs.len();
        let noise_ratio = |r: &Regression| match self.settings.deterministic {
            true => 0.0,
            false => (r.noise_variance() / r.regularization()).sqrt(),
        };
        let norm_bound = |r: &Regression| {
            self.settings.norm_bound.unwrap_or(self.settings.norm_factor * r.mean_norm())
        };
        let radius = |r: &Regression| {
            theory::beta(norm_bound(r), noise_ratio(r), r.information_gain(), outputs, delta)
        };
        let slopes: Option<Vec<f64>> = (0..self.state_dim)
            .map(|output| self.kernel_in_data_units(output).lipschitz())
            .collect();
        let of_dynamics = |slopes: &Vec<f64>| {
            let parts = slopes.iter().zip(&self.outputs).map(|(slope, r)| slope * norm_bound(r));
            // s' = s + f(s, a).
            1.0 + theory::lipschitz_of_parts(parts)
        };
        Some(Confidence {
            radius: self.outputs.iter().map(radius).collect(),
            information_gain: self.outputs.iter().map(Regression::information_gain).collect(),
            norm_bound: self.outputs.iter().map(norm_bound).collect(),
            norm_is_estimated: self.settings.norm_bound.is_none(),
            hyperparameters_are_learned: self.settings.fixed.is_none()
                || self.settings.scales.is_none(),
            lipschitz_dynamics: slopes.as_ref().map(of_dynamics),
            lipschitz_std: slopes.map(theory::lipschitz_of_parts),
        })
    }
}

fn chosen(part: &'static str, scales: &[f32], expected: usize) -> Result<Standardizer> {
    match scales.len() == expected {
        true => Ok(Standardizer::of_scales(scales)),
        false => Err(Error::Dimension { part, expected, found: scales.len() }),
    }
}
