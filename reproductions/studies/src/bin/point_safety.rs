//! The paper's toy example: a policy that cuts a corner through a danger zone.
//!
//!     cargo run -p hambo-studies --bin point_safety -- [first seed] [seeds] [target] [beta] [figure.svg]
//!
//! Logs of the policy that walks around the unit circle (π_1.6, action noise 0.1); is the one that
//! passes closer (π_1.1) safe as well? It is not. The mean of a model that predicts next states, as
//! in the paper, says that it is; the adversary inside that model's confidence boxes finds the danger.
//! `target` is `next_state` or `difference`: a model of the latter kind, the default elsewhere, has it
//! right from the start. `beta` is the half-width of the boxes in epistemic stds.

use hambo::AdversarySettings;
use hambo::dataset::Target;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::internals::{Choice, Game, Noise, train_sac};
use hambo::task::point_safety::{self, GOAL, PointSafety, START, ViaPoint, is_dangerous};
use hambo::{BoxError, Model, ModelSettings, Result, Seed, Silent, Streams, collect, rollout};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HORIZON: usize = 12;
const EPISODES: usize = 30;
const BEHAVIOUR: ViaPoint = ViaPoint { y: 1.6 };
const POLICY: ViaPoint = ViaPoint { y: 1.1 };

type Point = [f32; 2];

/// Where a walk went, and the confidence box of each step.
#[derive(Default)]
struct Walk {
    positions: Vec<Point>,
    /// Centre and half-widths.
    boxes: Vec<(Point, Point)>,
}

impl Walk {
    fn closest(&self) -> f32 {
        self.positions.iter().map(|p| p[0].hypot(p[1])).fold(f32::INFINITY, f32::min)
    }

    fn verdict(&self) -> &'static str {
        if self.positions.iter().any(|&p| is_dangerous(p)) { "unsafe" } else { "safe" }
    }
}

fn main() -> Result<(), BoxError> {
    let text = |index: usize, default: &str| std::env::args().nth(index).unwrap_or(default.into());
    let (first, count) = (text(1, "0").parse::<u64>()?, text(2, "1").parse::<u64>()?);
    let target = match text(3, "next_state").as_str() {
        "difference" => Target::Difference,
        _ => Target::NextState,
    };
    let beta: f32 = text(4, "1").parse()?;
    for seed in first..first + count {
        let seed = Seed(seed);
        let (model, logs) = fit(target, seed)?;
        let walk = |adversary| walk(&model, beta, seed, adversary);
        let walks = [true_walk(seed)?, walk(false)?, walk(true)?];
        print!("seed {}:", seed.0);
        for (name, walk) in ["truth", "mean model", "adversary"].iter().zip(&walks) {
            print!("  {name} {} (passes at {:.3})", walk.verdict(), walk.closest());
        }
        println!();
        if let Some(path) = std::env::args().nth(5) {
            std::fs::write(&path, figure(&logs, &walks))?;
        }
    }
    Ok(())
}

/// A model of the behaviour policy's logs, and the walks in them.
fn fit(target: Target, seed: Seed) -> Result<(Model, Vec<Vec<Point>>)> {
    let task = point_safety::task(HORIZON);
    let streams = &mut Streams::new(seed, "logs");
    let data = collect(&PointSafety, &task, &BEHAVIOUR.noisy(0.1), EPISODES, streams)?;
    // 360 transitions need neither large batches nor many steps.
    let ensemble =
        EnsembleSettings { target, batch_size: 32, max_steps: Some(2_000), ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&data, &settings, seed, &Silent)?;
    let walks = data.to_episodes().iter().map(|episode| points(&episode.states)).collect();
    Ok((model, walks))
}

fn points(states: &ndarray::Array2<f32>) -> Vec<Point> {
    states.rows().into_iter().map(|row| [row[0], row[1]]).collect()
}

fn true_walk(seed: Seed) -> Result<Walk> {
    let mut walk = Walk::default();
    let task = point_safety::task(HORIZON);
    let streams = &mut Streams::new(seed, "walk");
    rollout::simulate(&PointSafety, &task, &POLICY, 1, streams, |step| {
        walk.positions.extend(points(step.states));
        Ok(())
    })?;
    Ok(walk)
}

