//! Reports: what they say, and what no input can make them say.

use std::sync::OnceLock;

use hambo::dataset::{ColumnNames, Summary};
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::gp::GpSettings;
use hambo::dynamics::theory::{self, GapConstants};
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    AdversarySettings, Constraint, Dataset, Evaluation, EvaluationSettings, Model, ModelSettings,
    Seed, Silent, Streams, Variant, Warning, collect,
};
use hambo_io::report::{ReportOptions, figures, html, png};
use hambo_io::result::FileNote;

/// A tiny evaluation with a learned reward and a constraint, its warnings taken away.
fn evaluation() -> Evaluation {
    static MADE: OnceLock<Evaluation> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Evaluation {
    let seed = Seed(0);
    let task = pendulum::task(20);
    let logs = logs(20);
    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![16, 16],
        max_steps: Some(60),
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
    let settings =
        EvaluationSettings { episodes: 100, adversary, stress: true, ..Default::default() };
    let function = task.reward.clone().unwrap();
    let constraints = vec![Constraint { name: "<b>energy</b>".into(), function }];
    let task = hambo::Task { reward: None, constraints, ..task };
    let found = model.evaluate(&SwingUp::GOOD, &task, &settings, seed, &Silent).unwrap();
    Evaluation { warnings: Vec::new(), constraints: found.constraints, ..found }
}

fn logs(episodes: usize) -> Dataset {
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let streams = &mut Streams::new(Seed(0), "logs");
    collect(&Pendulum, &pendulum::task(20), &behaviour, episodes, streams).unwrap()
}

/// A tiny evaluation on Gaussian processes.
fn proven() -> Evaluation {
    static MADE: OnceLock<Evaluation> = OnceLock::new();
    let make = || {
        let settings = ModelSettings {
            gp: Some(GpSettings { learn_reward: false, ..Default::default() }),
            ..Default::default()
        };
        let model = Model::fit(&logs(8), &settings, Seed(0), &Silent).unwrap();
        let settings = EvaluationSettings {
            episodes: 50,
            cost_episodes: 10,
            adversary: AdversarySettings {
                hidden: vec![8],
                episodes: 10,
                batch_size: 16,
                gradient_steps: 5,
                max_rounds: 2,
                ..Default::default()
            },
            ..Default::default()
        };
        let task = pendulum::task(20);
        model.evaluate(&SwingUp::GOOD, &task, &settings, Seed(0), &Silent).unwrap()
    };
    MADE.get_or_init(make).clone()
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
    calibration.usual_epistemic_std = ndarray::Array1::ones(dimensions);
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
fn a_constraint_that_is_not_proven_is_named() {
    let mut evaluation = evaluation();
    evaluation.lower_bound = Some(10.0);
    evaluation.constraints[0].lower_bound = Some(-0.1);
    assert!(html(&evaluation, &options(Some(5.0))).contains("keeps this constraint"));
}

#[test]
fn every_verdict_has_its_page() {
    let warnings = vec![not_converged(Variant::Ca)];
    let cases = [
        (bounded(Some(-10.0), Vec::new()), Some(-20.0), "CERTIFIED"),
        (bounded(Some(-10.0), Vec::new()), Some(-5.0), "NOT CERTIFIED"),
        (bounded(Some(-10.0), warnings), Some(-20.0), "INCONCLUSIVE"),
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
        "claims",
        "returns",
        "horizon",
        "gap",
        "costs",
        "training",
        "reliability",
        "actions",
        "episodes",
        "uncertainty",
    ];
    assert_eq!(names, expected);
    let page = html(&evaluation, &options(Some(-100.0)));
    for heading in [
        "Warnings",
        "What is guaranteed",
        "Constraints",
        "The gap",
        "The worlds against your own logs",
        "The worlds, and stress tests",
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
fn warnings_are_shown_with_what_to_do() {
    let warnings = vec![Warning::FewStarts { observed: 4 }, not_converged(Variant::Ca)];
    let page = html(&bounded(Some(1.0), warnings), &options(Some(0.0)));
    assert!(page.contains("Let it train for more rounds"));
    assert!(page.contains("(<code>evaluation.adversary.max_rounds</code>)"));
    assert!(page.contains("only 4 observed initial states"));
    assert!(page.contains("id=\"warnings\""));
}

#[test]
fn notes_about_a_policy_file_are_shown_beside() {
    let note = FileNote {
        code: "action_range".into(),
        message: "the policy leaves the range".into(),
        help: "look at it".into(),
    };
    let options = ReportOptions { notes: vec![note], ..options(Some(0.0)) };
    let page = html(&bounded(Some(1.0), vec![not_converged(Variant::Ca)]), &options);
    assert!(page.contains("The policy leaves the range.") && page.contains("Look at it."));
    assert!(page.contains("<a href=\"#warnings\">one warning and one note</a>"));
}

#[test]
fn a_certificate_with_weaker_settings_says_so_on_its_first_screen() {
    let weaker = Warning::WeakerSetting {
        setting: "beta".into(),
        value: "0.5".into(),
        default: "1".into(),
        accepted: true,
    };
    let page = html(&bounded(Some(1.0), vec![weaker]), &options(Some(0.0)));
    assert!(page.contains("CERTIFIED WITH WEAKER SETTINGS (beta = 0.5)"));
    assert!(page.contains("Weaker settings than the defaults were accepted for this: beta = 0.5"));
}

/// The text of the table cells in the row of this name, in the part of the page that begins with a
/// heading.
fn cells(page: &str, heading: &str, row: &str) -> Vec<String> {
    let part = page.split_once(&format!("<h3>{heading}</h3>")).expect("the heading").1;
    let row = part.split_once(&format!("<th scope=\"row\">{row}</th>")).expect("the row").1;
    let row = row.split_once("</tr>").expect("its end").0;
    let cells = row.split("</td>").filter_map(|cell| cell.rsplit_once("<td").map(|part| part.1));
    cells.map(|cell| cell.split_once('>').expect("a cell").1.to_owned()).collect()
}

fn value(text: &str) -> f64 {
    let plain = text.replace('−', "-").replace('\u{2009}', "");
    plain.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// The same as the paper has it, without the limit over worlds.
fn of_paper() -> Evaluation {
    let mut evaluation = evaluation();
    evaluation.variants.retain(|result| result.variant != Variant::Worlds);
    evaluation.deciding = Some(Variant::DaInf);
    evaluation
}

#[test]
fn the_limit_over_worlds_can_be_computed_again_from_what_is_printed() {
    let evaluation = evaluation();
    let page = html(&evaluation, &options(None));
    let variant = &evaluation.variants[0];
    let mean = value(&first_cell(&page, "The limit over worlds"));
    let row = cells(&page, "The limit over worlds", &first_cell(&page, "The limit over worlds"));
    let [worlds, spread, factor, of_worlds, of_starts, of_replay, limit] =
        <[f64; 7]>::try_from(row.iter().map(|c| value(c)).collect::<Vec<_>>()).unwrap();
    let room = 5.0 * 10f64.powi(-(row[1].split_once('.').unwrap().1.len() as i32));
    assert!(
        (factor * (1.0 + 1.0 / worlds).sqrt() * spread - of_worlds).abs() < 10.0 * room,
        "{row:?}"
    );
    let margin = of_worlds.hypot(of_starts).hypot(of_replay);
    assert!((mean - margin - limit).abs() < room, "{row:?}");
    assert!(limit <= variant.lower_bound, "{row:?}: rounded up");
    let replay = variant.worlds.as_ref().unwrap().replay.as_ref().unwrap();
    let group = &replay.groups()[0];
    assert!(page.contains(&format!(">{} (worst)</th>", replay.worst)), "{}", group.name);
}

/// The heading of the first row of a table.
fn first_cell(page: &str, heading: &str) -> String {
    let part = page.split_once(&format!("<h3>{heading}</h3>")).expect("the heading").1;
    let row = part.split_once("<th scope=\"row\">").expect("a row").1;
    row.split_once("</th>").expect("its end").0.to_owned()
}

#[test]
fn the_monte_carlo_limit_can_be_computed_again_from_what_is_printed() {
    for evaluation in [of_paper(), proven()] {
        let page = html(&evaluation, &options(None));
        for variant in evaluation.variants.iter().filter(|v| v.variant.is_conservative()) {
            let row = cells(&page, "The Monte Carlo limit", &variant.variant.to_string());
            let [mean, error, _, quantile, limit] =
                <[f64; 5]>::try_from(row.iter().map(|c| value(c)).collect::<Vec<_>>()).unwrap();
            // All four are rounded.
            let room = 3.0 * 10f64.powi(-(row[1].split_once('.').unwrap().1.len() as i32));
            assert!((mean - quantile * error - limit).abs() < room, "{row:?}");
            assert!(limit <= variant.lower_bound, "{row:?}: rounded up");
        }
    }
}

#[test]
fn for_the_papers_variants_delta_is_said_to_cover_the_monte_carlo_error_only() {
    let page = html(&of_paper(), &options(None));
    assert!(page.contains("Nothing proves it."));
    assert!(page.contains(">all: 0.05</td>"));
    assert!(!page.contains("confidence region</h3>"));
    // The return and one constraint.
    assert!(page.contains("what δ covers fails with probability 0.1 at most"));
}

#[test]
fn the_confidence_region_can_be_computed_again_from_what_is_printed() {
    let evaluation = proven();
    let page = html(&evaluation, &options(None));
    assert!(page.contains("0.025 of 0.05"));
    assert!(page.contains("estimated from the model itself"));
    for output in 0..3 {
        let row = cells(&page, "The model’s confidence region", &format!("state_{output}"));
        let [norm, gain, ratio, beta] =
            <[f64; 4]>::try_from(row.iter().map(|c| value(c)).collect::<Vec<_>>()).unwrap();
        let again = theory::beta(norm, ratio, gain, 3, 0.025);
        assert!((again / beta - 1.0).abs() < 1e-3, "{row:?}: {again}");
        // The noise that is fitted is what regularises, except for some jitter.
        assert!((ratio - 1.0).abs() < 0.01, "{row:?}");
        let stored = evaluation.guarantee.as_ref().unwrap().confidence.radius[output];
        assert!((stored - beta).abs() < 1e-3, "{row:?}");
    }
}

#[test]
fn the_largest_gap_can_be_computed_again_from_what_is_printed() {
    let page = html(&proven(), &options(None));
    let printed = |name: &str| {
        let cell = cells(&page, "The gap at the very worst", name).remove(0);
        let cell = cell.replace("10<sup>", "").replace("</sup>", "");
        value(cell.split(" (").next().unwrap())
    };
    let constants = GapConstants {
        reward: printed("L<sub>r</sub>, of the reward"),
        policy: printed("L<sub>π</sub>, of the policy"),
        dynamics: printed("L<sub>f</sub>, of the dynamics"),
        std: printed("L<sub>σ</sub>, of the posterior’s deviation"),
        beta: printed("βₙ, the largest"),
        state_dim: printed("d, dimensions of the state") as usize,
        horizon: printed("T, steps") as usize,
    };
    let log10 = theory::ln_gap_constant(&constants) / std::f64::consts::LN_10;
    assert!((log10 - printed("Cₙ")).abs() < 0.02, "{log10}");
    let gap = printed("Cₙ") + printed("E‖σₙ‖ over neutral episodes").log10();
    assert!((gap - printed("Largest gap, Cₙ · E‖σₙ‖")).abs() < 0.02, "{gap}");
}

#[test]
fn the_data_is_summarised() {
    let summary: Summary = logs(20).summary();
    let (low, high) = (summary.actions[0].min, summary.actions[0].max);
    let options = ReportOptions { summary: Some(summary), ..options(None) };
    let mut evaluation = evaluation();
    evaluation.data.names.actions = vec!["torque".into()];
    let page = html(&evaluation, &options);
    assert!(page.contains("20: 0 terminated (0\u{202f}%), 20 cut off (100\u{202f}%)"));
    assert!(page.contains("3 state dimensions, 1 action dimension"));
    let row = page.split_once("<th scope=\"row\">torque</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    for bound in [low, high] {
        assert!(row.contains(&format!(">{bound:.3}<").replace('-', "−")), "{bound}: {row}");
    }
    for name in ["return", "steps", "reward", "state_0"] {
        assert!(page.contains(&format!("<th scope=\"row\">{name}</th>")), "{name}");
    }
}

#[test]
fn without_a_summary_the_evaluations_own_knowledge_of_the_data_is_shown() {
    let page = html(&evaluation(), &options(None));
    assert!(page.contains("20: 0 terminated"));
    assert!(page.contains("<th scope=\"col\" class=\"number\">Largest</th>"));
    assert!(!page.contains("cut off (") && !page.contains("action dimension"));
}

#[test]
fn figures_are_pictures_on_white_paper_with_nothing_missing() {
    for (name, svg) in figures(&evaluation(), &options(Some(-100.0))) {
        for foreign in ["var(", "@media", "currentColor", "<svg viewBox"] {
            assert!(!svg.contains(foreign), "{name}: {foreign}");
        }
        let size = |side: &str| -> u32 {
            let after = svg.split_once(&format!(" {side}=\"")).unwrap().1;
            after.split_once('"').unwrap().0.parse::<f64>().unwrap().ceil() as u32
        };
        let picture = resvg::tiny_skia::Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
        assert_eq!(picture.width(), 2 * size("width"), "{name}");
        assert!(picture.height().abs_diff(2 * size("height")) <= 2, "{name}");
        let white = |&&pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()) == (255, 255, 255, 255)
        };
        let all = picture.pixels();
        let inked = all.len() - all.iter().filter(white).count();
        assert!(
            white(&&all[0]) && white(&&all[all.len() - 1]),
            "{name}: the margins are not white"
        );
        assert!(inked > all.len() / 100, "{name}: {inked} of {} pixels", all.len());
    }
}

#[test]
fn the_first_lines_are_for_whoever_was_forwarded_the_page() {
    let (unit, per) = (Some("EUR".to_owned()), Some("day".to_owned()));
    let reward = Some("-0.3*u^2".to_owned());
    let page = html(&evaluation(), &ReportOptions { unit, per, reward, ..options(Some(-1e6)) });
    let short = page.split("<dl class=\"short\">").nth(1).unwrap().split("</dl>").next().unwrap();
    // A cost is rounded up.
    let most = (-10.0 * evaluation().lower_bound.unwrap()).ceil() / 10.0;
    for part in [
        "What will it cost?",
        &format!("On average at most {most:.1} EUR a day"),
        "The logged policy cost 100.7",
        "How sure is that?",
        "What next?",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    // What is only said to those who know the method comes later.
    for word in ["DAinf", "CA", "neutral", "delta", "worlds"] {
        assert!(!short.contains(word), "{word}: {short}");
    }
    assert!(page.contains("<code>-0.3*u^2</code>"));
    let plain = html(&evaluation(), &options(None));
    assert!(plain.contains("in 20 steps"), "the horizon is said");
    assert!(plain.contains("What will it earn?"), "nobody said what is counted");
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
        summary: Some(logs(2).summary()),
        notes: vec![FileNote {
            code: hostile.into(),
            message: hostile.into(),
            help: hostile.into(),
        }],
        unit: text(),
        per: text(),
        reward: text(),
    };
    let mut evaluation = evaluation();
    evaluation.data.names =
        ColumnNames { states: vec![hostile.into(); 3], actions: vec![hostile.into()] };
    evaluation.version = hostile.into();
    evaluation.delta_covers = hostile.into();
    evaluation.data.fingerprint = hostile.into();
    evaluation.constraints[0].name = hostile.into();
    evaluation.constraints[0].lower_bound = Some(-1.0);
    evaluation.timings.insert(hostile.into(), 1.0);
    evaluation.warnings =
        vec![Warning::NotConverged { objective: hostile.into(), variant: Variant::Ca, rounds: 1 }];
    let mut documents = vec![html(&evaluation, &options)];
    for (name, svg) in figures(&evaluation, &options) {
        assert!(png(&svg).is_ok(), "{name}");
        documents.push(svg);
    }
    for document in documents {
        assert!(!document.contains("<script") && !document.contains("<img"));
        assert!(!document.contains("onerror=\"") && !document.contains('\u{0}'));
        assert_eq!(document.matches("</style>").count(), 1);
    }
}

#[test]
fn a_report_stands_alone_and_stays_small() {
    let options = options(Some(-100.0));
    let mut evaluation = large(60);
    let name = |d| format!("joint {d} with a rather long name for a panel");
    evaluation.data.names.states = (0..60).map(name).collect();
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
    evaluation.calibration.usual_epistemic_std.fill(0.0);
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
    evaluation.variants.retain(|variant| !variant.variant.is_conservative());
    let page = html(&evaluation, &options(None));
    assert!(page.contains("Only neutral variants ran"));
    evaluation.variants.clear();
    assert!(html(&evaluation, &options(None)).contains("</html>"));
}

#[test]
fn a_result_of_an_earlier_version_has_no_backtest_and_is_drawn_without() {
    let mut value = serde_json::to_value(evaluation()).unwrap();
    let replay = &mut value["variants"][0]["worlds"]["replay"];
    replay.as_object_mut().unwrap().remove("backtest").expect("this version writes one");
    let earlier: Evaluation = serde_json::from_value(value).unwrap();
    let page = html(&earlier, &options(None));
    assert!(!page.contains("Would it have held"), "a section about nothing");
    assert!(html(&evaluation(), &options(None)).contains("Would it have held"));
}
