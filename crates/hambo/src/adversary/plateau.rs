//! When an adversary's training no longer gets anywhere.

use super::settings::AdversarySettings;
use crate::bound::paired_difference;

/// Judges rounds on common random numbers.
///
/// A round is progress if its return lies below that of the last round that was progress, by more
/// than the error of the difference and by more than a negligible share of what that one costs
/// already. Compared with the best round so far instead, a learner that gains half a standard error
/// a round would never make progress: every round would move the mark that the next one has to
/// beat.
pub(super) struct Plateau<'a> {
    settings: &'a AdversarySettings,
    neutral: &'a [f64],
    /// Returns of the last round that was progress.
    mark: Option<Vec<f64>>,
    rounds_since: usize,
}

impl<'a> Plateau<'a> {
    /// `neutral` are the returns when nobody does harm.
    pub(super) fn new(settings: &'a AdversarySettings, neutral: &'a [f64]) -> Self {
        Self { settings, neutral, mark: None, rounds_since: 0 }
    }

    /// Takes the next round, and says whether training is over.
    pub(super) fn is_reached_by(&mut self, returns: &[f64]) -> bool {
        self.rounds_since += 1;
        if self.mark.as_ref().is_none_or(|mark| self.is_progress(returns, mark)) {
            self.mark = Some(returns.to_vec());
            self.rounds_since = 0;
        }
        self.rounds_since >= self.settings.patience
    }

    fn is_progress(&self, returns: &[f64], mark: &[f64]) -> bool {
        let gain = paired_difference(returns, mark);
        let effect = paired_difference(mark, self.neutral).mean;
        -gain.mean > gain.std_error.max(self.settings.tolerance * effect.abs())
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::{Seed, Stream};

    const EPISODES: usize = 400;

    /// Returns around `mean`, with a part of their own in every round: the difference of two rounds
    /// has a standard error of one.
    fn round(mean: f64, rng: &mut Stream) -> Vec<f64> {
        let spread = (EPISODES as f64 / 2.0).sqrt();
        let mut noise: Vec<f64> = (0..EPISODES).map(|_| rng.sample(StandardNormal)).collect();
        // Exactly centred, so that the mean is what it is said to be.
        let centre = noise.iter().sum::<f64>() / EPISODES as f64;
        noise.iter_mut().for_each(|value| *value = mean + spread * (*value - centre));
        noise
    }

    /// Rounds until training stops, if every one of the first `improving` gains `gain` standard errors.
    fn rounds(gain: f64, improving: usize, seed: u64) -> usize {
        let settings = AdversarySettings::default();
        let rng = &mut Seed(seed).stream("rounds");
        let neutral = round(0.0, rng);
        let mut plateau = Plateau::new(&settings, &neutral);
        let mean = |index: usize| -gain * index.min(improving) as f64;
        (0..).find(|&index| plateau.is_reached_by(&round(mean(index), rng))).unwrap() + 1
    }

    #[test]
    fn slow_gains_are_gains_for_as_long_as_they_last() {
        for seed in 0..20 {
            // The last of thirty gains counts within two rounds; four more without any end it.
            let stopped = rounds(0.6, 30, seed);
            assert!((29..=36).contains(&stopped), "seed {seed}: {stopped} rounds");
        }
    }

    #[test]
    fn without_gains_training_stops_after_the_patience() {
        for seed in 0..20 {
            assert_eq!(rounds(0.0, 0, seed), 1 + AdversarySettings::default().patience);
        }
    }
}
