//! What hidden layers do with their sums.

use pulp::{Arch, NullaryFnOnce};
use serde::{Deserialize, Serialize};

/// What hidden layers do with their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(x, 0)`
    #[default]
    Relu,
    /// `x / (1 + exp(-x))`, which is smooth.
    Silu,
}

impl Activation {
    /// Adds the bias to rows of sums and activates them. Slopes are written where there is room for
    /// them.
    pub(super) fn apply(self, rows: &mut [f32], bias: &[f32], slopes: &mut [f32]) {
        // With the widest instructions that the processor has; they round alike.
        Arch::new().dispatch(Rows { activation: self, rows, bias, slopes });
    }
}

/// The work of [`Activation::apply`]. A closure would not be inlined where those instructions are.
struct Rows<'a> {
    activation: Activation,
    rows: &'a mut [f32],
    bias: &'a [f32],
    slopes: &'a mut [f32],
}

impl NullaryFnOnce for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { activation, rows, bias, slopes } = self;
        match (activation, slopes.is_empty()) {
            (Activation::Relu, true) => each_row(rows, bias, |x| x.max(0.0)),
            (Activation::Silu, true) => each_row(rows, bias, |x| x * sigmoid(x)),
            (Activation::Relu, false) => {
                each_row_with_slopes(rows, bias, slopes, |x| {
                    (x.max(0.0), if x > 0.0 { 1.0 } else { 0.0 })
                });
            }
            (Activation::Silu, false) => {
                each_row_with_slopes(rows, bias, slopes, |x| {
                    let sigmoid = sigmoid(x);
                    (x * sigmoid, sigmoid * (1.0 + x * (1.0 - sigmoid)))
                });
            }
        }
    }
}

#[inline(always)]
fn each_row(rows: &mut [f32], bias: &[f32], activate: impl Fn(f32) -> f32) {
    for row in rows.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y = activate(*y + b));
    }
}

#[inline(always)]
fn each_row_with_slopes(
    rows: &mut [f32],
    bias: &[f32],
    slopes: &mut [f32],
    activate: impl Fn(f32) -> (f32, f32),
) {
    let width = bias.len();
    for (row, slopes) in rows.chunks_exact_mut(width).zip(slopes.chunks_exact_mut(width)) {
        for ((y, b), slope) in row.iter_mut().zip(bias).zip(slopes) {
            (*y, *slope) = activate(*y + b);
        }
    }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// To a relative error of 1e-7 where the result is a normal number; the standard library's would be
/// called once per number. Cephes' polynomial on |r| <= ln 2 / 2, times a power of two.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding it rounds what is much smaller to a whole number.
    const ROUNDS: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUNDS;
    let whole = rounded - ROUNDS;
    // The logarithm of two in two parts, so that the difference is exact.
    let r = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let series = 1.987_569_1e-4;
    let series = series * r + 1.398_199_9e-3;
    let series = series * r + 8.333_452e-3;
    let series = series * r + 4.166_579_6e-2;
    let series = series * r + 1.666_666_5e-1;
    let series = series * r + 0.5;
    let value = series * (r * r) + r + 1.0;
    // The last bits of what was rounded are the whole number; a cast would not be vectorised.
    let exponent = rounded.to_bits().wrapping_sub(ROUNDS.to_bits()).wrapping_add(127);
    value * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_agrees_with_the_standard_library() {
        for step in -8_600..=8_600 {
            let x = step as f32 * 0.01;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            // Two roundings of float32.
            assert!(error < 1.2e-7, "{x}: {error}");
        }
        assert!(exp(-1_000.0) < 1e-37 && exp(1_000.0) > 1e37);
    }

    #[test]
    fn slopes_are_finite_differences() {
        // None of them within 0.02 of ReLU's kink.
        let sums: Vec<f32> = (-60..60).map(|step| step as f32 * 0.1 + 0.05).collect();
        let bias = vec![0.3; sums.len()];
        for activation in [Activation::Relu, Activation::Silu] {
            let at = |shift: f32| {
                let mut rows: Vec<f32> = sums.iter().map(|x| x + shift).collect();
                activation.apply(&mut rows, &bias, &mut []);
                rows
            };
            let (mut rows, mut slopes) = (sums.clone(), vec![0.0; sums.len()]);
            activation.apply(&mut rows, &bias, &mut slopes);
            assert_eq!(rows, at(0.0));
            let differences = at(1e-2).into_iter().zip(at(-1e-2)).map(|(a, b)| (a - b) / 2e-2);
            for (slope, difference) in slopes.iter().zip(differences) {
                // Float32 values up to 6 over 0.02, and a third derivative below one half.
                assert!((slope - difference).abs() < 1e-4, "{slope} against {difference}");
            }
        }
    }
}
