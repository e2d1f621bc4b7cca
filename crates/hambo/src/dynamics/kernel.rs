//! Kernels between inputs, with one length scale per input.
//!
//! With u = x / ℓ, v = x' / ℓ and r = |u - v|:
//!
//! | kind | k(x, x') / variance | L_k of its metric |
//! |---|---|---|
//! | linear | u · v | √variance / min ℓ |
//! | RBF | exp(-r² / 2) | √variance / min ℓ |
//! | Matern 1/2 | exp(-r) | none: its metric has a cusp |
//! | Matern 3/2 | (1 + √3 r) exp(-√3 r) | √(3 variance) / min ℓ |
//! | Matern 5/2 | (1 + √5 r + 5/3 r²) exp(-√5 r) | √(5/3 variance) / min ℓ |
//!
//! The Lipschitz constants are the paper's √(ν / (ν - 1)) / ℓ, for unit variance and one ℓ.

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

/// The shape of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KernelKind {
    /// `u · v`: linear functions.
    Linear,
    /// `exp(-r² / 2)`: smooth functions.
    #[default]
    Rbf,
    /// `exp(-r)`: continuous functions that are nowhere smooth.
    Matern12,
    /// `(1 + √3 r) exp(-√3 r)`: functions that can be differentiated once.
    Matern32,
    /// `(1 + √5 r + 5/3 r²) exp(-√5 r)`: functions that can be differentiated twice.
    Matern52,
}

/// A kernel with its hyper-parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Its shape.
    pub kind: KernelKind,
    /// Factor on the whole kernel; greater than zero.
    pub variance: f64,
    /// ℓ, one per input; greater than zero.
    pub length_scales: Vec<f64>,
}

impl KernelKind {
    /// k / variance as a function of what [`Self::compare`] returns.
    fn value(self, compared: f64) -> f64 {
        match self {
            Self::Linear => compared,
            Self::Rbf => (-0.5 * compared).exp(),
            Self::Matern12 => (-compared.sqrt()).exp(),
            Self::Matern32 => {
                let t = (3.0 * compared).sqrt();
                (1.0 + t) * (-t).exp()
            }
            Self::Matern52 => {
                let t = (5.0 * compared).sqrt();
                (1.0 + t + t * t / 3.0) * (-t).exp()
            }
        }
    }

    /// What to multiply [`Self::input_part`] of an input with to get the derivative of k / variance
    /// by ln ℓ of that input.
    fn slope(self, compared: f64) -> f64 {
        match self {
            Self::Linear => -2.0,
            Self::Rbf => (-0.5 * compared).exp(),
            // At distance zero every input's part is zero as well.
            Self::Matern12 if compared == 0.0 => 0.0,
            Self::Matern12 => (-compared.sqrt()).exp() / compared.sqrt(),
            Self::Matern32 => 3.0 * (-(3.0 * compared).sqrt()).exp(),
            Self::Matern52 => {
                let t = (5.0 * compared).sqrt();
                5.0 / 3.0 * (1.0 + t) * (-t).exp()
            }
        }
    }

    /// One input's part in comparing two scaled points.
    fn input_part(self, u: f64, v: f64) -> f64 {
        match self {
            Self::Linear => u * v,
            _ => (u - v) * (u - v),
        }
    }

    /// u · v for the linear kernel, r² for the others.
    fn compare(self, u: ArrayView1<'_, f64>, v: ArrayView1<'_, f64>) -> f64 {
        u.iter().zip(v).map(|(&u, &v)| self.input_part(u, v)).sum()
    }
}

impl Kernel {
    /// The same length scale for every input.
    pub fn isotropic(kind: KernelKind, variance: f64, length_scale: f64, inputs: usize) -> Self {
        Self { kind, variance, length_scales: vec![length_scale; inputs] }
    }

    /// Inputs in units of their length scales: u = x / ℓ.
    pub fn scale(&self, inputs: ArrayView2<'_, f64>) -> Array2<f64> {
        inputs.to_owned() / ArrayView1::from(&self.length_scales)
    }

    /// k between two scaled points.
    pub fn of_scaled(&self, u: ArrayView1<'_, f64>, v: ArrayView1<'_, f64>) -> f64 {
        self.variance * self.kind.value(self.kind.compare(u, v))
    }

    /// k of a scaled point with each of the scaled points whose coordinates are the rows of
    /// `columns`, `[inputs, points]`.
    pub fn row(&self, u: ArrayView1<'_, f64>, columns: ArrayView2<'_, f64>, out: &mut [f64]) {
        out.fill(0.0);
        for (&u, points) in u.iter().zip(columns.rows()) {
            let points = points.to_slice().expect("coordinates are stored one after another");
            // The choice is made outside the loop, so that the loop is plain arithmetic.
            match self.kind {
                KernelKind::Linear => out.iter_mut().zip(points).for_each(|(sum, v)| *sum += u * v),
                _ => out.iter_mut().zip(points).for_each(|(sum, v)| *sum += (u - v) * (u - v)),
            }
        }
        for value in out {
            *value = self.variance * self.kind.value(*value);
        }
    }

