//! Learned policies against the best ones, which are known.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hambo::dataset::{EpisodeMarks, Standardizer};
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::{Dynamics, MemberPrediction, Members, Prediction};
use hambo::internals::{Arena, Game, Noise, train};
use hambo::rollout::{Limits, collect, simulate};
use hambo::task::point_env::{self, PointEnv};
use hambo::task::{InitialStates, NoisyPolicy};
use hambo::{
    ActionLimits, BoxError, Evaluation, EvaluationSettings, LearnSettings, Model, ModelSettings,
    Policy, Result, Reward, RowStreams, Seed, Silent, Streams, Task, Transitions, Verdict,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, array};

const HORIZON: usize = 10;

/// Worlds x' = a x + b u, without noise.
#[derive(Debug)]
struct Scalars(Vec<(f32, f32)>);

impl Scalars {
    fn next(&self, member: usize, x: f32, u: f32) -> f32 {
        let (a, b) = self.0[member];
        a * x + b * u
    }
}

impl Dynamics for Scalars {
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
        Ok(MemberPrediction { std: Array2::zeros(mean.raw_dim()), mean })
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

/// The criterion for u = -gain x, from starts ±1 and ±2, for worlds that are played exactly.
fn criterion(worlds: &Scalars, gain: f32, factor: f64) -> f64 {
    let earned = |member: usize| -> f64 {
        let of = |start: f32| {
            let (mut x, mut earned) = (start, 0.0);
            for _ in 0..HORIZON {
                let u = -gain * x;
                earned -= f64::from(x * x + 0.5 * u * u);
                x = worlds.next(member, x, u);
            }
            earned
        };
        [-2.0, -1.0, 1.0, 2.0].into_iter().map(of).sum::<f64>() / 4.0
    };
    let returns: Vec<f64> = (0..worlds.0.len()).map(earned).collect();
    let count = returns.len() as f64;
    let mean = returns.iter().sum::<f64>() / count;
    let squares: f64 = returns.iter().map(|value| (value - mean).powi(2)).sum();
    mean - factor * (squares / (count - 1.0)).sqrt()
}

/// Somebody who did too little.
fn logged() -> (Array2<f32>, Array2<f32>) {
    let states = Array2::from_shape_fn((400, 1), |(row, _)| row as f32 / 100.0 - 2.0);
    let actions = &states * -0.3;
    (states, actions)
}

/// Worlds that disagree about what an action does. The best gain of their mean is 0.85; what is safe in
/// all of them is less.
#[test]
fn on_linear_worlds_a_policy_is_learned_that_is_as_safe_as_the_best_linear_one() {
    let worlds = Scalars(vec![(1.1, 0.5), (1.1, 0.9), (1.1, 1.3), (1.1, 1.7)]);
    // Student's for four worlds and one more.
    let factor = 2.3534 * 1.25_f64.sqrt();
    let gains = (0..200).map(|index| index as f32 / 100.0);
    let best = gains.map(|gain| criterion(&worlds, gain, factor)).fold(f64::MIN, f64::max);
    let starts = InitialStates::Fixed(array![[-2.0], [-1.0], [1.0], [2.0]]);
    let task = Task::new(starts, Some(Arc::new(Quadratic)), HORIZON);
    let radius = array![1.0];
    let game = Game {
        dynamics: &worlds,
        radius: &radius,
        noise: Noise::None,
        task: &task,
        limits: Limits::default(),
        policy: &Nothing,
        exogenous: None,
    };
    let settings = LearnSettings {
        hidden: vec![32; 2],
        batch_size: 128,
        episodes: 40,
        gradient_steps: 400,
        judged_episodes: 4,
        max_rounds: 25,
        ..Default::default()
    };
    for seed in 0..5 {
        let arena = Arena {
            game,
            limits: ActionLimits { low: array![-3.0], high: array![3.0] },
            logged: logged(),
            states: Standardizer::of_scales(&[1.0]),
            learned_from: EpisodeMarks::default(),
            delta: 0.05,
            factor: 0.0,
        };
        let learned = train(&arena, &settings, Seed(seed), &Silent).unwrap();
        let found = learned.rounds[learned.best_round].bound;
        println!(
            "seed {seed}: {found:.3}, the best linear {best:.3}, round {}",
            learned.best_round
        );
        assert!(found > best - 0.05 * best.abs(), "seed {seed}: {found}, not {best}");
    }
}

/// Walks home slowly.
#[derive(Debug, Clone)]
struct Slow;

impl Policy for Slow {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(states.mapv(|x| (-0.05 * x).clamp(-0.5, 0.5)))
    }
}

#[test]
fn a_policy_learned_from_slow_walks_is_faster_and_certified_by_worlds_that_did_not_teach_it() {
    let task = point_env::task(15);
    let walker = NoisyPolicy { policy: Slow, noise_std: 0.4, limit: 1.0 };
    let logs = |seed| {
        collect(&PointEnv, &task, &walker, 60, &mut Streams::new(Seed(seed), "logs")).unwrap()
    };
    let ensemble = EnsembleSettings {
        members: 5,
        hidden: vec![32; 2],
        max_steps: Some(600),
        evaluate_every: 100,
        learn_reward: false,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let fit = |seed| Model::fit(&logs(seed), &settings, Seed(seed), &Silent).unwrap();
    let (teacher, judge) = (fit(0), fit(1));
    let quick = LearnSettings {
        hidden: vec![32; 2],
        clone_steps: 500,
        batch_size: 128,
        episodes: 40,
        gradient_steps: 300,
        judged_episodes: 20,
        max_rounds: 10,
        ..Default::default()
    };
    let evaluation = EvaluationSettings { episodes: 1_000, ..Default::default() };
    let learned = teacher.learn(&task, &quick, &evaluation, Seed(2), &Silent).unwrap();
    let truth = |policy: &dyn Policy| {
        let streams = &mut Streams::new(Seed(3), "truth");
        let returns = simulate(&PointEnv, &task, policy, 20_000, streams, |_| Ok(())).unwrap();
        returns.mean().unwrap()
    };
    let (before, after) = (truth(&walker), truth(&learned.policy));
    assert!(after > 0.8 * before, "{after}, where the logs earn {before}");
    let found = judge.evaluate(&learned.policy, &task, &evaluation, Seed(4), &Silent).unwrap();
    let bound = found.lower_bound.unwrap();
    println!("logs {before:.1}, learned {after:.1}, bound {bound:.1}");
    assert!(bound < after && bound > before, "{bound}, between {before} and {after}");
    let is_said = |found: &Evaluation| found.warnings.iter().any(|w| w.code() == "shared_episodes");
    assert!(!is_said(&found), "another model shares no episode");
    let by_teacher =
        teacher.evaluate(&learned.policy, &task, &evaluation, Seed(4), &Silent).unwrap();
    assert!(is_said(&by_teacher));
    assert!(matches!(Verdict::of(&by_teacher, Some(-1e6)), Verdict::Inconclusive { .. }));
}
