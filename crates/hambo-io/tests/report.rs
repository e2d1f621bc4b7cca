//! Reports: what they say, and what no input can make them say.
#![allow(clippy::unwrap_used)]

use std::sync::OnceLock;

use hambo::adversary::AdversarySettings;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    Constraint, Evaluation, EvaluationSettings, Model, ModelSettings, Seed, Silent, Streams,
    Variant, Warning, collect, evaluate,
};
use hambo_io::report::{ReportOptions, figures, html};
use hambo_io::{Verdict, disqualifies};

/// A tiny evaluation with a learned reward and a constraint, its warnings taken away.
fn evaluation() -> Evaluation {
    static MADE: OnceLock<Evaluation> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Evaluation {
    let seed = Seed(0);
    let task = pendulum::task(20);
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let logs = collect(&Pendulum, &task, &behaviour, 20, &mut Streams::new(seed, "logs")).unwrap();
    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![16, 16],
        max_steps: 60,
        learn_reward: true,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent).unwrap();
    let adversary = AdversarySettings {
        hidden: vec![16],
        episodes: 20,
        batch_size: 32,
        gradient_steps: 10,
        max_rounds: 3,
        ..Default::default()
    };
    let settings = EvaluationSettings { episodes: 100, adversary, ..Default::default() };
    let function = task.reward.clone().unwrap();
    let constraints = [Constraint { name: "<b>energy</b>".into(), function }];
    let task = hambo::Task { reward: None, ..task };
    let found =
        evaluate(&model, &SwingUp::GOOD, &task, &constraints, &settings, seed, &Silent).unwrap();
    Evaluation { warnings: Vec::new(), constraints: found.constraints, ..found }
}

/// The same with as many dimensions as a large robot has, and as long a horizon.
fn large(dimensions: usize) -> Evaluation {
    let mut evaluation = evaluation();
    let repeat = |values: &ndarray::Array2<f64>| {
        ndarray::Array2::from_shape_fn((dimensions, values.ncols()), |(i, j)| values[[i % 3, j]])
    };
    let calibration = &mut evaluation.calibration;
    calibration.frequencies_after = repeat(&calibration.frequencies_after);
    calibration.frequencies_before = repeat(&calibration.frequencies_before);
    calibration.temperatures = ndarray::Array1::ones(dimensions);
    calibration.largest_epistemic_std = ndarray::Array1::ones(dimensions);
    evaluation.data_range = vec![[-1.5, 1.5]; dimensions];
    evaluation.horizon = 1000;
    for variant in &mut evaluation.variants {
        for episode in &mut variant.worst {
            let state = |t: usize| (0..dimensions).map(|d| ((t + d) as f32 * 0.11).sin()).collect();
            episode.states = (0..1000).map(state).collect();
        }
        let evidence = &mut variant.evidence;
        let first = evidence.over_horizon[0].clone();
        evidence.over_horizon = (1..=200)
            .map(|index| {
                let epistemic_std = vec![0.001 * index as f64; dimensions];
                hambo::HorizonPoint { steps: 5 * index, epistemic_std, ..first.clone() }
            })
            .collect();
        if let Some(costs) = &mut evidence.costs {
            costs.alone = vec![costs.all; dimensions];
        }
    }
    evaluation
}

fn options(threshold: Option<f64>) -> ReportOptions {
    ReportOptions { title: "A title".into(), threshold, ..Default::default() }
}

fn not_converged(variant: Variant) -> Warning {
    Warning::NotConverged { objective: "return".into(), variant, rounds: 3 }
}

/// Without constraints.
fn bounded(lower_bound: Option<f64>, warnings: Vec<Warning>) -> Evaluation {
    Evaluation { lower_bound, warnings, constraints: Vec::new(), ..evaluation() }
}

#[test]
fn the_verdict_compares_the_bound_with_the_threshold() {
    let verdict = |bound, threshold| Verdict::of(&bounded(bound, Vec::new()), threshold);
    assert_eq!(verdict(Some(5.0), Some(5.0)), Verdict::Certified);
    assert_eq!(verdict(Some(4.9), Some(5.0)), Verdict::NotCertified);
    assert_eq!(verdict(Some(5.0), None), Verdict::NoThreshold);
    assert_eq!(verdict(Some(5.0), Some(f64::NAN)), Verdict::NotCertified);
    assert_eq!(verdict(Some(f64::NAN), Some(5.0)), Verdict::NotCertified);
    assert_eq!(verdict(None, Some(5.0)), Verdict::Inconclusive { doubts: Vec::new() });
}

