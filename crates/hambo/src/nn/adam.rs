//! Adam on a parameter matrix.
//!
//! One pass over parameters, gradient and moments. Burn's own Adam makes a dozen, on one thread,
//! which took as long as a third of the gradient itself.

use super::burn::tensor::{Tensor, TensorData};
use super::device::values;
use super::mix::Mix;
use ndarray::Array2;
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

const FIRST_DECAY: f32 = 0.9;
const SECOND_DECAY: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// What is smaller counts as nothing. A prior pulls the weights of idle units towards zero for ever,
/// and a processor takes over a hundred times as long for subnormal numbers: on HalfCheetah, where 5 %
/// of a layer's weights had become such, all else took twelve times as long, with the same results.
const NOTHING: f32 = 1e-20;
/// The same for squares, which count until far below the square of epsilon.
const NOTHING_SQUARED: f32 = 1e-30;

/// Columns that are worked on at a time.
const CHUNK: usize = 4 * 1024;

/// Adam with the usual decays (0.9, 0.999) and epsilon 1e-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Adam {
    /// First and second moments, as many as parameters; none before the first step.
    moments: [Vec<f32>; 2],
    shape: [usize; 2],
    steps: i32,
}

impl Adam {
    /// Moves `params` a step against `gradient`:
    ///
    ///   m ← 0.9 m + 0.1 g      v ← 0.999 v + 0.001 g²
    ///   θ ← θ - rate · m̂ / (√v̂ + ε)      m̂ = m / (1 - 0.9^t), v̂ = v / (1 - 0.999^t)
    pub(crate) fn step(&mut self, params: Tensor<2>, gradient: Tensor<2>, rate: f64) -> Tensor<2> {
        let (shape, device) = (params.dims(), params.device());
        let (mut params, gradient) = (values(params), values(gradient));
        let rates = self.begin(shape, rate);
        let [first, second] = &mut self.moments;
        let chunks = params
            .par_chunks_mut(CHUNK)
            .zip(first.par_chunks_mut(CHUNK))
            .zip(second.par_chunks_mut(CHUNK))
            .zip(gradient.par_chunks(CHUNK));
        chunks.for_each(|(((params, first), second), gradient)| {
            Step { params, first, second, gradient, rates }.take();
        });
        Tensor::from_data(TensorData::new(params, shape), &device)
    }

    /// As [`step`](Self::step) on rows of parameters, against a mix of the rows of `gradient` and of the parameters
    /// themselves, in the same pass.
    pub(crate) fn step_mixed(
        &mut self,
        params: &mut [f32],
        gradient: &[f32],
        mix: &Mix,
        rate: f64,
    ) {
        let (rows, len) = (mix.rows(), params.len() / mix.rows().max(1));
        let rates = self.begin([rows, len], rate);
        let [first, second] = &mut self.moments;
        let mut parts: Vec<Columns<'_>> = Vec::new();
        parts.resize_with(len.div_ceil(CHUNK), Columns::default);
        let all = params.chunks_mut(len).zip(first.chunks_mut(len)).zip(second.chunks_mut(len));
        for (((params, first), second), gradient) in all.zip(gradient.chunks(len)) {
            let chunks = params
                .chunks_mut(CHUNK)
                .zip(first.chunks_mut(CHUNK))
                .zip(second.chunks_mut(CHUNK))
                .zip(gradient.chunks(CHUNK));
            for (part, (((params, first), second), gradient)) in parts.iter_mut().zip(chunks) {
                part.params.push(params);
                part.moments.push((first, second));
                part.gradient.push(gradient);
            }
        }
        parts.into_par_iter().for_each_init(
            || vec![0.0; rows * CHUNK],
            |directions, Columns { params, moments, gradient }| {
                // All of them before a parameter moves.
                for (row, direction) in directions.chunks_mut(CHUNK).enumerate() {
                    mix.row(row, &gradient, &params, direction);
                }
                for ((params, (first, second)), direction) in
                    params.into_iter().zip(moments).zip(directions.chunks(CHUNK))
                {
                    let gradient = &direction[..params.len()];
                    Step { params, first, second, gradient, rates }.take();
                }
            },
        );
    }

    /// Counts a step.
    fn begin(&mut self, shape: [usize; 2], rate: f64) -> Rates {
        self.shape = shape;
        self.moments.iter_mut().for_each(|moments| moments.resize(shape[0] * shape[1], 0.0));
        self.steps += 1;
        Rates {
            step: rate as f32 / (1.0 - FIRST_DECAY.powi(self.steps)),
            second: 1.0 / (1.0 - SECOND_DECAY.powi(self.steps)),
        }
    }

