//! Where the data tells what happens, as far as a task needs to know.

use ndarray::{Array1, ArrayView1};

use crate::logs::LoggedSample;
use crate::model::Model;
use crate::rollout::Support;
use crate::task::Task;

/// The logged actions, and how uncertain a model usually is on data that it has not seen.
#[derive(Debug)]
pub(crate) struct DataSupport<'a> {
    logged: &'a LoggedSample,
    usual: Array1<f32>,
}

impl<'a> DataSupport<'a> {
    pub(crate) fn new(model: &'a Model, task: &Task) -> Self {
        let mut usual = model.calibration.usual_epistemic_std.clone();
        let used = model.used_outputs(task);
        usual.iter_mut().skip(used).for_each(|usual| *usual = f32::MAX);
        Self { logged: &model.logged, usual }
    }

    /// Whether a model is as certain of every output as it usually is.
    pub(crate) fn is_sure(&self, stds: ArrayView1<'_, f32>) -> bool {
        stds.iter().zip(&self.usual).all(|(std, usual)| std <= usual)
    }

    /// How uncertain it is beside what is usual: a sum of squares over the outputs.
    pub(crate) fn doubt(&self, stds: ArrayView1<'_, f32>) -> f64 {
        let relative = |(std, usual): (&f32, &f32)| f64::from(std / usual.max(f32::MIN_POSITIVE));
        stds.iter().zip(&self.usual).map(relative).map(|share| share * share).sum()
    }
}

impl Support for DataSupport<'_> {
    fn holds(
        &self,
        action: ArrayView1<'_, f32>,
        epistemic_std: Option<ArrayView1<'_, f32>>,
    ) -> bool {
        !self.logged.is_foreign(action) && epistemic_std.is_none_or(|stds| self.is_sure(stds))
    }
}
