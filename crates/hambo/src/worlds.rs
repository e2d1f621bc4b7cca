//! The certificate: a limit over worlds.
//!
//! A world is one member of an ensemble, the same in all steps, with the errors that the model made on
//! logged transitions as its noise. With each world's mean return J_k on common starts and draws, their
//! mean J̄ and standard deviation s, and the error se that the starts leave,
//!
//!   b = J̄ - o - √( q² (1 + 1/K) s² + t² se² + t² u² )      q = max( t_{K-1, 1-δ}, ρ )
//!
//! If the truth were one more draw from where the worlds came from, t_{K-1, 1-δ} alone would make
//! this hold with probability 1 - δ. Whether it is, logged episodes tell: ρ and the offset o are what
//! they demand, and u is what they cannot tell ([`Replay`]).

use serde::{Deserialize, Serialize};

use crate::bound::{Estimate, students_quantile};
use crate::replay::Replay;

/// How a limit over worlds came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldsLimit {
    /// Standard deviation of the worlds' estimates, s.
    pub spread: f64,
    /// Student's quantile for so many worlds.
    pub student: f64,
    /// The factor on the spread, q.
    pub factor: f64,
    /// What logged episodes say of the worlds; none if there were none to play again.
    pub replay: Option<Replay>,
}

impl WorldsLimit {
    /// Of the worlds' estimates `[K]`, K at least two.
    pub(crate) fn new(worlds: &[f64], delta: f64, replay: Option<Replay>) -> Self {
        let student = students_quantile(worlds.len(), delta);
        let demanded = replay.as_ref().map_or(0.0, |replay| replay.factor);
        let spread = Estimate::of(worlds).std_error * (worlds.len() as f64).sqrt();
        Self { spread, student, factor: student.max(demanded), replay }
    }

    /// What δ is the probability of, in plain words.
    pub(crate) fn what_delta_covers(&self) -> String {
        let assumed = match &self.replay {
            Some(replay) => format!(
                "no larger than the largest that {} replayed episodes of the logs showed (worst: {})",
                replay.episodes(),
                replay.worst
            ),
            None => "like that of one more member; no logged episode has tested that".into(),
        };
        format!(
            "the members' disagreement and the Monte Carlo error, provided that the model's error about \
             this policy's return, in units of that disagreement, is {assumed}"
        )
    }

    /// The limit, for the mean over the worlds with the error that the starts leave.
    pub(crate) fn lower_limit(&self, mean: &Estimate, worlds: usize, delta: f64) -> f64 {
        let (offset, unresolved) =
            self.replay.as_ref().map_or((0.0, 0.0), |replay| (replay.offset, replay.unresolved));
        let of_worlds = self.factor * (1.0 + 1.0 / worlds as f64).sqrt() * self.spread;
        let of_starts = mean.mean - mean.lower_limit(delta);
        let of_replay = self
            .replay
            .as_ref()
            .map_or(0.0, |replay| students_quantile(replay.episodes(), delta) * unresolved);
        mean.mean - offset - of_worlds.hypot(of_starts).hypot(of_replay)
    }

    /// The factor on the worlds' disagreement at which the limit is `threshold` instead of `limit`, for worlds
    /// with this mean. None if no factor leads there.
    pub(crate) fn tipping_factor(
        &self,
        mean: f64,
        limit: f64,
        worlds: usize,
        threshold: f64,
    ) -> Option<f64> {
        let highest = mean - self.replay.as_ref().map_or(0.0, |replay| replay.offset);
        let per_factor = (1.0 + 1.0 / worlds as f64).sqrt() * self.spread;
        let of_others = (highest - limit).powi(2) - (self.factor * per_factor).powi(2);
        let of_worlds = (highest - threshold).powi(2) - of_others.max(0.0);
        (highest > threshold && of_worlds > 0.0 && per_factor > 0.0)
            .then(|| of_worlds.sqrt() / per_factor)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::Seed;

    #[test]
    fn at_the_tipping_factor_the_limit_is_the_threshold() {
        let estimates = [1.0, 2.0, 4.0, 5.0];
        let mean = Estimate { mean: 3.0, std_error: 0.4, independent: 100, skewness: 0.0 };
        let mut limit = WorldsLimit::new(&estimates, 0.05, None);
        let bound = limit.lower_limit(&mean, 4, 0.05);
        for threshold in [-9.0, bound, 1.0] {
            let tipping = limit.tipping_factor(3.0, bound, 4, threshold).unwrap();
            limit.factor = tipping;
            assert!((limit.lower_limit(&mean, 4, 0.05) - threshold).abs() < 1e-9, "{tipping}");
            limit.factor = limit.student;
        }
        // Above the mean there is no such factor, nor within the error of the starts.
        assert_eq!(limit.tipping_factor(3.0, bound, 4, 3.5), None);
        assert_eq!(limit.tipping_factor(3.0, bound, 4, 2.9), None);
    }

    /// Worlds and truth from one distribution, the starts' error beside it.
    #[test]
    fn the_limit_holds_for_a_truth_that_is_one_more_world() {
        let rng = &mut Seed(0).stream("worlds");
        for (worlds, starts_error) in [(5, 0.0), (10, 0.0), (10, 0.5), (20, 2.0)] {
            let (delta, trials) = (0.05, 4_000);
            let held = (0..trials)
                .filter(|_| {
                    let mut normal = || -> f64 { rng.sample(StandardNormal) };
                    let truth = normal();
                    let shift = starts_error * normal();
                    let estimates: Vec<f64> = (0..worlds).map(|_| normal() + shift).collect();
                    let mean = Estimate {
                        mean: estimates.iter().sum::<f64>() / worlds as f64,
                        std_error: starts_error,
                        independent: 1_000,
                        skewness: 0.0,
                    };
                    let limit = WorldsLimit::new(&estimates, delta, None);
                    limit.lower_limit(&mean, worlds, delta) <= truth
                })
                .count();
            let coverage = held as f64 / f64::from(trials);
            // Three standard errors of the coverage itself. Quantiles of different shapes that are added
            // in squares hold a little more often than they say.
            let room = 3.0 * (delta * (1.0 - delta) / f64::from(trials)).sqrt();
            assert!(coverage > 1.0 - delta - room, "{coverage} for {worlds}, {starts_error}");
            assert!(
                coverage < 1.0 - delta + room + 0.01,
                "{coverage} for {worlds}, {starts_error}"
            );
        }
    }
}
