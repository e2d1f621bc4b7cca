//! Trying a network on a few rows before it is trusted.

use hambo::Seed;
use ndarray::{Array2, ArrayView2, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::error::{OnnxError, OnnxProblem};
use super::network::Network;

/// Rows of the probe: more than one chunk, and no multiple of it.
const ROWS: usize = 300;

/// How much one row's result may differ between batches, relative to its size or 1: rounding, not
/// influence.
const TOLERANCE: f32 = 1e-5;

/// Inputs and what came out.
pub(super) struct Probe {
    pub(super) outputs: Vec<Array2<f32>>,
}

impl Probe {
    /// Runs the network on zeros and on standard normal rows, in batches of several sizes.
    pub(super) fn run(network: &Network, widths: &[usize]) -> Result<Self, OnnxError> {
        let mut rng = Seed(0).stream("onnx probe");
        let inputs: Vec<Array2<f32>> = widths
            .iter()
            .map(|&width| {
                let mut rows =
                    Array2::from_shape_simple_fn((ROWS, width), || rng.sample(StandardNormal));
                rows.row_mut(0).fill(0.0);
                rows
            })
            .collect();
        let run = |inputs: &[ArrayView2<'_, f32>]| network.run(inputs);
        let views: Vec<_> = inputs.iter().map(|input| input.view()).collect();
        let outputs = run(&views)?;
        let backwards: Vec<_> = views.iter().map(|view| view.slice(s![..;-1, ..])).collect();
        let reversed = run(&backwards)?;
        for (index, output) in outputs.iter().enumerate() {
            same(network, index, output.view(), reversed[index].slice(s![..;-1, ..]))?;
        }
        for (start, rows) in [(0, 1), (1, 1), (7, 3), (100, 64), (130, 129)] {
            let range = start..start + rows;
            let parts: Vec<_> =
                views.iter().map(|view| view.slice(s![range.clone(), ..])).collect();
            for (index, alone) in run(&parts)?.iter().enumerate() {
                same(network, index, alone.view(), outputs[index].slice(s![range.clone(), ..]))?;
            }
        }
        Ok(Self { outputs })
    }

    /// Refuses results that are not finite.
    pub(super) fn check_finite(&self, network: &Network) -> Result<(), OnnxError> {
        for (output, values) in network.outputs().iter().zip(&self.outputs) {
            let bad = values.indexed_iter().find(|(_, value)| !value.is_finite());
            if let Some(((row, column), &value)) = bad {
                let input =
                    if row == 0 { "all inputs are 0" } else { "inputs are standard normal" };
                let output = output.name.clone();
                let problem = OnnxProblem::NotFinite { output, column, value, input };
                return Err(problem.at(network.path()));
            }
        }
        Ok(())
    }
}

fn same(
    network: &Network,
    index: usize,
    alone: ArrayView2<'_, f32>,
    together: ArrayView2<'_, f32>,
) -> Result<(), OnnxError> {
    let differs = |a: f32, b: f32| {
        (a - b).abs() > TOLERANCE * a.abs().max(1.0) || a.is_finite() != b.is_finite()
    };
    match alone.iter().zip(together).find(|&(&a, &b)| differs(a, b)) {
        Some((&alone, &together)) => {
            let output = network.outputs()[index].name.clone();
            Err(OnnxProblem::BatchDependent { output, alone, together }.at(network.path()))
        }
        None => Ok(()),
    }
}
