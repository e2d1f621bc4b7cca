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
        let errors = observed - expected;
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
        let (task, bounds, policy) = (game.task, game.bounds, game.policy);
        let mut transition = Erring(self);
        let returns =
            rollout::run(&mut transition, task, bounds, policy, starts.states, streams, watch)?;
        let played = Played { returns: returns.to_vec(), observed: starts.observed };
        Ok(Opinion { played, ended: ended as f64 / EPISODES as f64 })
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

    fn step(&mut self, at: &Moment<'_>, rng: &mut Stream) -> Result<Outcome> {
        let BorrowedErrors { dynamics, errors, tree } = self.0;
        let draws: Vec<f64> = (0..at.total).map(|_| rng.random()).collect();
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
