//! From sampled returns to a number that holds: the Monte Carlo part of a bound.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean of sampled returns, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Infinite when fewer than two independent observations leave it unknown.
    pub std_error: f64,
    /// Independent observations behind the standard error: episodes, or clusters of episodes.
    pub independent: usize,
    /// Skewness of these observations: negative when a few are much lower than the others.
    #[serde(default)]
    pub skewness: f64,
}

impl Estimate {
    /// Of independent returns.
    pub fn of(returns: &[f64]) -> Self {
        let clusters: Vec<usize> = (0..returns.len()).collect();
        Self::clustered(returns, &clusters)
    }

    /// Of returns that are independent only between clusters, such as episodes that share an
    /// initial state when the initial states themselves are a finite sample:
    ///
    ///   se² = G / (G - 1) · Σ_g (Σ_{i in g} (R_i - R̄))² / n²
    ///
    /// for G clusters of n returns; with one return per cluster it is the usual s² / n.
    pub fn clustered(returns: &[f64], clusters: &[usize]) -> Self {
        let n = returns.len() as f64;
        let mean = returns.iter().sum::<f64>() / n;
        let mut deviations: HashMap<usize, f64> = HashMap::new();
        for (value, &cluster) in returns.iter().zip(clusters) {
            *deviations.entry(cluster).or_default() += value - mean;
        }
        let independent = deviations.len();
        let g = independent as f64;
        // Summed in order of the clusters, because a map's own order changes from run to run.
        let mut sums: Vec<(usize, f64)> = deviations.into_iter().collect();
        sums.sort_unstable_by_key(|&(cluster, _)| cluster);
        let squares: f64 = sums.iter().map(|(_, sum)| sum * sum).sum();
        let cubes: f64 = sums.iter().map(|(_, sum)| sum.powi(3)).sum();
        let skewness = if squares > 0.0 { cubes / g / (squares / g).powf(1.5) } else { 0.0 };
        let std_error =
            if independent < 2 { f64::INFINITY } else { (g / (g - 1.0) * squares).sqrt() / n };
        Self { mean, std_error, independent, skewness }
    }

    /// The number that the true mean exceeds with probability `1 - delta`: Student's t with one
    /// degree of freedom less than there are independent observations, and Johnson's correction for
    /// skewed ones,
    ///
    ///   mean - se (t + max(0, -γ) (1 + 2 t²) / (6 √n))
    ///
    /// Rare low returns make a small sample's mean too high and its error too small at once. Skewness of
    /// the other sign would raise the limit, and is left alone.
    pub fn lower_limit(&self, delta: f64) -> f64 {
        if self.independent < 2 {
            return f64::NEG_INFINITY;
        }
        let t = students_quantile(self.independent, delta);
        self.mean - t * (1.0 + self.correction(delta)) * self.std_error
    }

    /// How much wider the limit is for skewed observations, as a share of Student's margin. A large
    /// correction is a rough one.
    pub fn correction(&self, delta: f64) -> f64 {
        let t = students_quantile(self.independent, delta);
        let root = (self.independent as f64).sqrt();
        match t > 0.0 {
            true => (-self.skewness).max(0.0) * (1.0 + 2.0 * t * t) / (6.0 * root * t),
            false => 0.0,
        }
    }
}

/// Student's quantile at 1 - δ for so many observations; infinite for fewer than two.
pub(crate) fn students_quantile(observations: usize, delta: f64) -> f64 {
    if observations < 2 {
        return f64::INFINITY;
    }
    let degrees = (observations - 1) as f64;
    let student = StudentsT::new(0.0, 1.0, degrees).expect("at least one degree of freedom");
    student.inverse_cdf(1.0 - delta)
}

