//! Where each layer's weights live inside one flat parameter vector.

use std::ops::Range;

use super::activation::Activation;

/// The sizes of a multilayer perceptron: an activation between layers, a linear last one.
///
/// A network's parameters are one vector `theta`: layer by layer, the weight matrix
/// `[inputs, outputs]` row by row, then the bias. An ensemble is then the matrix `[members, len]`
/// whose rows are SVGD's particles, and a distance between particles or a step of Adam is plain
/// arithmetic on that matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    layers: Vec<Layer>,
    activation: Activation,
}

/// One dense layer `y = x W + b`, with the ranges of `W` and `b` in the parameter vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub inputs: usize,
    pub outputs: usize,
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

impl Layout {
    /// A network from `inputs` through the `hidden` widths to `outputs`, with ReLU. Every size is at
    /// least one.
    pub fn new(inputs: usize, hidden: &[usize], outputs: usize) -> Self {
        let sizes: Vec<usize> = [&[inputs], hidden, &[outputs]].concat();
        assert!(sizes.iter().all(|&size| size > 0), "layer sizes must be positive, got {sizes:?}");
        let mut start = 0;
        let layers = sizes
            .windows(2)
            .map(|pair| {
                let (inputs, outputs) = (pair[0], pair[1]);
                let weight = start..start + inputs * outputs;
                let bias = weight.end..weight.end + outputs;
                start = bias.end;
                Layer { inputs, outputs, weight, bias }
            })
            .collect();
        Self { layers, activation: Activation::default() }
    }

    /// The same sizes with another activation.
    pub fn with(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// What hidden layers do with their sums.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Values per input row.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs)
    }

    /// Values per output row.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// Widths of the hidden layers.
    pub fn hidden(&self) -> Vec<usize> {
        self.layers.iter().skip(1).map(|layer| layer.inputs).collect()
    }

    /// Number of parameters of one network.
    pub fn parameters(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.end)
    }

    /// Multiply-adds of one row through one network, times two.
    pub fn flops_per_row(&self) -> usize {
        2 * self.layers.iter().map(|layer| layer.weight.len()).sum::<usize>()
    }

    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Sum of the hidden widths: what one row's activations take.
    pub(crate) fn hidden_values(&self) -> usize {
        let (_, hidden) = self.layers.split_last().expect("a layout has at least one layer");
        hidden.iter().map(|layer| layer.outputs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_tile_the_parameter_vector_without_gaps() {
        let layout = Layout::new(3, &[5, 7], 2);
        let mut end = 0;
        for layer in layout.layers() {
            assert_eq!(layer.weight.start, end);
            assert_eq!(layer.bias.start, layer.weight.end);
            end = layer.bias.end;
        }
        assert_eq!(end, layout.parameters());
        assert_eq!(end, 3 * 5 + 5 + 5 * 7 + 7 + 7 * 2 + 2);
        assert_eq!((layout.inputs(), layout.outputs(), layout.hidden_values()), (3, 2, 12));
    }
}
