//! Ensembles of perceptrons.

use std::collections::HashMap;
use std::ops::Range;

use super::burn::tensor::{Tensor, TensorData};
use ndarray::{Array1, Array2, Array3, ArrayView2, s};
use rand::RngExt;
use rand_distr::StandardNormal;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use super::device::{Device, array, values};
use super::kernel::{self, Buffers, RowLoss};
use super::layout::{Layer, Layout};
use super::{op, plain};
use crate::error::{Error, Result};
use crate::rng::Stream;

/// Perceptrons of one layout, evaluated together on shared inputs.
///
/// Parameters are one matrix `[members, len]`; see [`Layout`].
#[derive(Debug, Clone)]
pub struct Mlps {
    layout: Layout,
    params: Tensor<2>,
    device: Device,
}

impl Mlps {
    /// Random networks: weights N(0, 1 / inputs), biases zero.
    ///
    /// Half of He's variance on purpose: on Pendulum (one seed) it lowered most held-out errors by a
    /// quarter, and it keeps the spread between members that shows where data is missing.
    pub fn random(layout: Layout, members: usize, device: Device, rng: &mut Stream) -> Self {
        let mut values = vec![0.0; members * layout.parameters()];
        for member in values.chunks_exact_mut(layout.parameters()) {
            for layer in layout.layers() {
                let std = (layer.inputs as f32).sqrt().recip();
                for weight in &mut member[layer.weight.clone()] {
                    let normal: f32 = rng.sample(StandardNormal);
                    *weight = std * normal;
                }
            }
        }
        Self::from_values(layout, members, values, device)
    }

    fn from_values(layout: Layout, members: usize, values: Vec<f32>, device: Device) -> Self {
        let data = TensorData::new(values, [members, layout.parameters()]);
        Self { params: Tensor::from_data(data, &device.engine()), layout, device }
    }

    /// The shape of each network.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// One network's weights `[inputs, outputs]` and biases, layer by layer.
    pub(crate) fn layers(&self, member: usize) -> Vec<(Array2<f32>, Array1<f32>)> {
        let all = array(self.params.clone());
        let theta = all.row(member);
        let of = |layer: &Layer| {
            let part = |range: &Range<usize>| theta.slice(s![range.clone()]).to_vec();
            let shape = (layer.inputs, layer.outputs);
            let weight = Array2::from_shape_vec(shape, part(&layer.weight));
            (weight.expect("as the layout says"), part(&layer.bias).into())
        };
        self.layout.layers().iter().map(of).collect()
    }

    /// Number of networks.
    pub fn members(&self) -> usize {
        self.params.dims()[0]
    }

    /// Where the networks live.
    pub fn device(&self) -> Device {
        self.device
    }

    /// `[members, len]`
    pub fn params(&self) -> &Tensor<2> {
        &self.params
    }

    /// Replaces the parameters, `[members, len]`; panics on another shape.
    pub fn set_params(&mut self, params: Tensor<2>) {
        let expected = [self.members(), self.layout.parameters()];
        assert_eq!(params.dims(), expected, "parameters keep their shape");
        self.params = params;
    }

    /// Replaces the parameters by a function of them, which gets them as their only owner and may
    /// work in place.
    pub fn update_params(&mut self, update: impl FnOnce(Tensor<2>) -> Tensor<2>) {
        let none = Tensor::empty([0, 0], &self.device.engine());
        let members = self.members();
        let params = update(std::mem::replace(&mut self.params, none));
        assert_eq!(
            params.dims(),
            [members, self.layout.parameters()],
            "parameters keep their shape"
        );
        self.params = params;
    }

    /// Outputs `[members, rows, outputs]` for inputs `[rows, inputs]`.
    pub fn outputs(&self, inputs: Tensor<2>) -> Tensor<3> {
        self.outputs_of(self.params.clone(), inputs)
    }