/// The difference between two estimates on common random numbers, `mean(a - b)`, with the standard
/// error of the pairs: what both share cancels.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Estimate {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Estimate::of(&differences)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::Seed;

    #[test]
    fn unclustered_standard_error_is_the_textbook_one() {
        let returns = [1.0, 2.0, 4.0, 7.0];
        let estimate = Estimate::of(&returns);
        let variance = returns.iter().map(|r| (r - 3.5_f64).powi(2)).sum::<f64>() / 3.0;
        assert_eq!((estimate.mean, estimate.independent), (3.5, 4));
        assert!((estimate.std_error - (variance / 4.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn repeating_every_return_adds_no_information() {
        let returns = [1.0, 2.0, 4.0, 7.0];
        let repeated: Vec<f64> = returns.iter().flat_map(|&r| [r; 10]).collect();
        let clusters: Vec<usize> = (0..4).flat_map(|c| [c; 10]).collect();
        let (once, often) = (Estimate::of(&returns), Estimate::clustered(&repeated, &clusters));
        assert!((once.std_error - often.std_error).abs() < 1e-12);
        assert_eq!(once.independent, often.independent);
    }

    #[test]
    fn lower_limit_uses_students_quantile() {
        // t with 3 degrees of freedom: 2.353363 at 95 %, from any table.
        let estimate = Estimate { mean: 10.0, std_error: 2.0, independent: 4, skewness: 0.0 };
        assert!((estimate.lower_limit(0.05) - (10.0 - 2.0 * 2.353_363)).abs() < 1e-5);
    }

    #[test]
    fn the_limit_holds_as_often_as_it_says() {
        let mut rng = Seed(0).stream("coverage");
        for delta in [0.05, 0.2] {
            let trials = 4000;
            let held = (0..trials)
                .filter(|_| {
                    // Eight starts, five noisy episodes each.
                    let starts: Vec<f64> = (0..8).map(|_| rng.sample(StandardNormal)).collect();
                    let returns: Vec<f64> = (0..40)
                        .map(|i| {
                            let noise: f64 = rng.sample(StandardNormal);
                            starts[i % 8] + 0.5 * noise
                        })
                        .collect();
                    let clusters: Vec<usize> = (0..40).map(|i| i % 8).collect();
                    Estimate::clustered(&returns, &clusters).lower_limit(delta) <= 0.0
                })
                .count();
            let coverage = held as f64 / f64::from(trials);
            // Three standard errors of the coverage itself.
            let room = 3.0 * (delta * (1.0 - delta) / f64::from(trials)).sqrt();
            assert!((coverage - (1.0 - delta)).abs() < room, "{coverage} for delta {delta}");
        }
    }

    #[test]
    fn the_limit_of_skewed_returns_holds_nearly_as_often_as_it_says() {
        // Every episode loses an exponential amount: a skewness of -2.
        let mut rng = Seed(0).stream("skewed coverage");
        let (delta, trials) = (0.05, 4000);
        let (mut failed, mut uncorrected) = (0.0, 0.0);
        for _ in 0..trials {
            let returns: Vec<f64> = (0..60).map(|_| rng.random::<f64>().ln()).collect();
            let estimate = Estimate::of(&returns);
            let fails = |e: Estimate| f64::from(u8::from(e.lower_limit(delta) > -1.0));
            failed += fails(estimate) / f64::from(trials);
            uncorrected += fails(Estimate { skewness: 0.0, ..estimate }) / f64::from(trials);
        }
        // Three standard errors of the count are 0.01. A sample underestimates its skewness, so that some
        // of the excess is left.
        assert!(uncorrected > delta + 0.02, "{uncorrected}");
        assert!(failed < delta + 0.01, "{failed}");
    }

    #[test]
    fn one_observation_bounds_nothing() {
        assert_eq!(Estimate::of(&[5.0]).lower_limit(0.05), f64::NEG_INFINITY);
        assert_eq!(Estimate::clustered(&[5.0, 6.0], &[3, 3]).lower_limit(0.05), f64::NEG_INFINITY);
    }

    #[test]
    fn pairing_cancels_what_both_share() {
        let shared = [10.0, -40.0, 25.0, 90.0];
        let worse = shared.map(|value| value - 1.0);
        let difference = paired_difference(&worse, &shared);
        assert_eq!(difference.mean, -1.0);
        assert!(difference.std_error < 1e-12);
    }
}
