//! Exact Gaussian process regression of one output, in float64.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef, Par, Spec};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dynamics::kernel::Kernel;
use crate::error::{Error, Result};

/// Points predicted together. The size is fixed, so that the number of threads changes no bit.
const CHUNK: usize = 64;

/// Jitters tried in turn, as shares of the mean of the kernel matrix's diagonal.
const JITTERS: [f64; 7] = [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4];

/// The posterior of one function given noisy values of it (`eq:GPposteriors`):
///
///   μ(x) = k(x)ᵀ (K + σ² I)⁻¹ y      σ_n²(x) = k(x, x) - k(x)ᵀ (K + σ² I)⁻¹ k(x)
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Saved", try_from = "Saved")]
pub struct Regression {
    kernel: Kernel,
    /// σ², without the jitter.
    noise_variance: f64,
    /// What had to be added to σ² for the matrix to be positive definite.
    jitter: f64,
    /// x / ℓ, `[n, inputs]`, and the same transposed.
    scaled: Array2<f64>,
    columns: Array2<f64>,
    /// L with L Lᵀ = K + (σ² + jitter) I, column by column; above the diagonal it is not defined.
    factor: Vec<f64>,
    /// α = (K + σ² I)⁻¹ y.
    weights: Array1<f64>,
    targets: Array1<f64>,
}

impl Regression {
    /// Conditions on `targets` at `inputs`, `[n, inputs]`: one Cholesky factorisation.
    pub fn fit(
        kernel: Kernel,
        noise_variance: f64,
        inputs: ArrayView2<'_, f64>,
        targets: ArrayView1<'_, f64>,
    ) -> Result<Self> {
        let scaled = kernel.scale(inputs);
        Self::of_scaled(kernel, noise_variance, scaled, targets.to_owned())
    }

    fn of_scaled(
        kernel: Kernel,
        noise_variance: f64,
        scaled: Array2<f64>,
        targets: Array1<f64>,
    ) -> Result<Self> {
        let rows = scaled.nrows();
        let columns = scaled.t().as_standard_layout().into_owned();
        let matrix = || kernel_matrix(&kernel, &scaled, &columns);
        let (factor, jitter) = factorize(matrix, rows, noise_variance)?;
        let mut weights = targets.to_vec();
        let lower = MatRef::from_column_major_slice(&factor, rows, rows);
        let mut column = MatMut::from_column_major_slice_mut(&mut weights, rows, 1);
        solve_lower_triangular_in_place(lower, column.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), column, Par::Seq);
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err(Error::IllConditioned { rows, jitter });
        }
        let weights = Array1::from_vec(weights);
        Ok(Self { kernel, noise_variance, jitter, scaled, columns, factor, weights, targets })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// σ², the variance of the noise on the targets.
    pub fn noise_variance(&self) -> f64 {
        self.noise_variance
    }

    /// What was added to the diagonal to factorise the matrix; zero if nothing was.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// What the factorised matrix has on its diagonal beside the kernel: noise and jitter.
    pub fn regularization(&self) -> f64 {
        self.noise_variance + self.jitter
    }

    /// Rows that it is conditioned on.
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Posterior mean and std of the function (not of a noisy value of it) at `points`,
    /// `[m, inputs]`.
    pub fn predict(&self, points: ArrayView2<'_, f64>) -> (Vec<f64>, Vec<f64>) {
        let points = self.kernel.scale(points);
        let mut means = vec![0.0; points.nrows()];
        let mut stds = vec![0.0; points.nrows()];
        means.par_chunks_mut(CHUNK).zip(stds.par_chunks_mut(CHUNK)).enumerate().for_each(
            |(chunk, (means, stds))| {
                let first = chunk * CHUNK;
                let points = points.slice(ndarray::s![first..first + means.len(), ..]);
                self.predict_chunk(points, means, stds);
            },
        );
        (means, stds)
    }

    fn predict_chunk(&self, points: ArrayView2<'_, f64>, means: &mut [f64], stds: &mut [f64]) {
        let rows = self.rows();
        let mut cross = vec![0.0; rows * points.nrows()];
        for ((point, column), mean) in
            points.rows().into_iter().zip(cross.chunks_mut(rows)).zip(means)
        {
            self.kernel.row(point, self.columns.view(), column);
            *mean = dot(column, self.weights.as_slice().expect("one after another"));
        }
        let lower = MatRef::from_column_major_slice(&self.factor, rows, rows);
        let solved = MatMut::from_column_major_slice_mut(&mut cross, rows, points.nrows());
        solve_lower_triangular_in_place(lower, solved, Par::Seq);
        for ((point, column), std) in points.rows().into_iter().zip(cross.chunks(rows)).zip(stds) {
            let explained = dot(column, column);
            // Rounding may explain a hair more than there is.
            *std = (self.kernel.of_scaled(point, point) - explained).max(0.0).sqrt();
        }
    }

    /// ln p(y), the log marginal likelihood.
    pub fn log_likelihood(&self) -> f64 {
        let fit = self.targets.dot(&self.weights);
        let constant = self.rows() as f64 * (2.0 * std::f64::consts::PI).ln();
        -0.5 * (fit + constant) - self.log_determinant_of_factor()
    }

    /// Its derivatives by ln variance, the ln ℓ of each input, and ln σ²:
    ///
    ///   ½ tr((α αᵀ - (K + σ² I)⁻¹) ∂(K + σ² I))
    pub fn log_likelihood_gradient(&self) -> Vec<f64> {
        let rows = self.rows();
        let inverse = self.inverse();
        let parameters = self.kernel.length_scales.len() + 1;
        let weights = &self.weights;
        // Summed column by column in a fixed order: the number of threads changes no bit.
        let per_column: Vec<Vec<f64>> = (0..rows)
            .into_par_iter()
            .map(|j| {
                let mut gradient = vec![0.0; parameters];
                for i in j..rows {
                    let both = if i == j { 0.5 } else { 1.0 };
                    let weight = both * (weights[i] * weights[j] - inverse[j * rows + i]);
                    let (u, v) = (self.scaled.row(i), self.scaled.row(j));
                    self.kernel.add_gradient(u, v, weight, &mut gradient);
                }
                gradient
            })
            .collect();
        let mut gradient = vec![0.0; parameters];
        for column in &per_column {
            gradient.iter_mut().zip(column).for_each(|(sum, part)| *sum += part);
        }
        let trace: f64 = (0..rows).map(|i| weights[i].powi(2) - inverse[i * rows + i]).sum();
        gradient.push(0.5 * self.noise_variance * trace);
        gradient
    }

    /// Information gain of the data, ½ ln det(I + K / σ²); σ² includes the jitter.
    pub fn information_gain(&self) -> f64 {
        self.log_determinant_of_factor() - 0.5 * self.rows() as f64 * self.regularization().ln()
    }

    /// ‖μ‖_k = √(αᵀ K α), the norm of the posterior mean in the kernel's space.
    pub fn mean_norm(&self) -> f64 {
        // K α = y - σ² α.
        let explained = self.targets.dot(&self.weights);
        let square = explained - self.regularization() * self.weights.dot(&self.weights);
        square.max(0.0).sqrt()
    }

    fn log_determinant_of_factor(&self) -> f64 {
        let rows = self.rows();
        (0..rows).map(|i| self.factor[i * rows + i].ln()).sum()
    }

    /// (K + σ² I)⁻¹, column by column, the lower triangle only.
    fn inverse(&self) -> Vec<f64> {
        let rows = self.rows();
        let mut inverse = vec![0.0; rows * rows];
        let lower = MatRef::from_column_major_slice(&self.factor, rows, rows);
        let mut memory = MemBuffer::new(llt::inverse::inverse_scratch::<f64>(rows, Par::Seq));
        let out = MatMut::from_column_major_slice_mut(&mut inverse, rows, rows);
        llt::inverse::inverse(out, lower, Par::Seq, MemStack::new(&mut memory));
        inverse
    }
}

