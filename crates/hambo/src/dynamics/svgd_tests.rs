//! SVGD against a posterior that is known exactly.

use ndarray::{Array1, Array2, Axis, concatenate, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::svgd::{SteinKernel, direction};
use crate::nn::{Adam, Buffers, Device, Layout, Mlps, RowLoss, array};
use crate::rng::Seed;

const PARTICLES: usize = 50;
const NOISE_STD: f32 = 0.5;
const ROWS: usize = 40;

/// Bayesian linear regression: y = x w + b + noise, prior N(0, I) on (w, b), noise known.
struct Regression {
    inputs: Array2<f32>,
    targets: Array2<f32>,
}

impl Regression {
    fn random(seed: u64) -> Self {
        let mut rng = Seed(seed).stream("regression");
        let mut normal = || -> f32 { rng.sample(StandardNormal) };
        let mut inputs = Array2::from_shape_simple_fn((ROWS, 3), &mut normal);
        // Correlated inputs of different scales, so that the posterior is not round.
        for mut row in inputs.rows_mut() {
            row[1] = 0.6 * row[1] + 0.5 * row[0];
            row[2] *= 0.5;
        }
        let weights = ndarray::array![[1.0], [-0.8], [1.5]];
        let noise = Array2::from_shape_simple_fn((ROWS, 1), &mut normal);
        let targets = inputs.dot(&weights) + 0.7 + noise * NOISE_STD;
        Self { inputs, targets }
    }

    /// Exact posterior mean and std of (w, b): precision Λ = Xᵀ X / σ² + I, mean Λ⁻¹ Xᵀ y / σ².
    fn posterior(&self) -> (Array1<f64>, Array1<f64>) {
        let ones = Array2::ones((ROWS, 1));
        let x = concatenate![Axis(1), self.inputs.mapv(f64::from), ones];
        let variance = f64::from(NOISE_STD).powi(2);
        let precision = x.t().dot(&x) / variance + Array2::<f64>::eye(4);
        let covariance = invert(precision);
        let mean = covariance.dot(&x.t().dot(&self.targets.column(0).mapv(f64::from))) / variance;
        (mean, covariance.diag().mapv(f64::sqrt))
    }

    /// Mean and std of SVGD's particles.
    fn particles(&self, seed: u64) -> (Array1<f64>, Array1<f64>) {
        let mut rng = Seed(seed).stream("particles");
        let layout = Layout::new(3, &[], 1);
        let mut networks = Mlps::random(layout, PARTICLES, Device::Cpu, &mut rng);
        let (mut adam, mut buffers) = (Adam::default(), Buffers::default());
        const STEPS: usize = 3000;
        for step in 0..STEPS {
            let rate = 0.05 * (1.0 - step as f64 / STEPS as f64);
            networks.descend(self.inputs.view(), self, &mut buffers, |params, gradient| {
                let phi = direction(params, PARTICLES, 1.0, SteinKernel::Median);
                adam.step_mixed(params, gradient, &phi, -rate);
            });
        }
        let particles = array(networks.params().clone()).mapv(f64::from);
        (particles.mean_axis(Axis(0)).expect("50 particles"), particles.std_axis(Axis(0), 1.0))
    }
}

/// The log-likelihood, as a sum over rows.
impl RowLoss for Regression {
    fn gradient(&self, _: usize, first_row: usize, outputs: &[f32], gradient: &mut [f32]) {
        let targets = self.targets.column(0);
        for (row, (output, gradient)) in outputs.iter().zip(gradient).enumerate() {
            *gradient = (targets[first_row + row] - output) / NOISE_STD.powi(2);
        }
    }
}

/// Gauss-Jordan, for a small positive definite matrix.
fn invert(matrix: Array2<f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let mut work = concatenate![Axis(1), matrix, Array2::eye(n)];
    for pivot in 0..n {
        let scaled = &work.row(pivot) / work[[pivot, pivot]];
        work.row_mut(pivot).assign(&scaled);
        for row in (0..n).filter(|&row| row != pivot) {
            let reduced = &work.row(row) - &(&scaled * work[[row, pivot]]);
            work.row_mut(row).assign(&reduced);
        }
    }
    work.slice(s![.., n..]).to_owned()
}

/// The median heuristic is used because the paper's length scale of 10 is meant for networks: it is
/// a hundred times this posterior's variance, and the kernel would see all particles as one.
///
/// SVGD with finitely many particles is known to give too little variance; 15 % is the room left to
/// it, and it uses most of that in four dimensions.
#[test]
fn svgd_finds_the_posterior_of_a_linear_regression() {
    let (mut mean_error, mut std_error) = (Array1::<f64>::zeros(4), Array1::<f64>::zeros(4));
    for seed in 0..5 {
        let regression = Regression::random(seed);
        let (mean, std) = regression.posterior();
        let (found_mean, found_std) = regression.particles(seed);
        mean_error += &((&found_mean - &mean) / &mean).mapv(f64::abs);
        std_error += &((&found_std - &std) / &std).mapv(f64::abs);
    }
    let (mean_error, std_error) = (mean_error / 5.0, std_error / 5.0);
    println!("mean off by {mean_error:.4}, std off by {std_error:.4}");
    assert!(mean_error.iter().all(|&error| error < 0.02), "posterior mean off by {mean_error}");
    assert!(std_error.iter().all(|&error| error < 0.15), "posterior std off by {std_error}");
}
