//! What would have been claimed of the logs, and how much better than them a policy is.

use std::sync::Arc;

use crate::common::linear::{
    LOGGED, STEPS, Scattered, Steer, earned_by, logs, logs_of, model, task, truth,
};
use hambo::dataset::EpisodeMarks;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::gp::GpSettings;
use hambo::{
    Against, Baseline, Error, Evaluation, EvaluationSettings, Improvement, Model, ModelSettings,
    Reuse, Seed, Silent, Task, Variant, Verdict, backtest,
};

fn compare(model: &Model, baseline: Baseline, settings: EvaluationSettings) -> Evaluation {
    let task = Task { against: Some(Against { baseline, margin: Some(0.0) }), ..task() };
    let settings = EvaluationSettings { episodes: 500, ..settings };
    model.evaluate(&Steer, &task, &settings, Seed(1), &Silent).unwrap()
}

fn improvement(found: &Evaluation) -> &Improvement {
    found.improvement.as_ref().unwrap()
}

fn true_improvement() -> f64 {
    let logged = LOGGED.map(|feedback| earned_by(f64::from(feedback)));
    truth() - (logged[0] + logged[1]) / 2.0
}

#[test]
fn the_bound_on_an_improvement_holds_and_is_tighter_than_two_bounds() {
    let (mut held, mut tighter) = (0, 0);
    for seed in 0..10 {
        let model = model(Scattered::around_the_truth(0.0, seed), &logs(60, seed));
        let found = compare(&model, Baseline::Logged, EvaluationSettings::default());
        let found = improvement(&found);
        held += usize::from(found.lower_bound <= true_improvement());
        tighter += usize::from(found.lower_bound > found.by_separate_bounds);
    }
    assert!(held >= 9, "{held} of 10 hold");
    assert!(tighter >= 9, "{tighter} of 10 are tighter");
}

#[test]
fn what_all_worlds_get_wrong_alike_cancels() {
    // Without noise nothing makes up for the bias, which raises every return by 5.6 or so.
    let settings = || EvaluationSettings { noise: false, ..EvaluationSettings::default() };
    for seed in 0..5 {
        let model = model(Scattered::around_the_truth(0.05, seed), &logs(60, seed));
        let found = compare(&model, Baseline::Logged, settings());
        let off = found.variants[0].estimate.mean - truth();
        let off_by = improvement(&found).estimate.mean - true_improvement();
        assert!(off > 2.0, "{off}");
        assert!(off_by.abs() < 1.0, "{off_by}");
    }
}

#[test]
fn no_policy_is_better_than_itself() {
    let model = model(Scattered::around_the_truth(0.0, 0), &logs(60, 0));
    let itself = Baseline::Policy { name: "itself".into(), policy: Arc::new(Steer) };
    let found = compare(&model, itself, EvaluationSettings::default());
    let improvement = improvement(&found);
    assert_eq!((improvement.estimate.mean, improvement.spread), (0.0, 0.0));
    assert_eq!(improvement.against, "itself");
    assert!(improvement.by_separate_bounds < -1.0);
    // A margin needs no threshold.
    assert_eq!(Verdict::of(&found, None), Verdict::Certified { weaker: Vec::new() });
    let asked = Improvement { margin: Some(0.1), ..improvement.clone() };
    let more = Evaluation { improvement: Some(asked), ..found };
    assert_eq!(Verdict::of(&more, None), Verdict::NotCertified);
    assert_eq!(Verdict::of(&more, Some(-1e9)), Verdict::NotCertified);
    let unasked = Improvement { margin: None, ..more.improvement.clone().unwrap() };
    let unasked = Evaluation { improvement: Some(unasked), ..more };
    assert_eq!(Verdict::of(&unasked, None), Verdict::NoThreshold);
}

#[test]
fn a_comparison_says_what_it_lacks() {
    let model = model(Scattered::around_the_truth(0.0, 0), &logs(20, 0));
    let asked = |horizon| {
        let against = Some(Against { baseline: Baseline::Logged, margin: Some(0.0) });
        Task { against, horizon, ..task() }
    };
    let settings = EvaluationSettings { episodes: 50, ..EvaluationSettings::default() };
    let longer = model.evaluate(&Steer, &asked(2 * STEPS), &settings, Seed(1), &Silent);
    assert!(matches!(longer, Err(Error::LogsTooShort)), "{longer:?}");
    let variants = vec![Variant::DaInf];
    let settings = EvaluationSettings { variants, ..settings };
    let by_others = model.evaluate(&Steer, &asked(STEPS), &settings, Seed(1), &Silent);
    assert!(matches!(by_others, Err(Error::NoWorlds)), "{by_others:?}");
}

#[test]
fn an_evaluation_says_what_would_have_been_claimed_of_its_logs() {
    let model = model(Scattered::around_the_truth(0.0, 3), &logs(60, 3));
    let found = compare(&model, Baseline::Logged, EvaluationSettings::default());
    let replay = found.variants[0].worlds.as_ref().unwrap().replay.as_ref().unwrap();
    let horizons: Vec<usize> = replay.backtest.claims.iter().map(|claim| claim.horizon).collect();
    assert_eq!(horizons, [4, 4, 8, 8, 15, 15, 30, 30]);
    assert!(!replay.backtest.refitted);
    let earned = replay.earned.unwrap();
    let logged = truth() - true_improvement();
    assert!((earned.mean - logged).abs() < 4.0 * earned.std_error, "{earned:?} {logged}");
    // Over less of the horizon less is earned.
    let of_hard: Vec<f64> =
        replay.backtest.claims.iter().filter(|c| c.group == "hard").map(|c| c.earned).collect();
    assert!(of_hard.is_sorted(), "{of_hard:?}");
}

