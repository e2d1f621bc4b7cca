//! Is a policy scaled as the data's actions are?

use std::fmt;

use hambo::dataset::ColumnNames;
use hambo::task::Policy;
use hambo::{LoggedActions, LoggedSample};
use ndarray::{ArrayView2, Axis, Slice};

use super::error::OnnxError;
use super::policy::OnnxPolicy;

/// Most rows of the logs that are looked at.
const ROWS: usize = 10_000;

/// A policy's actions and the data's differ as they do when one of them is scaled and the other not.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRangeNote {
    /// The action column.
    pub column: String,
    /// Smallest and largest action of the policy on the data's states; of a Gaussian one, means.
    pub policy: [f32; 2],
    /// Smallest and largest action of the data.
    pub data: [f32; 2],
    /// How the two differ.
    pub kind: RangeDifference,
}

/// How they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeDifference {
    /// The policy leaves the data's range by more than a tenth of its width.
    Outside,
    /// The policy uses much of [-1, 1] and never leaves it, while the data goes far beyond: networks
    /// that end in tanh do so before they are scaled. A policy that is merely gentle stays well
    /// within, and gives no warning.
    Unscaled,
}

impl OnnxPolicy {
    /// Compares the policy's actions on logged states with the logged actions, column by column, on
    /// at most ten thousand rows.
    pub fn action_range_notes(
        &self,
        logged: &LoggedSample,
        names: &ColumnNames,
    ) -> Result<Vec<ActionRangeNote>, OnnxError> {
        if logged.rows() == 0 {
            return Ok(Vec::new());
        }
        let stride = logged.rows().div_ceil(ROWS).max(1);
        let sample = Slice::new(0, None, isize::try_from(stride).unwrap_or(isize::MAX));
        let states = logged.transitions.states.slice_axis(Axis(0), sample);
        let actions = self.mean_actions(states)?;
        if self.gives_scores() || actions.ncols() != names.actions.len() {
            // What they mean is known once they are understood as choices.
            return Ok(Vec::new());
        }
        let policy = ranges(actions.view());
        let data = logged.actions.iter().map(LoggedActions::range);
        let columns = policy.into_iter().zip(data).zip(&names.actions);
        let notes = columns.filter_map(|((policy, data), column)| {
            let column = column.clone();
            difference(policy, data).map(|kind| ActionRangeNote { column, policy, data, kind })
        });
        Ok(notes.collect())
    }
}

fn ranges(actions: ArrayView2<'_, f32>) -> Vec<[f32; 2]> {
    let empty = [f32::INFINITY, f32::NEG_INFINITY];
    let range = |column: ndarray::ArrayView1<'_, f32>| {
        column.iter().fold(empty, |[low, high], &value| [low.min(value), high.max(value)])
    };
    actions.columns().into_iter().map(range).collect()
}

fn difference(policy: [f32; 2], data: [f32; 2]) -> Option<RangeDifference> {
    let reach = |[low, high]: [f32; 2]| low.abs().max(high.abs());
    let width = |[low, high]: [f32; 2]| high - low;
    let margin = 0.1 * width(data);
    if policy[0] < data[0] - margin || policy[1] > data[1] + margin {
        return Some(RangeDifference::Outside);
    }
    let fills_the_unit = (0.5..=1.0).contains(&reach(policy));
    let is_much_narrower = reach(data) > 1.1 && width(data) > 1.5 * width(policy);
    (fills_the_unit && is_much_narrower).then_some(RangeDifference::Unscaled)
}

impl ActionRangeNote {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.kind {
            RangeDifference::Outside => {
                "if they are scaled differently, export the policy with the data's scale; if not, \
                 nothing in the data says what such actions do"
            }
            RangeDifference::Unscaled => {
                "if the policy's output is still to be scaled, export it with the scaling \
                 (`low + 0.5 * (output + 1) * (high - low)`)"
            }
        }
    }
}

impl fmt::Display for ActionRangeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, policy: [low, high], data: [data_low, data_high], .. } = self;
        write!(
            f,
            "action `{column}`: on logged states the policy's actions are in [{low}, {high}], the \
             logged ones in [{data_low}, {data_high}]"
        )
    }
}
