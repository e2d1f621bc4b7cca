//! Where tensors live, and the way in and out.

use super::burn::tensor::{Device as EngineDevice, Tensor, TensorData};
use ndarray::{Array, ArrayView2, Dim, Dimension};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Where networks are trained and evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// A graphics processor by Vulkan, Metal or DirectX; needs the feature `wgpu`.
    Wgpu,
    /// A graphics processor by CUDA; needs the feature `cuda`.
    Cuda,
}

impl Device {
    /// Whether this build can use it, and this machine has it.
    pub fn check(self) -> Result<()> {
        if self == Self::Cpu {
            return Ok(());
        }
        let name = format!("{self:?}").to_lowercase();
        let Some(engine) = self.built_in() else {
            return Err(Error::DeviceNotBuiltIn { name });
        };
        // The engine has no other way to say that there is none.
        let try_it = || values(Tensor::<2>::ones([1, 1], &engine));
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(try_it)) {
            Ok(found) if found == [1.0] => Ok(()),
            _ => Err(Error::NoSuchDevice { name }),
        }
    }

    /// The engine's name for it, if this build has it.
    fn built_in(self) -> Option<EngineDevice> {
        match self {
            Self::Cpu => Some(EngineDevice::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Some(EngineDevice::wgpu(Default::default())),
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(EngineDevice::cuda(0)),
            #[cfg(not(all(feature = "wgpu", feature = "cuda")))]
            _ => None,
        }
    }

    pub(super) fn engine(self) -> EngineDevice {
        self.built_in().expect("settings were checked")
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

/// The values of a tensor; not copied if nobody else has it.
pub(super) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec::<f32>().expect("every tensor here holds float32")
}

/// Copies a tensor back, as an array of as many dimensions.
pub(crate) fn array<const D: usize>(tensor: Tensor<D>) -> Array<f32, Dim<[usize; D]>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: ndarray::IntoDimension<Dim = Dim<[usize; D]>>,
{
    let shape = tensor.dims();
    Array::from_shape_vec(shape, values(tensor))
        .expect("a tensor holds as many values as its shape says")
}