/// What a process is saved as: it is conditioned again when it is loaded, to the same bits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    kernel: Kernel,
    noise_variance: f64,
    scaled: Array2<f64>,
    targets: Array1<f64>,
}

impl From<Regression> for Saved {
    fn from(from: Regression) -> Self {
        let Regression { kernel, noise_variance, scaled, targets, .. } = from;
        Self { kernel, noise_variance, scaled, targets }
    }
}

impl TryFrom<Saved> for Regression {
    type Error = Error;

    fn try_from(saved: Saved) -> Result<Self> {
        let Saved { kernel, noise_variance, scaled, targets } = saved;
        let shape = vec![targets.len(), kernel.length_scales.len()];
        if scaled.shape() != shape || scaled.nrows() > super::MAX_ROWS {
            let (part, found) = ("saved process's inputs", scaled.shape().to_vec());
            return Err(Error::SuppliedShape { part, expected: shape, found });
        }
        Self::of_scaled(kernel, noise_variance, scaled, targets)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    ArrayView1::from(a).dot(&ArrayView1::from(b))
}

/// K, column by column, the lower triangle only.
fn kernel_matrix(kernel: &Kernel, scaled: &Array2<f64>, columns: &Array2<f64>) -> Vec<f64> {
    let rows = scaled.nrows();
    let mut matrix = vec![0.0; rows * rows];
    matrix.par_chunks_mut(rows.max(1)).enumerate().for_each(|(j, column)| {
        kernel.row(scaled.row(j), columns.slice(ndarray::s![.., j..]), &mut column[j..]);
    });
    matrix
}

/// The Cholesky factor of `matrix + (noise + jitter) I`, with the smallest jitter that works.
fn factorize(matrix: impl Fn() -> Vec<f64>, rows: usize, noise: f64) -> Result<(Vec<f64>, f64)> {
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(rows, Par::Seq, Spec::default());
    let mut memory = MemBuffer::new(scratch);
    let mut jitter = 0.0;
    for share in JITTERS {
        let mut factor = matrix();
        let trace: f64 = (0..rows).map(|i| factor[i * rows + i]).sum();
        jitter = share * trace / rows.max(1) as f64;
        for i in 0..rows {
            factor[i * rows + i] += noise + jitter;
        }
        let done = llt::factor::cholesky_in_place(
            MatMut::from_column_major_slice_mut(&mut factor, rows, rows),
            llt::factor::LltRegularization::default(),
            // At these sizes two threads gain little, and faer's hold on to rayon's: the next kernel
            // matrix would take nearly twenty times as long.
            Par::Seq,
            MemStack::new(&mut memory),
            Spec::default(),
        );
        if done.is_ok() && (0..rows).all(|i| factor[i * rows + i].is_normal()) {
            return Ok((factor, jitter));
        }
    }
    Err(Error::IllConditioned { rows, jitter })
}
