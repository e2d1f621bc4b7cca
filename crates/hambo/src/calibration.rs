//! How far predicted quantiles are from what happened, and the temperatures that fix it.
//!
//! `alg:BNN_calibrate`, after Kuleshov et al. (2018): of the calibration points, a share α should
//! fall below the α-quantile of their predictive distribution N(μ, τ² σ²).

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::dataset::Target;
use crate::dynamics::Dynamics;
use crate::error::{Error, Result};
use crate::unseen::Unseen;

/// The paper's confidence levels, A.
pub const LEVELS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];

/// Temperatures are searched between `1 / LARGEST` and `LARGEST`.
const LARGEST: f64 = 1e3;

/// Points a calibration rests on at most; its error falls below a percent long before.
const MAX_POINTS: usize = 100_000;

/// How many temperatures to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TemperatureKind {
    /// One per output, as in the paper.
    #[default]
    PerOutput,
    /// One for all, as in the authors' code.
    Shared,
}

/// The temperatures of a model, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Factor τ_j on the standard deviation of each output.
    pub temperatures: Array1<f32>,
    /// Calibration error with τ = 1.
    pub error_before: f64,
    /// Calibration error with the temperatures.
    pub error_after: f64,
    /// Points it rests on.
    pub points: usize,
    /// Episodes that they come from. Steps of one episode resemble each other, so this counts more.
    pub episodes: usize,
    /// The epistemic std that hardly any of them exceeds, per output: all outputs together do so at
    /// one point in a hundred. Beyond it little was checked.
    pub usual_epistemic_std: Array1<f32>,
    /// The reliability curve: for every output and every one of [`LEVELS`] the share of points
    /// below that quantile, `[outputs, levels]`, with τ = 1.
    pub frequencies_before: Array2<f64>,
    /// The reliability curve with the temperatures, `[outputs, levels]`.
    pub frequencies_after: Array2<f64>,
}

impl Calibration {
    /// Factors on the epistemic std that make CA's box: the temperatures, but not below one.
    ///
    /// Departure: in the paper temperatures below one narrow the box. They come from the bulk of the
    /// errors on the data, and say nothing of the rare large ones, nor of what lies off the data,
    /// where the box matters; see NOTATION.md for what was measured.
    pub fn box_factors(&self) -> Array1<f32> {
        self.temperatures.mapv(|temperature| temperature.max(1.0))
    }

    /// Without doubts about outputs that nobody predicts.
    pub(crate) fn without(mut self, outputs: &[usize]) -> Self {
        // Infinity would not survive a JSON document.
        outputs.iter().for_each(|&output| self.usual_epistemic_std[output] = f32::MAX);
        self
    }

    /// Chooses temperatures on data that the model has not been fitted on.
    pub fn fit(
        dynamics: &dyn Dynamics,
        unseen: &Unseen<'_>,
        kind: TemperatureKind,
    ) -> Result<Self> {
        let (residuals, usual_epistemic_std) = residuals(dynamics, unseen)?;
        let episodes = unseen.data().episodes().len();
        let calibration = Self::of_residuals(residuals.view(), kind)?;
        Ok(Self { usual_epistemic_std, episodes, ..calibration })
    }

    /// Chooses temperatures for standardised residuals `(y - μ) / σ`, `[points, outputs]`, of which
    /// nothing else is known.
    pub fn of_residuals(residuals: ArrayView2<'_, f32>, kind: TemperatureKind) -> Result<Self> {
        let finite = residuals.iter().all(|residual| residual.is_finite());
        if residuals.is_empty() || !finite {
            return Err(Error::Calibration { points: residuals.nrows(), finite });
        }
        let columns: Vec<Residuals> =
            residuals.columns().into_iter().map(|column| Residuals::new(column.to_vec())).collect();
        let temperatures: Array1<f64> = match kind {
            TemperatureKind::PerOutput => {
                columns.iter().map(|column| best_temperature(|t| column.error(t))).collect()
            }
            TemperatureKind::Shared => {
                let shared = best_temperature(|t| columns.iter().map(|c| c.error(t)).sum());
                Array1::from_elem(columns.len(), shared)
            }
        };
        let ones = Array1::ones(columns.len());
        Ok(Self {
            error_before: mean_error(&columns, &ones),
            error_after: mean_error(&columns, &temperatures),
            points: residuals.nrows(),
            episodes: 0,
            usual_epistemic_std: Array1::zeros(columns.len()),
            frequencies_before: frequencies(&columns, &ones),
            frequencies_after: frequencies(&columns, &temperatures),
            temperatures: temperatures.mapv(|temperature| temperature as f32),
        })
    }
}