#[test]
fn a_doubt_that_the_bound_is_too_high_matters_only_to_a_bound_that_is_high_enough() {
    let doubt = not_converged(Variant::Ca);
    let verdict = |bound| Verdict::of(&bounded(Some(bound), vec![doubt.clone()]), Some(5.0));
    assert_eq!(verdict(6.0), Verdict::Inconclusive { doubts: vec![doubt.clone()] });
    assert_eq!(verdict(4.0), Verdict::NotCertified);
}

#[test]
fn only_doubts_about_the_height_of_the_bound_disqualify() {
    let outside =
        |variant| Warning::OutsideData { objective: "return".into(), variant, share: 0.5 };
    let diverged =
        Warning::Diverged { objective: "return".into(), variant: Variant::Ca, restarts: 1 };
    let under_trained =
        Warning::UnderTrained { objective: "return".into(), difference: 1.0, std_error: 0.1 };
    let serious = [
        not_converged(Variant::Da1),
        outside(Variant::DaInf),
        under_trained,
        Warning::WeakCalibration { error: 0.1 },
        Warning::NoTermination { terminated_episodes: 3 },
    ];
    let notes = [
        outside(Variant::Ds),
        diverged,
        Warning::FewStarts { observed: 4 },
        Warning::LearnedKernel,
        Warning::EstimatedNorm { largest: 3.0 },
    ];
    assert!(serious.iter().all(disqualifies));
    assert!(!notes.iter().any(disqualifies));
}

#[test]
fn a_constraint_that_is_not_proven_stops_a_certificate() {
    let mut evaluation = evaluation();
    evaluation.lower_bound = Some(10.0);
    for (bound, expected) in [
        (Some(0.0), Verdict::Certified),
        (Some(-0.1), Verdict::NotCertified),
        (None, Verdict::Inconclusive { doubts: Vec::new() }),
    ] {
        evaluation.constraints[0].lower_bound = bound;
        assert_eq!(Verdict::of(&evaluation, Some(5.0)), expected);
    }
    evaluation.constraints[0].lower_bound = Some(-0.1);
    assert!(html(&evaluation, &options(Some(5.0))).contains("keeps this constraint"));
}

#[test]
fn every_verdict_has_its_page() {
    let doubt = vec![not_converged(Variant::Ca)];
    let cases = [
        (bounded(Some(-10.0), Vec::new()), Some(-20.0), "CERTIFIED"),
        (bounded(Some(-10.0), Vec::new()), Some(-5.0), "NOT CERTIFIED"),
        (bounded(Some(-10.0), doubt), Some(-20.0), "INCONCLUSIVE"),
        (bounded(None, Vec::new()), Some(-20.0), "INCONCLUSIVE"),
        (bounded(Some(-10.0), Vec::new()), None, "NO THRESHOLD"),
    ];
    for (evaluation, threshold, word) in cases {
        let page = html(&evaluation, &options(threshold));
        assert!(page.contains(&format!("</svg>{word}</p>")), "{word}");
    }
}

