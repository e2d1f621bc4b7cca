//! The ensemble's forward pass as one differentiable Burn operation.
//!
//! Burn differentiates everything around it (losses, squashing, entropy); this operation brings its
//! own backward pass, because a chain of generic products, additions and ReLUs leaves half of the
//! machine idle (`just bench-nn`).

use std::sync::Arc;

use super::burn::backend::autodiff::checkpoint::base::Checkpointer;
use super::burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use super::burn::backend::autodiff::grads::Gradients;
use super::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use super::burn::backend::flex::FlexTensor;
use super::burn::backend::tensor::FloatTensor;
use super::burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use super::burn::tensor::{Tensor, TensorData};
use super::burn::{self};

use super::kernel::{self, Hidden, Wanted};
use super::layout::Layout;

/// Outputs `[members, rows, outputs]` of an ensemble with parameters `[members, len]` on shared
/// inputs `[rows, inputs]`.
pub(super) fn mlp(params: Tensor<2>, inputs: Tensor<2>, layout: &Layout) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as MlpBackend>::mlp(
        params.into_dispatch(),
        inputs.into_dispatch(),
        layout.clone(),
    ))
}

#[backend_extension(Flex, Autodiff)]
pub(super) trait MlpBackend: Backend {
    fn mlp(
        params: FloatTensor<Self>,
        inputs: FloatTensor<Self>,
        layout: Layout,
    ) -> FloatTensor<Self>;
}

impl MlpBackend for Flex {
    fn mlp(params: FlexTensor, inputs: FlexTensor, layout: Layout) -> FlexTensor {
        let (params, inputs) = (in_one_piece(params), in_one_piece(inputs));
        let outputs = kernel::forward(&layout, values(&params), values(&inputs));
        output_tensor(outputs, &params, &inputs, &layout)
    }
}

impl<C: CheckpointStrategy> MlpBackend for Autodiff<Flex, C> {
    fn mlp(
        params: FloatTensor<Self>,
        inputs: FloatTensor<Self>,
        layout: Layout,
    ) -> FloatTensor<Self> {
        let prepared = MlpBackward.prepare::<C>([params.node(), inputs.node()]).compute_bound();
        match prepared.stateful() {
            OpsKind::UnTracked(prep) => {
                prep.finish(Flex::mlp(params.into_primitive(), inputs.into_primitive(), layout))
            }
            OpsKind::Tracked(prep) => {
                let params = in_one_piece(params.into_primitive());
                let inputs = in_one_piece(inputs.into_primitive());
                let (outputs, hidden) =
                    kernel::forward_keeping_hidden(&layout, values(&params), values(&inputs));
                let outputs = output_tensor(outputs, &params, &inputs, &layout);
                let hidden = Arc::new(hidden);
                prep.finish(Saved { params, inputs, hidden, layout }, outputs)
            }
        }
    }
}

#[derive(Debug)]
struct MlpBackward;

#[derive(Debug, Clone)]
struct Saved {
    params: FlexTensor,
    inputs: FlexTensor,
    hidden: Arc<Hidden>,
    layout: Layout,
}

impl Backward<Flex, 2> for MlpBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 2>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let Saved { params, inputs, hidden, layout } = ops.state;
        let [params_node, inputs_node] = ops.parents;
        let output_grad = in_one_piece(grads.consume::<Flex>(&ops.node));
        let wanted = Wanted { params: params_node.is_some(), inputs: inputs_node.is_some() };
        let (param_grad, input_grad) = kernel::backward(
            &layout,
            values(&params),
            values(&inputs),
            &hidden,
            values(&output_grad),
            wanted,
        );
        if let Some(node) = params_node {
            grads.register::<Flex>(node.id, tensor(param_grad, params.shape().to_vec()));
        }
        if let Some(node) = inputs_node {
            grads.register::<Flex>(node.id, tensor(input_grad, inputs.shape().to_vec()));
        }
    }
}

/// Copied only if it is not; some rows of a matrix are.
fn in_one_piece(tensor: FlexTensor) -> FlexTensor {
    match tensor.as_slice::<f32>() {
        Some(_) => tensor,
        None => tensor.to_contiguous(),
    }
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice::<f32>().expect("the tensor is in one piece and float32")
}

fn tensor(values: Vec<f32>, shape: Vec<usize>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

fn output_tensor(
    outputs: Vec<f32>,
    params: &FlexTensor,
    inputs: &FlexTensor,
    layout: &Layout,
) -> FlexTensor {
    let (members, rows) = (params.shape()[0], inputs.shape()[0]);
    tensor(outputs, vec![members, rows, layout.outputs()])
}
