//! Where the data tells what happens, as far as a task needs to know.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use crate::dynamics::Counted;
use crate::error::Result;
use crate::logs::LoggedSample;
use crate::model::Model;
use crate::rollout::Support;
use crate::task::Task;

/// The logged actions, and how uncertain a model usually is on data that it has not seen.
#[derive(Debug)]
pub(crate) struct DataSupport<'a> {
    logged: &'a LoggedSample,
    counted: Option<&'a dyn Counted>,
    usual: Array1<f32>,
    /// On the logs, the mean logarithm of the epistemic std of every output that matters; none where nobody knows.
    typical: Vec<f64>,
}

impl<'a> DataSupport<'a> {
    pub(crate) fn new(model: &'a Model, task: &Task) -> Result<Self> {
        let mut usual = model.calibration.usual_epistemic_std.clone();
        let used = model.used_outputs(task);
        usual.iter_mut().skip(used).for_each(|usual| *usual = f32::MAX);
        let typical = typical(model)?.into_iter().take(used).collect();
        let counted = model.dynamics.counted();
        Ok(Self { logged: &model.logged, counted, usual, typical })
    }

    /// How many times as uncertain as on the logs a model typically is of every output that matters, by the sums of
    /// the logarithms of its epistemic std over so many steps. What no action influences is left out.
    pub(crate) fn times_as_uncertain(&self, log_stds: &Array1<f64>, steps: usize) -> Vec<f64> {
        let outputs = self.typical.iter().zip(log_stds).zip(&self.usual);
        let times = |((typical, sum), usual): ((&f64, &f64), &f32)| match *usual < f32::MAX {
            true => (sum / steps.max(1) as f64 - typical).exp(),
            false => 1.0,
        };
        outputs.map(times).collect()
    }

    /// Whether a model is as certain of every output as it usually is. One that counts must have counted this pair:
    /// where many pairs were logged only once, members that have not seen one are usual.
    pub(crate) fn is_sure(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
        stds: ArrayView1<'_, f32>,
    ) -> bool {
        self.is_counted(state, action)
            && stds.iter().zip(&self.usual).all(|(std, usual)| std <= usual)
    }

    /// Whether this pair was counted, if pairs are.
    pub(crate) fn is_counted(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
    ) -> bool {
        self.counted.is_none_or(|counted| counted.is_logged(state, action))
    }

    /// How uncertain it is beside what is usual: a sum of squares over the outputs.
    pub(crate) fn doubt(&self, stds: ArrayView1<'_, f32>) -> f64 {
        let relative = |(std, usual): (&f32, &f32)| f64::from(std / usual.max(f32::MIN_POSITIVE));
        stds.iter().zip(&self.usual).map(relative).map(|share| share * share).sum()
    }
}

/// The logarithm of every std, where zero is very small.
pub(crate) fn log_stds(stds: &Array2<f32>) -> Array2<f64> {
    stds.mapv(|std| f64::from(std.max(f32::MIN_POSITIVE)).ln())
}

/// The mean logarithm of the epistemic std on logged transitions, per output.
///
/// All members are asked, also those that have seen a transition, because all are asked in rollouts: about new
/// episodes of a logged policy they disagree 1.0 to 1.1 times as much as about its logged ones, where those that have
/// not seen a transition, three or four of ten, disagree 1.7 to 3.8 times as much at the 99 % quantile (heating and
/// pump examples). A model without members has seen
/// too much of what it was fitted on, and is asked about the rest.
fn typical(model: &Model) -> Result<Vec<f64>> {
    let logged = &model.logged;
    let is_asked = |row: &usize| logged.unseen.row(*row).iter().any(|&unseen| unseen);
    let rows: Vec<usize> = (0..logged.rows()).filter(is_asked).collect();
    if rows.is_empty() || model.dynamics.counted().is_some() {
        return Ok(Vec::new());
    }
    let states = logged.transitions.states.select(Axis(0), &rows);
    let actions = logged.transitions.actions.select(Axis(0), &rows);
    let stds = model.dynamics.predict(states.view(), actions.view())?.epistemic_std;
    Ok(log_stds(&stds).mean_axis(Axis(0)).map(|means| means.to_vec()).unwrap_or_default())
}

impl Support for DataSupport<'_> {
    fn holds(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
        epistemic_std: Option<ArrayView1<'_, f32>>,
    ) -> bool {
        let is_sure = |stds| self.is_sure(state, action, stds);
        !self.logged.is_foreign(action) && epistemic_std.is_none_or(is_sure)
    }
}
