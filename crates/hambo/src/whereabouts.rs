//! Where a policy goes, beside where the logs went.

use serde::{Deserialize, Serialize};

use crate::dataset::ColumnNames;
use crate::game::Game;
use crate::thresholds::Thresholds;
use crate::variant::Variant;
use crate::warning::Warning;

/// How far from the logs rollouts went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// Share of steps whose epistemic std is larger than usual on the data. Variants in which
    /// members decide are asked about in the first few hundred episodes only.
    pub outside_data: f64,
    /// How many times as uncertain as on the logs the model typically is of every output that matters: the ratio of
    /// geometric means. None where nobody knows how uncertain it is on the logs.
    #[serde(default)]
    pub times_as_uncertain: Vec<f64>,
    /// Share of the episodes that went beyond the limits of the states.
    #[serde(default)]
    pub at_limits: f64,
    /// Share of steps in which the policy did what nobody did in the data: an action beyond its range, or
    /// between the few values that it has there.
    #[serde(default)]
    pub foreign_actions: f64,
    /// Share of the episodes that terminated.
    #[serde(default)]
    pub ended: f64,
    /// Share of the episodes that left the data and earned the task's floor from there on.
    #[serde(default)]
    pub floored: f64,
}

impl Whereabouts {
    /// The mean over worlds, of at least one; of ratios it is the geometric one.
    pub(crate) fn mean(worlds: &[Self]) -> Self {
        let mean =
            |of: &dyn Fn(&Self) -> f64| worlds.iter().map(of).sum::<f64>() / worlds.len() as f64;
        let outputs = 0..worlds[0].times_as_uncertain.len();
        Self {
            outside_data: mean(&|world| world.outside_data),
            times_as_uncertain: outputs
                .map(|output| mean(&|world| world.times_as_uncertain[output].ln()).exp())
                .collect(),
            at_limits: mean(&|world| world.at_limits),
            foreign_actions: mean(&|world| world.foreign_actions),
            ended: mean(&|world| world.ended),
            floored: mean(&|world| world.floored),
        }
    }

    /// What of it speaks against a bound on an objective of a game.
    pub(crate) fn warnings(
        &self,
        (objective, variant): (&str, Variant),
        game: &Game<'_>,
        names: &ColumnNames,
        thresholds: &Thresholds,
    ) -> Vec<Warning> {
        let (objective, most) = (|| objective.to_owned(), thresholds.outside_data);
        // What happens off the data is then the worst that can.
        if let Some(floor) = game.limits.floor {
            let (share, floor) = (self.floored, f64::from(floor.least));
            return (share > most)
                .then_some(Warning::OnFloor { share, floor })
                .into_iter()
                .collect();
        }
        let mut warnings = Vec::new();
        let share = self.outside_data;
        if share > most {
            warnings.push(Warning::OutsideData { objective: objective(), variant, share });
        }
        let doubtful = self.times_as_uncertain.iter().copied().enumerate();
        if let Some((output, times)) = doubtful.max_by(|a, b| a.1.total_cmp(&b.1))
            && times > thresholds.unlike_logs
        {
            let column = names.output(output).to_owned();
            warnings.push(Warning::UnlikeLogs { objective: objective(), variant, column, times });
        }
        let share = self.foreign_actions;
        if share > most {
            warnings.push(Warning::ForeignActions { objective: objective(), variant, share });
        }
        let share = self.at_limits;
        // Limits that the task declares are no doubt: no true state leaves them.
        if share > most && game.task.state_bounds.is_none() {
            warnings.push(Warning::AtLimits { objective: objective(), variant, share });
        }
        warnings
    }
}
