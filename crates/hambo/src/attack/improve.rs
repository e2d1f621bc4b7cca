//! A policy against a baseline, in the same worlds.

use super::{Attack, Finding, mean_over_worlds};
use crate::bound::Estimate;
use crate::error::{Error, Result};
use crate::game::{Game, Played};
use crate::improvement::{Difference, Improvement};
use crate::task::{Against, Baseline};
use crate::worlds::WorldsLimit;

impl Attack<'_> {
    /// How much better the policy is at least, given what the worlds make of it.
    pub(super) fn improvement(&self, against: &Against, worlds: &Finding) -> Result<Improvement> {
        let replay = worlds.result.worlds.as_ref().and_then(|limit| limit.replay.as_ref());
        let noise = replay.map_or(1.0, |replay| replay.noise);
        let (baseline, difference, most_of_baseline) = match &against.baseline {
            Baseline::Logged => {
                let found = self.player().against_logs(noise)?.ok_or(Error::LogsTooShort)?;
                let estimate = Estimate::of(&found.differences);
                let most = -negated(&found.earned).lower_limit(self.delta);
                (found.earned, Difference { estimate, of_worlds: found.of_worlds }, most)
            }
            Baseline::Policy { policy, .. } => {
                let attack = Attack { game: Game { policy: &**policy, ..self.game }, ..*self };
                let found = attack.in_all_worlds(noise)?;
                let means = found.iter().map(|(result, _)| result.estimate.mean);
                let own = worlds.result.members.iter().map(|estimate| estimate.mean);
                let of_worlds: Vec<f64> =
                    own.zip(means.clone()).map(|(own, its)| own - its).collect();
                let its = mean_over_worlds(&found);
                let differences =
                    worlds.returns.iter().zip(&its.returns).map(|(own, its)| own - its);
                let played =
                    Played { returns: differences.collect(), observed: its.observed.clone() };
                let difference = Difference { estimate: played.estimate(), of_worlds };
                // The limit over worlds, from the other side.
                let negative: Vec<f64> = means.map(|mean| -mean).collect();
                let limit = WorldsLimit::new(&negative, self.delta, replay.cloned());
                let baseline = its.estimate();
                let most = -limit.lower_limit(&negated(&baseline), negative.len(), self.delta);
                (baseline, difference, most)
            }
        };
        let (spread, factor, lower_bound) = difference.limit(replay, self.delta);
        Ok(Improvement {
            against: against.baseline.to_string(),
            baseline,
            estimate: difference.estimate,
            spread,
            factor,
            lower_bound,
            by_separate_bounds: worlds.result.lower_bound - most_of_baseline,
            margin: against.margin,
        })
    }
}

fn negated(estimate: &Estimate) -> Estimate {
    Estimate { mean: -estimate.mean, skewness: -estimate.skewness, ..*estimate }
}
