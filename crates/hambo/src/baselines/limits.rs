//! Lower limits on means and on ratios of sums over episodes.

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::bound::Estimate;
use crate::rng::Stream;

/// A sum of ratios of sums over episodes,
///
///   Σ_j (Σ_i A_ij) / (Σ_i B_ij)
///
/// which every estimator that weighs logged episodes is: with B = 1 a plain mean. A term without any weight counts as
/// nothing.
#[derive(Debug, Clone)]
pub(super) struct Ratios {
    /// `[episodes, terms]`
    pub numerators: Array2<f64>,
    /// `[episodes, terms]`
    pub denominators: Array2<f64>,
}

impl Ratios {
    /// A mean over episodes.
    pub(super) fn mean_of(values: &[f64]) -> Self {
        let numerators = Array1::from(values.to_vec()).insert_axis(Axis(1));
        Self { denominators: Array2::ones(numerators.raw_dim()), numerators }
    }

    pub(super) fn episodes(&self) -> usize {
        self.numerators.nrows()
    }

    /// The estimate, if every episode came so many times.
    fn of_counts(&self, counts: &Array1<f64>) -> f64 {
        ratio_of(&counts.dot(&self.numerators), &counts.dot(&self.denominators))
    }

    pub(super) fn estimate(&self) -> f64 {
        self.of_counts(&Array1::ones(self.episodes()))
    }

    /// By how much each episode moves the estimate, times their number: sums to zero.
    fn influences(&self) -> Vec<f64> {
        let count = self.episodes() as f64;
        let (above, below) =
            (self.numerators.sum_axis(Axis(0)), self.denominators.sum_axis(Axis(0)));
        let of_episode = |episode: usize| {
            let terms = (0..above.len()).filter(|&term| below[term] > 0.0);
            let moved = |term: usize| {
                let (a, b) = (self.numerators[[episode, term]], self.denominators[[episode, term]]);
                count * (a - above[term] / below[term] * b) / below[term]
            };
            terms.map(moved).sum::<f64>()
        };
        (0..self.episodes()).map(of_episode).collect()
    }

    /// The estimate with its standard error, by the delta method: exact for a mean.
    pub(super) fn with_error(&self) -> Estimate {
        Estimate { mean: self.estimate(), ..Estimate::of(&self.influences()) }
    }

    /// The limit of resampled episodes, corrected for bias and skewness (BCa; Efron, 1987). None with fewer than two
    /// episodes.
    pub(super) fn bootstrap_limit(
        &self,
        delta: f64,
        resamples: usize,
        rng: &mut Stream,
    ) -> Option<f64> {
        let episodes = self.episodes();
        if episodes < 2 {
            return None;
        }
        let drawn = |rng: &mut Stream| {
            let mut counts = Array1::zeros(episodes);
            (0..episodes).for_each(|_| counts[rng.random_range(0..episodes)] += 1.0);
            self.of_counts(&counts)
        };
        let mut found: Vec<f64> = (0..resamples).map(|_| drawn(rng)).collect();
        found.sort_by(f64::total_cmp);
        let estimate = self.estimate();
        let below = found.partition_point(|&value| value < estimate) as f64;
        let equal = found.partition_point(|&value| value <= estimate) as f64 - below;
        let normal = Normal::standard();
        let share = ((below + equal / 2.0) / resamples as f64).clamp(1e-6, 1.0 - 1e-6);
        let (bias, z) = (normal.inverse_cdf(share), normal.inverse_cdf(delta));
        let acceleration = self.acceleration();
        let slope = 1.0 - acceleration * (bias + z);
        // So skewed that the correction turns round.
        if slope <= 0.0 {
            return Some(found[0]);
        }
        let level = normal.cdf(bias + (bias + z) / slope);
        let index = (level * resamples as f64) as usize;
        Some(found[index.min(resamples - 1)])
    }

    /// A sixth of the skewness of what is left when one episode is left out.
    fn acceleration(&self) -> f64 {
        let (above, below) =
            (self.numerators.sum_axis(Axis(0)), self.denominators.sum_axis(Axis(0)));
        let without = |episode: usize| {
            ratio_of(
                &(&above - &self.numerators.row(episode)),
                &(&below - &self.denominators.row(episode)),
            )
        };
        let left: Vec<f64> = (0..self.episodes()).map(without).collect();
        let mean = left.iter().sum::<f64>() / left.len() as f64;
        let sum = |power: i32| left.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
        let squares = sum(2);
        if squares > 0.0 { sum(3) / (6.0 * squares.powf(1.5)) } else { 0.0 }
    }
}

fn ratio_of(above: &Array1<f64>, below: &Array1<f64>) -> f64 {
    above.iter().zip(below).map(|(a, b)| if *b > 0.0 { a / b } else { 0.0 }).sum()
}

/// One in so many episodes chooses where weights are cut off.
const CHOOSES: usize = 20;

/// A limit on the mean of values that are not negative, for any number of them: an empirical Bernstein inequality on
/// values that are cut off at c (Thomas, Theocharous and Ghavamzadeh, 2015, theorem 1),
///
///   mean(min(x, c)) - 7 c ln(2/δ) / (3 (n - 1)) - √(2 ln(2/δ) var / n)
///
/// with c chosen on a twentieth of the values, which do not count again. None with fewer than four values for either.
pub(super) fn bernstein_limit(values: &[f64], delta: f64) -> Option<f64> {
    let chooses = |index: &usize| index.is_multiple_of(CHOOSES);
    let part = |choosing: bool| -> Vec<f64> {
        (0..values.len()).filter(|index| chooses(index) == choosing).map(|i| values[i]).collect()
    };
    let (choosing, counting) = (part(true), part(false));
    if choosing.len() < 4 {
        return None;
    }
    // As the choosing values see the limit of the counting ones.
    let seen = |cut: f64| cut_off_limit(&choosing, cut, counting.len(), delta);
    let cuts = choosing.iter().copied().filter(|&cut| cut > 0.0).flat_map(|cut| [cut, 2.0 * cut]);
    let best = cuts.max_by(|&a, &b| seen(a).total_cmp(&seen(b)))?;
    Some(cut_off_limit(&counting, best, counting.len(), delta).max(0.0))
}

/// The inequality for `count` values of which these are some.
fn cut_off_limit(values: &[f64], cut: f64, count: usize, delta: f64) -> f64 {
    let (n, log) = (count as f64, (2.0 / delta).ln());
    let kept: Vec<f64> = values.iter().map(|value| value.min(cut)).collect();
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    let squares = kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let variance = squares / (kept.len() as f64 - 1.0);
    mean - 7.0 * cut * log / (3.0 * (n - 1.0)) - (2.0 * log * variance / n).sqrt()
}
