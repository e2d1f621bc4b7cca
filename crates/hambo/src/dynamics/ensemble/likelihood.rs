//! How probable the members think the data is, and where that pulls them.

use ndarray::{Array2, Array3};

use crate::nn::{RowLoss, Tensor, softplus};

/// Smallest aleatoric std, in standardised units.
pub(super) const MIN_STD: f64 = 1e-3;

/// Each member's log-likelihood of each row, `[K, rows]`, without the constant:
///
///   Σ_j [ -½ ((y_ij - h_kj) / ν_kj)² - ln ν_kj ]
pub(super) fn log_likelihoods(outputs: Tensor<3>, targets: Tensor<3>) -> Tensor<2> {
    let [members, rows, _] = outputs.dims();
    let (mean, std) = heads(outputs, targets.dims()[2]);
    let error = (targets - mean) / std.clone();
    let terms = error.square() * -0.5 - std.log();
    terms.sum_dim(2).reshape([members, rows])
}

/// Means and stds `[K, rows, width]` from raw outputs `[K, rows, 2 width]`.
pub(super) fn heads(outputs: Tensor<3>, width: usize) -> (Tensor<3>, Tensor<3>) {
    let mean = outputs.clone().narrow(2, 0, width);
    (mean, softplus(outputs.narrow(2, width, width), 1.0) + MIN_STD)
}

/// The mean log-likelihood of a mini-batch, with every term times ν^2β, which counts as a constant: with β = 1 the
/// means have the gradient of least squares, and in between it depends on ν less than the likelihood's does.
pub(super) struct Likelihood {
    /// What the members should say, `[rows, width]`.
    pub(super) targets: Array2<f32>,
    /// What is added to their means, `[K, rows, width]`.
    pub(super) random: Option<Array3<f32>>,
    /// How often each member sees each row, `[K, rows]`; once if there are none.
    pub(super) weights: Option<Array2<f32>>,
    pub(super) beta: f32,
}

impl RowLoss for Likelihood {
    fn gradient(&self, member: usize, first_row: usize, outputs: &[f32], gradient: &mut [f32]) {
        let (rows, width) = self.targets.dim();
        let both = outputs.chunks_exact(2 * width).zip(gradient.chunks_exact_mut(2 * width));
        for (index, (outputs, gradient)) in both.enumerate() {
            let row = first_row + index;
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[[member, row]]);
            if weight == 0.0 {
                gradient.fill(0.0);
                continue;
            }
            let share = weight / rows as f32;
            for column in 0..width {
                let random = self.random.as_ref().map_or(0.0, |all| all[[member, row, column]]);
                let raw = outputs[width + column];
                // The exponential of what is not positive: it is at most one.
                let small = (-raw.abs()).exp();
                let std = raw.max(0.0) + small.ln_1p() + MIN_STD as f32;
                let slope = if raw >= 0.0 { 1.0 } else { small } / (1.0 + small);
                let error = (self.targets[[row, column]] - random - outputs[column]) / std;
                let pull = share * self.scale(std) / std;
                gradient[column] = pull * error;
                gradient[width + column] = pull * (error * error - 1.0) * slope;
            }
        }
    }
}

impl Likelihood {
    /// ν^2β
    fn scale(&self, std: f32) -> f32 {
        match self.beta {
            0.0 => 1.0,
            0.5 => std,
            beta => std.powf(2.0 * beta),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;
    use crate::nn::{Device, array};

    #[test]
    fn the_gradient_is_the_engines() {
        let numbers = |shape, step: f32| {
            let count = std::cell::Cell::new(0.0);
            Array3::from_shape_simple_fn(shape, || {
                count.set(count.get() + step);
                f32::sin(count.get()) * 3.0
            })
        };
        let (members, rows, width) = (2, 5, 3);
        let outputs = numbers((members, rows, 2 * width), 0.7);
        let targets = numbers((1, rows, width), 1.3).index_axis_move(ndarray::Axis(0), 0);
        let random = numbers((members, rows, width), 0.31);
        let weights = Array2::from_shape_fn((members, rows), |(k, i)| ((k + i) % 3) as f32);
        let flat = |all: &Array3<f32>| {
            let (k, n, d) = all.dim();
            let rows = all.to_shape((k * n, d)).unwrap().to_owned();
            Device::Cpu.tensor(rows.view()).reshape([k, n, d])
        };
        for beta in [0.0, 0.3, 0.5, 1.0] {
            let raw = flat(&outputs).autodiff().require_grad();
            let wanted = Device::Cpu.tensor(targets.view()).unsqueeze_dim::<3>(0) - flat(&random);
            let (mean, std) = heads(raw.clone(), width);
            let error = (wanted.autodiff() - mean) / std.clone();
            let terms = error.square() * -0.5 - std.clone().log();
            let terms = terms * std.detach().powf_scalar(2.0 * f64::from(beta));
            let terms = terms.sum_dim(2).reshape([members, rows]);
            let seen = Device::Cpu.tensor(weights.view()).autodiff();
            let mut found = ((terms * seen).sum() / rows as f64).backward();
            let expected = array(raw.grad_remove(&mut found).unwrap());

            let loss = Likelihood {
                targets: targets.clone(),
                random: Some(random.clone()),
                weights: Some(weights.clone()),
                beta,
            };
            for member in 0..members {
                // In two blocks.
                for (first, until) in [(0, 2), (2, rows)] {
                    let part = ndarray::s![member, first..until, ..];
                    let of: Vec<f32> = outputs.slice(part).iter().copied().collect();
                    let mut gradient = vec![f32::NAN; of.len()];
                    loss.gradient(member, first, &of, &mut gradient);
                    for (found, expected) in gradient.iter().zip(expected.slice(part)) {
                        // Ratios of float32 numbers up to a few hundreds.
                        let error = (found - expected).abs() / expected.abs().max(1.0);
                        assert!(error < 1e-5, "{found} instead of {expected}");
                    }
                }
            }
        }
    }
}
