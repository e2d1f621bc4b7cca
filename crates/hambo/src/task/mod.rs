//! What is to be evaluated: a policy in a task.
//!
//! Everything here works on batches: states `[batch, d_s]`, actions `[batch, d_a]`, row-major
//! float32. A policy may be a controller written in Rust, an exported network or a callback into
//! another language; none of them knows how the dynamics are modelled.

pub mod pendulum;
pub mod point_env;
pub mod point_safety;

mod controllers;
mod initial;

use std::fmt;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

pub use controllers::{NoisyPolicy, UniformPolicy};
pub use initial::{InitialStates, Starts};

use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result};
use crate::rng::Stream;

/// Chooses actions. Randomness comes from the stream, so that a stochastic policy can be replayed.
pub trait Policy: Send + Sync {
    /// Actions `[batch, d_a]` for states `[batch, d_s]`.
    fn act(&self, states: ArrayView2<'_, f32>, rng: &mut Stream) -> Result<Array2<f32>, BoxError>;
}

/// Known reward of a transition, one value per row.
pub trait Reward: Send + Sync {
    fn reward(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next_states: ArrayView2<'_, f32>,
    ) -> Result<Array1<f32>, BoxError>;
}

/// Whether a transition ended the episode, one value per row.
pub trait Termination: Send + Sync {
    fn terminated(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next_states: ArrayView2<'_, f32>,
    ) -> Result<Array1<bool>, BoxError>;
}

/// The true dynamics, known for the built-in tasks only.
pub trait Simulator: Send + Sync {
    fn state_dim(&self) -> usize;

    fn action_dim(&self) -> usize;

    /// Next states `[batch, d_s]`.
    fn next_states(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        rng: &mut Stream,
    ) -> Array2<f32>;
}

/// Where a return comes from: starts, rewards, ends, and how long to go on.
#[derive(Clone)]
pub struct Task {
    pub initial_states: InitialStates,
    /// `None` when the reward is learned from the data.
    pub reward: Option<Arc<dyn Reward>>,
    /// `None` when episodes end at the horizon only.
    pub termination: Option<Arc<dyn Termination>>,
    /// Steps per episode, `T`.
    pub horizon: usize,
    /// Weight of a reward relative to the one before it, in (0, 1]; 1 means none.
    pub discount: f32,
    pub state_bounds: Option<StateBounds>,
}

impl Task {
    /// A task without termination, discount or bounds.
    pub fn new(
        initial_states: InitialStates,
        reward: Option<Arc<dyn Reward>>,
        horizon: usize,
    ) -> Self {
        Self {
            initial_states,
            reward,
            termination: None,
            horizon,
            discount: 1.0,
            state_bounds: None,
        }
    }

    /// Checks that the settings make sense together.
    pub fn validate(&self) -> Result<()> {
        if self.horizon == 0 {
            let value = self.horizon.to_string();
            return Err(Error::Setting { name: "horizon", value, expected: "at least one step" });
        }
        if !(self.discount > 0.0 && self.discount <= 1.0) {
            let value = self.discount.to_string();
            return Err(Error::Setting { name: "discount", value, expected: "in (0, 1]" });
        }
        Ok(())
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("initial_states", &self.initial_states)
            .field("reward", if self.reward.is_some() { &"known" } else { &"learned" })
            .field("terminates", &self.termination.is_some())
            .field("horizon", &self.horizon)
            .field("discount", &self.discount)
            .field("state_bounds", &self.state_bounds)
            .finish()
    }
}

/// What every state obeys: limits per column, and pairs of columns that are an angle's cosine and sine.
///
/// Whatever the true next state is, it obeys them, and moving it into them leaves it where it is; so an
/// adversary that is confined to them can still choose the truth, and its return is still a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedBounds")]
pub struct StateBounds {
    low: Array1<f32>,
    high: Array1<f32>,
    angles: Vec<(usize, usize)>,
}

/// Bounds as they stand in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedBounds {
    low: Array1<f32>,
    high: Array1<f32>,
    angles: Vec<(usize, usize)>,
}

impl TryFrom<UncheckedBounds> for StateBounds {
    type Error = Error;

    fn try_from(from: UncheckedBounds) -> Result<Self> {
        let bounds = Self::new(from.low, from.high)?;
        from.angles.into_iter().try_fold(bounds, |bounds, (c, s)| bounds.with_angle(c, s))
    }
}

impl StateBounds {
    /// `low <= high` in every column; infinite limits are allowed, NaN is not.
    pub fn new(low: Array1<f32>, high: Array1<f32>) -> Result<Self> {
        let ordered = low.iter().zip(&high).all(|(low, high)| low <= high);
        if low.len() != high.len() || !ordered {
            let value = format!("{low} to {high}");
            let expected = "equally many limits, low <= high in every column";
            return Err(Error::Setting { name: "state_bounds", value, expected });
        }
        Ok(Self { low, high, angles: Vec::new() })
    }