#[test]
fn every_section_and_figure_of_a_full_evaluation_is_there() {
    let evaluation = evaluation();
    let names: Vec<&str> =
        figures(&evaluation, &options(Some(-100.0))).iter().map(|(name, _)| *name).collect();
    let expected = [
        "bounds",
        "returns",
        "horizon",
        "gap",
        "costs",
        "training",
        "reliability",
        "episodes",
        "uncertainty",
    ];
    assert_eq!(names, expected);
    let page = html(&evaluation, &options(Some(-100.0)));
    for heading in [
        "Doubts",
        "Constraints",
        "The gap",
        "The adversaries",
        "The model",
        "The data",
        "What is assumed",
        "How to reproduce it",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
    assert!(page.contains(&evaluation.data.fingerprint));
    assert!(page.contains("The reward was learned from the data"));
}

#[test]
fn doubts_are_shown_with_what_to_do() {
    let warnings = vec![Warning::FewStarts { observed: 4 }, not_converged(Variant::Ca)];
    let page = html(&bounded(Some(1.0), warnings), &options(Some(0.0)));
    assert!(page.contains("Raise <code>adversary.max_rounds</code>"));
    assert!(page.contains("only 4 observed initial states"));
    assert!(page.contains("id=\"doubts\""));
}

#[test]
fn hostile_names_stay_text() {
    let hostile = "</title></style></svg><script>alert(1)</script><img src=x onerror=\"y\">'&\u{0}";
    let text = || Some(hostile.to_owned());
    let options = ReportOptions {
        title: hostile.into(),
        policy: text(),
        data: text(),
        date: text(),
        threshold: Some(0.0),
        command: text(),
        state_names: vec![hostile.into(); 9],
    };
    let mut evaluation = evaluation();
    evaluation.version = hostile.into();
    evaluation.delta_covers = hostile.into();
    evaluation.data.fingerprint = hostile.into();
    evaluation.constraints[0].name = hostile.into();
    evaluation.constraints[0].lower_bound = Some(-1.0);
    evaluation.timings.insert(hostile.into(), 1.0);
    evaluation.warnings =
        vec![Warning::NotConverged { objective: hostile.into(), variant: Variant::Ca, rounds: 1 }];
    let mut documents = vec![html(&evaluation, &options)];
    documents.extend(figures(&evaluation, &options).into_iter().map(|(_, svg)| svg));
    for document in documents {
        assert!(!document.contains("<script") && !document.contains("<img"));
        assert!(!document.contains("onerror=\"") && !document.contains('\u{0}'));
        assert_eq!(document.matches("</style>").count(), 1);
    }
}

#[test]
fn a_report_stands_alone_and_stays_small() {
    let names = (0..60).map(|d| format!("joint {d} with a rather long name for a panel")).collect();
    let options = ReportOptions { state_names: names, ..options(Some(-100.0)) };
    let evaluation = large(60);
    let page = html(&evaluation, &options);
    assert!(page.len() < 400_000, "{} bytes", page.len());
    for forbidden in
        ["<script", "javascript:", "http:", "https:", "src=", "url(", "@import", "<link"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("Of 60 dimensions the 16 with"));
    for (name, svg) in figures(&evaluation, &options) {
        assert!(svg.len() < 400_000, "{name}: {} bytes", svg.len());
        // The name of the format is the only address in it.
        assert_eq!(svg.matches("http").count(), 1, "{name}");
    }
}

#[test]
fn no_coordinate_is_ever_not_a_number() {
    let mut evaluation = evaluation();
    for variant in &mut evaluation.variants {
        variant.evidence.return_quantiles = vec![3.0; 101];
        for point in &mut variant.evidence.over_horizon {
            point.estimate.mean = f64::NAN;
            point.lower_bound = f64::NEG_INFINITY;
        }
        for round in &mut variant.rounds {
            round.effect.std_error = f64::INFINITY;
        }
        variant.worst.truncate(1);
        (variant.estimate.mean, variant.lower_bound) = (f64::NAN, f64::NEG_INFINITY);
    }
    evaluation.calibration.largest_epistemic_std.fill(0.0);
    evaluation.data_range[0] = [2.0, 2.0];
    for (name, svg) in figures(&evaluation, &options(Some(3.0))) {
        let svg = svg.replace("DAinf", "");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
    }
}

#[test]
fn a_printed_bound_stays_on_its_side_of_the_threshold() {
    // Two decimals would print both as -1.24.
    let page = html(&bounded(Some(-1.233_4), Vec::new()), &options(Some(-1.233_5)));
    assert!(page.contains("at least −1.2334"), "{}", &page[page.len() - 200..]);
}

#[test]
fn an_evaluation_with_neutral_variants_only_still_makes_a_report() {
    let mut evaluation = bounded(None, Vec::new());
    evaluation.variants.retain(|variant| !variant.name.is_conservative());
    let page = html(&evaluation, &options(None));
    assert!(page.contains("Only neutral variants ran"));
    evaluation.variants.clear();
    assert!(html(&evaluation, &options(None)).contains("</html>"));
}
