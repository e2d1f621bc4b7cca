//! Forward and backward passes of an ensemble of perceptrons on the CPU.
//!
//! The unit of work is one member on one block of rows: its activations stay in the core's cache
//! through all layers, and bias and activation touch a block that the product has just written. Blocks
//! have a fixed size, and partial sums are added in a fixed order, so that results do not depend on
//! the number of threads.

use faer::{Accum, MatMut, MatRef};
use rayon::prelude::*;

use super::layout::{Layer, Layout};
use super::product::product;

/// Rows per block: 128 rows of 256 hidden values are 128 KiB, so a few layers fit into L2.
const BLOCK_ROWS: usize = 128;

/// What the forward pass leaves for the backward pass, for each member and block of rows.
pub(super) type Hidden = Vec<HiddenBlock>;

/// The hidden values of one block, layer by layer.
#[derive(Debug, Default)]
pub(super) struct HiddenBlock {
    activations: Vec<f32>,
    /// The activations' derivatives; none if only the outputs are wanted.
    slopes: Vec<f32>,
}

/// Outputs `[members, rows, outputs]` for shared inputs `[rows, inputs]`.
pub(super) fn forward(layout: &Layout, params: &[f32], inputs: &[f32]) -> Vec<f32> {
    let blocks = Block::all(layout, params, inputs, BLOCK_ROWS);
    let outputs: Vec<Vec<f32>> = blocks
        .par_iter()
        .with_max_len(1)
        .map(|block| {
            let (mut outputs, mut hidden) = (Vec::new(), HiddenBlock::default());
            forward_block(layout, params, inputs, block, false, (&mut outputs, &mut hidden));
            outputs
        })
        .collect();
    outputs.concat()
}

/// As [`forward`], keeping the activations.
pub(super) fn forward_keeping_hidden(
    layout: &Layout,
    params: &[f32],
    inputs: &[f32],
) -> (Vec<f32>, Hidden) {
    let blocks = Block::all(layout, params, inputs, BLOCK_ROWS);
    let (outputs, hidden): (Vec<Vec<f32>>, Hidden) = blocks
        .par_iter()
        .with_max_len(1)
        .map(|block| {
            let (mut outputs, mut hidden) = (Vec::new(), HiddenBlock::default());
            forward_block(layout, params, inputs, block, true, (&mut outputs, &mut hidden));
            (outputs, hidden)
        })
        .unzip();
    (outputs.concat(), hidden)
}

/// Outputs and hidden values of one block, into buffers that may be used ones.
fn forward_block(
    layout: &Layout,
    params: &[f32],
    inputs: &[f32],
    block: &Block,
    want_slopes: bool,
    (outputs, hidden): (&mut Vec<f32>, &mut HiddenBlock),
) {
    let params = rows_of(params, block.member, 1, layout.parameters());
    let (last, hidden_layers) = layout.layers().split_last().expect("a layout has a layer");
    let values = block.rows * layout.hidden_values();
    outputs.resize(block.rows * last.outputs, 0.0);
    hidden.activations.resize(values, 0.0);
    hidden.slopes.resize(if want_slopes { values } else { 0 }, 0.0);
    let mut previous = rows_of(inputs, block.first_row, block.rows, layout.inputs());
    let mut free = hidden.activations.as_mut_slice();
    let mut free_slopes = hidden.slopes.as_mut_slice();
    for layer in hidden_layers {
        let size = block.rows * layer.outputs;
        let (activations, rest) = free.split_at_mut(size);
        let (slopes, rest_of_slopes) = free_slopes.split_at_mut(size.min(free_slopes.len()));
        sums(layer, params, previous, activations);
        layout.activation().apply(activations, &params[layer.bias.clone()], slopes);
        (previous, free, free_slopes) = (activations, rest, rest_of_slopes);
    }
    sums(last, params, previous, outputs);
    let bias = &params[last.bias.clone()];
    for row in outputs.chunks_exact_mut(last.outputs) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
    }
}

/// `y = x W`, without the bias.
fn sums(layer: &Layer, params: &[f32], inputs: &[f32], outputs: &mut [f32]) {
    let rows = outputs.len() / layer.outputs;
    let weight = &params[layer.weight.clone()];
    product(
        MatMut::from_row_major_slice_mut(outputs, rows, layer.outputs),
        Accum::Replace,
        MatRef::from_row_major_slice(inputs, rows, layer.inputs),
        MatRef::from_row_major_slice(weight, layer.inputs, layer.outputs),
    );
}

/// What a caller needs of the backward pass; the rest is not computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub params: bool,
    pub inputs: bool,
}

