//! Where tensors live, and the way in and out.

use super::burn::tensor::{Device as EngineDevice, Tensor, TensorData};
use ndarray::{Array, ArrayView2, Dim, Dimension};
use serde::{Deserialize, Serialize};

/// Where networks are trained and evaluated, chosen at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
}

impl Device {
    pub(super) fn engine(self) -> EngineDevice {
        match self {
            Self::Cpu => EngineDevice::flex(),
        }
    }

    /// Copies rows to the device.
    pub(crate) fn tensor(self, rows: ArrayView2<'_, f32>) -> Tensor<2> {
        let shape = [rows.nrows(), rows.ncols()];
        let values: Vec<f32> = match rows.as_slice() {
            Some(values) => values.to_vec(),
            None => rows.iter().copied().collect(),
        };
        Tensor::from_data(TensorData::new(values, shape), &self.engine())
    }
}

/// The values of a matrix; not copied if nobody else has it.
pub(super) fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().try_into_vec::<f32>().expect("every tensor here holds float32")
}

/// Copies a tensor back, as an array of as many dimensions.
pub(crate) fn array<const D: usize>(tensor: Tensor<D>) -> Array<f32, Dim<[usize; D]>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: ndarray::IntoDimension<Dim = Dim<[usize; D]>>,
{
    let shape = tensor.dims();
    let values = tensor.into_data().try_into_vec::<f32>().expect("every tensor here holds float32");
    Array::from_shape_vec(shape, values).expect("a tensor holds as many values as its shape says")
}