fn small() -> ModelSettings {
    let ensemble = EnsembleSettings {
        hidden: vec![16, 16],
        max_steps: Some(400),
        learn_reward: false,
        ..EnsembleSettings::default()
    };
    ModelSettings { ensemble, ..ModelSettings::default() }
}

#[test]
fn a_source_that_is_left_out_is_judged_by_worlds_that_never_saw_it() {
    let settings = EvaluationSettings::default();
    let found = backtest(&logs(60, 0), &small(), &task(), &settings, Seed(0), &Silent).unwrap();
    assert!(found.refitted);
    assert_eq!(
        found.over_all().map(|claim| claim.group.as_str()).collect::<Vec<_>>(),
        ["hard", "soft"]
    );
    assert!(found.over_all().all(|claim| claim.episodes == 30 && claim.covered == 1.0));
    assert_eq!((found.failed(), found.vouched), (0, Some(STEPS)), "{}", found.summary);
    // The other plant loses more in every step than anything in the logs shows.
    let other_plant = logs_of([0.9, 0.7], 60, 0);
    let found = backtest(&other_plant, &small(), &task(), &settings, Seed(0), &Silent).unwrap();
    let failed: Vec<&str> =
        found.over_all().filter(|c| !c.held).map(|c| c.group.as_str()).collect();
    assert_eq!(failed, ["hard"], "{found:?}");
    assert!(found.summary.contains("1 of 2"), "{}", found.summary);
    assert!(found.summary.contains("`hard` earned"), "{}", found.summary);
}

#[test]
fn without_sources_parts_are_left_out_in_their_order_if_there_are_enough() {
    let data = logs(24, 0);
    let plain = hambo::Dataset::from_episodes(data.to_episodes()).unwrap();
    let settings = EvaluationSettings::default();
    let found = backtest(&plain, &small(), &task(), &settings, Seed(0), &Silent).unwrap();
    let names: Vec<&str> = found.over_all().map(|claim| claim.group.as_str()).collect();
    assert_eq!(names, ["episodes 1 to 8", "episodes 9 to 16", "episodes 17 to 24"]);
    // A source that all episodes have tells nothing.
    let plain_again = plain.clone();
    let same = plain.with_sources(vec!["plant".into(); 24]).unwrap();
    let found = backtest(&same, &small(), &task(), &settings, Seed(0), &Silent).unwrap();
    assert_eq!(found.over_all().count(), 3);
    let gp = ModelSettings { gp: Some(GpSettings::default()), ..small() };
    let error = backtest(&plain_again, &gp, &task(), &settings, Seed(0), &Silent).unwrap_err();
    assert!(matches!(error, Error::NoWorlds), "{error}");
    let few = hambo::Dataset::from_episodes(logs(6, 0).to_episodes()).unwrap();
    let error = backtest(&few, &small(), &task(), &settings, Seed(0), &Silent).unwrap_err();
    assert!(matches!(error, Error::NothingToLeaveOut { episodes: 6, .. }), "{error}");
}

#[test]
fn a_policy_that_was_trained_on_the_same_episodes_is_said_to_be() {
    let data = logs(60, 0);
    let model = model(Scattered::around_the_truth(0.0, 0), &data);
    let settings = EvaluationSettings { episodes: 50, ..EvaluationSettings::default() };
    let found = |trained_on| {
        let task = Task { trained_on, ..task() };
        model.evaluate(&Steer, &task, &settings, Seed(1), &Silent).unwrap()
    };
    assert_eq!(found(None).reuse, None);
    let others = found(Some(EpisodeMarks::of(&logs(30, 7))));
    assert_eq!(others.reuse, Some(Reuse { shared: 0, of: 60 }));
    let same = found(Some(EpisodeMarks::of(&data)));
    assert_eq!(same.reuse, Some(Reuse { shared: 60, of: 60 }));
    let is_said = |found: &Evaluation| found.warnings.iter().any(|w| w.code() == "shared_episodes");
    assert!(is_said(&same) && !is_said(&others));
    assert_eq!(same.lower_bound, others.lower_bound);
}

#[test]
fn a_verdict_says_how_many_more_episodes_it_would_take() {
    let found = |episodes| {
        let model = model(Scattered::around_the_truth(0.0, 5), &logs(episodes, 5));
        let settings = EvaluationSettings { episodes: 500, ..EvaluationSettings::default() };
        model.evaluate(&Steer, &task(), &settings, Seed(1), &Silent).unwrap()
    };
    let few = found(12);
    let bound = few.lower_bound.unwrap();
    assert_eq!(few.times_as_many_episodes(bound - 0.1), None);
    let mean = few.variants[0].estimate.mean;
    assert_eq!(few.times_as_many_episodes(mean + 1.0), None);
    // A threshold between the bound and what any number of episodes would leave.
    let limit = few.variants[0].worlds.as_ref().unwrap();
    let least = mean - limit.student * 1.1_f64.sqrt() * limit.spread;
    assert!(bound < least, "{bound} {least}");
    let near = few.times_as_many_episodes(bound + 0.1 * (least - bound)).unwrap();
    let far = few.times_as_many_episodes(bound + 0.8 * (least - bound)).unwrap();
    assert!(2 <= near && near <= far, "{near} {far}");
}