    /// Outputs of networks with these parameters.
    fn outputs_of(&self, params: Tensor<2>, inputs: Tensor<2>) -> Tensor<3> {
        match self.device {
            Device::Cpu => op::mlp(params, inputs, &self.layout),
            Device::Wgpu | Device::Cuda => plain::mlp(params, inputs, &self.layout),
        }
    }

    /// Networks whose outputs are those of these times `factor`.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        if let Some(last) = self.layout.layers().last() {
            let end = last.bias.end;
            let before = self.params.clone().narrow(1, 0, last.weight.start);
            let scaled = self.params.narrow(1, last.weight.start, end - last.weight.start);
            self.params = Tensor::cat(vec![before, scaled * factor], 1);
        }
        self
    }

    /// One of the networks, alone.
    pub fn member(&self, index: usize) -> Self {
        Self { params: self.params.clone().narrow(0, index, 1), ..self.clone() }
    }

    /// As [`outputs`](Self::outputs), from and to arrays.
    pub fn predict(&self, inputs: ArrayView2<'_, f32>) -> Array3<f32> {
        array(self.outputs(self.device.tensor(inputs)))
    }

    /// Gradient `[members, len]` of a loss of the outputs with respect to the parameters.
    pub fn gradient(
        &self,
        inputs: Tensor<2>,
        loss: impl FnOnce(Tensor<3>) -> Tensor<1>,
    ) -> Tensor<2> {
        let params = self.params.clone().autodiff().require_grad();
        let outputs = self.outputs_of(params.clone(), inputs.autodiff());
        let mut gradients = loss(outputs).backward();
        params.grad_remove(&mut gradients).expect("the loss depends on the parameters")
    }

    /// Moves the parameters by a function of themselves and of the gradient `[members, len]` of a loss that brings its
    /// own; faster than by [`gradient`](Self::gradient).
    pub(crate) fn descend(
        &mut self,
        inputs: ArrayView2<'_, f32>,
        loss: &impl RowLoss,
        buffers: &mut Buffers,
        update: impl FnOnce(&mut [f32], &[f32]),
    ) {
        let (layout, device) = (self.layout.clone(), self.device);
        if device != Device::Cpu {
            let gradient = values(self.loss_gradient(inputs, loss));
            let (shape, mut params) = (self.params.dims(), values(self.params.clone()));
            update(&mut params, &gradient);
            self.params = Tensor::from_data(TensorData::new(params, shape), &device.engine());
            return;
        }
        let inputs = inputs.as_standard_layout();
        let inputs = inputs.as_slice().expect("it was made contiguous");
        self.update_params(|params| {
            let (shape, mut params) = (params.dims(), values(params));
            let gradient = kernel::loss_gradient(&layout, &params, inputs, loss, buffers);
            update(&mut params, gradient);
            Tensor::from_data(TensorData::new(params, shape), &device.engine())
        });
    }

    /// The gradient of such a loss, which is asked for its own on the processor, wherever the networks are.
    fn loss_gradient(&self, inputs: ArrayView2<'_, f32>, loss: &impl RowLoss) -> Tensor<2> {
        self.gradient(self.device.tensor(inputs), |outputs| {
            let (shape, found) = (outputs.dims(), values(outputs.clone().inner()));
            let mut pulls = vec![0.0; found.len()];
            let of_member = (shape[1] * shape[2]).max(1);
            let all = found.chunks(of_member).zip(pulls.chunks_mut(of_member));
            for (member, (outputs, pulls)) in all.enumerate() {
                loss.gradient(member, 0, outputs, pulls);
            }
            let pulls = Tensor::from_data(TensorData::new(pulls, shape), &self.device.engine());
            (outputs * pulls.autodiff()).sum()
        })
    }

    /// The parameters in the safetensors format: `layer.I.weight` `[members, inputs, outputs]` and
    /// `layer.I.bias` `[members, outputs]`.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let params = array(self.params.clone());
        let mut bytes: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        for (index, layer) in self.layout.layers().iter().enumerate() {
            let part = |range: &std::ops::Range<usize>| -> Vec<u8> {
                let columns = params.slice(ndarray::s![.., range.clone()]);
                columns.iter().flat_map(|value| value.to_le_bytes()).collect()
            };
            let members = self.members();
            let weight_shape = vec![members, layer.inputs, layer.outputs];
            bytes.push((format!("layer.{index}.weight"), weight_shape, part(&layer.weight)));
            bytes.push((
                format!("layer.{index}.bias"),
                vec![members, layer.outputs],
                part(&layer.bias),
            ));
        }
        let views: HashMap<String, TensorView<'_>> = bytes
            .iter()
            .map(|(name, shape, bytes)| {
                let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
                (name.clone(), view.expect("each part has as many bytes as its shape says"))
            })
            .collect();
        serialize(&views, None).expect("names are unique and shapes match")
    }

    /// Reads what [`to_safetensors`](Self::to_safetensors) wrote, and checks it against `layout`.
    pub fn from_safetensors(bytes: &[u8], layout: Layout, device: Device) -> Result<Self> {
        let bad = |message: String| Error::SavedNetwork(message);
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| bad(format!("not a safetensors file: {error}")))?;
        let expected = 2 * layout.layers().len();
        if file.len() != expected {
            return Err(bad(format!("it holds {} tensors, expected {expected}", file.len())));
        }
        let find = |name: String, shape: &[usize]| {
            let view =
                file.tensor(&name).map_err(|_| bad(format!("the tensor `{name}` is missing")))?;
            let (found, dtype) = (view.shape().to_vec(), view.dtype());
            if found.len() != shape.len() + 1 || found[1..] != *shape || dtype != Dtype::F32 {
                return Err(bad(format!(
                    "`{name}` is {dtype:?} {found:?}, expected F32 [members, {shape:?}]"
                )));
            }
            Ok(view)
        };
        let members = match layout.layers().first() {
            Some(layer) => find("layer.0.bias".into(), &[layer.outputs])?.shape()[0],
            None => 0,
        };
        if members == 0 {
            return Err(bad("it has no members".into()));
        }
        let mut values = vec![0.0; members * layout.parameters()];
        for (index, layer) in layout.layers().iter().enumerate() {
            let parts = [
                ("weight", vec![layer.inputs, layer.outputs], &layer.weight),
                ("bias", vec![layer.outputs], &layer.bias),
            ];
            for (part, shape, range) in parts {
                let name = format!("layer.{index}.{part}");
                let view = find(name.clone(), &shape)?;
                if view.shape()[0] != members {
                    let found = view.shape()[0];
                    return Err(bad(format!("`{name}` has {found} members, others {members}")));
                }
                let numbers: Vec<f32> = view
                    .data()
                    .chunks_exact(4)
                    .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                    .collect();
                if let Some(value) = numbers.iter().find(|value| !value.is_finite()) {
                    return Err(bad(format!("`{name}` contains {value}")));
                }
                for (member, numbers) in numbers.chunks_exact(range.len()).enumerate() {
                    let start = member * layout.parameters();
                    values[start + range.start..start + range.end].copy_from_slice(numbers);
                }
            }
        }
        Ok(Self::from_values(layout, members, values, device))
    }
}

