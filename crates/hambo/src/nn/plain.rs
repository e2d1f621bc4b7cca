//! The ensemble's forward pass by the engine's own operations, for devices that the kernel is not written for.

use super::activation::Activation;
use super::burn::tensor::Tensor;
use super::burn::tensor::activation::{relu, silu};
use super::layout::Layout;

/// Outputs `[members, rows, outputs]` of an ensemble with parameters `[members, len]` on shared inputs
/// `[rows, inputs]`.
pub(super) fn mlp(params: Tensor<2>, inputs: Tensor<2>, layout: &Layout) -> Tensor<3> {
    let members = params.dims()[0];
    let mut x = inputs.unsqueeze_dim::<3>(0).repeat_dim(0, members);
    for (index, layer) in layout.layers().iter().enumerate() {
        let weight = params.clone().narrow(1, layer.weight.start, layer.weight.len());
        let bias = params.clone().narrow(1, layer.bias.start, layer.bias.len());
        let weight = weight.reshape([members, layer.inputs, layer.outputs]);
        x = x.matmul(weight) + bias.reshape([members, 1, layer.outputs]);
        if index + 1 < layout.layers().len() {
            x = match layout.activation() {
                Activation::Relu => relu(x),
                Activation::Silu => silu(x),
            };
        }
    }
    x
}
