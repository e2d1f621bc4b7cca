//! Neural networks: ensembles of perceptrons, their gradients and Adam.
//!
//! The only module that names the tensor engine (Burn). Networks take and give ndarray batches;
//! losses are written on [`Tensor`] and differentiated by the engine.

mod activation;
mod adam;
mod burn;
mod device;
mod kernel;
mod layout;
mod mix;
mod mlp;
mod op;
mod plain;
mod product;

pub use activation::Activation;
pub(crate) use adam::Adam;
pub use burn::tensor::Tensor;
pub(crate) use burn::tensor::activation::{log_softmax, softplus};
pub use device::Device;
pub(crate) use device::array;
pub(crate) use kernel::{Buffers, RowLoss};
pub use layout::Layout;
pub(crate) use mix::{Mix, gram};
pub use mlp::Mlps;
