//! Estimators that weigh logged episodes by how much more likely the policy is to act as they did.
//!
//! With ρ_t the product of π(a | s) / π_b(a | s) over the steps until t, the reward r_t and the discount γ, and for doubly
//! robust ones the values Q_t of the logged pair and V_t of the policy in the logged state:
//!
//!   IS     mean_i ρ_T Σ_t γ^t r_t                      WIS    the same over mean_i ρ_T
//!   PDIS   mean_i Σ_t γ^t ρ_t r_t                      PDWIS  every step over mean_i ρ_t
//!   DR     mean_i V_0 + Σ_t γ^t ρ_t (r_t + γ V_{t+1} - Q_t)
//!   WDR    the same with ρ_t over mean_i ρ_t, and V_t with the weight before it
//!
//! After its end an episode keeps its last weight, and earns nothing (Thomas and Brunskill, 2016).

use ndarray::{Array1, Array2};

use super::limits::{Ratios, bernstein_limit};
use crate::opinions::{Limit, LimitBy, Method, Opinion};
use crate::rng::Seed;

/// A logged episode with its weights.
#[derive(Debug, Clone)]
pub struct Weighed {
    /// log(π / π_b) in every step.
    pub log_ratios: Vec<f64>,
    /// Rewards, discounted from the start.
    pub rewards: Vec<f64>,
    /// Values of the logged pairs, discounted from the start.
    pub of_pairs: Vec<f64>,
    /// Values of the policy in the logged states, discounted from the start.
    pub of_states: Vec<f64>,
}

impl Weighed {
    /// log ρ_t.
    fn log_weights(&self) -> Vec<f64> {
        let so_far = self.log_ratios.iter().scan(0.0, |sum, ratio| {
            *sum += ratio;
            Some(*sum)
        });
        so_far.collect()
    }
}

/// What every estimator that weighs episodes of at most `horizon` steps makes of these.
#[cfg(feature = "internals")]
pub fn weighed_estimates(episodes: Vec<Weighed>, horizon: usize) -> Vec<(Method, f64)> {
    let weighing = Weighing::new(episodes, horizon);
    Method::WEIGHING.map(|method| (method, weighing.ratios(method).estimate())).to_vec()
}

/// Episodes of at most `horizon` steps.
pub(super) struct Weighing {
    episodes: Vec<Weighed>,
    /// ρ_t, `[episodes, horizon]`.
    weights: Array2<f64>,
    /// The same in units of the largest of every step: all that matters where weights are to sum to one, also where ρ_t
    /// itself is too small or too large to be a number.
    relative: Array2<f64>,
}

impl Weighing {
    pub(super) fn new(episodes: Vec<Weighed>, horizon: usize) -> Self {
        let mut log_weights = Array2::zeros((episodes.len(), horizon));
        for (episode, mut row) in episodes.iter().zip(log_weights.rows_mut()) {
            let mut last = 0.0;
            let mut known = episode.log_weights().into_iter();
            for weight in &mut row {
                last = known.next().unwrap_or(last);
                *weight = last;
            }
        }
        let mut relative = log_weights.clone();
        for mut step in relative.columns_mut() {
            let largest = step.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            step.mapv_inplace(
                |weight| if largest.is_finite() { (weight - largest).exp() } else { 0.0 },
            );
        }
        Self { episodes, weights: log_weights.mapv(f64::exp), relative }
    }

    /// The first step in which no episode has any weight: none of them could have been the policy's.
    pub(super) fn weightless_step(&self) -> Option<usize> {
        self.relative.columns().into_iter().position(|step| step.sum() <= 0.0)
    }

    /// The weight of each whole episode.
    fn of_episodes(&self) -> Array1<f64> {
        self.weights.column(self.weights.ncols() - 1).to_owned()
    }

    /// The same in units of the largest.
    fn relative_of_episodes(&self) -> Array1<f64> {
        self.relative.column(self.relative.ncols() - 1).to_owned()
    }

