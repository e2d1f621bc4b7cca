//! The verdict, and what each kind of warning means for it.

use crate::common::{LinearModel, policy, reward};
use hambo::dynamics::ensemble::EnsembleReport;
use hambo::{
    ConstraintResult, Evaluation, EvaluationSettings, FitReport, InitialStates, Model, Seed,
    Silent, Task, Variant, Verdict, Warning, WeakerSetting,
};
use ndarray::array;

/// An evaluation by the worst member of a linear model, with these settings.
fn evaluate(settings: EvaluationSettings) -> Evaluation {
    evaluate_in(&model(), settings)
}

fn model() -> Model {
    crate::common::calibrated(LinearModel::three_members(0.2))
}

fn evaluate_in(model: &Model, settings: EvaluationSettings) -> Evaluation {
    let task = Task::new(InitialStates::Fixed(array![[1.0, -2.0]]), reward(), 5);
    let settings = EvaluationSettings { variants: vec![Variant::DaInf], episodes: 50, ..settings };
    model.evaluate(&policy(), &task, &settings, Seed(0), &Silent).unwrap()
}

fn bounded(lower_bound: Option<f64>, warnings: Vec<Warning>) -> Evaluation {
    Evaluation { lower_bound, warnings, ..evaluate(EvaluationSettings::default()) }
}

fn certified() -> Verdict {
    Verdict::Certified { weaker: Vec::new() }
}

fn not_converged(variant: Variant) -> Warning {
    Warning::NotConverged { objective: "return".into(), variant, rounds: 3 }
}

#[test]
fn the_verdict_compares_the_bound_with_the_threshold() {
    let verdict = |bound, threshold| Verdict::of(&bounded(bound, Vec::new()), threshold);
    assert_eq!(verdict(Some(5.0), Some(5.0)), certified());
    assert_eq!(verdict(Some(4.9), Some(5.0)), Verdict::NotCertified);
    assert_eq!(verdict(Some(5.0), None), Verdict::NoThreshold);
    assert_eq!(verdict(Some(5.0), Some(f64::NAN)), Verdict::NotCertified);
    assert_eq!(verdict(Some(f64::NAN), Some(5.0)), Verdict::NotCertified);
    assert_eq!(verdict(None, Some(5.0)), Verdict::Inconclusive { warnings: Vec::new() });
}

#[test]
fn a_warning_matters_only_to_a_bound_that_is_high_enough() {
    let warnings = vec![not_converged(Variant::Ca)];
    let verdict = |bound| Verdict::of(&bounded(Some(bound), warnings.clone()), Some(5.0));
    assert_eq!(verdict(6.0), Verdict::Inconclusive { warnings: warnings.clone() });
    assert_eq!(verdict(4.0), Verdict::NotCertified);
}

#[test]
fn a_warning_that_was_allowed_stands_beside_the_verdict() {
    let mut found =
        bounded(Some(6.0), vec![not_converged(Variant::Ca), not_converged(Variant::Da1)]);
    found.settings.allow = vec!["not_converged".into()];
    let weaker = vec!["allow = not_converged".to_owned()];
    let verdict = Verdict::of(&found, Some(5.0));
    assert_eq!(verdict, Verdict::Certified { weaker });
    assert_eq!(verdict.to_string(), "CERTIFIED WITH WEAKER SETTINGS (allow = not_converged)");
    found.warnings.push(Warning::WeakCalibration { error: 0.5 });
    let others = vec![Warning::WeakCalibration { error: 0.5 }];
    assert_eq!(Verdict::of(&found, Some(5.0)), Verdict::Inconclusive { warnings: others });
    // Nothing is allowed by a slip, and no setting in this way.
    for code in ["no_such_warning", "weaker_setting"] {
        let settings = EvaluationSettings { allow: vec![code.into()], ..Default::default() };
        assert!(settings.validate().unwrap_err().to_string().contains(code));
    }
}

#[test]
fn a_constraint_that_is_not_proven_stops_a_certificate() {
    let mut evaluation = bounded(Some(10.0), Vec::new());
    for (lower_bound, expected) in [
        (Some(0.0), certified()),
        (Some(-0.1), Verdict::NotCertified),
        (None, Verdict::Inconclusive { warnings: Vec::new() }),
    ] {
        evaluation.constraints = vec![ConstraintResult {
            name: "slow".into(),
            lower_bound,
            deciding: None,
            variants: Vec::new(),
            second_opinion: None,
        }];
        assert_eq!(Verdict::of(&evaluation, Some(5.0)), expected);
    }
}

