//! States that leave out something with a memory: a model that sees the last steps knows it.

use std::sync::Arc;

use hambo::dataset::Episode;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::gp::GpSettings;
use hambo::task::InitialStates;
use hambo::{
    BaselineSettings, BoxError, Dataset, Error, Evaluation, EvaluationSettings, LearnSettings,
    Model, ModelSettings, Policy, Reward, RowStreams, Seed, Silent, Task, Transitions, backtest,
};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;

const STEPS: usize = 12;

/// A cart whose speed is in no log: x' = x + v and v' = 0.8 v + a.
fn step(x: f32, v: f32, a: f32) -> (f32, f32) {
    (x + v, 0.8 * v + a)
}

fn gain(x: f32) -> f32 {
    -0.1 * x
}

/// Acts on the place of the cart, and knows of nothing else.
struct Brake;

impl Policy for Brake {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        assert_eq!(states.ncols(), 1, "the policy sees the present state");
        Ok(states.mapv(gain))
    }
}

/// Earns the place.
struct Place;

impl Reward for Place {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        assert_eq!((transitions.states.ncols(), transitions.next_states.ncols()), (1, 1));
        Ok(transitions.next_states.column(0).to_owned())
    }
}

/// Logs of random actions.
fn data(episodes: usize) -> Dataset {
    let rng = &mut Seed(0).stream("logs");
    let mut normal = || rng.sample::<f32, _>(StandardNormal);
    let mut episode = |_| {
        let (mut x, mut v) = (3.0 + normal(), normal());
        let (mut states, mut actions, mut next_states) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STEPS {
            let a = gain(x) + normal();
            states.push(x);
            actions.push(a);
            (x, v) = step(x, v, a);
            next_states.push(x);
        }
        let column = |values: Vec<f32>| Array1::from(values).insert_axis(Axis(1));
        Episode {
            rewards: Array1::from(next_states.clone()),
            states: column(states),
            actions: column(actions),
            next_states: column(next_states),
            terminated: false,
            truncated: true,
        }
    };
    Dataset::from_episodes((0..episodes).map(&mut episode).collect()).unwrap()
}

fn settings(history: usize) -> ModelSettings {
    let ensemble = EnsembleSettings {
        hidden: vec![32, 32],
        learn_reward: false,
        max_steps: Some(1_500),
        ..EnsembleSettings::default()
    };
    ModelSettings { history, ensemble, ..ModelSettings::default() }
}

fn model(data: &Dataset, history: usize) -> Model {
    Model::fit(data, &settings(history), Seed(1), &Silent).unwrap()
}

fn task(data: &Dataset) -> Task {
    Task::new(InitialStates::of_episodes(data), Some(Arc::new(Place)), STEPS)
}

fn evaluation() -> EvaluationSettings {
    EvaluationSettings { episodes: 1_200, ..EvaluationSettings::default() }
}

fn evaluate(model: &Model, data: &Dataset) -> Evaluation {
    model.evaluate(&Brake, &task(data), &evaluation(), Seed(2), &Silent).unwrap()
}

/// Everything is linear, so that the mean start earns the mean return.
fn truth(data: &Dataset) -> f64 {
    let (mut x, mut v, mut earned) = (data.initial_states().mean().unwrap(), 0.0, 0.0);
    for _ in 0..STEPS {
        (x, v) = step(x, v, gain(x));
        earned += f64::from(x);
    }
    earned
}

#[test]
fn what_happened_before_tells_what_the_state_leaves_out() {
    let data = data(100);
    let (forgetful, remembering) = (model(&data, 0), model(&data, 1));
    // The speed falls by a fifth in a step, and so does what nobody has told the first model. What is left to the
    // second is the speed at the start.
    let follow = |model: &Model| model.persistence.autocorrelation[0];
    assert!(follow(&forgetful) > 0.5, "{}", follow(&forgetful));
    assert!(follow(&remembering).abs() < 0.2, "{}", follow(&remembering));
    let unexplained = |model: &Model| model.persistence.unexplained[0];
    assert!(unexplained(&remembering) < 0.3 * unexplained(&forgetful));

    let (truth, found) = (truth(&data), evaluate(&remembering, &data));
    let bound = found.lower_bound.unwrap();
    let without = evaluate(&forgetful, &data).lower_bound.unwrap();
    let is_closer = truth - bound < 0.7 * (truth - without);
    assert!(bound < truth && is_closer, "{bound} for {truth}, {without} without a history");
    let mean = found.variants[0].estimate.mean;
    // Hundred starts have a mean speed of 0 give or take 0.1, each of which is worth about 30.
    assert!((mean - truth).abs() < 6.0, "{mean} for {truth}");
}

#[test]
fn results_show_the_state_as_it_was_logged() {
    let data = data(40);
    let model = model(&data, 2);
    assert_eq!(
        (model.dynamics.state_dim(), model.dynamics.outputs(), model.present_dim()),
        (5, 1, 1)
    );
    assert_eq!(model.data, data.identity());
    let found = evaluate(&model, &data);
    assert_eq!(found.data_range.len(), 1);
    let trajectories = &found.variants[0].worst;
    assert!(trajectories.iter().all(|one| one.states.iter().all(|state| state.len() == 1)));
    assert_eq!(model.begin(data.initial_states().view()).ncols(), 5);
}

#[test]
fn everybody_else_who_judges_a_policy_knows_of_it() {
    let data = data(40);
    let (model, task, settings) = (model(&data, 1), task(&data), evaluation());
    let looks = model.look(&[&Brake], &task, &settings, Seed(0), &Silent).unwrap();
    assert_eq!(looks.len(), 1);
    assert!(model.fingerprint(&Brake, &task, &settings, Seed(0)).is_ok());
    let refit = self::settings(0).ensemble;
    let opinions = BaselineSettings {
        episodes: 50,
        steps: 300,
        hidden: vec![16],
        refit: Some(EnsembleSettings { max_steps: Some(300), ..refit }),
        ..BaselineSettings::default()
    };
    let settings = EvaluationSettings { baselines: Some(opinions), ..settings };
    let said = model.baselines(&Brake, &task, Some(&data), &settings, Seed(0), &Silent).unwrap();
    assert!(!said.opinions.is_empty());
    let mut quick = self::settings(1);
    quick.ensemble.max_steps = Some(300);
    let tested = backtest(&data, &quick, &task, &settings, Seed(0), &Silent).unwrap();
    assert!(!tested.claims.is_empty());
}

#[test]
fn what_knows_of_no_history_says_so() {
    let data = data(20);
    let gp = Some(GpSettings::default());
    let refused = Model::fit(&data, &ModelSettings { gp, ..settings(1) }, Seed(0), &Silent);
    assert!(matches!(refused, Err(Error::Setting { name: "history", .. })), "{refused:?}");
    let learned = model(&data, 1).learn(
        &task(&data),
        &LearnSettings::default(),
        &evaluation(),
        Seed(0),
        &Silent,
    );
    assert!(matches!(learned, Err(Error::Setting { name: "history", .. })));
}