    /// Steps taken.
    pub(crate) fn steps(&self) -> i32 {
        self.steps
    }

    /// The two moments, if a step was taken.
    pub(crate) fn moments(&self) -> Option<[Array2<f32>; 2]> {
        let matrix = |values: &Vec<f32>| Array2::from_shape_vec(self.shape, values.clone()).ok();
        let [first, second] = &self.moments;
        (self.steps > 0).then_some([matrix(first)?, matrix(second)?])
    }

    /// As it was after so many steps.
    pub(crate) fn resumed([first, second]: [Array2<f32>; 2], steps: i32) -> Self {
        let shape = [first.nrows(), first.ncols()];
        let values = |moments: Array2<f32>| moments.iter().copied().collect();
        Self { moments: [values(first), values(second)], shape, steps }
    }
}

/// The same columns of all rows.
#[derive(Default)]
struct Columns<'a> {
    params: Vec<&'a mut [f32]>,
    moments: Vec<(&'a mut [f32], &'a mut [f32])>,
    gradient: Vec<&'a [f32]>,
}

/// The step's corrections for moments that started at zero.
#[derive(Debug, Clone, Copy)]
struct Rates {
    step: f32,
    second: f32,
}

/// A step of some parameters.
struct Step<'a> {
    params: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradient: &'a [f32],
    rates: Rates,
}

impl Step<'_> {
    /// With the widest instructions that the processor has; they round alike.
    fn take(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { params, first, second, gradient, rates } = self;
        for (((p, m), v), &g) in params.iter_mut().zip(first).zip(second).zip(gradient) {
            *m = or_zero(FIRST_DECAY * *m + (1.0 - FIRST_DECAY) * g, NOTHING);
            *v = or_zero(SECOND_DECAY * *v + (1.0 - SECOND_DECAY) * g * g, NOTHING_SQUARED);
            let change = rates.step * *m / ((*v * rates.second).sqrt() + EPSILON);
            *p = or_zero(*p - change, NOTHING);
        }
    }
}

#[inline(always)]
fn or_zero(value: f32, least: f32) -> f32 {
    if value.abs() < least { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::nn::{Device, array};

    /// Algorithm 1 of the paper that introduced Adam (2015), in float64.
    struct Textbook {
        params: Array2<f64>,
        first: Array2<f64>,
        second: Array2<f64>,
        steps: i32,
    }

    impl Textbook {
        fn step(&mut self, gradient: &Array2<f64>, rate: f64) {
            self.steps += 1;
            self.first = &self.first * 0.9 + gradient * 0.1;
            self.second = &self.second * 0.999 + gradient * gradient * 0.001;
            let first = &self.first / (1.0 - 0.9_f64.powi(self.steps));
            let second = &self.second / (1.0 - 0.999_f64.powi(self.steps));
            self.params = &self.params - &(first / (second.mapv(f64::sqrt) + 1e-8) * rate);
        }
    }

    #[test]
    fn steps_agree_with_the_textbook() {
        let start = Array2::from_shape_fn((2, 300), |(i, j)| (i + j) as f32 * 0.01);
        let none = Array2::zeros(start.dim());
        let mut textbook =
            Textbook { params: start.mapv(f64::from), first: none.clone(), second: none, steps: 0 };
        let (mut ours, mut adam) = (Device::Cpu.tensor(start.view()), Adam::default());
        for step in 0..20 {
            let gradient = (ours.clone() * (1.0 + f64::from(step))).sin();
            textbook.step(&array(gradient.clone()).mapv(f64::from), 0.01);
            ours = adam.step(ours, gradient, 0.01);
        }
        // Twenty steps of 0.01 in float32, whose rounding errors at values up to 3 are 2e-7 each.
        let difference = array(ours).mapv(f64::from) - textbook.params;
        let worst = difference.iter().fold(0.0_f64, |worst, d| worst.max(d.abs()));
        assert!(worst < 1e-5, "differs by {worst}");
    }

    #[test]
    fn what_decays_ends_at_zero_not_among_subnormal_numbers() {
        let start = Array2::from_shape_fn((1, 50), |(_, j)| 10_f32.powi(-(j as i32)));
        let (mut params, mut adam) = (Device::Cpu.tensor(start.view()), Adam::default());
        for _ in 0..2_000 {
            let pull = params.clone() * 1e-2;
            params = adam.step(params, pull, 1e-3);
        }
        let ended = array(params);
        assert!(ended.iter().any(|&value| value == 0.0) && ended.iter().all(|v| !v.is_subnormal()));
        assert!(ended.iter().any(|&value| value != 0.0), "{ended}");
    }
}
