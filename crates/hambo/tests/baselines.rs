//! The field's estimators, on a chain whose values are known exactly.

use hambo::dataset::Episode;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::internals::{Weighed, weighed_estimates};
use hambo::{
    BaselineSettings, Baselines, BoxError, Dataset, EvaluationSettings, InitialStates, LimitBy,
    Method, Model, ModelSettings, Policy, RowStreams, Seed, Silent, Task,
};
use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;

const HORIZON: usize = 4;
const STATES: usize = 3;

/// Goes right with a probability that depends on the state.
struct Walker([f64; STATES]);

impl Policy for Walker {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let choose = |(row, _): (usize, usize)| {
            let right = draws.row(row).random::<f64>() < self.0[states[[row, 0]] as usize];
            f32::from(u8::from(right))
        };
        Ok(Array2::from_shape_fn((states.nrows(), 1), choose))
    }

    fn log_probs(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Option<Array1<f64>>, BoxError> {
        let log_prob = |row: usize| self.log_prob(states[[row, 0]] as usize, actions[[row, 0]]);
        Ok(Some((0..states.nrows()).map(log_prob).collect()))
    }
}

impl Walker {
    fn log_prob(&self, state: usize, action: f32) -> f64 {
        if action > 0.5 { self.0[state].ln() } else { (1.0 - self.0[state]).ln() }
    }
}

/// The same without saying how probable its actions are.
struct Silently<P>(P);

impl<P: Policy> Policy for Silently<P> {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        self.0.act(states, draws)
    }
}

/// Moves as the action says in 80 % of the steps, and stays otherwise.
const MOVES: f64 = 0.8;

fn moved(state: usize, right: bool) -> usize {
    if right { (state + 1).min(STATES - 1) } else { state.saturating_sub(1) }
}

fn reward(state: usize, right: bool) -> f64 {
    state as f64 - if right { 0.5 } else { 0.0 }
}

/// The return from the middle, exactly.
fn truth(walker: &Walker) -> f64 {
    let mut values = [0.0; STATES];
    for _ in 0..HORIZON {
        let old = values;
        for (state, value) in values.iter_mut().enumerate() {
            let q = |right: bool| {
                let next = MOVES * old[moved(state, right)] + (1.0 - MOVES) * old[state];
                reward(state, right) + next
            };
            *value = walker.0[state] * q(true) + (1.0 - walker.0[state]) * q(false);
        }
    }
    values[1]
}

fn logs(walker: &Walker, episodes: usize, seed: u64) -> Dataset {
    let rng = &mut Seed(seed).stream("chain");
    let (mut all, mut log_probs) = (Vec::new(), Vec::new());
    for _ in 0..episodes {
        let mut state = 1;
        let (mut states, mut actions, mut rewards, mut next) = (vec![], vec![], vec![], vec![]);
        for _ in 0..HORIZON {
            let right = rng.random::<f64>() < walker.0[state];
            let action = f32::from(u8::from(right));
            log_probs.push(walker.log_prob(state, action));
            states.push(state as f32);
            actions.push(action);
            rewards.push(reward(state, right) as f32);
            state = if rng.random::<f64>() < MOVES { moved(state, right) } else { state };
            next.push(state as f32);
        }
        let column = |values: Vec<f32>| Array2::from_shape_vec((HORIZON, 1), values).unwrap();
        all.push(Episode {
            states: column(states),
            actions: column(actions),
            rewards: rewards.into(),
            next_states: column(next),
            terminated: false,
            truncated: true,
        });
    }
    Dataset::from_episodes(all).unwrap().with_log_probs(log_probs).unwrap()
}

fn tables() -> ModelSettings {
    let ensemble =
        EnsembleSettings { tables: true, learn_reward: true, ..EnsembleSettings::default() };
    ModelSettings { ensemble, ..ModelSettings::default() }
}

fn task(data: &Dataset) -> Task {
    Task::new(InitialStates::of_episodes(data), None, HORIZON)
}

