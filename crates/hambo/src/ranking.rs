//! Several policies side by side: who is better than whom, and how much is lost by trusting the order.
//!
//! Evaluations with the same seed play all policies in the same worlds, from the same starts and with the same draws, so
//! that what a world gets wrong for all of them cancels in their differences.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bound::Estimate;
use crate::evaluation::{Evaluation, deciding};

/// Lowest share of the episodes whose mean return is shown.
const TAIL: f64 = 0.1;

/// How many of the first are looked at.
const FIRST: [usize; 3] = [1, 3, 5];

/// What is said of a policy beside its bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its number among the evaluations that were given.
    pub index: usize,
    /// Probability that it is better than the next one, if the truth is one more world; none for the last one, and
    /// without worlds.
    pub beats_next: Option<f64>,
    /// Mean return of the worst tenth of its episodes, in the world that is worst for it (CVaR); none without enough
    /// episodes.
    pub worst_tenth: Option<f64>,
}

/// What is lost by looking only at the first k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AmongFirst {
    /// k
    pub first: usize,
    /// Share of the worlds in which the best policy is among them.
    pub best_is_among: f64,
    /// How much less the best of them earns than the best of all, on average over worlds.
    pub regret: f64,
}

/// Evaluations in the order of their bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// Highest bound first.
    pub standings: Vec<Standing>,
    /// For some k; none without worlds.
    pub among_first: Vec<AmongFirst>,
}

impl Ranking {
    /// Of evaluations with the same model, task and seed.
    pub fn of(evaluations: &[&Evaluation]) -> Self {
        let mut order: Vec<usize> = (0..evaluations.len()).collect();
        let bound = |index: usize| evaluations[index].lower_bound.unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|&a, &b| bound(b).total_cmp(&bound(a)));
        let worlds: Vec<Option<Vec<f64>>> = evaluations.iter().map(|found| worlds(found)).collect();
        let standing = |(place, &index): (usize, &usize)| {
            let next = order.get(place + 1).and_then(|&next| worlds[next].as_ref());
            let beats_next = worlds[index].as_ref().zip(next).and_then(|(a, b)| better(a, b));
            Standing { index, beats_next, worst_tenth: worst_tenth(evaluations[index]) }
        };
        let ranked: Option<Vec<&Vec<f64>>> =
            order.iter().map(|&index| worlds[index].as_ref()).collect();
        Self {
            standings: order.iter().enumerate().map(standing).collect(),
            among_first: ranked.map(|ranked| among_first(&ranked)).unwrap_or_default(),
        }
    }

    /// With which probability each of several bounds may fail, so that all hold together with 1 - δ.
    pub fn shared(delta: f64, policies: usize) -> f64 {
        delta / policies.max(1) as f64
    }

    /// How much less the best of the first k earns in truth than the best of all, by true returns in the order of the
    /// ranking.
    pub fn true_regret(truths: &[f64], first: usize) -> f64 {
        let best = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        best(truths) - best(&truths[..first.min(truths.len())])
    }

    /// Spearman's rank correlation, with mean ranks for ties; none for fewer than two, or if all are equal.
    pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
        let (a, b) = (ranks(a), ranks(b));
        let mean = (a.len() as f64 + 1.0) / 2.0;
        let product = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
        };
        let scale = (product(&a, &a) * product(&b, &b)).sqrt();
        (scale > 0.0).then(|| product(&a, &b) / scale)
    }
}

/// What a policy earns in each world.
fn worlds(evaluation: &Evaluation) -> Option<Vec<f64>> {
    let decides = deciding(&evaluation.variants)?;
    decides.worlds.as_ref()?;
    Some(decides.members.iter().map(|world| world.mean).collect())
}

/// The probability that one more world has a difference above zero, by Student's distribution.
fn better(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (found, count) = (Estimate::of(&differences), a.len() as f64);
    let spread = found.std_error * count.sqrt() * (1.0 + 1.0 / count).sqrt();
    if spread == 0.0 {
        return Some(if found.mean > 0.0 {
            1.0
        } else if found.mean < 0.0 {
            0.0
        } else {
            0.5
        });
    }
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    Some(student.cdf(found.mean / spread))
}

/// From the percentiles of the returns.
fn worst_tenth(evaluation: &Evaluation) -> Option<f64> {
    let percentiles = &deciding(&evaluation.variants)?.evidence.return_quantiles;
    let count = (TAIL * percentiles.len().checked_sub(1)? as f64) as usize;
    if count == 0 {
        return None;
    }
    // Between two percentiles lies a hundredth of the episodes.
    let pieces = percentiles.windows(2).take(count).map(|pair| 0.5 * (pair[0] + pair[1]));
    Some(pieces.sum::<f64>() / count as f64)
}

/// `ranked` are the returns of each policy in each world, the highest bound first.
fn among_first(ranked: &[&Vec<f64>]) -> Vec<AmongFirst> {
    let Some(worlds) = ranked.first().map(|first| first.len()) else { return Vec::new() };
    if ranked.iter().any(|policy| policy.len() != worlds) {
        return Vec::new();
    }
    let of = |first: usize| {
        let regret = |world: usize| {
            let returns: Vec<f64> = ranked.iter().map(|policy| policy[world]).collect();
            Ranking::true_regret(&returns, first)
        };
        let regrets: Vec<f64> = (0..worlds).map(regret).collect();
        let found = regrets.iter().filter(|&&regret| regret <= 0.0).count();
        AmongFirst {
            first,
            best_is_among: found as f64 / worlds as f64,
            regret: regrets.iter().sum::<f64>() / worlds as f64,
        }
    };
    FIRST.into_iter().filter(|&first| first < ranked.len()).map(of).collect()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_is_one_for_the_same_order_and_minus_one_for_the_reverse() {
        assert_eq!(Ranking::spearman(&[-3.0, -2.0, -1.0], &[1.0, 5.0, 70.0]), Some(1.0));
        assert_eq!(Ranking::spearman(&[-3.0, -2.0, -1.0], &[9.0, 5.0, 2.0]), Some(-1.0));
        assert_eq!(Ranking::spearman(&[1.0], &[1.0]), None);
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
    }

    #[test]
    fn what_all_worlds_agree_on_is_certain_and_what_they_do_not_is_not() {
        let worlds = [10.0, 20.0, 30.0];
        let more = |by: f64| worlds.map(|world| world + by);
        assert_eq!(better(&more(1.0), &worlds), Some(1.0));
        assert_eq!(better(&worlds, &worlds), Some(0.5));
        let probability = better(&[11.0, 19.0, 31.0], &worlds).unwrap();
        // Differences 1, -1, 1: their mean is 1/3, their standard deviation √(4/3). By tables of Student's
        // distribution with two degrees of freedom at (1/3) / (√(4/3) √(4/3)) = 0.25.
        assert!((probability - 0.587).abs() < 1e-3, "{probability}");
        assert_eq!(better(&[1.0], &[2.0]), None);
    }

    #[test]
    fn regret_is_what_the_first_ones_miss() {
        let (a, b, c) = (vec![3.0, 1.0], vec![2.0, 4.0], vec![1.0, 1.0]);
        let found = among_first(&[&a, &b, &c]);
        assert_eq!(found.len(), 1, "with three policies the first three are all");
        assert_eq!((found[0].first, found[0].best_is_among, found[0].regret), (1, 0.5, 1.5));
        assert_eq!(Ranking::true_regret(&[5.0, 9.0, 7.0], 1), 4.0);
        assert_eq!(Ranking::true_regret(&[5.0, 9.0, 7.0], 2), 0.0);
    }
}