/// Share of the points at which any output may exceed its usual epistemic std. The largest value of
/// all would be that of a single odd point.
const UNUSUAL: f64 = 0.01;

/// `(y - μ) / σ` of every output, with the total standard deviation σ; and the usual epistemic std
/// of each output.
fn residuals(dynamics: &dyn Dynamics, unseen: &Unseen<'_>) -> Result<(Array2<f32>, Array1<f32>)> {
    const ROWS: usize = 4096;
    let data = unseen.data();
    let stride = data.rows().div_ceil(MAX_POINTS).max(1);
    let rows: Vec<usize> = (0..data.rows()).step_by(stride).map(|index| data.row(index)).collect();
    let mut residuals = Array2::zeros((0, dynamics.outputs()));
    let mut stds = Array2::zeros((0, dynamics.outputs()));
    for rows in rows.chunks(ROWS) {
        let (batch, prediction) = unseen.predict(dynamics, rows)?;
        let outputs = "one column per output";
        stds.append(Axis(0), prediction.epistemic_std.view()).expect(outputs);
        let (next_dim, with_reward) = (dynamics.next_dim(), dynamics.predicts_reward());
        let outcomes = batch.targets(Target::NextState, next_dim, with_reward);
        let chunk = (outcomes - &prediction.mean) / prediction.total_std();
        residuals.append(Axis(0), chunk.view()).expect(outputs);
    }
    Ok((residuals, usual(&stds)))
}

/// The value of every column that a share of `UNUSUAL` of the rows exceeds in one of the columns, if
/// not in several at once.
fn usual(stds: &Array2<f32>) -> Array1<f32> {
    let share = UNUSUAL / stds.ncols().max(1) as f64;
    let quantile = |column: ndarray::ArrayView1<'_, f32>| {
        let mut sorted = column.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let above = (share * sorted.len() as f64).floor() as usize;
        sorted[sorted.len() - 1 - above.min(sorted.len() - 1)]
    };
    match stds.nrows() {
        0 => Array1::zeros(stds.ncols()),
        _ => stds.columns().into_iter().map(quantile).collect(),
    }
}

/// One output's standardised residuals, sorted.
struct Residuals(Vec<f32>);

impl Residuals {
    fn new(mut values: Vec<f32>) -> Self {
        values.sort_unstable_by(f32::total_cmp);
        Self(values)
    }

    /// `EmpFreq(α; τ)`: the share of points below the α-quantile of N(μ, τ² σ²).
    fn frequency(&self, level: f64, temperature: f64) -> f64 {
        let quantile = temperature * Normal::standard().inverse_cdf(level);
        let below = self.0.partition_point(|&residual| f64::from(residual) <= quantile);
        below as f64 / self.0.len() as f64
    }

    /// `CalErr(τ)` of this output: mean squared difference between frequency and level.
    fn error(&self, temperature: f64) -> f64 {
        let squares = LEVELS.map(|level| (self.frequency(level, temperature) - level).powi(2));
        squares.iter().sum::<f64>() / LEVELS.len() as f64
    }
}

fn frequencies(columns: &[Residuals], temperatures: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((columns.len(), LEVELS.len()), |(output, level)| {
        columns[output].frequency(LEVELS[level], temperatures[output])
    })
}

fn mean_error(columns: &[Residuals], temperatures: &Array1<f64>) -> f64 {
    let errors = columns.iter().zip(temperatures).map(|(column, &t)| column.error(t));
    errors.sum::<f64>() / columns.len() as f64
}

