//! A graph made ready to run, and running it over rows.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;
use tract_onnx::prelude::{
    DatumType, InferenceModelExt, IntoRunnable, IntoTValue, TValue, TVec, Tensor, TractError,
    TractResult, TypedRunnableModel,
};

use super::engine::{CHUNK, engine, guarded, inference_model};
use super::error::{OnnxError, OnnxProblem};
use super::file::OnnxFile;
use super::shapes::check_shapes;

/// A graph made ready to run.
pub(super) struct Network {
    path: PathBuf,
    plan: Arc<TypedRunnableModel>,
    /// Columns of every input, in the file's order.
    widths: Vec<usize>,
    outputs: Vec<Output>,
}

/// An output that is wanted, and what it must look like.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) width: usize,
    /// Where the width comes from.
    pub(super) reason: &'static str,
    /// One row may serve all, as for a standard deviation that does not depend on the state.
    pub(super) may_be_shared: bool,
    pub(super) may_be_bool: bool,
    /// Whole numbers may be the numbers of choices, of which there are fewer than columns.
    pub(super) may_be_choices: bool,
}

impl Network {
    /// Prepares a graph with inputs of the given widths, in the file's order.
    pub(super) fn prepare(
        path: &Path,
        file: &OnnxFile,
        widths: Vec<usize>,
        outputs: Vec<Output>,
    ) -> Result<Self, OnnxProblem> {
        check_shapes(&file.proto, &widths)?;
        let plan = guarded(|| {
            let mut model = inference_model(&file.proto, &widths)?;
            let declared: Vec<_> = file.outputs.iter().map(|port| &port.name).collect();
            let wanted = outputs
                .iter()
                .filter_map(|output| declared.iter().position(|&name| *name == output.name));
            let outlets: Vec<_> = wanted.map(|index| model.outputs[index]).collect();
            model.select_output_outlets(&outlets)?;
            model.into_optimized()?.into_runnable()
        });
        let plan = plan.map_err(engine)?;
        Ok(Self { path: path.to_owned(), plan, widths, outputs })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Every output, `[rows, width]`. The inputs have the same number of rows.
    pub(super) fn run(
        &self,
        inputs: &[ArrayView2<'_, f32>],
    ) -> Result<Vec<Array2<f32>>, OnnxError> {
        self.check_inputs(inputs).map_err(|problem| problem.at(&self.path))?;
        let rows = inputs.first().map_or(0, |input| input.nrows());
        let chunks: Result<Vec<Vec<Array2<f32>>>, OnnxProblem> = (0..rows.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let range = chunk * CHUNK..rows.min((chunk + 1) * CHUNK);
                let parts: Vec<_> =
                    inputs.iter().map(|input| input.slice(s![range.clone(), ..])).collect();
                self.run_chunk(&parts)
            })
            .collect();
        let chunks = chunks.map_err(|problem| problem.at(&self.path))?;
        let joined = self.outputs.iter().enumerate().map(|(index, output)| {
            let parts: Vec<_> = chunks.iter().map(|chunk| chunk[index].view()).collect();
            // Only without rows is there nothing to join.
            concatenate(Axis(0), &parts).unwrap_or_else(|_| Array2::zeros((0, output.width)))
        });
        Ok(joined.collect())
    }

    fn check_inputs(&self, inputs: &[ArrayView2<'_, f32>]) -> Result<(), OnnxProblem> {
        let found: Vec<usize> = inputs.iter().map(|input| input.ncols()).collect();
        if found == self.widths {
            return Ok(());
        }
        Err(OnnxProblem::RowWidth { expected: self.widths.clone(), found })
    }

    fn run_chunk(&self, inputs: &[ArrayView2<'_, f32>]) -> Result<Vec<Array2<f32>>, OnnxProblem> {
        let rows = inputs[0].nrows();
        let results = guarded(|| {
            let tensors: TractResult<TVec<TValue>> = inputs.iter().map(filled_up).collect();
            self.plan.run(tensors?)
        });
        let results = results.map_err(|message| OnnxProblem::Run { rows, message })?;
        let tables = self.outputs.iter().zip(&results);
        tables.map(|(output, tensor)| output.table(tensor, rows)).collect()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("path", &self.path)
            .field("widths", &self.widths)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

impl Output {
    /// The first `rows` rows of a chunk's result.
    fn table(&self, tensor: &Tensor, rows: usize) -> Result<Array2<f32>, OnnxProblem> {
        let kind = tensor.datum_type();
        // The engine has whole numbers of its own kind too.
        let is_whole = kind.is_integer() || kind == DatumType::TDim;
        let are_choices = self.may_be_choices && is_whole;
        if !(kind.is_float() || are_choices || self.may_be_bool && kind == DatumType::Bool) {
            let expected = match (self.may_be_bool, self.may_be_choices) {
                (true, _) => "floats or truth values",
                (_, true) => "floats, or the numbers of choices",
                _ => "floats",
            };
            let found = if is_whole { "whole numbers".to_owned() } else { format!("{kind:?}") };
            let name = self.name.clone();
            return Err(OnnxProblem::OutputType { name, found, expected });
        }
        let found = match *tensor.shape() {
            [CHUNK, width] => Some(width),
            [CHUNK] => Some(1),
            _ => None,
        };
        let width = found.filter(|_| are_choices).unwrap_or(self.width);
        let per_row = found == Some(width) && width <= self.width;
        let shared = self.may_be_shared
            && matches!(*tensor.shape(), [width] | [1, width] if width == self.width);
        if !per_row && !shared {
            return Err(OnnxProblem::OutputShape {
                name: self.name.clone(),
                found: tensor.shape().to_vec(),
                rows: CHUNK,
                expected: self.width,
                reason: self.reason,
            });
        }
        let unreadable = |error: TractError| OnnxProblem::Run { rows, message: error.to_string() };
        let tensor = tensor.cast_to::<f32>().map_err(unreadable)?;
        let view = tensor.try_as_plain_ram().map_err(unreadable)?;
        let values: &[f32] = view.as_slice().map_err(unreadable)?;
        let from = |row: usize| if per_row { row * width } else { 0 };
        Ok(Array2::from_shape_fn((rows, width), |(row, column)| values[from(row) + column]))
    }
}

/// A chunk as a tensor; missing rows repeat the last one, because any other value might be one that
/// the graph cannot digest.
fn filled_up(rows: &ArrayView2<'_, f32>) -> TractResult<TValue> {
    let width = rows.ncols();
    let mut values: Vec<f32> = Vec::with_capacity(CHUNK * width);
    values.extend(rows.iter());
    while values.len() < CHUNK * width {
        values.extend_from_within(values.len() - width..);
    }
    Ok(Tensor::from_shape(&[CHUNK, width], &values)?.into_tvalue())
}
