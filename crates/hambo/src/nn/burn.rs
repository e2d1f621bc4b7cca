//! The parts of Burn that are used, under the paths that its extension macro writes.

pub(super) mod backend {
    pub(in crate::nn) use burn_backend::*;
    pub(in crate::nn) use burn_backend_extension::backend_extension;
    pub(in crate::nn) use burn_dispatch::backends::*;
    pub(in crate::nn) use burn_dispatch::{backend::*, device::*, tensor::*};
}

pub(super) use burn_tensor as tensor;
