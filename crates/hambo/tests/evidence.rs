//! What an evaluation shows beside its bound, on linear models whose answers are known.

use std::sync::Arc;

use crate::common::{LinearModel, LinearPolicy, LinearReward, constant_std, policy, reward};
use hambo::AdversarySettings;
use hambo::Transitions;
use hambo::task::{InitialStates, StateBounds};
use hambo::{
    BoxError, Evaluation, EvaluationSettings, Model, Policy, RowStreams, Seed, Silent, Task,
    Termination, Variant, VariantResult,
};
use ndarray::{Array1, array};

const DIAGONAL: f32 = 0.9;

fn model(dynamics: LinearModel) -> Model {
    let data_range = StateBounds::new(array![-2.0, 0.0], array![2.0, 10.0]).unwrap();
    Model { data_range, ..crate::common::calibrated(dynamics) }
}

fn settings(variants: Vec<Variant>) -> EvaluationSettings {
    let adversary = AdversarySettings {
        hidden: vec![32; 2],
        batch_size: 128,
        episodes: 100,
        gradient_steps: 150,
        max_rounds: 8,
        patience: 2,
        ..Default::default()
    };
    EvaluationSettings { variants, episodes: 500, adversary, ..Default::default() }
}

fn starts() -> InitialStates {
    InitialStates::Observed(array![[1.0, -2.0], [0.5, 0.5], [-1.0, 2.0], [0.0, 1.0]])
}

fn run(task: &Task, settings: &EvaluationSettings) -> Evaluation {
    let model = model(LinearModel::three_members(0.2));
    model.evaluate(&policy(), task, settings, Seed(3), &Silent).unwrap()
}

fn last_point_repeats_the_estimate(result: &VariantResult) {
    let last = result.evidence.over_horizon.last().unwrap();
    assert_eq!((last.estimate, last.lower_bound), (result.estimate, result.lower_bound));
}

#[test]
fn the_curve_over_the_horizon_ends_in_the_bound_itself() {
    use Variant::{Ca, Da1, DaInf, Ds, Ts1, TsInf};
    let task = Task { discount: 0.95, ..Task::new(starts(), reward(), 8) };
    let found = run(&task, &settings(vec![Ca, Da1, DaInf, Ds, Ts1, TsInf]));
    for result in &found.variants {
        last_point_repeats_the_estimate(result);
        let steps: Vec<usize> = result.evidence.over_horizon.iter().map(|p| p.steps).collect();
        assert_eq!(steps, [1, 2, 3, 4, 5, 6, 7, 8]);
        let sum: f64 = result.evidence.reward_per_step().iter().map(|&(_, reward)| reward).sum();
        assert!((sum - result.estimate.mean).abs() < 1e-9);
    }
    assert_eq!((found.horizon, found.discount, found.members), (8, 0.95, 3));
    // Starts are used equally often, and the policy is linear: its mean action is that for the mean start.
    let draws = &mut RowStreams::new(&mut Seed(0).stream("none"), 1);
    let expected = policy().act(array![[0.125, 0.375]].view(), draws).unwrap()[[0, 0]];
    let first = &found.variants[0].evidence.over_horizon[0];
    assert!((first.actions[0] - f64::from(expected)).abs() < 1e-6, "{:?}", first.actions);
    assert!(first.logged_actions.is_empty(), "there are no logs");
}

#[test]
fn a_long_horizon_is_told_in_two_hundred_points_that_leave_nothing_out() {
    let task = Task::new(starts(), reward(), 1001);
    let found = run(&task, &settings(vec![Variant::Ds]));
    let evidence = &found.variants[0].evidence;
    assert!(evidence.over_horizon.len() <= 200);
    last_point_repeats_the_estimate(&found.variants[0]);
    assert_eq!(evidence.over_horizon.last().unwrap().steps, 1001);
    let mut before = 0;
    let total: f64 = evidence
        .reward_per_step()
        .iter()
        .map(|&(steps, reward)| {
            let share = reward * (steps - before) as f64;
            before = steps;
            share
        })
        .sum();
    assert!((total / found.variants[0].estimate.mean - 1.0).abs() < 1e-9);
}