/// The temperature with the least error, on a logarithmic grid that is refined around its best
/// point. The error is a step function; of equally good temperatures the largest is taken, because
/// too wide is safer than too narrow.
fn best_temperature(error: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-LARGEST.ln(), LARGEST.ln());
    let mut best = 0.0;
    for points in [200, 40, 40] {
        let step = (high - low) / f64::from(points);
        let mut least = f64::INFINITY;
        for index in 0..=points {
            let candidate = low + f64::from(index) * step;
            let value = error(candidate.exp());
            if value <= least {
                (least, best) = (value, candidate);
            }
        }
        (low, high) = (best - step, best + step);
    }
    best.exp()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::Seed;

    /// Residuals of a model whose std is too small by the factor planted in each output.
    fn planted(temperatures: &[f32], points: usize, seed: u64) -> Array2<f32> {
        let mut rng = Seed(seed).stream("planted");
        Array2::from_shape_fn((points, temperatures.len()), |(_, output)| {
            let normal: f32 = rng.sample(StandardNormal);
            temperatures[output] * normal
        })
    }

    #[test]
    fn calibration_recovers_planted_temperatures() {
        let truth = [0.3, 1.0, 3.0];
        for seed in 0..20 {
            let residuals = planted(&truth, 10_000, seed);
            let found =
                Calibration::of_residuals(residuals.view(), TemperatureKind::PerOutput).unwrap();
            for (found, truth) in found.temperatures.iter().zip(truth) {
                assert!((found / truth - 1.0).abs() < 0.05, "seed {seed}: {found}, not {truth}");
            }
        }
    }

    #[test]
    fn a_shared_temperature_serves_all_outputs() {
        let residuals = planted(&[2.0, 2.0], 10_000, 0);
        let found = Calibration::of_residuals(residuals.view(), TemperatureKind::Shared).unwrap();
        assert_eq!(found.temperatures[0], found.temperatures[1]);
        assert!((found.temperatures[0] / 2.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn calibration_widens_the_box_but_does_not_narrow_it() {
        let residuals = planted(&[0.3, 3.0], 10_000, 1);
        let found =
            Calibration::of_residuals(residuals.view(), TemperatureKind::PerOutput).unwrap();
        assert_eq!(found.box_factors()[0], 1.0);
        assert_eq!(found.box_factors()[1], found.temperatures[1]);
    }

    #[test]
    fn frequencies_are_one_sided() {
        // Half of the points lie far below, half far above every quantile.
        let residuals = Array2::from_shape_fn((100, 1), |(i, _)| if i < 50 { -99.0 } else { 99.0 });
        let column = Residuals::new(residuals.column(0).to_vec());
        assert!(LEVELS.iter().all(|&level| column.frequency(level, 1.0) == 0.5));
    }

    #[test]
    fn scaling_never_makes_the_error_larger() {
        let skewed = planted(&[1.0], 500, 4).mapv(|x| x * x - 0.3);
        let found = Calibration::of_residuals(skewed.view(), TemperatureKind::PerOutput).unwrap();
        assert!(found.error_after <= found.error_before);
    }

    #[test]
    fn one_odd_point_does_not_decide_what_is_usual() {
        let mut stds = planted(&[1.0, 5.0], 10_000, 7).mapv(f32::abs);
        stds[[123, 0]] = 1e6;
        let usual = usual(&stds);
        assert!(usual[0] < 4.0, "{usual}");
        let exceeds = |row: ndarray::ArrayView1<'_, f32>| row[0] > usual[0] || row[1] > usual[1];
        let outside = stds.rows().into_iter().filter(|&row| exceeds(row)).count();
        assert!((80..=100).contains(&outside), "{outside} of 10,000");
    }

    #[test]
    fn of_equally_good_temperatures_the_largest_is_taken() {
        let found = best_temperature(|t| if (0.5..=2.0).contains(&t) { 0.0 } else { 1.0 });
        assert!((found - 2.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn nothing_to_calibrate_on_is_an_error() {
        let none = Array2::<f32>::zeros((0, 2));
        let error = Calibration::of_residuals(none.view(), TemperatureKind::PerOutput)
            .expect_err("no points");
        assert!(error.to_string().contains("0 points"), "{error}");
    }
}
