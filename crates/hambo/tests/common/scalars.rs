//! Worlds that disagree about what an action does.

use std::sync::Arc;

use hambo::dataset::{Batch, EpisodeMarks, Standardizer};
use hambo::dynamics::{Dynamics, MemberPrediction, Members, Prediction};
use hambo::internals::{Arena, Game, Noise};
use hambo::rollout::Limits;
use hambo::task::InitialStates;
use hambo::{
    ActionLimits, ActionSpace, AdversarySettings, BoxError, LearnAgainst, LearnSettings, Policy,
    Result, Reward, RowStreams, Task, Transitions,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, array};

pub(crate) const HORIZON: usize = 10;

/// Worlds x' = a x + b u, which say to be the less certain the more is done.
#[derive(Debug)]
pub(crate) struct Scalars(pub(crate) Vec<(f32, f32)>, Array1<f32>);

impl Scalars {
    /// Worlds x' = 1.1 x + b u.
    pub(crate) fn of_effects(effects: &[f32]) -> Self {
        Self(effects.iter().map(|&b| (1.1, b)).collect(), array![1.0])
    }

    /// What one world makes of a state and an action.
    pub(crate) fn next(&self, member: usize, x: f32, u: f32) -> f32 {
        let (a, b) = self.0[member];
        a * x + b * u
    }

    /// Where a policy is learned in these worlds.
    pub(crate) fn arena<'a>(&'a self, task: &'a Task) -> Arena<'a> {
        let game = Game {
            dynamics: self,
            radius: &self.1,
            noise: Noise::None,
            task,
            limits: Limits::default(),
            policy: &Nothing,
            exogenous: None,
            history: None,
        };
        let limits = ActionLimits { low: array![-3.0], high: array![3.0] };
        Arena {
            game,
            actions: ActionSpace::Within(limits),
            logged: logged(self),
            states: Standardizer::of_scales(&[1.0]),
            learned_from: EpisodeMarks::default(),
            delta: 0.05,
            factor: 0.0,
            adversary: AdversarySettings {
                hidden: vec![32; 2],
                entropy_learning_rate: 1e-3,
                ..Default::default()
            },
            referee: None,
        }
    }
}

impl Dynamics for Scalars {
    fn device(&self) -> hambo::Device {
        super::device()
    }

    fn state_dim(&self) -> usize {
        1
    }

    fn action_dim(&self) -> usize {
        1
    }

    fn predicts_reward(&self) -> bool {
        false
    }

    fn members(&self) -> usize {
        self.0.len()
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let means = Array3::from_shape_fn((self.0.len(), states.nrows(), 1), |(member, row, _)| {
            self.next(member, states[[row, 0]], actions[[row, 0]])
        });
        let stds = Array3::zeros(means.raw_dim());
        Ok(Prediction::of_members(Members { means, stds }))
    }

    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let mean = Array2::from_shape_fn((states.nrows(), 1), |(row, _)| {
            self.next(member, states[[row, 0]], actions[[row, 0]])
        });
        Ok(MemberPrediction { std: actions.mapv(f32::abs), mean })
    }
}

/// -(x² + u² / 2)
struct Quadratic;

impl Reward for Quadratic {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let square = |values: ArrayView2<'_, f32>| values.mapv(|value| value * value);
        let cost = square(transitions.states) + square(transitions.actions) * 0.5;
        Ok(-cost.sum_axis(Axis(1)))
    }
}

struct Nothing;

impl Policy for Nothing {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(Array2::zeros((states.nrows(), 1)))
    }
}

/// From ±1 and ±2.
pub(crate) fn task() -> Task {
    let starts = InitialStates::Fixed(array![[-2.0], [-1.0], [1.0], [2.0]]);
    Task::new(starts, Some(Arc::new(Quadratic)), HORIZON)
}

/// Somebody who did too little, and what followed in the first world.
fn logged(worlds: &Scalars) -> Batch {
    let states = Array2::from_shape_fn((400, 1), |(row, _)| row as f32 / 100.0 - 2.0);
    let actions = &states * -0.3;
    let next = |row: usize| worlds.next(0, states[[row, 0]], actions[[row, 0]]);
    let next_states = Array2::from_shape_fn((400, 1), |(row, _)| next(row));
    Batch { states, actions, rewards: Array1::zeros(400), next_states }
}

/// Small enough for these worlds.
pub(crate) fn settings(against: LearnAgainst) -> LearnSettings {
    LearnSettings {
        against,
        hidden: vec![32; 2],
        batch_size: 128,
        episodes: 40,
        gradient_steps: 400,
        judged_episodes: 4,
        max_rounds: 25,
        ..Default::default()
    }
}
