//! Where episodes start.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;

use super::ask::{check_finite, supplied};
use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result};
use crate::rng::Stream;

type Sampler = dyn Fn(usize, &mut Stream) -> Result<Array2<f32>, BoxError> + Send + Sync;

/// A source of initial states, `p_0`. Episodes go through a finite one in random order, again and
/// again, so that every state is used as often as the others, give or take one.
#[derive(Clone)]
pub enum InitialStates {
    /// States `[count, d_s]` that are themselves a sample of an unknown `p_0`, such as the starts
    /// of logged episodes. How well so few stand for `p_0` is part of a bound's error.
    Observed(Array2<f32>),
    /// `p_0` is exactly these states `[count, d_s]`, each as likely as the others.
    Fixed(Array2<f32>),
    /// Draws as many states as asked for, `[count, d_s]`.
    Sampler(Arc<Sampler>),
}

/// Drawn initial states.
#[derive(Debug, Clone)]
pub struct Starts {
    /// `[count, d_s]`
    pub states: Array2<f32>,
    /// Which observed state each came from; `None` when all are independent draws from `p_0`.
    pub observed: Option<Vec<usize>>,
    /// The logged rows that each goes through in what no action influences; none if there is nothing of that kind.
    pub(crate) logged: Vec<Range<usize>>,
}

impl InitialStates {
    /// The first states of the data's episodes.
    pub fn of_episodes(dataset: &Dataset) -> Self {
        Self::Observed(dataset.initial_states())
    }

    /// Initial states `[count, d_s]` drawn from `p_0` by a function of the count and a stream.
    pub fn sampler(
        sampler: impl Fn(usize, &mut Stream) -> Result<Array2<f32>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self::Sampler(Arc::new(sampler))
    }

    /// `count` initial states, `[count, state_dim]`.
    pub fn draw(&self, count: usize, state_dim: usize, rng: &mut Stream) -> Result<Starts> {
        let part = "initial states";
        let mut rows: Vec<usize> = Vec::new();
        let states = match self {
            Self::Fixed(states) | Self::Observed(states) => {
                if states.nrows() == 0 {
                    let (expected, found) = (vec![1, state_dim], states.shape().to_vec());
                    return Err(Error::SuppliedShape { part, expected, found });
                }
                rows = in_turn(states.nrows(), count, rng);
                states.select(Axis(0), &rows)
            }
            Self::Sampler(sampler) => sampler(count, rng).map_err(supplied(part, count))?,
        };
        if states.dim() != (count, state_dim) {
            let (expected, found) = (vec![count, state_dim], states.shape().to_vec());
            return Err(Error::SuppliedShape { part, expected, found });
        }
        check_finite(part, states.indexed_iter().map(|((row, column), &v)| (row, column, v)))?;
        let observed = matches!(self, Self::Observed(_)).then_some(rows);
        Ok(Starts { states, observed, logged: Vec::new() })
    }
}

/// `count` of `pool` numbers, each round through all of them in an order of its own.
fn in_turn(pool: usize, count: usize, rng: &mut Stream) -> Vec<usize> {
    let mut drawn = Vec::with_capacity(count + pool);
    while drawn.len() < count {
        let begun = drawn.len();
        drawn.extend(0..pool);
        drawn[begun..].shuffle(rng);
    }
    drawn.truncate(count);
    drawn
}

impl fmt::Debug for InitialStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observed(states) => write!(f, "Observed({} states)", states.nrows()),
            Self::Fixed(states) => write!(f, "Fixed({} states)", states.nrows()),
            Self::Sampler(_) => f.write_str("Sampler"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Estimate;
    use crate::rng::Seed;

    #[test]
    fn every_start_is_used_as_often_as_the_others() {
        let rng = &mut Seed(0).stream("starts");
        let states = Array2::from_shape_fn((30, 1), |(row, _)| row as f32);
        let starts = InitialStates::Observed(states).draw(100, 1, rng).unwrap();
        let mut used = [0; 30];
        starts.observed.unwrap().into_iter().for_each(|row| used[row] += 1);
        assert!(used.iter().all(|count| (3..=4).contains(count)), "{used:?}");
        let fewer = in_turn(30, 20, rng);
        let mut sorted = fewer.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 20, "{fewer:?}");
    }

    #[test]
    fn the_mean_over_a_finite_pool_is_exact_and_its_error_still_holds() {
        let rng = &mut Seed(1).stream("starts");
        let states = Array2::from_shape_fn((50, 1), |(row, _)| (row as f32).powi(2));
        let truth = states.mapv(f64::from).mean().unwrap();
        let starts = InitialStates::Fixed(states).draw(500, 1, rng).unwrap();
        let returns: Vec<f64> = starts.states.iter().map(|&value| f64::from(value)).collect();
        let estimate = Estimate::of(&returns);
        assert!((estimate.mean - truth).abs() < 1e-6 * truth, "{} for {truth}", estimate.mean);
        // The error is that of independent draws, and so too large: the limit holds.
        assert!(estimate.lower_limit(0.05) < truth);
    }
}
