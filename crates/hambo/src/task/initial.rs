//! Where episodes start.

use std::fmt;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use rand::RngExt;

use super::ask::{check_finite, supplied};
use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result};
use crate::rng::Stream;

type Sampler = dyn Fn(usize, &mut Stream) -> Result<Array2<f32>, BoxError> + Send + Sync;

/// A source of initial states, `p_0`. Episodes draw from a finite one with replacement.
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
                rows.extend((0..count).map(|_| rng.random_range(0..states.nrows())));
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
        Ok(Starts { states, observed })
    }
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