#[cfg(test)]
mod tests {
    use crate::nn::Activation;
    use ndarray::{Array2, Array3, s};

    use super::*;
    use crate::rng::Seed;

    fn networks(hidden: &[usize], members: usize) -> Mlps {
        let layout = Layout::new(3, hidden, 2);
        let mut networks =
            Mlps::random(layout, members, Device::Cpu, &mut Seed(1).stream("networks"));
        // Biases away from zero, so that a mistake about them shows.
        let noise = random(members, networks.layout.parameters(), "bias") * 0.3;
        networks.params = networks.params + Device::Cpu.tensor(noise.view());
        networks
    }

    fn random(rows: usize, columns: usize, name: &str) -> Array2<f32> {
        let mut rng = Seed(2).stream(name);
        Array2::from_shape_simple_fn((rows, columns), || rng.sample(StandardNormal))
    }

    fn assert_close<D: ndarray::Dimension>(
        found: &ndarray::Array<f32, D>,
        expected: &ndarray::Array<f32, D>,
        tolerance: f32,
    ) {
        let scale = expected.iter().fold(1e-3_f32, |scale, value| scale.max(value.abs()));
        let worst = (found - expected).iter().fold(0.0_f32, |worst, d| worst.max(d.abs()));
        assert!(worst <= tolerance * scale, "differs by {worst}, scale {scale}");
    }

