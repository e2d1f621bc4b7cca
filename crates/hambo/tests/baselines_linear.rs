//! Fitted Q evaluation by networks, on a linear system whose values are known exactly.

use std::sync::Arc;

use hambo::dataset::Episode;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::{
    BaselineSettings, BoxError, Dataset, EvaluationSettings, InitialStates, LimitBy, Method, Model,
    ModelSettings, Policy, Reward, RowStreams, Seed, Silent, Task, Transitions,
};
use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;
use rand_distr::StandardNormal;

const HORIZON: usize = 30;
const NOISE: f32 = 0.1;

/// x' = 0.95 x + 0.3 u + noise, and a step earns 1 - x² - 0.1 u².
fn step(x: f32, u: f32, noise: f32) -> (f32, f32) {
    (0.95 * x + 0.3 * u + NOISE * noise, 1.0 - x * x - 0.1 * u * u)
}

/// u = -k x.
struct Proportional(f32);

impl Policy for Proportional {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(states.mapv(|x| -self.0 * x))
    }
}

/// From starts with mean zero and variance one, by the variance of the state.
fn truth(Proportional(k): &Proportional) -> f64 {
    let (k, mut variance, mut sum) = (f64::from(*k), 1.0, 0.0);
    for _ in 0..HORIZON {
        sum += 1.0 - variance * (1.0 + 0.1 * k * k);
        variance = (0.95 - 0.3 * k).powi(2) * variance + f64::from(NOISE * NOISE);
    }
    sum
}

/// Logs of u = -k x with noise.
fn logs(k: f32, episodes: usize, seed: u64) -> Dataset {
    let rng = &mut Seed(seed).stream("linear");
    let mut normal = || -> f32 { rng.sample(StandardNormal) };
    let mut episode = || {
        let mut x = normal();
        let (mut states, mut actions, mut rewards, mut next) = (vec![], vec![], vec![], vec![]);
        for _ in 0..HORIZON {
            let u = -k * x + 0.7 * normal();
            let (after, reward) = step(x, u, normal());
            states.push(x);
            actions.push(u);
            rewards.push(reward);
            next.push(after);
            x = after;
        }
        let column = |values: Vec<f32>| Array2::from_shape_vec((HORIZON, 1), values).unwrap();
        Episode {
            states: column(states),
            actions: column(actions),
            rewards: rewards.into(),
            next_states: column(next),
            terminated: false,
            truncated: true,
        }
    };
    Dataset::from_episodes((0..episodes).map(|_| episode()).collect()).unwrap()
}

#[test]
fn fitted_values_are_those_of_the_policy_and_not_of_the_logs() {
    let data = logs(0.3, 150, 0);
    let ensemble = EnsembleSettings {
        hidden: vec![16],
        max_steps: Some(50),
        learn_reward: true,
        ..EnsembleSettings::default()
    };
    let settings = ModelSettings { ensemble: ensemble.clone(), ..ModelSettings::default() };
    let model = Model::fit(&data, &settings, Seed(0), &Silent).unwrap();
    let refit = Some(EnsembleSettings { hidden: vec![32, 32], max_steps: Some(600), ..ensemble });
    let baselines = BaselineSettings {
        steps: 3_000,
        penalties: Vec::new(),
        members: 5,
        refit,
        ..Default::default()
    };
    let settings = EvaluationSettings { baselines: Some(baselines), ..Default::default() };
    let starts = InitialStates::sampler(|count, rng| {
        Ok(Array2::from_shape_simple_fn((count, 1), || rng.sample(StandardNormal)))
    });
    let task = Task::new(starts, None, HORIZON);
    for policy in [Proportional(1.5), Proportional(0.1)] {
        let found = model.baselines(&policy, &task, None, &settings, Seed(1), &Silent).unwrap();
        let (said, expected) = (found.of(Method::Fqe).unwrap(), truth(&policy));
        let error = said.std_error.unwrap();
        println!("{} +- {error}, truth {expected}", said.estimate);
        // Networks of this size leave a few per cent beside what the draws of episodes show.
        let room = 3.0 * error + 0.03 * expected.abs();
        assert!(
            (said.estimate - expected).abs() < room,
            "{} +- {error}, truth {expected}",
            said.estimate
        );
        assert!(said.limit(LimitBy::Student).unwrap() < expected);
        assert!(error < 0.1 * expected.abs().max(10.0), "{error}");
        let refitted = found.of(Method::ModelBootstrap).unwrap();
        assert!(
            (refitted.estimate - expected).abs() < 0.05 * expected,
            "{refitted:?}, truth {expected}"
        );
        assert!(found.of(Method::Morel).is_some() && found.of(Method::Mopo).is_none());
    }
}

#[test]
fn a_larger_weight_on_the_penalty_lowers_what_mopo_says() {
    let data = logs(0.3, 40, 0);
    let ensemble =
        EnsembleSettings { hidden: vec![16], max_steps: Some(50), ..EnsembleSettings::default() };
    let settings = ModelSettings { ensemble: ensemble.clone(), ..ModelSettings::default() };
    let model = Model::fit(&data, &settings, Seed(0), &Silent).unwrap();
    // With a rule for the reward, which the model has learned as well.
    let task = Task::new(InitialStates::of_episodes(&data), Some(Arc::new(Quadratic)), HORIZON);
    let refit = Some(ensemble);
    let wanted =
        BaselineSettings { steps: 20, episodes: 50, members: 3, refit, ..Default::default() };
    let settings = EvaluationSettings { baselines: Some(wanted), ..Default::default() };
    let policy = Proportional(0.5);
    let found = model.baselines(&policy, &task, None, &settings, Seed(1), &Silent).unwrap();
    let is_mopo = |opinion: &&hambo::Opinion| opinion.method == Method::Mopo;
    let curve: Vec<f64> = found.opinions.iter().filter(is_mopo).map(|o| o.estimate).collect();
    assert_eq!(curve.len(), 5);
    assert!(curve.is_sorted_by(|before, after| before > after), "{curve:?}");
    // A line in the weight: .25 and .5 say what 5 does.
    let slope = (curve[1] - curve[0]) / 0.25;
    assert!((curve[0] + slope * 4.75 - curve[4]).abs() < 1e-6 * curve[4].abs());
    let choice = found.penalty.unwrap();
    assert!(choice.needed >= 0.0 && !choice.worst.is_empty());
    let said = |method: Method| found.opinions.iter().any(|opinion| opinion.method == method);
    assert!(said(Method::ModelBootstrap) && said(Method::Morel), "{:?}", found.unsaid);
}

/// 1 - x² - 0.1 u²
struct Quadratic;

impl Reward for Quadratic {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let pairs = transitions.states.iter().zip(transitions.actions);
        Ok(pairs.map(|(x, u)| 1.0 - x * x - 0.1 * u * u).collect())
    }
}