/// Which kind a warning is. A new kind does not compile here before somebody has said below what it
/// means for a verdict.
fn kind(warning: &Warning) -> usize {
    match warning {
        Warning::NotConverged { .. } => 0,
        Warning::UnderTrained { .. } => 1,
        Warning::OutsideData { .. } => 2,
        Warning::WeakCalibration { .. } => 3,
        Warning::PersistentErrors { .. } => 4,
        Warning::SecondOpinion { .. } => 5,
        Warning::MoreEnds { .. } => 6,
        Warning::TerminationContradictsLogs { .. } => 7,
        Warning::RewardContradictsLogs { .. } => 8,
        Warning::ForeignActions { .. } => 9,
        Warning::AtLimits { .. } => 10,
        Warning::EstimatedNorm { .. } => 11,
        Warning::LearnedKernel => 12,
        Warning::FewStarts { .. } => 13,
        Warning::SkewedReturns { .. } => 14,
        Warning::NoTermination { .. } => 15,
        Warning::Diverged { .. } => 16,
        Warning::WeakerSetting { .. } => 17,
        Warning::FewCalibrationEpisodes { .. } => 18,
        Warning::FewReplayed { .. } => 19,
        Warning::SharedEpisodes { .. } => 20,
        Warning::ForeignStarts { .. } => 21,
        Warning::Untested { .. } => 22,
        Warning::BoundsContradictLogs { .. } => 23,
        Warning::OnFloor { .. } => 24,
        Warning::UnlikeLogs { .. } => 25,
        Warning::OtherOpinions { .. } => 26,
        Warning::LearnedInWorlds => 27,
        Warning::NoLoggedEnds { .. } => 28,
    }
}

const KINDS: usize = Warning::CODES.len();

/// Every kind, of a variant where it has one, and whether it stops a certificate.
fn every_kind(variant: Variant) -> Vec<(Warning, bool)> {
    let objective = || "return".to_owned();
    let bounds = variant.is_conservative();
    let skewed = Warning::SkewedReturns {
        objective: objective(),
        variant,
        observed: 5,
        skewness: -3.0,
        correction: 0.7,
    };
    let second_opinion = Warning::SecondOpinion {
        objective: objective(),
        bound: 3.0,
        estimate: 1.0,
        std_error: 0.1,
    };
    let weaker = |accepted| Warning::WeakerSetting {
        setting: "beta".into(),
        value: "0.5".into(),
        default: "1".into(),
        accepted,
    };
    vec![
        (not_converged(variant), bounds),
        (Warning::UnderTrained { objective: objective(), difference: 1.0, std_error: 0.1 }, true),
        (Warning::OutsideData { objective: objective(), variant, share: 0.5 }, bounds),
        (
            Warning::UnlikeLogs { objective: objective(), variant, column: "x".into(), times: 9.0 },
            bounds,
        ),
        (Warning::WeakCalibration { error: 0.1 }, true),
        (Warning::PersistentErrors { column: "speed".into(), autocorrelation: 0.9 }, true),
        (second_opinion, true),
        (Warning::MoreEnds { objective: objective(), hallucinated: 0.5, logged: 0.0 }, true),
        (
            Warning::TerminationContradictsLogs { missed: 3, terminal: 4, invented: 5, ongoing: 6 },
            true,
        ),
        (Warning::NoLoggedEnds { episodes: 60 }, false),
        (Warning::RewardContradictsLogs { difference: 1.0, varies: 1.0, higher: -1.0 }, true),
        (Warning::ForeignActions { objective: objective(), variant, share: 0.5 }, bounds),
        (Warning::AtLimits { objective: objective(), variant, share: 0.5 }, bounds),
        (Warning::EstimatedNorm { largest: 3.0 }, false),
        (Warning::LearnedKernel, false),
        (Warning::FewStarts { observed: 4 }, false),
        (Warning::FewCalibrationEpisodes { episodes: 4 }, false),
        (Warning::FewReplayed { episodes: 4 }, false),
        (Warning::SharedEpisodes { shared: 3, of: 4, learned: false }, false),
        (Warning::SharedEpisodes { shared: 3, of: 4, learned: true }, true),
        (Warning::LearnedInWorlds, true),
        (Warning::FewReplayed { episodes: 0 }, true),
        (skewed, bounds),
        (Warning::NoTermination { terminated_episodes: 3 }, true),
        (Warning::ForeignStarts { column: "x".into(), share: 0.5 }, true),
        (Warning::Untested { covered: 0.2 }, true),
        (Warning::BoundsContradictLogs { column: "x".into(), share: 0.5 }, true),
        (Warning::OnFloor { share: 0.5, floor: -1.0 }, false),
        (Warning::OtherOpinions { bound: 3.0, fqe: 1.0, second_opinion: None }, false),
        (Warning::Diverged { objective: objective(), variant, restarts: 1 }, false),
        (weaker(false), true),
        (weaker(true), false),
    ]
}

