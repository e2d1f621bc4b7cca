//! How much better than what is there: a lower bound on a difference of returns.
//!
//! What all worlds get wrong alike cancels in a difference between two policies in the same worlds,
//! from the same starts, with the same draws. With Δ_k the difference in world k,
//!
//!   b = Δ̄ - o - √( q² (1 + 1/K) s_Δ² + t² se² )      q = max( t_{K-1, 1-δ}, ρ_Δ )
//!
//! where ρ_Δ and o are what the differences between groups of logged episodes demand: how wrong the
//! worlds were about what one group earned more than the others.

use serde::{Deserialize, Serialize};

use crate::bound::{Estimate, students_quantile};
use crate::replay::Replay;

/// A lower bound on how much more a policy earns than a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Improvement {
    /// What it is compared with.
    pub against: String,
    /// What that earns: in the logs, or according to the worlds.
    pub baseline: Estimate,
    /// The difference, without any caution.
    pub estimate: Estimate,
    /// Standard deviation of the worlds' differences, s_Δ.
    pub spread: f64,
    /// The factor on the spread, q.
    pub factor: f64,
    /// The lower bound on the difference.
    pub lower_bound: f64,
    /// What two separate bounds would leave of it.
    pub by_separate_bounds: f64,
    /// How much more the policy must earn, if somebody has said it.
    pub margin: Option<f64>,
}

/// A difference, world by world.
pub(crate) struct Difference {
    pub(crate) estimate: Estimate,
    pub(crate) of_worlds: Vec<f64>,
}

impl Difference {
    /// The spread, the factor and the limit.
    pub(crate) fn limit(&self, replay: Option<&Replay>, delta: f64) -> (f64, f64, f64) {
        let worlds = self.of_worlds.len();
        let spread = Estimate::of(&self.of_worlds).std_error * (worlds as f64).sqrt();
        let demand = replay.and_then(|replay| replay.of_differences.as_ref());
        // Logs that are all alike say nothing about differences; what they say of returns has to do.
        let (demanded, offset) = match (demand, replay) {
            (Some(demand), _) => (demand.factor, demand.offset),
            (None, Some(replay)) => (replay.factor, replay.offset),
            (None, None) => (0.0, 0.0),
        };
        let factor = students_quantile(worlds, delta).max(demanded);
        let of_worlds = factor * (1.0 + 1.0 / worlds as f64).sqrt() * spread;
        let of_starts = self.estimate.mean - self.estimate.lower_limit(delta);
        (spread, factor, self.estimate.mean - offset - of_worlds.hypot(of_starts))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::Seed;

    /// Worlds that are all wrong alike about both policies, and differ about the difference.
    #[test]
    fn what_all_worlds_get_wrong_alike_cancels() {
        let rng = &mut Seed(0).stream("worlds");
        let (delta, trials, worlds, starts) = (0.05, 2_000, 10, 50);
        let held = (0..trials)
            .filter(|_| {
                let mut normal = || -> f64 { rng.sample(StandardNormal) };
                let truth = normal();
                let of_worlds: Vec<f64> = (0..worlds).map(|_| normal()).collect();
                let mean = of_worlds.iter().sum::<f64>() / worlds as f64;
                let of_starts: Vec<f64> = (0..starts).map(|_| mean + normal()).collect();
                let difference = Difference { estimate: Estimate::of(&of_starts), of_worlds };
                difference.limit(None, delta).2 <= truth
            })
            .count();
        let coverage = held as f64 / f64::from(trials);
        // Three standard errors of the coverage itself, and a little more that squares give away.
        let room = 3.0 * (delta * (1.0 - delta) / f64::from(trials)).sqrt();
        assert!((coverage - (1.0 - delta)).abs() < room + 0.01, "{coverage}");
    }
}