fn quick() -> BaselineSettings {
    BaselineSettings { episodes: 200, resamples: 400, ..Default::default() }
}

fn asked(data: &Dataset, policy: &dyn Policy, seed: u64) -> Baselines {
    asked_with(&quick(), data, policy, seed)
}

fn asked_with(
    settings: &BaselineSettings,
    data: &Dataset,
    policy: &dyn Policy,
    seed: u64,
) -> Baselines {
    let model = Model::fit(data, &tables(), Seed(seed), &Silent).unwrap();
    let baselines = Some(settings.clone());
    let settings = EvaluationSettings { delta: 0.1, baselines, ..Default::default() };
    model.baselines(policy, &task(data), Some(data), &settings, Seed(seed), &Silent).unwrap()
}

const BEHAVIOUR: Walker = Walker([0.5, 0.4, 0.6]);
const EVALUATED: Walker = Walker([0.8, 0.7, 0.3]);

/// Logged episodes are few and replications many, so that a bias shows.
#[test]
fn estimators_are_unbiased_or_consistent_as_theory_says() {
    let expected = truth(&EVALUATED);
    let replications = 300;
    // MOPO's weight would take most of the time.
    let settings = BaselineSettings { penalties: Vec::new(), ..quick() };
    let found: Vec<Baselines> = (0..replications)
        .map(|seed| asked_with(&settings, &logs(&BEHAVIOUR, 60, seed), &EVALUATED, seed))
        .collect();
    let mean_and_error = |method: Method| {
        let said: Vec<f64> = found.iter().map(|b| b.of(method).unwrap().estimate).collect();
        let mean = said.iter().sum::<f64>() / said.len() as f64;
        let squares: f64 = said.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, (squares / (said.len() * (said.len() - 1)) as f64).sqrt())
    };
    for method in [Method::Is, Method::Pdis, Method::Dr] {
        let (mean, error) = mean_and_error(method);
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{method}: {mean} +- {error}, truth {expected}"
        );
    }
    // What uses more of the structure varies less.
    let spread = |method| mean_and_error(method).1;
    assert!(spread(Method::Pdis) < spread(Method::Is));
    assert!(spread(Method::Dr) < spread(Method::Pdis));
    // Of 300 limits at 90 % 270 hold on average; three standard errors of the count are 16.
    for (method, by, least) in [
        (Method::Is, LimitBy::Bernstein, 254),
        (Method::Dr, LimitBy::Student, 254),
        (Method::Dr, LimitBy::Bootstrap, 254),
        (Method::Wdr, LimitBy::Student, 254),
        (Method::Fqe, LimitBy::Student, 254),
        (Method::Pdis, LimitBy::Bootstrap, 254),
    ] {
        let holds = |b: &&Baselines| b.of(method).unwrap().limit(by).is_none_or(|l| l <= expected);
        let held = found.iter().filter(holds).count();
        assert!(held >= least, "{method} {by:?}: {held} of {replications}");
    }
}

#[test]
fn many_episodes_leave_no_bias() {
    let expected = truth(&EVALUATED);
    let found = asked(&logs(&BEHAVIOUR, 8_000, 1_000), &EVALUATED, 0);
    for method in [Method::Wis, Method::Pdwis, Method::Wdr, Method::Fqe] {
        let said = found.of(method).unwrap();
        let (apart, error) = ((said.estimate - expected).abs(), said.std_error.unwrap());
        assert!(apart < 4.0 * error, "{method}: {} +- {error}, truth {expected}", said.estimate);
        assert!(error < 0.15, "{method}: {error}");
    }
    let weighed = found.of(Method::Is).unwrap();
    assert!(weighed.effective_episodes.unwrap() < 8_000.0);
    assert!(weighed.largest_share.unwrap() < 0.05);
}