    /// An estimator as sums over episodes.
    pub(super) fn ratios(&self, method: Method) -> Ratios {
        let whole = self.of_episodes();
        let earned = |episode: &Weighed| episode.rewards.iter().sum::<f64>();
        let weighed_returns = || {
            self.episodes
                .iter()
                .zip(&whole)
                .map(|(e, weight)| weight * earned(e))
                .collect::<Vec<_>>()
        };
        match method {
            Method::Pdis => Ratios::mean_of(&self.means(|episode, t| episode.rewards[t])),
            Method::Wis => {
                let relative = self.relative_of_episodes();
                let returns = self.episodes.iter().zip(&relative).map(|(e, w)| w * earned(e));
                let mean = Ratios::mean_of(&returns.collect::<Vec<_>>());
                Ratios { denominators: relative.insert_axis(ndarray::Axis(1)), ..mean }
            }
            Method::Pdwis => self.step_by_step(|episode, t| episode.rewards[t]),
            Method::Dr => {
                let unexplained = self.means(|episode, t| {
                    let after = episode.of_states.get(t + 1).copied().unwrap_or(0.0);
                    episode.rewards[t] + after - episode.of_pairs[t]
                });
                let first = |episode: &Weighed| episode.of_states.first().copied().unwrap_or(0.0);
                let sum = |(episode, rest): (&Weighed, f64)| first(episode) + rest;
                Ratios::mean_of(&self.episodes.iter().zip(unexplained).map(sum).collect::<Vec<_>>())
            }
            Method::Wdr => self.weighted_doubly_robust(),
            _ => Ratios::mean_of(&weighed_returns()),
        }
    }

    /// Σ_t ρ_t x_t of every episode.
    fn means(&self, of_step: impl Fn(&Weighed, usize) -> f64) -> Vec<f64> {
        let sum = |(index, episode): (usize, &Weighed)| {
            let steps = 0..episode.rewards.len();
            steps.map(|t| self.weights[[index, t]] * of_step(episode, t)).sum()
        };
        self.episodes.iter().enumerate().map(sum).collect()
    }

    /// Σ_t over the mean weight of the step.
    fn step_by_step(&self, of_step: impl Fn(&Weighed, usize) -> f64) -> Ratios {
        let value = |(index, t): (usize, usize)| {
            let episode = &self.episodes[index];
            let counts = t < episode.rewards.len();
            if counts { self.relative[[index, t]] * of_step(episode, t) } else { 0.0 }
        };
        let numerators = Array2::from_shape_fn(self.relative.raw_dim(), value);
        Ratios { numerators, denominators: self.relative.clone() }
    }

    fn weighted_doubly_robust(&self) -> Ratios {
        let unexplained = self.step_by_step(|episode, t| episode.rewards[t] - episode.of_pairs[t]);
        let before =
            |index: usize, t: usize| if t == 0 { 1.0 } else { self.relative[[index, t - 1]] };
        let expected = |(index, t): (usize, usize)| {
            let value = self.episodes[index].of_states.get(t).copied().unwrap_or(0.0);
            before(index, t) * value
        };
        let shape = self.weights.raw_dim();
        let beside = |a: Array2<f64>, b: Array2<f64>| {
            ndarray::concatenate(ndarray::Axis(1), &[a.view(), b.view()]).expect("as many episodes")
        };
        Ratios {
            numerators: beside(unexplained.numerators, Array2::from_shape_fn(shape, expected)),
            denominators: beside(
                unexplained.denominators,
                Array2::from_shape_fn(shape, |(index, t)| before(index, t)),
            ),
        }
    }

    /// What an estimator says. No return is below `least`.
    pub(super) fn opinion(
        &self,
        method: Method,
        least: f64,
        delta: f64,
        resamples: usize,
        seed: Seed,
    ) -> Opinion {
        let ratios = self.ratios(method);
        let found = ratios.with_error();
        let mut limits = vec![Limit { by: LimitBy::Student, lower: found.lower_limit(delta) }];
        if let Some(lower) = self.bernstein(method, least, delta) {
            limits.push(Limit { by: LimitBy::Bernstein, lower });
        }
        let rng = &mut seed.stream(&format!("resampled episodes of {method}"));
        if let Some(lower) = ratios.bootstrap_limit(delta, resamples, rng) {
            limits.push(Limit { by: LimitBy::Bootstrap, lower });
        }
        let weights = self.relative_of_episodes();
        let (sum, squares) = (weights.sum(), weights.dot(&weights));
        let largest = weights.iter().copied().fold(0.0, f64::max);
        Opinion {
            method,
            of: None,
            estimate: found.mean,
            std_error: Some(found.std_error),
            limits,
            effective_episodes: Some(if squares > 0.0 { sum * sum / squares } else { 0.0 }),
            largest_share: Some(if sum > 0.0 { largest / sum } else { 1.0 }),
        }
    }

    /// For sums of what cannot be negative: weights times what exceeds the least that an episode can earn.
    fn bernstein(&self, method: Method, least: f64, delta: f64) -> Option<f64> {
        if method != Method::Is {
            return None;
        }
        let above = |(episode, weight): (&Weighed, f64)| {
            weight * (episode.rewards.iter().sum::<f64>() - least)
        };
        let values: Vec<f64> = self.episodes.iter().zip(self.of_episodes()).map(above).collect();
        bernstein_limit(&values, delta).map(|limit| least + limit)
    }
}