/// Gradients of a scalar with respect to parameters `[members, len]` and inputs `[rows, inputs]`,
/// given its gradient with respect to the outputs. What is not wanted comes back empty.
///
/// First every block carries its gradient back through the layers; then every layer of every
/// member sums its weights' gradient over the blocks. So no partial sum is ever written down.
pub(super) fn backward(
    layout: &Layout,
    params: &[f32],
    inputs: &[f32],
    hidden: &Hidden,
    output_grad: &[f32],
    wanted: Wanted,
) -> (Vec<f32>, Vec<f32>) {
    let blocks = Block::all(layout, params, inputs, BLOCK_ROWS);
    let members = params.len() / layout.parameters();
    let rows = inputs.len() / layout.inputs();
    let mut backs: Vec<BlockGradient> = blocks
        .par_iter()
        .zip(hidden)
        .with_max_len(1)
        .map(|(block, hidden)| {
            let params = rows_of(params, block.member, 1, layout.parameters());
            let first = block.member * rows + block.first_row;
            let outputs = rows_of(output_grad, first, block.rows, layout.outputs()).to_vec();
            let mut back = BlockGradient { outputs, ..BlockGradient::default() };
            back.carry_back(layout, params, &hidden.slopes);
            if wanted.inputs {
                let first = back.of_layer(layout, block.rows, 0);
                let mut inputs = vec![0.0; block.rows * layout.inputs()];
                input_gradient(&layout.layers()[0], params, first, &mut inputs);
                back.inputs = inputs;
            }
            back
        })
        .collect();

    let input_grad = if wanted.inputs {
        let per_block: Vec<Vec<f32>> =
            backs.iter_mut().map(|back| std::mem::take(&mut back.inputs)).collect();
        let per_member = per_block.chunks(per_block.len().div_ceil(members.max(1)).max(1));
        sum(per_member.map(|blocks| blocks.concat()))
    } else {
        Vec::new()
    };
    if !wanted.params {
        return (Vec::new(), input_grad);
    }

    let of_blocks: Vec<_> = hidden.iter().zip(&backs).collect();
    let mut param_grad = vec![0.0; params.len()];
    parameter_gradient(layout, inputs, &blocks, &of_blocks, &mut param_grad);
    (param_grad, input_grad)
}

/// What one block needs for a whole gradient; used again in every step.
#[derive(Debug, Default)]
struct Work {
    hidden: HiddenBlock,
    outputs: Vec<f32>,
    back: BlockGradient,
}

/// The buffers of a training loop.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    work: Vec<Work>,
    gradient: Vec<f32>,
}

/// A loss that is a sum over rows and members, and knows its own gradient.
pub(crate) trait RowLoss: Sync {
    /// Writes the gradient with respect to the outputs `[rows, outputs]` of a member on some rows, of which
    /// `first_row` is the first.
    fn gradient(&self, member: usize, first_row: usize, outputs: &[f32], gradient: &mut [f32]);
}

/// The gradient `[members, len]` of such a loss with respect to the parameters. A block goes forth and back while it
/// is in the core's cache.
pub(super) fn loss_gradient<'b>(
    layout: &Layout,
    params: &[f32],
    inputs: &[f32],
    loss: &impl RowLoss,
    Buffers { work, gradient }: &'b mut Buffers,
) -> &'b [f32] {
    let blocks = Block::all(layout, params, inputs, BLOCK_ROWS);
    work.resize_with(blocks.len(), Work::default);
    blocks.par_iter().zip(work.par_iter_mut()).with_max_len(1).for_each(|(block, work)| {
        let Work { hidden, outputs, back } = work;
        forward_block(layout, params, inputs, block, true, (outputs, hidden));
        back.outputs.resize(outputs.len(), 0.0);
        loss.gradient(block.member, block.first_row, outputs, &mut back.outputs);
        let params = rows_of(params, block.member, 1, layout.parameters());
        back.carry_back(layout, params, &hidden.slopes);
    });
    let of_blocks: Vec<_> = work.iter().map(|work| (&work.hidden, &work.back)).collect();
    gradient.resize(params.len(), 0.0);
    parameter_gradient(layout, inputs, &blocks, &of_blocks, gradient);
    gradient
}

/// Every layer of every member sums its weights' gradient over the blocks.
fn parameter_gradient(
    layout: &Layout,
    inputs: &[f32],
    blocks: &[Block],
    of_blocks: &[(&HiddenBlock, &BlockGradient)],
    gradient: &mut [f32],
) {
    let members = gradient.len() / layout.parameters();
    let per_member = (blocks.len() / members.max(1)).max(1);
    let tasks = layer_slots(layout, gradient);
    tasks.into_par_iter().with_max_len(1).for_each(|(member, index, weight_grad, bias_grad)| {
        weight_grad.fill(0.0);
        bias_grad.fill(0.0);
        let range = member * per_member..((member + 1) * per_member).min(blocks.len());
        for (block, (hidden, back)) in blocks[range.clone()].iter().zip(&of_blocks[range]) {
            let layer = &layout.layers()[index];
            let layer_inputs = match index {
                0 => rows_of(inputs, block.first_row, block.rows, layer.inputs),
                _ => layer_rows(layout, &hidden.activations, block.rows, index - 1),
            };
            let grad = back.of_layer(layout, block.rows, index);
            add_layer_gradient(layer, layer_inputs, grad, weight_grad, bias_grad);
        }
    });
}