#[test]
fn who_evaluates_the_logged_policy_needs_no_weights() {
    let data = logs(&BEHAVIOUR, 50, 7);
    let found = asked(&data, &BEHAVIOUR, 7);
    let logged = found.of(Method::Logged).unwrap();
    for method in [Method::Is, Method::Pdis, Method::Wis, Method::Pdwis] {
        let said = found.of(method).unwrap();
        assert!((said.estimate - logged.estimate).abs() < 1e-9, "{method}");
        assert!((said.std_error.unwrap() - logged.std_error.unwrap()).abs() < 1e-9, "{method}");
        assert!((said.effective_episodes.unwrap() - 50.0).abs() < 1e-9);
    }
}

#[test]
fn what_cannot_be_said_is_explained() {
    let data = logs(&BEHAVIOUR, 50, 7);
    let found = asked(&data, &Silently(EVALUATED), 7);
    assert!(found.of(Method::Is).is_none());
    assert!(found.unsaid[0].why.contains("log_prob"), "{:?}", found.unsaid);
    let without = Dataset::from_episodes(data.to_episodes()).unwrap();
    let found = asked(&without, &EVALUATED, 7);
    assert!(found.of(Method::Fqe).is_some());
    assert!(found.unsaid[0].why.contains("log_probability"), "{:?}", found.unsaid);
    let settings = BaselineSettings { estimate_probabilities: true, ..quick() };
    let found = asked_with(&settings, &without, &EVALUATED, 7);
    let (estimated, known) = (found.of(Method::Wis).unwrap(), asked(&data, &EVALUATED, 7));
    let apart = (estimated.estimate - known.of(Method::Wis).unwrap().estimate).abs();
    assert!(found.estimated_probabilities && apart < 0.5, "{apart}");
}

/// A policy that chooses the same always needs no densities: what it does not do has probability zero.
#[test]
fn a_policy_without_chance_has_probabilities_of_zero_and_one() {
    let data = logs(&BEHAVIOUR, 2_000, 3);
    let always = Silently(Walker([1.0, 1.0, 0.0]));
    let found = asked(&data, &always, 3);
    let said = found.of(Method::Pdis).unwrap();
    let expected = truth(&always.0);
    let apart = (said.estimate - expected).abs();
    assert!(apart < 4.0 * said.std_error.unwrap(), "{} for {expected}", said.estimate);
}

/// Who always does what was never logged has no weight, and an estimate of zero would look like a sure one.
#[test]
fn weights_of_zero_are_no_estimate() {
    let data = logs(&Walker([0.01, 0.01, 0.01]), 20, 3);
    let found = asked(&data, &Silently(Walker([1.0, 1.0, 1.0])), 3);
    assert!(Method::Is.needs_probabilities() && found.of(Method::Is).is_none());
    let unsaid = found.unsaid.iter().find(|unsaid| unsaid.methods.contains(&Method::Wdr)).unwrap();
    assert!(unsaid.why.contains("every logged episode"), "{unsaid:?}");
    assert!(found.of(Method::Fqe).is_some());
}

/// Made by `reproductions/scope_rl_estimates.py`.
#[test]
fn scope_rl_says_the_same() {
    #[derive(serde::Deserialize)]
    struct Fixture {
        log_ratios: Vec<Vec<f64>>,
        rewards: Vec<Vec<f64>>,
        of_pairs: Vec<Vec<f64>>,
        of_states: Vec<Vec<f64>>,
        estimates: std::collections::BTreeMap<String, f64>,
    }
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/scope_rl.json")).unwrap();
    let episode = |index: usize| Weighed {
        log_ratios: fixture.log_ratios[index].clone(),
        rewards: fixture.rewards[index].clone(),
        of_pairs: fixture.of_pairs[index].clone(),
        of_states: fixture.of_states[index].clone(),
    };
    let horizon = fixture.rewards[0].len();
    let episodes = (0..fixture.rewards.len()).map(episode).collect();
    for (method, found) in weighed_estimates(episodes, horizon) {
        let expected = fixture.estimates[&method.to_string().to_lowercase()];
        // It adds 1e-10 to means that it divides by.
        assert!(
            (found - expected).abs() < 1e-8 * expected.abs(),
            "{method}: {found}, not {expected}"
        );
    }
}