#[test]
fn the_curve_ends_where_the_last_episode_does() {
    struct AfterThree;
    impl Termination for AfterThree {
        fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
            let Transitions { states, .. } = *transitions;
            // Without noise the first dimension shrinks by the same factor in every step.
            Ok(states.column(0).mapv(|x| x < DIAGONAL.powi(2) * 1.001))
        }
    }
    let dynamics = only_the_second_matters(0.0);
    let start = InitialStates::Fixed(array![[1.0, 0.0]]);
    let weights = Arc::new(LinearReward(array![1.0, 0.0]));
    let task =
        Task { termination: Some(Arc::new(AfterThree)), ..Task::new(start, Some(weights), 50) };
    let settings = EvaluationSettings { noise: false, ..settings(vec![Variant::Ds]) };
    let found = model(dynamics).evaluate(&nothing(), &task, &settings, Seed(0), &Silent);
    let found = found.unwrap();
    last_point_repeats_the_estimate(&found.variants[0]);
    assert_eq!(found.variants[0].evidence.over_horizon.last().unwrap().steps, 3);
}

#[test]
fn quantiles_rise_and_enclose_the_mean() {
    let found = run(&Task::new(starts(), reward(), 8), &settings(vec![Variant::Ds]));
    let result = &found.variants[0];
    let quantiles = &result.evidence.return_quantiles;
    assert_eq!(quantiles.len(), 101);
    assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(quantiles[0] < result.estimate.mean && result.estimate.mean < quantiles[100]);
    assert!(quantiles[0] <= result.worst[0].total);
}

#[test]
fn uncertainty_over_the_horizon_is_the_models_own() {
    let dynamics = constant_std([0.3, 0.1], 0.2);
    let variants = vec![Variant::Ds, Variant::DaInf];
    let task = Task::new(starts(), reward(), 8);
    let found =
        model(dynamics).evaluate(&policy(), &task, &settings(variants), Seed(0), &Silent).unwrap();
    for point in found.variants.iter().flat_map(|result| &result.evidence.over_horizon) {
        assert!((point.epistemic_std[0] - 0.3).abs() < 1e-5, "{point:?}");
        assert!((point.epistemic_std[1] - 0.1).abs() < 1e-5, "{point:?}");
    }
}

/// Two dimensions that know nothing of each other, equally uncertain.
fn only_the_second_matters(noise_std: f32) -> LinearModel {
    let matrix = array![[DIAGONAL, 0.0], [0.0, DIAGONAL]];
    LinearModel { matrices: vec![matrix.clone(), matrix], ..constant_std([0.1, 0.1], noise_std) }
}

fn nothing() -> impl Policy {
    LinearPolicy(array![0.0, 0.0])
}

#[test]
fn the_dimension_that_alone_matters_costs_everything() {
    let horizon = 8;
    let task = Task::new(starts(), Some(Arc::new(LinearReward(array![0.0, 1.0]))), horizon);
    let model = model(only_the_second_matters(0.05));
    let evaluate_with = |cost_episodes| {
        let settings = EvaluationSettings { cost_episodes, ..settings(vec![Variant::Ca]) };
        model.evaluate(&nothing(), &task, &settings, Seed(1), &Silent).unwrap()
    };
    let found = evaluate_with(200);
    let costs = found.variants[0].evidence.costs.as_ref().unwrap();
    // A push by one std in every step, which decays afterwards, is the worst that can happen.
    let reached = |steps: usize| (0..steps).map(|k| 0.1 * f64::from(DIAGONAL).powi(k as i32));
    let most: f64 = (0..horizon).map(|steps| reached(steps).sum::<f64>()).sum();
    assert_eq!(costs.alone[0].mean, 0.0);
    // A half of it leaves room for an adversary of so few rounds.
    assert!(costs.alone[1].mean > 0.5 * most, "{costs:?}, at most {most}");
    assert!(costs.alone[1].mean < most + 1e-3, "{costs:?}, at most {most}");
    assert!((costs.alone[1].mean - costs.all.mean).abs() < 0.1 * most, "{costs:?}");

    let without = evaluate_with(0);
    assert_eq!(without.variants[0].evidence.costs, None);
    assert_eq!(without.lower_bound, found.lower_bound, "no bound depends on the costs");
}

#[test]
fn only_shifts_have_costs_per_dimension() {
    let found =
        run(&Task::new(starts(), reward(), 8), &settings(vec![Variant::DaInf, Variant::Ds]));
    assert!(found.variants.iter().all(|result| result.evidence.costs.is_none()));
}

#[test]
fn the_data_range_is_told_as_it_was_before_it_was_widened() {
    let found = run(&Task::new(starts(), reward(), 8), &settings(vec![Variant::Ds]));
    let expected = [[-2.0, 2.0], [0.0, 10.0]];
    for (found, expected) in found.data_range.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-5, "{found}, not {expected}");
    }
}