#[test]
fn every_kind_of_warning_has_its_say_about_a_certificate() {
    for variant in [Variant::Ca, Variant::Ds] {
        let cases = every_kind(variant);
        for index in 0..KINDS {
            assert!(cases.iter().any(|(warning, _)| kind(warning) == index), "kind {index}");
        }
        for (warning, stops) in cases {
            let verdict = Verdict::of(&bounded(Some(6.0), vec![warning.clone()]), Some(5.0));
            let found = matches!(verdict, Verdict::Inconclusive { .. });
            assert_eq!(found, stops, "{}: {verdict:?}", warning.code());
        }
    }
}

#[test]
fn every_warning_says_what_it_is_what_to_do_and_what_it_is_called_in_a_file() {
    for (warning, _) in every_kind(Variant::Ca) {
        let (message, help) = (warning.to_string(), warning.help());
        assert!(message.len() > 20 && help.len() > 20, "{message}; {help}");
        assert!(!message.ends_with('.') && !help.ends_with('.'), "{message}; {help}");
        let json = serde_json::to_value(&warning).unwrap();
        assert_eq!(json["code"], warning.code());
        assert!(Warning::CODES.contains(&warning.code()), "{}", warning.code());
        let evaluation = bounded(Some(0.0), vec![warning.clone()]);
        let json = serde_json::to_value(&evaluation).unwrap();
        let written = &json["warnings"][0];
        assert_eq!(written["message"], message);
        assert_eq!(written["disqualifies"], warning.disqualifies());
        let read: Evaluation = serde_json::from_value(json).unwrap();
        assert_eq!(read.warnings, [warning]);
    }
}

#[test]
fn weaker_settings_are_said_and_certify_only_if_they_are_accepted_by_name() {
    let found = evaluate(EvaluationSettings { beta: 0.5, noise: false, ..Default::default() });
    let low = Some(found.lower_bound.unwrap() - 1.0);
    let Verdict::Inconclusive { warnings } = Verdict::of(&found, low) else { panic!("certified") };
    let names: Vec<&str> = warnings
        .iter()
        .filter_map(|warning| match warning {
            Warning::WeakerSetting { setting, .. } => Some(setting.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["beta", "noise", "variants"]);

    let accept_weaker = ["beta", "noise", "variants"].map(String::from).to_vec();
    let settings =
        EvaluationSettings { beta: 0.5, noise: false, accept_weaker, ..Default::default() };
    let verdict = Verdict::of(&evaluate(settings), low);
    let word = "CERTIFIED WITH WEAKER SETTINGS (beta = 0.5, noise = false, variants = DAinf)";
    assert_eq!(verdict.to_string(), word);
    assert_eq!(verdict.word(), "CERTIFIED");
}

#[test]
fn a_fit_with_weaker_settings_certifies_only_if_they_are_accepted_by_name() {
    let mut short = model();
    let [name, value, default] = ["max_steps", "2000", "7905"].map(String::from);
    short.report = FitReport::Ensemble(EnsembleReport {
        steps: 2_000,
        best_step: 2_000,
        held_out: Vec::new(),
        weaker: vec![WeakerSetting { name, value, default }],
    });
    let verdict = |accepted: &[&str]| {
        let accepted = accepted.iter().chain(&["variants"]);
        let accept_weaker = accepted.map(ToString::to_string).collect();
        let settings = EvaluationSettings { accept_weaker, ..Default::default() };
        let found = evaluate_in(&short, settings);
        Verdict::of(&found, Some(found.lower_bound.unwrap() - 1.0))
    };
    let Verdict::Inconclusive { warnings } = verdict(&[]) else { panic!("certified") };
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning.to_string(), "`max_steps` is 2000, weaker than the default 7905");
    let word = "CERTIFIED WITH WEAKER SETTINGS (variants = DAinf, max_steps = 2000)";
    assert_eq!(verdict(&["max_steps"]).to_string(), word);
}

#[test]
fn an_evaluation_says_which_variant_decided_and_what_the_monte_carlo_limit_got() {
    let found = evaluate(EvaluationSettings::default());
    assert_eq!(found.deciding, Some(Variant::DaInf));
    assert_eq!(found.lower_bound, Some(found.variants[0].lower_bound));
    assert_eq!(found.monte_carlo_delta, 0.05);
}
