//! Do the bounds hold on Pendulum, and how tight are they?
//!
//!     cargo run -p hambo --example pendulum_bound -- [n] [horizon] [first seed] [seeds]
//!
//! Data: n transitions of the detuned controller, half with torque noise 0.5 and half with 1.0.
//! Policy: the good controller, which is not in the data. Everything is scaled so that the true
//! return (100,000 episodes of the true dynamics) is 1: `1 - (J - value) / |J|`.

use std::time::Instant;

use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    Dataset, EvaluationSettings, Model, ModelSettings, Result, Seed, Silent, Streams, Variant,
    collect, evaluate, rollout,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let argument = |index: usize, default: usize| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rows, horizon) = (argument(1, 10_000), argument(2, 200));
    let (first, count) = (argument(3, 0), argument(4, 5));

    let task = pendulum::task(horizon);
    let streams = &mut Streams::new(Seed(0), "truth");
    let policy = SwingUp::GOOD;
    let returns = rollout::simulate(&Pendulum, &task, &policy, 100_000, streams, |_| Ok(()))?;
    let truth = returns.mean().expect("many episodes");
    println!("n = {rows}, T = {horizon}, true return {truth:.2}");

    for seed in first..first + count {
        let seed = Seed(seed as u64);
        let data = mediocre_logs(rows, seed)?;
        let begun = Instant::now();
        let model = Model::fit(&data, &ModelSettings::default(), seed, &Silent)?;
        let fitted = begun.elapsed().as_secs();
        let settings = EvaluationSettings {
            variants: vec![
                Variant::Ca,
                Variant::Da1,
                Variant::DaInf,
                Variant::Ds,
                Variant::Ts1,
                Variant::TsInf,
            ],
            ..Default::default()
        };
        let found = evaluate(&model, &policy, &task, &[], &settings, seed, &Silent)?;
        println!("seed {}: fitted in {fitted} s", seed.0);
        for result in &found.variants {
            let scaled = |value: f64| 1.0 - (truth - value) / truth.abs();
            let verdict = match (result.name.is_conservative(), result.lower_bound <= truth) {
                (true, true) => "holds",
                (true, false) => "TOO HIGH",
                (false, _) => "neutral",
            };
            println!(
                "  {:5}  bound {:6.3}  estimate {:6.3} ± {:.3}  {verdict:8}  rounds {:2}{}  \
                 outside {:.1} %  {:.0} s",
                result.name.to_string(),
                scaled(result.lower_bound),
                scaled(result.estimate.mean),
                result.estimate.std_error / truth.abs(),
                result.rounds.len(),
                if result.converged == Some(false) { " not converged" } else { "" },
                100.0 * result.outside_data,
                found.timings[&format!("return: {}", result.name)],
            );
            for round in &result.rounds {
                print!(" {:.2}±{:.2}", round.effect.mean, round.effect.std_error);
            }
            if !result.rounds.is_empty() {
                println!("  (cost of each round's adversary)");
            }
        }
        for warning in &found.warnings {
            println!("  warning: {warning}");
        }
    }
    Ok(())
}

fn mediocre_logs(rows: usize, seed: Seed) -> Result<Dataset> {
    let task = pendulum::task(200);
    let mut episodes = Vec::new();
    for noise in [0.5, 1.0] {
        let behaviour = SwingUp::DETUNED.noisy(noise);
        let name = format!("logs with noise {noise}");
        let streams = &mut Streams::new(seed, &name);
        let part = collect(&Pendulum, &task, &behaviour, rows.div_ceil(400), streams)?;
        episodes.extend(part.to_episodes());
    }
    Ok(Dataset::from_episodes(episodes)?)
}
