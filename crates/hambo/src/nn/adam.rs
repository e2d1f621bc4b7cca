//! Adam on a parameter matrix.
//!
//! One pass over parameters, gradient and moments. Burn's own Adam makes a dozen, on one thread,
//! which took as long as a third of the gradient itself.

use super::burn::backend::flex::FlexTensor;
use super::burn::backend::tensor::FloatTensor;
use super::burn::backend::{Backend, Dispatch, Flex, backend_extension};
use super::burn::tensor::Tensor;
use super::burn::{self};
use super::device::{Device, array};
use ndarray::Array2;
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

/// Adam with the usual decays (0.9, 0.999) and epsilon 1e-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Adam {
    moments: Option<(Tensor<2>, Tensor<2>)>,
    steps: i32,
}

impl Adam {
    /// Moves `params` a step against `gradient`:
    ///
    ///   m ← 0.9 m + 0.1 g      v ← 0.999 v + 0.001 g²
    ///   θ ← θ - rate · m̂ / (√v̂ + ε)      m̂ = m / (1 - 0.9^t), v̂ = v / (1 - 0.999^t)
    pub(crate) fn step(&mut self, params: Tensor<2>, gradient: Tensor<2>, rate: f64) -> Tensor<2> {
        let (first, second) =
            self.moments.take().unwrap_or_else(|| (gradient.zeros_like(), gradient.zeros_like()));
        self.steps += 1;
        let (params, first, second) = <Dispatch as AdamBackend>::adam(
            params.into_dispatch(),
            gradient.into_dispatch(),
            first.into_dispatch(),
            second.into_dispatch(),
            Rates {
                step: rate as f32 / (1.0 - FIRST_DECAY.powi(self.steps)),
                second: 1.0 / (1.0 - SECOND_DECAY.powi(self.steps)),
            },
        );
        self.moments = Some((Tensor::from_dispatch(first), Tensor::from_dispatch(second)));
        Tensor::from_dispatch(params)
    }
}

impl Adam {
    /// Steps taken.
    pub(crate) fn steps(&self) -> i32 {
        self.steps
    }

    /// The two moments, if a step was taken.
    pub(crate) fn moments(&self) -> Option<[Array2<f32>; 2]> {
        self.moments.as_ref().map(|(first, second)| [array(first.clone()), array(second.clone())])
    }

    /// As it was after so many steps.
    pub(crate) fn resumed([first, second]: [Array2<f32>; 2], steps: i32, device: Device) -> Self {
        let moments = Some((device.tensor(first.view()), device.tensor(second.view())));
        Self { moments, steps }
    }
}

/// The step's corrections for moments that started at zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    step: f32,
    second: f32,
}

#[backend_extension(Flex)]
pub(super) trait AdamBackend: Backend {
    fn adam(
        params: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        rates: Rates,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

impl AdamBackend for Flex {
    fn adam(
        params: FlexTensor,
        gradient: FlexTensor,
        first: FlexTensor,
        second: FlexTensor,
        rates: Rates,
    ) -> (FlexTensor, FlexTensor, FlexTensor) {
        const CHUNK: usize = 16 * 1024;
        let gradient = gradient.to_contiguous();
        let [mut params, mut first, mut second] =
            [params, first, second].map(|tensor| tensor.to_contiguous());
        let chunks = params
            .storage_mut::<f32>()
            .par_chunks_mut(CHUNK)
            .zip(first.storage_mut::<f32>().par_chunks_mut(CHUNK))
            .zip(second.storage_mut::<f32>().par_chunks_mut(CHUNK))
            .zip(gradient.storage::<f32>().par_chunks(CHUNK));
        chunks.for_each(|(((params, first), second), gradient)| {
            for (((p, m), v), &g) in params.iter_mut().zip(first).zip(second).zip(gradient) {
                *m = or_zero(FIRST_DECAY * *m + (1.0 - FIRST_DECAY) * g, NOTHING);
                *v = or_zero(SECOND_DECAY * *v + (1.0 - SECOND_DECAY) * g * g, NOTHING_SQUARED);
                let change = rates.step * *m / ((*v * rates.second).sqrt() + EPSILON);
                *p = or_zero(*p - change, NOTHING);
            }
        });
        (params, first, second)
    }
}

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