/// The policy inside the model: its mean, or the worst that an adversary finds. Without noise, so that
/// the adversary alone makes the difference.
fn walk(model: &Model, beta: f32, seed: Seed, with_adversary: bool) -> Result<Walk> {
    let task = point_safety::task(HORIZON);
    let radius = &(model.calibration.box_factors() * beta);
    let bounds = model.data_range.widened(model.range_widening);
    let game = Game {
        dynamics: &*model.dynamics,
        radius,
        noise: Noise::None,
        task: &task,
        limits: rollout::Limits { states: Some(&bounds), ..Default::default() },
        policy: &POLICY,
        exogenous: None,
        history: None,
    };
    let mut walk = Walk::default();
    let watch = |step: &rollout::Step<'_>| {
        walk.positions.extend(points(step.states));
        if let (Some(shift), Some(std)) = (step.choices, step.epistemic_std) {
            let half: Point = std::array::from_fn(|j| std[[0, j]] * radius[j]);
            let centre =
                std::array::from_fn(|j| step.next_states[[0, j]] - shift[[0, j]] * half[j]);
            walk.boxes.push((centre, half));
        }
        Ok(())
    };
    let streams = &mut Streams::new(seed, "walk");
    if with_adversary {
        let settings = AdversarySettings {
            hidden: vec![64; 2],
            episodes: 200,
            batch_size: 256,
            gradient_steps: 500,
            ..Default::default()
        };
        let trained = train_sac(&game, &settings, seed, &Silent)?;
        game.play(trained.choice(), 1, streams, watch)?;
    } else {
        game.play(Choice::Distribution, 1, streams, watch)?;
    }
    Ok(walk)
}

const UNIT: f32 = 180.0;

/// Where a position is on the page.
fn at([x, y]: Point) -> (f32, f32) {
    (UNIT * (x + 2.3), UNIT * (2.1 - y))
}

fn line(walk: &[Point], colour: &str, width: f32) -> String {
    let corners: Vec<String> =
        walk.iter().map(|&p| at(p)).map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         vector-effect=\"non-scaling-stroke\"/>\n",
        corners.join(" ")
    )
}

/// A dot keeps its size under the magnifying glass because it is a stroke.
fn dot(p: Point, colour: &str) -> String {
    let (x, y) = at(p);
    format!(
        "<path d=\"M{x:.2},{y:.2}h0\" stroke=\"{colour}\" stroke-width=\"7\" \
         stroke-linecap=\"round\" vector-effect=\"non-scaling-stroke\"/>\n"
    )
}

fn label(p: Point, anchor: &str, colour: &str, text: &str) -> String {
    let (x, y) = at(p);
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>\n"
    )
}

/// The paper's figure `fig:toyexample`, with the closest approach magnified below.
fn figure(logs: &[Vec<Point>], [truth, mean, adversary]: &[Walk; 3]) -> String {
    let walks = [
        (truth, "#1a1a1a", "truth"),
        (mean, "#d9920a", "mean model"),
        (adversary, "#2a5fb0", "adversary, with its confidence boxes"),
    ];
    let (x, y) = at([0.0, 0.0]);
    let mut scene = format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{UNIT}\" fill=\"#f8d7d3\"/>\n");
    for walk in logs {
        scene += &line(walk, "#c8c8c8", 0.8);
    }
    for (centre, half) in &adversary.boxes {
        let (left, top) = at([centre[0] - half[0], centre[1] + half[1]]);
        let (width, height) = (2.0 * UNIT * half[0], 2.0 * UNIT * half[1]);
        scene += &format!(
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"#3b75c4\" fill-opacity=\"0.3\"/>\n"
        );
    }
    let mut legend = String::new();
    for (index, (walk, colour, name)) in walks.into_iter().enumerate() {
        scene += &line(&walk.positions, colour, 2.0);
        scene.extend(walk.positions.iter().map(|&p| dot(p, colour)));
        let p = [-2.2, 1.95 - 0.13 * index as f32];
        legend += &label(p, "start", colour, &format!("{name}: {}", walk.verdict()));
    }
    legend += &label([-2.2, 1.95 - 0.13 * 3.0], "start", "#8a8a8a", "logs");
    legend += &label([START[0], START[1] - 0.14], "middle", "#1a1a1a", "start");
    legend += &label([GOAL[0], GOAL[1] - 0.14], "middle", "#1a1a1a", "goal");
    legend += &label([0.0, 0.35], "middle", "#a33a2c", "danger zone");
    let (left, top) = at([-0.45, 1.2]);
    let (right, bottom) = at([0.65, 0.72]);
    let (width, height) = (right - left, bottom - top);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 830 690\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"15\">\n\
         <rect width=\"830\" height=\"690\" fill=\"#ffffff\"/>\n<g id=\"scene\">\n{scene}</g>\n{legend}\
         <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill=\"none\" stroke=\"#555555\"/>\n\
         <rect x=\"135\" y=\"432\" width=\"550\" height=\"240\" fill=\"#ffffff\"/>\n\
         <svg x=\"135\" y=\"432\" width=\"550\" height=\"240\" \
         viewBox=\"{left:.1} {top:.1} {width:.1} {height:.1}\"><use href=\"#scene\"/></svg>\n\
         <rect x=\"135\" y=\"432\" width=\"550\" height=\"240\" fill=\"none\" stroke=\"#555555\"/>\n\
         </svg>\n"
    )
}
