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

use ndarray::{Array2, ArrayView2, Axis, concatenate};

use super::error_tree::ErrorTree;
use super::sample::LoggedSample;
use crate::dataset::Target;
use crate::dynamics::Dynamics;
use crate::error::Result;
use crate::game::{Game, Played};
use crate::hallucination::{Choice, Errors, Noise};
use crate::rollout::{Moment, Step, Streams};

/// Episodes behind a second opinion.
const EPISODES: usize = 300;

/// A model's errors on the logs.
pub(crate) struct BorrowedErrors {
    /// `[rows, outputs]`
    errors: Array2<f32>,
    /// The episode of the data that each was made in.
    episodes: Vec<usize>,
    tree: ErrorTree,
}

/// What the rollouts showed.
pub(crate) struct Opinion {
    pub played: Played,
    /// Share of the episodes that terminated.
    pub ended: f64,
}

impl BorrowedErrors {
    /// `None` without logs to borrow from.
    pub(crate) fn new(dynamics: &dyn Dynamics, logged: &LoggedSample) -> Result<Option<Self>> {
        if logged.rows() == 0 {
            return Ok(None);
        }
        let sample = &logged.transitions;
        let (states, actions) = (sample.states.view(), sample.actions.view());
        let expected = dynamics.predict(states, actions)?.by_those(logged.unseen.view()).mean;
        let observed =
            sample.targets(Target::NextState, dynamics.next_dim(), dynamics.predicts_reward());
        let scale = observed.std_axis(Axis(0), 0.0);
        let features = features(states, actions, expected.view());
        let mut errors = observed - expected;
        widen(&mut errors, logged);
        let tree = ErrorTree::grow(&features, &errors, &logged.weights, scale.view());
        Ok(Some(Self { errors, episodes: logged.episodes.clone(), tree }))
    }

    /// Plays the game with borrowed errors, of which this is the scale, in place of the model's noise.
    pub(crate) fn play(
        &self,
        game: &Game<'_>,
        scale: f32,
        streams: &mut Streams,
        mut on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Opinion> {
        let starts = game.starts(EPISODES, streams)?;
        let mut ended = 0;
        let watch = |step: &Step<'_>| {
            ended += step.terminated.iter().filter(|&&ended| ended).count();
            on_step(step)
        };
        let noise = Noise::Borrowed { errors: self, scale };
        let game = Game { noise, ..*game };
        let played = game.play_from(starts, Choice::Distribution, streams, watch)?;
        Ok(Opinion { played, ended: ended as f64 / EPISODES as f64 })
    }
}

impl Errors for BorrowedErrors {
    fn lend(&self, at: &Moment<'_>, expected: ArrayView2<'_, f32>, draws: &[f64]) -> Array2<f32> {
        let features = features(at.states, at.actions, expected);
        let lender = |row: usize| self.tree.alike(features.row(row)).drawn(draws[at.episodes[row]]);
        let lenders: Vec<usize> = (0..at.episodes.len()).map(lender).collect();
        self.errors.select(Axis(0), &lenders)
    }
}

/// Errors for logged episodes that are played again, none of which gets its own.
pub(crate) struct ErrorsOfOthers<'a> {
    pub(crate) all: &'a BorrowedErrors,
    /// The episode of the data that each played episode is.
    pub(crate) own: &'a [usize],
}

impl Errors for ErrorsOfOthers<'_> {
    fn lend(&self, at: &Moment<'_>, expected: ArrayView2<'_, f32>, draws: &[f64]) -> Array2<f32> {
        let features = features(at.states, at.actions, expected);
        let lender = |(row, &episode): (usize, &usize)| {
            let alike = self.all.tree.alike(features.row(row));
            alike.drawn_of(draws[episode], |row| self.all.episodes[row] != self.own[episode])
        };
        let lenders: Vec<usize> = at.episodes.iter().enumerate().map(lender).collect();
        self.all.errors.select(Axis(0), &lenders)
    }
}

/// Fewer held-out rows say too little of how large errors are.
const LEAST_HELD_OUT: usize = 20;

/// Makes errors on rows that the model was fitted on as large as those on held-out rows are, output
/// by output: a network knows its own rows better than others, but errs in the same places.
fn widen(errors: &mut Array2<f32>, logged: &LoggedSample) {
    let is_unseen: Vec<bool> =
        logged.unseen.rows().into_iter().map(|row| row.iter().any(|&unseen| unseen)).collect();
    if is_unseen.iter().filter(|&&unseen| unseen).count() < LEAST_HELD_OUT {
        return;
    }
    for mut column in errors.columns_mut() {
        let mean_square = |held_out: bool| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (row, &error) in column.iter().enumerate() {
                if is_unseen[row] == held_out {
                    sum += f64::from(logged.weights[row]) * f64::from(error).powi(2);
                    weights += f64::from(logged.weights[row]);
                }
            }
            sum / f64::max(weights, f64::MIN_POSITIVE)
        };
        let (held_out, fitted) = (mean_square(true), mean_square(false));
        let factor = if fitted > 0.0 { (held_out / fitted).sqrt().max(1.0) as f32 } else { 1.0 };
        for (error, &held_out) in column.iter_mut().zip(&is_unseen) {
            *error *= if held_out { 1.0 } else { factor };
        }
    }
}

/// What errors may depend on: where the model is asked, and what it answers.
fn features(
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    expected: ArrayView2<'_, f32>,
) -> Array2<f32> {
    concatenate(Axis(1), &[states, actions, expected]).expect("one row per state")
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::dataset::{Dataset, Episode};
    use crate::rng::Seed;
    use crate::unseen::Unseen;

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
        let unseen = Unseen::by_all(data.all());
        let mut logged = LoggedSample::of(&data, &unseen, &mut Seed(0).stream("sample"));
        logged.unseen = Array2::from_shape_fn((100, 1), |(row, _)| row < 30);
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
