//! The whole evaluation on a model whose every return is known.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{LinearModel, LinearReward, exact_return, policy, reward};
use hambo::AdversarySettings;
use hambo::task::{InitialStates, StateBounds};
use hambo::{
    Constraint, Error, Evaluation, EvaluationSettings, Event, Model, Observer, Policy, Seed,
    Silent, StateLimits, Task, Variant, Warning,
};
use ndarray::{Array1, Array2, Axis, array};

const HORIZON: usize = 8;

fn start() -> Array1<f32> {
    array![1.0, -2.0]
}

fn task() -> Task {
    Task::new(InitialStates::Fixed(start().insert_axis(Axis(0))), reward(), HORIZON)
}

/// A perfectly calibrated linear model.
fn model() -> Model {
    crate::common::calibrated(LinearModel::three_members(0.2))
}

fn settings() -> EvaluationSettings {
    use Variant::{Ca, Da1, DaInf, Ds, Ts1, TsInf};
    EvaluationSettings {
        variants: vec![Ca, Da1, DaInf, Ds, Ts1, TsInf],
        episodes: 2000,
        adversary: AdversarySettings {
            hidden: vec![32; 2],
            batch_size: 128,
            episodes: 100,
            gradient_steps: 150,
            max_rounds: 10,
            patience: 2,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn run(settings: &EvaluationSettings, observer: &dyn Observer) -> hambo::Result<Evaluation> {
    model().evaluate(&policy(), &task(), settings, Seed(5), observer)
}

fn of(evaluation: &Evaluation, variant: Variant) -> &hambo::VariantResult {
    evaluation.variants.iter().find(|result| result.variant == variant).unwrap()
}

#[test]
fn every_variant_is_where_theory_puts_it_and_the_smallest_bound_wins() {
    let linear = LinearModel::three_members(0.2);
    let members: Vec<f64> = (0..3)
        .map(|k| exact_return(&linear, &linear.matrices[k], &linear.drifts[k], &start(), HORIZON))
        .collect();
    let evaluation = run(&settings(), &Silent).unwrap();
    let close = |found: hambo::bound::Estimate, exact: f64| {
        assert!((found.mean - exact).abs() < 4.0 * found.std_error, "{found:?}, exact {exact}");
    };
    let committed = of(&evaluation, Variant::DaInf);
    let worst = members.iter().copied().fold(f64::INFINITY, f64::min);
    close(committed.estimate, worst);
    committed.members.iter().zip(&members).for_each(|(&found, &exact)| close(found, exact));
    close(of(&evaluation, Variant::TsInf).estimate, members.iter().sum::<f64>() / 3.0);
    close(of(&evaluation, Variant::Ds).estimate, of(&evaluation, Variant::Ts1).estimate.mean);

    // More freedom, more harm.
    let mean = |variant| of(&evaluation, variant).estimate.mean;
    assert!(mean(Variant::Da1) < mean(Variant::DaInf));
    assert!(mean(Variant::DaInf) < mean(Variant::TsInf));
    assert!(mean(Variant::Ca) < mean(Variant::Ds));

    let bounds = evaluation.variants.iter().filter(|r| r.variant.is_conservative());
    let smallest = bounds.map(|r| r.lower_bound).fold(f64::INFINITY, f64::min);
    assert_eq!(evaluation.lower_bound, Some(smallest));
    assert!(evaluation.variants.iter().all(|r| r.lower_bound < r.estimate.mean));
    assert_eq!(evaluation.state_limits, StateLimits::Data { widened: 0.5, extended: vec![] });
    let worst = &of(&evaluation, Variant::Ca).worst;
    assert!(worst.len() == 3 && worst[0].total <= worst[1].total);
    assert_eq!((worst[0].states.len(), worst[0].states[0].len()), (HORIZON, 2));
}

#[test]
fn neutral_variants_alone_certify_nothing() {
    let settings = EvaluationSettings { variants: vec![Variant::Ds], ..settings() };
    assert_eq!(run(&settings, &Silent).unwrap().lower_bound, None);
}

/// Timings aside.
fn untimed(mut evaluation: Evaluation) -> Evaluation {
    evaluation.timings.clear();
    evaluation
}

#[test]
fn same_seed_same_evaluation_on_one_and_two_threads_and_across_runs() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        untimed(pool.install(|| run(&settings(), &Silent).unwrap()))
    };
    let one = on(1);
    assert!(one == on(2), "two threads differ from one");
    assert!(one == on(1), "a second run differs");
}

#[test]
fn an_evaluation_survives_json() {
    let evaluation = run(&settings(), &Silent).unwrap();
    let text = serde_json::to_string(&evaluation).unwrap();
    let read: Evaluation = serde_json::from_str(&text).unwrap();
    assert!(read == evaluation);
}

#[test]
fn a_cancelled_evaluation_stops_within_a_second() {
    let begun = Instant::now();
    let stop_after = Duration::from_millis(300);
    let observer = |_: &Event| {
        if begun.elapsed() > stop_after {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    // The default adversary is slow enough that the stop falls into its training.
    let settings = EvaluationSettings { variants: vec![Variant::Ca], ..Default::default() };
    let error = run(&settings, &observer).expect_err("cancelled");
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert!(begun.elapsed() < stop_after + Duration::from_secs(1));
}

#[test]
fn each_constraint_has_a_bound_of_its_own() {
    let constraints = vec![
        Constraint { name: "left".into(), function: Arc::new(LinearReward(array![-1.0, 0.0])) },
        Constraint { name: "below".into(), function: Arc::new(LinearReward(array![0.0, -1.0])) },
    ];
    let settings = EvaluationSettings { variants: vec![Variant::DaInf], ..settings() };
    let task = Task { constraints, ..task() };
    let evaluation = model().evaluate(&policy(), &task, &settings, Seed(1), &Silent).unwrap();
    let names: Vec<&str> = evaluation.constraints.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["left", "below"]);
    for result in &evaluation.constraints {
        // Means over steps of a state that stays within a few units.
        assert!(result.lower_bound.unwrap().abs() < 5.0);
        let worst = result.variants[0].members.iter().map(|m| m.mean).fold(f64::MAX, f64::min);
        assert_eq!(result.variants[0].estimate.mean, worst);
    }
    assert!(evaluation.constraints[0].lower_bound < evaluation.constraints[1].lower_bound);
}

#[test]
fn doubts_are_stored_with_what_to_do() {
    let mut model = model();
    model.calibration.error_after = 0.2;
    model.calibration.usual_epistemic_std = array![0.0, 0.0];
    let mut task = task();
    let few = Array2::from_shape_fn((4, 2), |(i, j)| start()[j] + i as f32 * 0.1);
    task.initial_states = InitialStates::Observed(few);
    let mut settings = EvaluationSettings { variants: vec![Variant::Ca], ..settings() };
    settings.adversary.max_rounds = 1;
    let evaluation = model.evaluate(&policy(), &task, &settings, Seed(0), &Silent).unwrap();
    let has = |wanted: fn(&Warning) -> bool| evaluation.warnings.iter().any(wanted);
    assert!(has(|w| matches!(w, Warning::WeakCalibration { .. })));
    assert!(has(|w| matches!(w, Warning::NotConverged { rounds: 1, .. })));
    assert!(has(|w| matches!(w, Warning::OutsideData { share, .. } if *share > 0.99)));
    assert!(has(|w| matches!(w, Warning::FewStarts { observed: 4 })));
    for warning in &evaluation.warnings {
        assert!(!warning.to_string().is_empty() && !warning.help().is_empty());
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let cases = [
        (EvaluationSettings { delta: 0.0, ..settings() }, "delta"),
        (EvaluationSettings { beta: -1.0, ..settings() }, "beta"),
        (EvaluationSettings { episodes: 1, ..settings() }, "episodes"),
        (EvaluationSettings { attempts: 0, ..settings() }, "attempts"),
    ];
    for (settings, name) in cases {
        let error = run(&settings, &Silent).expect_err(name);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused_before_any_work() {
    let mut narrow = task();
    narrow.state_bounds = StateBounds::new(array![-1.0], array![1.0]).ok();
    let error = model().evaluate(&policy(), &narrow, &settings(), Seed(0), &Silent);
    let message = error.map(drop).expect_err("one limit for two columns").to_string();
    assert_eq!(message, "state bounds: got 1 columns, the model was fitted on 2");

    let settings = EvaluationSettings { variants: vec![Variant::DaInf], ..settings() };
    let mut one = task();
    one.initial_states = InitialStates::Observed(start().insert_axis(Axis(0)));
    let error = model().evaluate(&policy(), &one, &settings, Seed(0), &Silent);
    assert!(matches!(error, Err(Error::TooFewStarts { observed: 1 })));
}

#[test]
fn logs_that_terminated_and_a_task_that_does_not_are_a_warning() {
    let mut model = model();
    model.data.terminated_episodes = 7;
    let settings = EvaluationSettings { variants: vec![Variant::Ds], ..settings() };
    let evaluation = model.evaluate(&policy(), &task(), &settings, Seed(0), &Silent).unwrap();
    assert_eq!(evaluation.warnings, [Warning::NoTermination { terminated_episodes: 7 }]);
}

#[test]
fn a_discount_does_not_soften_a_constraint() {
    let constraint =
        Constraint { name: "left".into(), function: Arc::new(LinearReward(array![-1.0, 0.0])) };
    let settings = EvaluationSettings { variants: vec![Variant::Ds], ..settings() };
    let mean = |discount: f32| {
        let task = Task { discount, constraints: vec![constraint.clone()], ..task() };
        let found = model().evaluate(&policy(), &task, &settings, Seed(0), &Silent).unwrap();
        found.constraints[0].variants[0].estimate.mean
    };
    assert_eq!(mean(1.0), mean(0.5));
}

#[test]
fn committed_variants_know_when_they_leave_the_data() {
    let mut model = model();
    model.calibration.usual_epistemic_std = array![0.0, 0.0];
    let settings = EvaluationSettings { variants: vec![Variant::DaInf], ..settings() };
    let found = model.evaluate(&policy(), &task(), &settings, Seed(0), &Silent).unwrap();
    assert!(found.variants[0].went.outside_data > 0.99);
}

#[test]
fn a_policy_that_raises_ends_the_evaluation_with_its_own_words() {
    struct Broken;
    impl Policy for Broken {
        fn act(
            &self,
            _states: ndarray::ArrayView2<'_, f32>,
            _draws: &mut hambo::rng::RowStreams,
        ) -> Result<Array2<f32>, hambo::BoxError> {
            Err("the motor controller is offline".into())
        }
    }
    let error = model().evaluate(&Broken, &task(), &settings(), Seed(0), &Silent);
    let message = error.map(drop).expect_err("a broken policy").to_string();
    assert!(message.contains("the motor controller is offline"), "{message}");
}

#[test]
fn a_learned_reward_stays_in_its_limits() {
    /// Moves nowhere, and promises rewards that nobody has seen.
    struct Generous;
    impl hambo::Dynamics for Generous {
        fn state_dim(&self) -> usize {
            2
        }
        fn action_dim(&self) -> usize {
            1
        }
        fn predicts_reward(&self) -> bool {
            true
        }
        fn predict(
            &self,
            states: ndarray::ArrayView2<'_, f32>,
            _actions: ndarray::ArrayView2<'_, f32>,
        ) -> hambo::Result<hambo::Prediction> {
            let mut mean = Array2::from_elem((states.nrows(), 3), 1e6);
            mean.slice_mut(ndarray::s![.., ..2]).assign(&states);
            let zeros = &mean * 0.0;
            let (epistemic_std, aleatoric_std) = (zeros.clone(), zeros);
            Ok(hambo::Prediction { mean, epistemic_std, aleatoric_std, members: None })
        }
    }
    let mut model = Model { dynamics: Arc::new(Generous), ..model() };
    model.calibration.temperatures = array![1.0, 1.0, 1.0];
    model.calibration.usual_epistemic_std = array![1e3, 1e3, 1e3];
    model.reward_range = [-1.0, 3.0];
    let settings = EvaluationSettings { variants: vec![Variant::Ds], ..settings() };
    let evaluated = |reward_bounds| {
        let task = Task { reward: None, reward_bounds, ..task() };
        model.evaluate(&policy(), &task, &settings, Seed(0), &Silent).unwrap()
    };
    // Half of the logged range's width is added on both sides.
    let found = evaluated(None);
    assert_eq!(found.variants[0].estimate.mean, 5.0 * HORIZON as f64);
    let limits = found.reward_limits.unwrap();
    assert_eq!((limits.low, limits.high, limits.widened), (-3.0, 5.0, Some(0.5)));
    let found = evaluated(Some([0.0, 2.0]));
    assert_eq!(found.variants[0].estimate.mean, 2.0 * HORIZON as f64);
    assert_eq!(found.reward_limits.unwrap().widened, None);
}