    /// Adds `weight` times the derivatives of k(u, v) by ln variance and by the ln ℓ of each input
    /// to `gradient`.
    pub fn add_gradient(
        &self,
        u: ArrayView1<'_, f64>,
        v: ArrayView1<'_, f64>,
        weight: f64,
        gradient: &mut [f64],
    ) {
        let compared = self.kind.compare(u, v);
        let weight = weight * self.variance;
        gradient[0] += weight * self.kind.value(compared);
        let slope = weight * self.kind.slope(compared);
        for (input, (&u, &v)) in u.iter().zip(v).enumerate() {
            gradient[1 + input] += slope * self.kind.input_part(u, v);
        }
    }

    /// Lipschitz constant L_k of the kernel's metric √(k(x, x) + k(x', x') - 2 k(x, x')); none if
    /// it has none.
    pub fn lipschitz(&self) -> Option<f64> {
        let shortest = self.length_scales.iter().copied().fold(f64::INFINITY, f64::min);
        let factor: f64 = match self.kind {
            KernelKind::Linear | KernelKind::Rbf => 1.0,
            KernelKind::Matern12 => return None,
            KernelKind::Matern32 => 3.0,
            KernelKind::Matern52 => 5.0 / 3.0,
        };
        Some((factor * self.variance).sqrt() / shortest)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::RngExt;

    use super::*;
    use crate::rng::Seed;

    const KINDS: [KernelKind; 5] = [
        KernelKind::Linear,
        KernelKind::Rbf,
        KernelKind::Matern12,
        KernelKind::Matern32,
        KernelKind::Matern52,
    ];

    fn with(kind: KernelKind, logs: &[f64]) -> Kernel {
        let length_scales = logs[1..].iter().map(|log| log.exp()).collect();
        Kernel { kind, variance: logs[0].exp(), length_scales }
    }

    fn value(kernel: &Kernel, x: &Array2<f64>) -> f64 {
        let scaled = kernel.scale(x.view());
        kernel.of_scaled(scaled.row(0), scaled.row(1))
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let x = array![[0.3, -1.0], [1.1, 0.4]];
        let logs = [0.4, -0.3, 0.7];
        for kind in KINDS {
            let kernel = with(kind, &logs);
            let scaled = kernel.scale(x.view());
            let mut gradient = [0.0; 3];
            kernel.add_gradient(scaled.row(0), scaled.row(1), 1.0, &mut gradient);
            for index in 0..3 {
                let moved = |by: f64| {
                    let mut logs = logs;
                    logs[index] += by;
                    value(&with(kind, &logs), &x)
                };
                let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                // Central differences at 1e-5 are good to about 1e-10.
                assert!((gradient[index] - numeric).abs() < 1e-8, "{kind:?}, {index}");
            }
        }
    }

    #[test]
    fn a_row_holds_the_single_values() {
        let points = array![[0.3, -1.0], [1.1, 0.4], [2.0, 0.0]];
        for kind in KINDS {
            let kernel = with(kind, &[0.4, -0.3, 0.7]);
            let scaled = kernel.scale(points.view());
            let columns = scaled.t().as_standard_layout().into_owned();
            let mut row = [0.0; 3];
            kernel.row(scaled.row(1), columns.view(), &mut row);
            for (index, value) in row.iter().enumerate() {
                assert_eq!(*value, kernel.of_scaled(scaled.row(1), scaled.row(index)));
            }
        }
    }

    #[test]
    fn the_metric_is_lipschitz_with_the_stated_constant() {
        let mut rng = Seed(0).stream("pairs");
        for kind in KINDS {
            let kernel = with(kind, &[0.4, -0.3, 0.7]);
            let Some(constant) = kernel.lipschitz() else { continue };
            let mut largest = 0.0_f64;
            for _ in 0..100_000 {
                // Near pairs as well as far ones: the steepest slope is at distance zero.
                let reach: f64 = 10.0_f64.powf(rng.random_range(-3.0..1.0));
                let x = Array2::from_shape_fn((2, 2), |_| rng.random_range(-reach..reach));
                let u = kernel.scale(x.view());
                let (u, v) = (u.row(0), u.row(1));
                let square =
                    kernel.of_scaled(u, u) + kernel.of_scaled(v, v) - 2.0 * kernel.of_scaled(u, v);
                let distance = (x[[0, 0]] - x[[1, 0]]).hypot(x[[0, 1]] - x[[1, 1]]);
                largest = largest.max(square.max(0.0).sqrt() / distance);
            }
            assert!(largest <= constant * (1.0 + 1e-6), "{kind:?}: {largest} > {constant}");
            assert!(largest > 0.9 * constant, "{kind:?}: {constant} is needlessly large");
        }
    }
}
