//! What the caller has supplied is asked here, and what comes back is checked.

use ndarray::{Array1, Array2, ArrayView2};

use super::parts::{Policy, Reward, Termination};
use crate::dataset::Transitions;
use crate::error::{BoxError, Error, Result};
use crate::rng::RowStreams;

/// Asks a policy, and checks what comes back.
pub(crate) fn act(
    policy: &dyn Policy,
    states: ArrayView2<'_, f32>,
    action_dim: usize,
    draws: &mut RowStreams,
) -> Result<Array2<f32>> {
    let rows = states.nrows();
    let actions = policy.act(states, draws).map_err(supplied("policy", rows))?;
    if actions.dim() != (rows, action_dim) {
        let (expected, found) = (vec![rows, action_dim], actions.shape().to_vec());
        return Err(Error::SuppliedShape { part: "policy", expected, found });
    }
    check_finite("policy", actions.indexed_iter().map(|((row, column), &v)| (row, column, v)))?;
    Ok(actions)
}

/// Asks a policy how probable actions are, and checks what comes back.
pub(crate) fn log_probs(
    policy: &dyn Policy,
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
) -> Result<Option<Array1<f64>>> {
    let (part, rows) = ("policy's log_prob", states.nrows());
    let Some(found) = policy.log_probs(states, actions).map_err(supplied(part, rows))? else {
        return Ok(None);
    };
    check_rows(part, rows, found.len())?;
    let is_none = |value: &f64| value.is_nan() || *value == f64::INFINITY;
    if let Some(row) = found.iter().position(is_none) {
        let value = found[row] as f32;
        return Err(Error::SuppliedValue { part, row, column: 0, value });
    }
    Ok(Some(found))
}

/// Asks a reward, and checks what comes back.
pub(crate) fn reward(reward: &dyn Reward, transitions: &Transitions<'_>) -> Result<Array1<f32>> {
    let rows = transitions.rows();
    let rewards = reward.reward(transitions).map_err(supplied("reward", rows))?;
    check_rows("reward", rows, rewards.len())?;
    check_finite("reward", rewards.iter().enumerate().map(|(row, &v)| (row, 0, v)))?;
    Ok(rewards)
}

/// Asks a termination, and checks what comes back.
pub(crate) fn terminated(
    termination: &dyn Termination,
    transitions: &Transitions<'_>,
) -> Result<Array1<bool>> {
    let rows = transitions.rows();
    let ended = termination.terminated(transitions).map_err(supplied("termination", rows))?;
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
