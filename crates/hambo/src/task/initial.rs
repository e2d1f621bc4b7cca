//! Where episodes start.

use std::fmt;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use rand::RngExt;

use super::{check_finite, supplied};
use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result};
use crate::rng::Stream;

type Sampler = dyn Fn(usize, &mut Stream) -> Result<Array2<f32>, BoxError> + Send + Sync;

/// A source of initial states, `p_0`.
#[derive(Clone)]
pub enum InitialStates {
    /// A finite sample of `p_0`, `[count, d_s]`; episodes draw from it with replacement.
    Fixed(Array2<f32>),
    /// Draws as many states as asked for, `[count, d_s]`.
    Sampler(Arc<Sampler>),
}

impl InitialStates {
    /// The first states of the data's episodes.
    pub fn of_episodes(dataset: &Dataset) -> Self {
        Self::Fixed(dataset.initial_states())
    }

    pub fn sampler(
        sampler: impl Fn(usize, &mut Stream) -> Result<Array2<f32>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self::Sampler(Arc::new(sampler))
    }

    /// `count` initial states, `[count, state_dim]`.
    pub fn draw(&self, count: usize, state_dim: usize, rng: &mut Stream) -> Result<Array2<f32>> {
        let part = "initial states";
        let states = match self {
            Self::Fixed(states) if states.nrows() == 0 => {
                let (expected, found) = (vec![1, state_dim], states.shape().to_vec());
                return Err(Error::SuppliedShape { part, expected, found });
            }
            Self::Fixed(states) => {
                let rows: Vec<usize> =
                    (0..count).map(|_| rng.random_range(0..states.nrows())).collect();
                states.select(Axis(0), &rows)
            }
            Self::Sampler(sampler) => sampler(count, rng).map_err(supplied(part, count))?,
        };
        if states.dim() != (count, state_dim) {
            let (expected, found) = (vec![count, state_dim], states.shape().to_vec());
            return Err(Error::SuppliedShape { part, expected, found });
        }
        check_finite(part, states.indexed_iter().map(|((row, column), &v)| (row, column, v)))?;
        Ok(states)
    }
}

impl fmt::Debug for InitialStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(states) => write!(f, "Fixed({} states)", states.nrows()),
            Self::Sampler(_) => f.write_str("Sampler"),
        }
    }
}