/// The backward pass of one block.
#[derive(Debug, Default)]
struct BlockGradient {
    /// With respect to the network's outputs.
    outputs: Vec<f32>,
    /// With respect to the hidden layers' sums, layer by layer.
    hidden: Vec<f32>,
    /// With respect to the network's input, if wanted.
    inputs: Vec<f32>,
}

impl BlockGradient {
    /// From the outputs through all hidden layers.
    fn carry_back(&mut self, layout: &Layout, params: &[f32], slopes: &[f32]) {
        let (layers, rows) = (layout.layers(), self.outputs.len() / layout.outputs());
        self.hidden.resize(rows * layout.hidden_values(), 0.0);
        let (mut grad, mut free) = (self.outputs.as_slice(), self.hidden.as_mut_slice());
        for index in (1..layers.len()).rev() {
            let size = rows * layers[index].inputs;
            let (rest, previous) = free.split_at_mut(free.len() - size);
            input_gradient(&layers[index], params, grad, previous);
            let slopes = layer_rows(layout, slopes, rows, index - 1);
            previous.iter_mut().zip(slopes).for_each(|(g, slope)| *g *= slope);
            (grad, free) = (previous, rest);
        }
    }

    /// With respect to a layer's sums.
    fn of_layer(&self, layout: &Layout, rows: usize, index: usize) -> &[f32] {
        match index + 1 == layout.layers().len() {
            true => &self.outputs,
            false => layer_rows(layout, &self.hidden, rows, index),
        }
    }
}

/// The part of hidden layer `index` in what a block has of all of them.
fn layer_rows<'a>(layout: &Layout, hidden: &'a [f32], rows: usize, index: usize) -> &'a [f32] {
    let layers = layout.layers();
    let before: usize = layers[..index].iter().map(|layer| layer.outputs).sum();
    rows_of(&hidden[rows * before..], 0, rows, layers[index].outputs)
}

/// A gradient `[members, len]` cut into the weights and bias of every layer of every member.
fn layer_slots<'a>(
    layout: &Layout,
    gradient: &'a mut [f32],
) -> Vec<(usize, usize, &'a mut [f32], &'a mut [f32])> {
    let mut slots = Vec::new();
    for (member, mut rest) in gradient.chunks_mut(layout.parameters()).enumerate() {
        for (index, layer) in layout.layers().iter().enumerate() {
            let (weight, after) = rest.split_at_mut(layer.weight.len());
            let (bias, after) = after.split_at_mut(layer.bias.len());
            slots.push((member, index, weight, bias));
            rest = after;
        }
    }
    slots
}

/// `dW += x^T dy`, `db += sum over rows of dy`.
fn add_layer_gradient(
    layer: &Layer,
    inputs: &[f32],
    grad: &[f32],
    weight_grad: &mut [f32],
    bias_grad: &mut [f32],
) {
    let rows = grad.len() / layer.outputs;
    product(
        MatMut::from_row_major_slice_mut(weight_grad, layer.inputs, layer.outputs),
        Accum::Add,
        MatRef::from_row_major_slice(inputs, rows, layer.inputs).transpose(),
        MatRef::from_row_major_slice(grad, rows, layer.outputs),
    );
    for row in grad.chunks_exact(layer.outputs) {
        bias_grad.iter_mut().zip(row).for_each(|(b, g)| *b += g);
    }
}

/// `dx = dy W^T`.
fn input_gradient(layer: &Layer, params: &[f32], grad: &[f32], input_grad: &mut [f32]) {
    let rows = grad.len() / layer.outputs;
    let weight = &params[layer.weight.clone()];
    product(
        MatMut::from_row_major_slice_mut(input_grad, rows, layer.inputs),
        Accum::Replace,
        MatRef::from_row_major_slice(grad, rows, layer.outputs),
        MatRef::from_row_major_slice(weight, layer.inputs, layer.outputs).transpose(),
    );
}

/// The sum of equally long vectors, in order.
fn sum(vectors: impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let add = |mut total: Vec<f32>, next: Vec<f32>| {
        total.iter_mut().zip(next).for_each(|(total, value)| *total += value);
        total
    };
    vectors.reduce(add).unwrap_or_default()
}

/// Some rows of one member.
struct Block {
    member: usize,
    first_row: usize,
    rows: usize,
}

impl Block {
    /// All rows of all members, member by member, in blocks of at most `size` rows.
    fn all(layout: &Layout, params: &[f32], inputs: &[f32], size: usize) -> Vec<Self> {
        let members = params.len() / layout.parameters();
        let rows = inputs.len() / layout.inputs();
        (0..members)
            .flat_map(|member| {
                (0..rows).step_by(size).map(move |first_row| Self {
                    member,
                    first_row,
                    rows: size.min(rows - first_row),
                })
            })
            .collect()
    }
}

fn rows_of(values: &[f32], first: usize, count: usize, width: usize) -> &[f32] {
    &values[first * width..(first + count) * width]
}
