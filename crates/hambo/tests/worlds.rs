//! The limit over worlds, and what logged episodes demand of it.

use crate::common::linear::{Scattered, Steer, logs, model, task, truth};
use hambo::task::InitialStates;
use hambo::{
    Evaluation, EvaluationSettings, LoggedEpisodes, Model, Seed, Silent, Task, Variant, Warning,
    WorldsLimit,
};
use ndarray::array;

fn evaluate(model: &Model) -> Evaluation {
    evaluate_with(model, EvaluationSettings::default())
}

fn evaluate_with(model: &Model, settings: EvaluationSettings) -> Evaluation {
    let settings = EvaluationSettings { episodes: 500, ..settings };
    model.evaluate(&Steer, &task(), &settings, Seed(1), &Silent).unwrap()
}

fn limit(evaluation: &Evaluation) -> &WorldsLimit {
    evaluation.variants[0].worlds.as_ref().unwrap()
}

#[test]
fn worlds_that_are_right_but_for_chance_need_no_factor() {
    let mut held = 0;
    for seed in 0..20 {
        let found = evaluate(&model(Scattered::around_the_truth(0.0, seed), &logs(60, seed)));
        assert_eq!(found.deciding, Some(Variant::Worlds));
        let limit = limit(&found);
        // The logs' own noise alone asks for up to a third more.
        assert!(limit.factor < 1.35 * limit.student, "{}", limit.factor);
        assert_eq!(limit.replay.as_ref().unwrap().noise, 1.0);
        held += usize::from(found.lower_bound.unwrap() <= truth());
    }
    assert!(held >= 18, "{held} of 20 bounds hold");
}

#[test]
fn starts_in_another_unit_are_noticed() {
    let model = model(Scattered::around_the_truth(0.0, 0), &logs(60, 0));
    let codes = |task: &Task| {
        let settings = EvaluationSettings { episodes: 100, ..Default::default() };
        let found = model.evaluate(&Steer, task, &settings, Seed(1), &Silent).unwrap();
        found.warnings.iter().map(Warning::code).collect::<Vec<_>>()
    };
    assert!(!codes(&task()).contains(&"foreign_starts"));
    let range = model.data_range.columns()[0];
    // Celsius in place of Fahrenheit, or the other way round.
    let elsewhere = array![[1.8 * range[1] + 32.0], [1.8 * range[0] + 32.0]];
    let task = Task { initial_states: InitialStates::Fixed(elsewhere), ..task() };
    assert!(codes(&task).contains(&"foreign_starts"));
}

/// A twentieth of the logged scale in every step, the same in all members.
const BIAS: f32 = 0.05;

#[test]
fn a_planted_bias_is_among_the_errors_that_worlds_borrow() {
    let mut held = 0;
    for seed in 0..20 {
        let found = evaluate(&model(Scattered::around_the_truth(BIAS, seed), &logs(60, seed)));
        let off = found.variants[0].estimate.mean - truth();
        // Ten members scatter by 0.6 about the truth, and their mean by a third of it; the bias alone would
        // add 5.6.
        assert!(off.abs() < 2.0, "{off}");
        held += usize::from(found.lower_bound.unwrap() <= truth());
    }
    assert!(held >= 18, "{held} of 20 bounds hold");
}

#[test]
fn without_noise_a_planted_bias_raises_the_factor_until_the_bound_holds_again() {
    let (mut held, mut would_have, mut raised) = (0, 0, 0);
    for seed in 0..20 {
        let settings = EvaluationSettings { noise: false, ..Default::default() };
        let planted = model(Scattered::around_the_truth(BIAS, seed), &logs(60, seed));
        let found = evaluate_with(&planted, settings);
        let limit = limit(&found);
        raised += usize::from(limit.factor > 1.2 * limit.student);
        let variant = &found.variants[0];
        let without = variant.estimate.mean - limit.student * 1.1_f64.sqrt() * limit.spread;
        held += usize::from(found.lower_bound.unwrap() <= truth());
        would_have += usize::from(without <= truth());
    }
    // Members that happen to be low need no more.
    assert!(raised >= 17, "{raised}");
    assert!(held >= 19 && would_have < 15, "{held} of 20 hold, {would_have} without the replay");
}

#[test]
fn every_group_of_logged_episodes_is_told_apart() {
    let found = evaluate(&model(Scattered::around_the_truth(0.0, 1), &logs(60, 1)));
    let replay = limit(&found).replay.clone().unwrap();
    let names: Vec<&str> = replay.groups().iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["hard", "soft"]);
    assert_eq!(replay.episodes(), 60);
    assert_eq!(replay.covered, 1.0);
    let mut without = model(Scattered::around_the_truth(0.0, 1), &logs(60, 1));
    without.episodes.sources = None;
    let replay = limit(&evaluate(&without)).replay.clone().unwrap();
    let names: Vec<&str> = replay.groups().iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["closest third", "middle third", "furthest third"]);
}

#[test]
fn few_episodes_are_said_and_none_certify_nothing() {
    let few = evaluate(&model(Scattered::around_the_truth(0.0, 2), &logs(6, 2)));
    let said = few.warnings.iter().find(|w| matches!(w, Warning::FewReplayed { episodes: 6 }));
    assert!(!said.unwrap().disqualifies());
    let mut none = model(Scattered::around_the_truth(0.0, 2), &logs(6, 2));
    none.episodes = LoggedEpisodes::none(1, 1);
    let none = evaluate(&none);
    let said = none.warnings.iter().find(|w| matches!(w, Warning::FewReplayed { episodes: 0 }));
    assert!(said.unwrap().disqualifies());
    assert_eq!(limit(&none).factor, limit(&none).student);
}

#[test]
fn stress_tests_stand_beside_the_bound_and_do_not_move_it() {
    let model = model(Scattered::around_the_truth(0.0, 3), &logs(60, 3));
    let mut settings = EvaluationSettings { episodes: 200, ..Default::default() };
    let alone = model.evaluate(&Steer, &task(), &settings, Seed(1), &Silent).unwrap();
    settings.stress = true;
    settings.adversary.max_rounds = 1;
    settings.adversary.episodes = 20;
    settings.adversary.gradient_steps = 5;
    let beside = model.evaluate(&Steer, &task(), &settings, Seed(1), &Silent).unwrap();
    let names: Vec<Variant> = beside.variants.iter().map(|result| result.variant).collect();
    use Variant::{Ca, Da1, DaInf, Ds, Worlds};
    assert_eq!(names, [Worlds, Ca, Da1, DaInf, Ds]);
    assert_eq!((beside.lower_bound, beside.deciding), (alone.lower_bound, Some(Worlds)));
    assert!(beside.variants.iter().any(|result| result.converged == Some(false)));
    assert_eq!(
        beside.warnings, alone.warnings,
        "a doubt about a stress test is none about the bound"
    );
}
