//! What hallucinated states and learned rewards stay within, if the task does not say it.
//!
//! Networks know nothing of what lies far beyond the data, and their states run away there. So states are
//! moved into the data's range, widened. Such limits must not hide a rule: where an episode would end a
//! little beyond them, they reach as far as that.
//!
//! What holds in every row of the data holds in every hallucinated state, too: a column that never changes keeps its
//! value, and angles stay on their circle.

use ndarray::{Array1, Array2, s};

use crate::dataset::Transitions;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::task::{self, RewardLimits, StateBounds, StateLimits, Task, Termination};

/// Logged transitions whose next states are pushed beyond the limits, to see where an episode ends.
const PROBES: usize = 100;

/// How far beyond the limits, as a share of their width, and in how many steps.
const REACH: f32 = 1.0;
const STEPS: usize = 40;

/// The limits that hallucinated states are moved into.
pub(crate) struct Confines {
    /// States beyond these are counted.
    pub(crate) usual: StateBounds,
    /// States are moved into these.
    pub(crate) farthest: StateBounds,
    /// What they are, in the result.
    pub(crate) are: StateLimits,
}

impl Model {
    pub(crate) fn confines(&self, task: &Task) -> Result<Confines> {
        if let Some(bounds) = &task.state_bounds {
            let (expected, found) = (self.dynamics.state_dim(), bounds.low().len());
            if expected != found {
                return Err(Error::Dimension { part: "state bounds", expected, found });
            }
            let farthest = bounds.clone().obeying(&self.data_range);
            let usual = farthest.clone().of_what_varies();
            return Ok(Confines { usual, farthest, are: StateLimits::Task });
        }
        let widened = self.range_widening;
        let usual = self.data_range.widened(widened);
        let mut farthest = usual.clone();
        let mut extended = Vec::new();
        for column in 0..usual.low().len() {
            let Some(rule) = &task.termination else { break };
            let found = self.ends_beyond(&**rule, &usual, column);
            if found.iter().any(Option::is_some) {
                extended.push(self.data.names.output(column).to_owned());
            }
            farthest = farthest.extended(column, found);
        }
        let usual = usual.of_what_varies();
        Ok(Confines { usual, farthest, are: StateLimits::Data { widened, extended } })
    }

    /// The values of a column below and above its limits, but near, at which all episodes end that would go
    /// on at the limit itself.
    fn ends_beyond(
        &self,
        rule: &dyn Termination,
        limits: &StateBounds,
        column: usize,
    ) -> [Option<f32>; 2] {
        let logged = &self.logged.transitions;
        let stride = (self.logged.rows() / PROBES).max(1);
        let rows: Vec<usize> = (0..self.logged.rows()).step_by(stride).take(PROBES).collect();
        let (low, high) = (limits.low()[column], limits.high()[column]);
        let step = REACH * (high - low) / STEPS as f32;
        [(low, -step), (high, step)].map(|(limit, step)| {
            let values: Vec<f32> = (0..=STEPS).map(|index| limit + step * index as f32).collect();
            let repeated: Vec<usize> = values.iter().flat_map(|_| rows.iter().copied()).collect();
            let of = |all: &Array2<f32>| all.select(ndarray::Axis(0), &repeated);
            let (states, actions) = (of(&logged.states), of(&logged.actions));
            let mut next_states = of(&logged.next_states);
            for (index, &value) in values.iter().enumerate() {
                let mine = index * rows.len()..(index + 1) * rows.len();
                next_states.slice_mut(s![mine, column]).fill(value);
            }
            let transitions = Transitions {
                states: states.view(),
                actions: actions.view(),
                next_states: next_states.view(),
            };
            // A rule that cannot be asked there has nothing to say.
            let ends = task::terminated(rule, &transitions).ok()?;
            first_end(&ends, &values, rows.len())
        })
    }

    /// The limits that learned rewards are moved into.
    pub(crate) fn reward_limits(&self, task: &Task) -> Option<RewardLimits> {
        if task.reward.is_some() {
            return None;
        }
        Some(match task.reward_bounds {
            Some([low, high]) => RewardLimits { low, high, widened: None },
            None => {
                let ([low, high], widened) = (self.reward_range, self.range_widening);
                let margin = (high - low) * widened;
                RewardLimits { low: low - margin, high: high + margin, widened: Some(widened) }
            }
        })
    }
}

/// The first value at which all of those probes end that do not at the first: a wall across this column,
/// whatever the others are. `ends` has `probes` rows per
/// value.
fn first_end(ends: &Array1<bool>, values: &[f32], probes: usize) -> Option<f32> {
    let ends_at = |value: usize, probe: usize| ends[value * probes + probe];
    let ongoing: Vec<usize> = (0..probes).filter(|&probe| !ends_at(0, probe)).collect();
    let all_end = |value: &usize| ongoing.iter().all(|&probe| ends_at(*value, probe));
    let found = (1..values.len()).find(all_end).filter(|_| !ongoing.is_empty());
    found.map(|value| values[value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_reaches_as_far_as_the_rule() {
        let values = [1.0, 2.0, 3.0];
        let ends = |flags: [u8; 6]| Array1::from_iter(flags.map(|flag| flag == 1));
        // Two probes per value.
        assert_eq!(first_end(&ends([0, 0, 0, 0, 1, 1]), &values, 2), Some(3.0));
        assert_eq!(first_end(&ends([0, 1, 0, 1, 1, 1]), &values, 2), Some(3.0));
        assert_eq!(first_end(&ends([0, 0, 1, 1, 1, 1]), &values, 2), Some(2.0));
        assert_eq!(first_end(&ends([0, 0, 1, 0, 1, 0]), &values, 2), None);
        assert_eq!(first_end(&ends([0, 0, 0, 0, 0, 0]), &values, 2), None);
        assert_eq!(first_end(&ends([1, 1, 1, 1, 1, 1]), &values, 2), None);
    }
}
