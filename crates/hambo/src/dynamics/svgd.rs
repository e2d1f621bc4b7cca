//! Stein variational gradient descent: particles that climb the posterior and repel each other.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::nn::{Mix, gram};

/// The kernel between particles, `k(θ, θ') = exp(-‖θ - θ'‖² / (2 ℓ))`.
///
/// Departure: the authors' code divides by `2 ℓ²`; this is the paper's form.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SteinKernel {
    /// The paper's `ℓ = 10`.
    ///
    /// Networks of 200,000 weights lie hundreds of `ℓ` apart, so there the kernel between different
    /// members is zero, and each member climbs its own way, as in a deep ensemble.
    LengthScale(f64),
    /// `2 ℓ = median ‖θ - θ'‖² / ln(K + 1)`, which follows the particles' spread.
    Median,
}

impl Default for SteinKernel {
    fn default() -> Self {
        Self::LengthScale(10.0)
    }
}

/// The direction in which SVGD moves each particle (`alg:SVGD`):
///
///   φ(θ_k) = 1/K Σ_j [ k(θ_j, θ_k) s_j + ∇_{θ_j} k(θ_j, θ_k) ]
///   s_j = ∇ log-likelihood(θ_j) - prior_temperature · θ_j
///
/// With the RBF kernel, ∇_{θ_j} k(θ_j, θ_k) = k(θ_j, θ_k) (θ_k - θ_j) / ℓ, so that φ is linear in
/// the gradients and in the particles: φ = A g + C θ with small K x K matrices A and C.
///
/// `particles` are `[K, len]`, row by row.
pub(crate) fn direction(
    particles: &[f32],
    count: usize,
    prior_temperature: f64,
    kernel: SteinKernel,
) -> Mix {
    let (distances, k) = (squared_distances(particles, count), count);
    let length_scale = match kernel {
        SteinKernel::LengthScale(length_scale) => length_scale,
        SteinKernel::Median => median_length_scale(&distances),
    };
    // Far below float32's resolution of the diagonal a weight is noise, and as a denormal number
    // it would slow the products down severalfold.
    let kernel = distances.mapv(|d| {
        let k = (-d / (2.0 * length_scale)).exp();
        if k > 1e-20 { k } else { 0.0 }
    });
    let degree = kernel.sum_axis(ndarray::Axis(1));
    let on_gradients = &kernel / k as f64;
    let repulsion = Array2::from_diag(&degree) - &kernel;
    let on_particles = repulsion / (length_scale * k as f64) - &on_gradients * prior_temperature;
    Mix { a: on_gradients.mapv(|w| w as f32), c: on_particles.mapv(|w| w as f32) }
}

fn squared_distances(particles: &[f32], count: usize) -> Array2<f64> {
    let gram = gram(particles, count);
    let norms = gram.diag().to_owned();
    Array2::from_shape_fn(gram.raw_dim(), |(i, j)| {
        if i == j { 0.0 } else { (norms[i] + norms[j] - 2.0 * gram[[i, j]]).max(0.0) }
    })
}

fn median_length_scale(distances: &Array2<f64>) -> f64 {
    let k = distances.nrows();
    let mut pairs: Vec<f64> = (0..k).flat_map(|i| (0..i).map(move |j| distances[[i, j]])).collect();
    if pairs.is_empty() {
        return 1.0;
    }
    let middle = pairs.len() / 2;
    let (_, median, _) = pairs.select_nth_unstable_by(middle, f64::total_cmp);
    (*median / (2.0 * ((k + 1) as f64).ln())).max(1e-12)
}

#[cfg(test)]
mod tests {
    use ndarray::array as matrix;

    use super::*;

    /// The sum in the definition, written out.
    fn by_definition(
        theta: &Array2<f32>,
        gradients: &Array2<f32>,
        prior_temperature: f32,
        length_scale: f32,
    ) -> Array2<f32> {
        let k = theta.nrows();
        let mut phi = Array2::zeros(theta.raw_dim());
        for target in 0..k {
            for j in 0..k {
                let difference = &theta.row(target) - &theta.row(j);
                let kernel = (-difference.dot(&difference) / (2.0 * length_scale)).exp();
                let score = &gradients.row(j) - &(&theta.row(j) * prior_temperature);
                let term = score * kernel + difference * (kernel / length_scale);
                let mut row = phi.row_mut(target);
                row += &(term / k as f32);
            }
        }
        phi
    }

    #[test]
    fn direction_is_the_sum_in_the_definition() {
        let theta = matrix![[0.0, 1.0, -1.0], [2.0, 0.5, 0.0], [-1.0, 0.0, 3.0]];
        let gradients = matrix![[1.0, -2.0, 0.5], [0.0, 1.0, 1.0], [0.3, 0.2, -0.1]];
        let kernel = SteinKernel::LengthScale(2.0);
        let mix = direction(theta.as_slice().unwrap(), 3, 0.1, kernel);
        let found = mix.of(&gradients, &theta);
        let expected = by_definition(&theta, &gradients, 0.1, 2.0);
        let worst = (found - expected).iter().fold(0.0_f32, |worst, d| worst.max(d.abs()));
        assert!(worst < 1e-6, "differs by {worst}");
    }

    #[test]
    fn median_heuristic_follows_the_particles_spread() {
        let distances = matrix![[0.0, 4.0, 9.0], [4.0, 0.0, 1.0], [9.0, 1.0, 0.0]];
        let expected = 4.0 / (2.0 * 4.0_f64.ln());
        assert!((median_length_scale(&distances) - expected).abs() < 1e-12);
    }
}
