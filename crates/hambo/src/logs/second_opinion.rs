//! The return if the model errs as it erred on the logs: each predicted outcome plus the error that
//! was made on a logged transition like it.
//!
//! Calibration is an average over the logs. Where the policy goes the model may be biased by many of
//! its own standard deviations, and a learned reward may know nothing of a rare penalty: both show
//! in the errors on such logged rows. Rollouts that repeat these errors bound nothing, but where
//! their return lies below a bound, the logs themselves speak against it.
//!
//! Kin of the model-free Monte Carlo estimator of Fonteneau et al. (2013), which strings logged
//! transitions together; here the model carries the state, and only its errors are borrowed.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rand::RngExt;

use super::error_tree::ErrorTree;
use super::sample::LoggedSample;
use crate::dataset::Target;
use crate::dynamics::Dynamics;
use crate::error::Result;
use crate::game::{Game, Played};
use crate::rng::Stream;
use crate::rollout::{self, Moment, Outcome, Step, Streams, TransitionModel};

/// Episodes behind a second opinion.
const EPISODES: usize = 300;

/// A model with its errors on the logs.
pub(crate) struct BorrowedErrors<'a> {
    dynamics: &'a dyn Dynamics,
    /// `[rows, outputs]`
    errors: Array2<f32>,
    tree: ErrorTree,
}

/// What the rollouts showed.
pub(crate) struct Opinion {
    pub played: Played,
    /// Share of the episodes that terminated.
    pub ended: f64,
}

impl<'a> BorrowedErrors<'a> {
    /// `None` without logs to borrow from.
    pub(crate) fn new(dynamics: &'a dyn Dynamics, logged: &LoggedSample) -> Result<Option<Self>> {
        if logged.rows() == 0 {
            return Ok(None);
        }
        let sample = &logged.transitions;
        let (states, actions) = (sample.states.view(), sample.actions.view());
        let expected = dynamics.predict(states, actions)?.mean;
        let observed = sample.targets(Target::NextState, dynamics.predicts_reward());
        let scale = observed.std_axis(Axis(0), 0.0);
        let features = features(states, actions, &expected);
        let mut errors = observed - expected;
        widen(&mut errors, logged);
        let tree = ErrorTree::grow(&features, &errors, &logged.weights, scale.view());
        Ok(Some(Self { dynamics, errors, tree }))
    }

    /// Plays the game with borrowed errors in place of the model's noise.
    pub(crate) fn play(
        &self,
        game: &Game<'_>,
        streams: &mut Streams,
        mut on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Opinion> {
        let starts = game.starts(EPISODES, streams)?;
        let mut ended = 0;
        let watch = |step: &Step<'_>| {
            ended += step.terminated.iter().filter(|&&ended| ended).count();
            on_step(step)
        };
        let (task, limits, policy) = (game.task, game.limits, game.policy);
        let mut transition = Erring(self);
        let returns =
            rollout::run(&mut transition, task, limits, policy, starts.states, streams, watch)?;
        let played = Played { returns: returns.to_vec(), observed: starts.observed };
        Ok(Opinion { played, ended: ended as f64 / EPISODES as f64 })
    }
}

/// Fewer held-out rows say too little of how large errors are.
const LEAST_HELD_OUT: usize = 20;

/// Makes errors on rows that the model was fitted on as large as those on held-out rows are, output
/// by output: a network knows its own rows better than others, but errs in the same places.
fn widen(errors: &mut Array2<f32>, logged: &LoggedSample) {
    if logged.held_out.iter().filter(|&&held_out| held_out).count() < LEAST_HELD_OUT {
        return;
    }
    for mut column in errors.columns_mut() {
        let mean_square = |held_out: bool| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (row, &error) in column.iter().enumerate() {
                if logged.held_out[row] == held_out {
                    sum += f64::from(logged.weights[row]) * f64::from(error).powi(2);
                    weights += f64::from(logged.weights[row]);
                }
            }
            sum / f64::max(weights, f64::MIN_POSITIVE)
        };
        let (held_out, fitted) = (mean_square(true), mean_square(false));
        let factor = if fitted > 0.0 { (held_out / fitted).sqrt().max(1.0) as f32 } else { 1.0 };
        for (error, &held_out) in column.iter_mut().zip(&logged.held_out) {
            *error *= if held_out { 1.0 } else { factor };
        }
    }
}

/// What errors may depend on: where the model is asked, and what it answers.
fn features(
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    expected: &Array2<f32>,
) -> Array2<f32> {
    concatenate(Axis(1), &[states, actions, expected.view()]).expect("one row per state")
}

struct Erring<'a>(&'a BorrowedErrors<'a>);

impl TransitionModel for Erring<'_> {
    fn state_dim(&self) -> usize {
        self.0.dynamics.state_dim()
    }

    fn action_dim(&self) -> usize {
        self.0.dynamics.action_dim()
    }

    fn step(
        &mut self,
        at: &Moment<'_>,
        noise: &mut Stream,
        _choices: &mut Stream,
    ) -> Result<Outcome> {
        let BorrowedErrors { dynamics, errors, tree } = self.0;
        let draws: Vec<f64> = (0..at.total).map(|_| noise.random()).collect();
        let mut outcome = dynamics.predict(at.states, at.actions)?.mean;
        let features = features(at.states, at.actions, &outcome);
        for (row, &episode) in at.episodes.iter().enumerate() {
            let lender = tree.alike(features.row(row)).drawn(draws[episode]);
            let mut outcome = outcome.row_mut(row);
            outcome += &errors.row(lender);
        }
        let d_s = dynamics.state_dim();
        let rewards = dynamics.predicts_reward().then(|| outcome.column(d_s).to_owned());
        let next_states = outcome.slice(s![.., ..d_s]).to_owned();
        Ok(Outcome { next_states, rewards, choices: None, epistemic_std: None })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::dataset::{Dataset, Episode};
    use crate::rng::Seed;

    #[test]
    fn errors_on_fitted_rows_become_as_large_as_on_held_out_ones() {
        let episode = Episode {
            states: Array2::from_shape_fn((100, 1), |(step, _)| step as f32),
            actions: Array2::zeros((100, 1)),
            rewards: Array1::zeros(100),
            next_states: Array2::from_shape_fn((100, 1), |(step, _)| step as f32 + 1.0),
            terminated: false,
            truncated: true,
        };
        let data = Dataset::from_episodes(vec![episode]).unwrap();
        let mut logged = LoggedSample::of(&data, &data.all(), &mut Seed(0).stream("sample"));
        logged.held_out = (0..100).map(|row| row < 30).collect();
        // Three times as large where the model was not fitted; the second output is the reverse.
        let size = |row: usize, output: usize| match ((row < 30), output) {
            (true, 0) | (false, 1) => 3.0,
            _ => 1.0,
        };
        let sign = |row: usize| if row.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut errors =
            Array2::from_shape_fn((100, 2), |(row, output)| size(row, output) * sign(row));
        widen(&mut errors, &logged);
        for (row, errors) in errors.rows().into_iter().enumerate() {
            assert!((errors[0] - 3.0 * sign(row)).abs() < 1e-5, "row {row}: {errors}");
            assert_eq!(errors[1], size(row, 1) * sign(row), "nothing becomes smaller");
        }
    }
}
