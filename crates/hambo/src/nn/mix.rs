//! Linear combinations of the rows of parameter matrices.

use super::burn::backend::flex::FlexTensor;
use super::burn::backend::tensor::FloatTensor;
use super::burn::backend::{Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use super::burn::tensor::{Tensor, TensorData};
use super::burn::{self};
use ndarray::Array2;
use rayon::prelude::*;

/// `A x + C y` for small square matrices A and C and wide ones x and y, in one pass. Weights that
/// are zero cost nothing.
///
/// Shapes: `a` and `c` are `[k, k]`; `x`, `y` and the result `[k, len]`.
pub(crate) fn mix(a: Array2<f32>, x: Tensor<2>, c: Array2<f32>, y: Tensor<2>) -> Tensor<2> {
    assert_eq!(x.dims(), y.dims(), "both matrices have the same shape");
    let result =
        <Dispatch as MixBackend>::mix(x.into_dispatch(), y.into_dispatch(), Weights { a, c });
    Tensor::from_dispatch(result)
}

#[derive(Debug, Clone)]
pub(super) struct Weights {
    a: Array2<f32>,
    c: Array2<f32>,
}

#[backend_extension(Flex)]
pub(super) trait MixBackend: Backend {
    fn mix(x: FloatTensor<Self>, y: FloatTensor<Self>, weights: Weights) -> FloatTensor<Self>;
}

impl MixBackend for Flex {
    fn mix(x: FlexTensor, y: FlexTensor, weights: Weights) -> FlexTensor {
        const CHUNK: usize = 16 * 1024;
        let (x, y) = (x.to_contiguous(), y.to_contiguous());
        let (shape, len) = (x.shape(), x.shape()[1]);
        let (x, y) = (x.storage::<f32>(), y.storage::<f32>());
        let mut result = vec![0.0; x.len()];
        let tasks: Vec<(usize, usize, &mut [f32])> = result
            .chunks_mut(len)
            .enumerate()
            .flat_map(|(row, values)| {
                let chunks = values.chunks_mut(CHUNK).enumerate();
                chunks.map(move |(index, chunk)| (row, index * CHUNK, chunk))
            })
            .collect();
        tasks.into_par_iter().for_each(|(row, offset, chunk)| {
            for (weights, source) in [(&weights.a, x), (&weights.c, y)] {
                for (from, &weight) in weights.row(row).iter().enumerate() {
                    if weight != 0.0 {
                        let values = &source[from * len + offset..][..chunk.len()];
                        chunk.iter_mut().zip(values).for_each(|(sum, v)| *sum += weight * v);
                    }
                }
            }
        });
        FlexTensor::from_data(TensorData::new(result, shape))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::nn::{Device, array as to_array};

    #[test]
    fn mixing_is_two_matrix_products() {
        let (a, c) = (array![[1.0, 0.0], [2.0, -1.0]], array![[0.0, 0.5], [0.0, 3.0]]);
        let x = Array2::from_shape_fn((2, 40_000), |(i, j)| (i * 7 + j) as f32 * 0.01);
        let y = x.mapv(f32::sin);
        let found =
            mix(a.clone(), Device::Cpu.tensor(x.view()), c.clone(), Device::Cpu.tensor(y.view()));
        assert_eq!(to_array(found), a.dot(&x) + c.dot(&y));
    }
}