    /// Says that two columns are the cosine and the sine of an angle.
    pub fn with_angle(mut self, cosine: usize, sine: usize) -> Result<Self> {
        let columns = self.low.len();
        if cosine.max(sine) >= columns || cosine == sine {
            let value = format!("{cosine} and {sine}");
            let expected = "two different columns of the state";
            return Err(Error::Setting { name: "angle", value, expected });
        }
        self.angles.push((cosine, sine));
        Ok(self)
    }

    /// The range of a dataset's states and next states, widened on both sides by `share` of its
    /// width.
    pub fn of_data(dataset: &Dataset, share: f32) -> Self {
        let mut low = Array1::from_elem(dataset.state_dim(), f32::INFINITY);
        let mut high = Array1::from_elem(dataset.state_dim(), f32::NEG_INFINITY);
        for row in dataset.states().rows().into_iter().chain(dataset.next_states().rows()) {
            low.zip_mut_with(&row, |low, &value| *low = low.min(value));
            high.zip_mut_with(&row, |high, &value| *high = high.max(value));
        }
        let margin = (&high - &low) * share;
        Self { low: low - &margin, high: high + &margin, angles: Vec::new() }
    }

    pub fn low(&self) -> &Array1<f32> {
        &self.low
    }

    pub fn high(&self) -> &Array1<f32> {
        &self.high
    }

    /// Moves every state to the nearest one within the limits, and then onto the circles of its
    /// angles. Returns how many were beyond a limit.
    pub fn clamp(&self, states: &mut Array2<f32>) -> usize {
        let mut moved = 0;
        for mut row in states.rows_mut() {
            let limits = self.low.iter().zip(&self.high);
            let beyond = |(value, (low, high)): (&f32, (&f32, &f32))| value < low || value > high;
            moved += usize::from(row.iter().zip(limits).any(beyond));
            ndarray::Zip::from(&mut row)
                .and(&self.low)
                .and(&self.high)
                .for_each(|value, &low, &high| *value = value.clamp(low, high));
            for &(cosine, sine) in &self.angles {
                let length = row[cosine].hypot(row[sine]);
                // At the centre all directions are equally near.
                let (x, y) = if length > 0.0 {
                    (row[cosine] / length, row[sine] / length)
                } else {
                    (1.0, 0.0)
                };
                (row[cosine], row[sine]) = (x, y);
            }
        }
        moved
    }
}

/// Asks a policy, and checks what comes back.
pub fn act(
    policy: &dyn Policy,
    states: ArrayView2<'_, f32>,
    action_dim: usize,
    rng: &mut Stream,
) -> Result<Array2<f32>> {
    let rows = states.nrows();
    let actions = policy.act(states, rng).map_err(supplied("policy", rows))?;
    if actions.dim() != (rows, action_dim) {
        let (expected, found) = (vec![rows, action_dim], actions.shape().to_vec());
        return Err(Error::SuppliedShape { part: "policy", expected, found });
    }
    check_finite("policy", actions.indexed_iter().map(|((row, column), &v)| (row, column, v)))?;
    Ok(actions)
}

/// Asks a reward, and checks what comes back.
pub fn reward(
    reward: &dyn Reward,
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    next_states: ArrayView2<'_, f32>,
) -> Result<Array1<f32>> {
    let rows = states.nrows();
    let rewards = reward.reward(states, actions, next_states).map_err(supplied("reward", rows))?;
    check_rows("reward", rows, rewards.len())?;
    check_finite("reward", rewards.iter().enumerate().map(|(row, &v)| (row, 0, v)))?;
    Ok(rewards)
}

/// Asks a termination, and checks what comes back.
pub fn terminated(
    termination: &dyn Termination,
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    next_states: ArrayView2<'_, f32>,
) -> Result<Array1<bool>> {
    let rows = states.nrows();
    let ended = termination
        .terminated(states, actions, next_states)
        .map_err(supplied("termination", rows))?;
    check_rows("termination", rows, ended.len())?;
    Ok(ended)
}

pub(crate) fn supplied(part: &'static str, rows: usize) -> impl FnOnce(BoxError) -> Error {
    move |source| Error::Supplied { part, rows, source }
}

fn check_rows(part: &'static str, rows: usize, found: usize) -> Result<()> {
    if rows == found {
        return Ok(());
    }
    Err(Error::SuppliedShape { part, expected: vec![rows], found: vec![found] })
}

pub(crate) fn check_finite(
    part: &'static str,
    mut values: impl Iterator<Item = (usize, usize, f32)>,
) -> Result<()> {
    match values.find(|(_, _, value)| !value.is_finite()) {
        Some((row, column, value)) => Err(Error::SuppliedValue { part, row, column, value }),
        None => Ok(()),
    }
}
