//! A linear system with a known truth, worlds about it, and logs of two controllers.

use std::sync::Arc;

use hambo::dataset::Episode;
use hambo::dynamics::{MemberPrediction, Members};
use hambo::task::InitialStates;
use hambo::{
    BoxError, Dataset, Dynamics, LoggedEpisodes, LoggedSample, Model, Policy, Prediction, Result,
    Reward, RowStreams, Seed, StateBounds, Task, Transitions, Unseen,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, array, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::calibrated;

pub(crate) const STEPS: usize = 30;
pub(crate) const NOISE: f32 = 0.1;

/// Members that predict `x' = gain_k x + 0.5 a + bias`; the truth has a gain of 0.9 and no bias.
pub(crate) struct Scattered {
    pub(crate) gains: Vec<f32>,
    pub(crate) bias: f32,
}

impl Scattered {
    /// The truth and the members come from one distribution.
    pub(crate) fn around_the_truth(bias: f32, seed: u64) -> Self {
        let rng = &mut Seed(seed).stream("gains");
        let mut gain = || 0.9 + 0.02 * rng.sample::<f32, _>(StandardNormal);
        Self { gains: (0..10).map(|_| gain()).collect(), bias }
    }
}

impl Dynamics for Scattered {
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
        self.gains.len()
    }

    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let mean = &states * self.gains[member] + &actions * 0.5 + self.bias;
        Ok(MemberPrediction { std: Array2::from_elem(mean.raw_dim(), NOISE), mean })
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let shape = (self.members(), states.nrows(), 1);
        let mut means = Array3::zeros(shape);
        for member in 0..self.members() {
            let mean = self.predict_member(member, states, actions)?.mean;
            means.index_axis_mut(Axis(0), member).assign(&mean);
        }
        Ok(Prediction::of_members(Members { means, stds: Array3::from_elem(shape, NOISE) }))
    }
}

pub(crate) struct Steer;

impl Policy for Steer {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> std::result::Result<Array2<f32>, BoxError> {
        Ok(states.mapv(|x| -0.1 * x + 0.2))
    }
}

pub(crate) struct Position;

impl Reward for Position {
    fn reward(&self, transitions: &Transitions<'_>) -> std::result::Result<Array1<f32>, BoxError> {
        Ok(transitions.next_states.column(0).to_owned())
    }
}

/// What `Steer` earns on average from x = 1.
pub(crate) fn truth() -> f64 {
    earned_by(-0.1)
}

/// What a controller with this feedback earns on average from x = 1: everything is linear.
pub(crate) fn earned_by(feedback: f64) -> f64 {
    let mut x = 1.0;
    (0..STEPS)
        .map(|_| {
            x = 0.9 * x + 0.5 * (feedback * x + 0.2);
            x
        })
        .sum()
}

/// Feedback of the two controllers that made the logs.
pub(crate) const LOGGED: [f32; 2] = [-0.05, -0.2];

/// Episodes of the true system under two noisy controllers.
pub(crate) fn logs(episodes: usize, seed: u64) -> Dataset {
    logs_of([0.9, 0.9], episodes, seed)
}

/// The same, with a gain of its own for each controller's system.
pub(crate) fn logs_of(gains: [f32; 2], episodes: usize, seed: u64) -> Dataset {
    let rng = &mut Seed(seed).stream("logs");
    let one = |index: usize| {
        let (feedback, gain) = (LOGGED[index % 2], gains[index % 2]);
        let mut states = Array2::from_elem((STEPS + 1, 1), 1.0);
        let mut actions = Array2::zeros((STEPS, 1));
        for t in 0..STEPS {
            let (x, explored): (f32, f32) = (states[[t, 0]], rng.sample(StandardNormal));
            let disturbed: f32 = rng.sample(StandardNormal);
            actions[[t, 0]] = feedback * x + 0.2 + 0.1 * explored;
            states[[t + 1, 0]] = gain * x + 0.5 * actions[[t, 0]] + NOISE * disturbed;
        }
        Episode {
            rewards: states.slice(s![1.., 0]).to_owned(),
            next_states: states.slice(s![1.., ..]).to_owned(),
            states: states.slice(s![..STEPS, ..]).to_owned(),
            actions,
            terminated: false,
            truncated: true,
        }
    };
    let sources = (0..episodes).map(|index| ["soft", "hard"][index % 2].to_owned()).collect();
    let data = Dataset::from_episodes((0..episodes).map(one).collect()).unwrap();
    data.with_sources(sources).unwrap()
}

pub(crate) fn model(dynamics: Scattered, logs: &Dataset) -> Model {
    let rng = &mut Seed(0).stream("sample");
    let unseen = Unseen::by_all(logs.all());
    Model {
        logged: LoggedSample::of(logs, &unseen, rng),
        episodes: LoggedEpisodes::of(logs, &unseen, rng),
        data_range: StateBounds::new(array![-20.0], array![20.0]).unwrap(),
        data: logs.identity(),
        ..calibrated(dynamics)
    }
}

/// From x = 1, with the position as the reward.
pub(crate) fn task() -> Task {
    Task::new(InitialStates::Fixed(array![[1.0]]), Some(Arc::new(Position)), STEPS)
}
