//! Learned policies against the best ones, which are known.

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::internals::train;
use hambo::rollout::{collect, simulate};
use hambo::task::NoisyPolicy;
use hambo::task::point_env::{self, PointEnv};
use hambo::{
    BoxError, Evaluation, EvaluationSettings, LearnAgainst, LearnSettings, Model, ModelSettings,
    Policy, RowStreams, Seed, Silent, Streams, Verdict,
};
use ndarray::{Array2, ArrayView2};

use crate::common::scalars::{HORIZON, Scalars, settings, task};

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

/// Worlds that disagree about what an action does. The best gain of their mean is 0.85; what is safe in
/// all of them is less.
#[test]
fn on_linear_worlds_a_policy_is_learned_that_is_as_safe_as_the_best_linear_one() {
    let (worlds, task) = (Scalars::of_effects(&[0.5, 0.9, 1.3, 1.7]), task());
    // Student's for four worlds and one more.
    let factor = 2.3534 * 1.25_f64.sqrt();
    let gains = (0..200).map(|index| index as f32 / 100.0);
    let best = gains.map(|gain| criterion(&worlds, gain, factor)).fold(f64::MIN, f64::max);
    let settings = settings(LearnAgainst::Worlds);
    for seed in 0..5 {
        let learned = train(&worlds.arena(&task), &settings, Seed(seed), &Silent).unwrap();
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
        device: crate::common::device(),
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
    let accept_weaker = ["max_steps", "hidden"].map(String::from).to_vec();
    let evaluation = EvaluationSettings { episodes: 1_000, accept_weaker, ..Default::default() };
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