    #[test]
    fn fused_forward_and_backward_agree_with_the_engines_own_operations() {
        // Row counts below, at and above one block; with and without hidden layers.
        let sizes = [(vec![], 5), (vec![7], 128), (vec![16, 9], 300), (vec![8; 3], 1100)];
        let activations = [Activation::Relu, Activation::Silu];
        let all = activations.iter().flat_map(|a| sizes.iter().map(move |(h, r)| (*a, h, *r)));
        for (activation, hidden, rows) in all {
            let mut networks = networks(hidden, 3);
            networks.layout = networks.layout.with(activation);
            let layout = networks.layout.clone();
            let x = Device::Cpu.tensor(random(rows, 3, "inputs").view());
            let run = |forward: &dyn Fn(Tensor<2>, Tensor<2>) -> Tensor<3>| {
                let params = networks.params.clone().autodiff().require_grad();
                let inputs = x.clone().autodiff().require_grad();
                let outputs = forward(params.clone(), inputs.clone());
                let plain = array(outputs.clone().inner());
                let mut gradients = (outputs.clone() * outputs.sin()).sum().backward();
                let gradient_of = |t: &Tensor<2>, g: &mut _| array(t.grad_remove(g).unwrap());
                let params_gradient = gradient_of(&params, &mut gradients);
                (plain, params_gradient, gradient_of(&inputs, &mut gradients))
            };
            let fused = run(&|params, inputs| op::mlp(params, inputs, &layout));
            let expected = run(&|params, inputs| plain::mlp(params, inputs, &layout));
            // float32 sums of up to 1,100 terms in another order.
            assert_close(&fused.0, &expected.0, 1e-5);
            assert_close(&fused.1, &expected.1, 2e-5);
            assert_close(&fused.2, &expected.2, 2e-5);
            assert_close(&networks.predict(array(x.clone()).view()), &expected.0, 1e-5);
        }
    }

    #[test]
    fn predictions_of_a_row_do_not_depend_on_its_batch() {
        let networks = networks(&[16, 16], 2);
        let inputs = random(300, 3, "inputs");
        let all = networks.predict(inputs.view());
        let first: Array3<f32> = networks.predict(inputs.slice(s![..128, ..]));
        assert_eq!(all.slice(s![.., ..128, ..]), first);
    }

    #[test]
    fn an_empty_batch_gives_an_empty_prediction() {
        let networks = networks(&[4], 2);
        assert_eq!(networks.predict(Array2::zeros((0, 3)).view()).dim(), (2, 0, 2));
    }

    #[test]
    fn saved_networks_come_back_bit_for_bit() {
        let networks = networks(&[5, 4], 3);
        let bytes = networks.to_safetensors();
        let layout = networks.layout.clone();
        let loaded = Mlps::from_safetensors(&bytes, layout.clone(), Device::Cpu).unwrap();
        assert_eq!(array(loaded.params), array(networks.params));
        assert!(Mlps::from_safetensors(&bytes[..bytes.len() - 1], layout, Device::Cpu).is_err());
    }

    #[test]
    fn a_network_of_another_shape_is_refused_with_the_tensors_name() {
        let bytes = networks(&[5, 4], 3).to_safetensors();
        let refuse = |layout| {
            let error = Mlps::from_safetensors(&bytes, layout, Device::Cpu).expect_err("refused");
            error.to_string()
        };
        assert!(refuse(Layout::new(3, &[5, 9], 2)).contains("`layer.1.weight` is F32 [3, 5, 4]"));
        assert!(refuse(Layout::new(3, &[5], 2)).contains("holds 6 tensors, expected 4"));
    }
}
