//! Do the bounds hold on Pendulum, and how tight are they?
//!
//!     cargo run -p hambo-studies --bin pendulum_bound -- [n] [horizons] [first seed] [seeds] > bounds.csv
//!
//! Data: n transitions of the detuned controller, half with torque noise 0.5 and half with 1.0.
//! Policy: the good controller, which is not in the data. One model is fitted per seed and serves all
//! horizons, which are separated by commas. Everything is scaled so that the true return (100,000
//! episodes of the true dynamics) is 1: `1 - (J - value) / |J|`. `cost` is what the adversary took
//! from the neutral return in its best round, on common random numbers.

use std::time::Instant;

use hambo::AdversarySettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    Dataset, Evaluation, EvaluationSettings, Model, ModelSettings, Result, Seed, Silent, Streams,
    Variant, collect, rollout,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let text = |index: usize, default: &str| std::env::args().nth(index).unwrap_or(default.into());
    let number = |index, default| text(index, default).parse().expect("a number");
    let rows: usize = number(1, "10000");
    let horizons: Vec<usize> =
        text(2, "200").split(',').map(|horizon| horizon.parse().expect("a number")).collect();
    let (first, count) = (number(3, "0"), number(4, "5"));

    let mut truths = Vec::new();
    for &horizon in &horizons {
        truths.push(true_return(horizon)?);
        eprintln!("T = {horizon}, true return {:.2}", truths[truths.len() - 1]);
    }
    println!(
        "n,T,seed,variant,bound,estimate,std_error,holds,cost,cost_error,rounds,converged,outside,\
         seconds"
    );
    for seed in first..first + count {
        let seed = Seed(seed as u64);
        let data = mediocre_logs(rows, seed)?;
        let begun = Instant::now();
        let model = Model::fit(&data, &ModelSettings::default(), seed, &Silent)?;
        eprintln!("n = {rows}, seed {}: fitted in {} s", seed.0, begun.elapsed().as_secs());
        for (&horizon, &truth) in horizons.iter().zip(&truths) {
            let task = pendulum::task(horizon);
            let settings = settings();
            let found = model.evaluate(&SwingUp::GOOD, &task, &settings, seed, &Silent)?;
            print_rows(&format!("{rows},{horizon},{}", seed.0), &found, truth);
        }
    }
    Ok(())
}

fn true_return(horizon: usize) -> Result<f64> {
    let streams = &mut Streams::new(Seed(0), "truth");
    let (task, policy) = (pendulum::task(horizon), SwingUp::GOOD);
    let returns = rollout::simulate(&Pendulum, &task, &policy, 100_000, streams, |_| Ok(()))?;
    Ok(returns.mean().expect("many episodes"))
}

fn settings() -> EvaluationSettings {
    use Variant::{Ca, Da1, DaInf, Ds, Ts1, TsInf};
    let variants = vec![Ca, Da1, DaInf, Ds, Ts1, TsInf];
    // Less than the defaults (10,000 episodes, batches of 1,024): thirty evaluations take hours.
    let adversary = AdversarySettings { batch_size: 256, ..Default::default() };
    EvaluationSettings { variants, episodes: 2_000, adversary, ..Default::default() }
}

fn print_rows(setting: &str, found: &Evaluation, truth: f64) {
    let scaled = |value: f64| 1.0 - (truth - value) / truth.abs();
    for result in &found.variants {
        let best = result.rounds.iter().min_by(|a, b| a.effect.mean.total_cmp(&b.effect.mean));
        println!(
            "{setting},{},{:.4},{:.4},{:.4},{},{:.4},{:.4},{},{},{:.4},{:.0}",
            result.variant,
            scaled(result.lower_bound),
            scaled(result.estimate.mean),
            result.estimate.std_error / truth.abs(),
            result.lower_bound <= truth,
            best.map_or(0.0, |round| round.effect.mean / truth.abs()),
            best.map_or(0.0, |round| round.effect.std_error / truth.abs()),
            result.rounds.len(),
            result.converged.map_or("-".into(), |converged| converged.to_string()),
            result.went.outside_data,
            found.timings[&format!("return: {}", result.variant)],
        );
    }
    for warning in &found.warnings {
        eprintln!("{setting}: warning: {warning}");
    }
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
