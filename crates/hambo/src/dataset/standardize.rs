//! Zero mean and unit variance, per column.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Per-column shift and scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standardizer {
    mean: Array1<f32>,
    std: Array1<f32>,
}

impl Standardizer {
    /// Mean and standard deviation of `columns` columns over batches of rows, in one pass and
    /// float64 (Chan's update of mean and sum of squares, which does not cancel).
    pub fn fit(columns: usize, batches: impl Iterator<Item = Array2<f32>>) -> Self {
        let (mut count, mut mean, mut squares) =
            (0.0_f64, Array1::<f64>::zeros(columns), Array1::<f64>::zeros(columns));
        for batch in batches {
            let batch = batch.mapv(f64::from);
            let added = batch.nrows() as f64;
            if added == 0.0 {
                continue;
            }
            let batch_mean = batch.sum_axis(Axis(0)) / added;
            let batch_squares = (&batch - &batch_mean).mapv(|x| x * x).sum_axis(Axis(0));
            let total = count + added;
            let shift = &batch_mean - &mean;
            squares += &(batch_squares + shift.mapv(|x| x * x) * (count * added / total));
            mean += &(shift * (added / total));
            count = total;
        }
        let variance = squares / count.max(1.0);
        // A column that never changes is only shifted: dividing by its rounding noise would turn
        // that noise into signal.
        let std = ndarray::Zip::from(&variance).and(&mean).map_collect(|&variance, &mean| {
            let std = variance.sqrt();
            if std > 1e-7 * mean.abs().max(1e-12) { std as f32 } else { 1.0 }
        });
        Self { mean: mean.mapv(|x| x as f32), std }
    }

    /// Scales that somebody has chosen, without a shift.
    pub fn of_scales(scales: &[f32]) -> Self {
        Self { mean: Array1::zeros(scales.len()), std: Array1::from(scales.to_vec()) }
    }

    /// Whether it could come from data: needed after loading.
    pub(crate) fn is_consistent(&self) -> bool {
        let finite = self.mean.iter().all(|mean| mean.is_finite());
        let positive = self.std.iter().all(|std| *std > 0.0 && std.is_finite());
        self.mean.len() == self.std.len() && finite && positive
    }

    /// What is subtracted, per column.
    pub fn mean(&self) -> &Array1<f32> {
        &self.mean
    }

    /// What is divided by, per column; greater than zero.
    pub fn std(&self) -> &Array1<f32> {
        &self.std
    }

    /// `(x - mean) / std`, row by row.
    pub fn apply(&self, rows: ArrayView2<'_, f32>) -> Array2<f32> {
        (&rows - &self.mean) / &self.std
    }
}
