//! One small evaluation on Pendulum, to see which bounds a change moves.
//!
//!     cargo run -p hambo-studies --bin pendulum_defects -- [first seed] [seeds] > bounds.csv
//!
//! 10^4 transitions of mediocre controllers, T = 200, networks of 2 x 64, short rounds: half a minute
//! a seed. Bounds are scaled so that the true return is 1: `1 - (J - bound) / |J|`.

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    AdversarySettings, Dataset, EvaluationSettings, Model, ModelSettings, Result, Seed, Silent,
    Streams, Variant, collect, rollout,
};

/// Training allocates much, and the system's allocator halves its speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HORIZON: usize = 200;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>().unwrap_or(0));
    let (first, seeds) = (arguments.next().unwrap_or(0), arguments.next().unwrap_or(1));
    let task = pendulum::task(HORIZON);
    let streams = &mut Streams::new(Seed(0), "truth");
    let returns =
        rollout::simulate(&Pendulum, &task, &SwingUp::GOOD, 100_000, streams, |_| Ok(()))?;
    let truth = returns.mean().unwrap_or(f64::NAN);
    println!("seed,variant,bound,estimate,scaled_bound,rounds,outside_data,warnings");
    for seed in (first..first + seeds).map(Seed) {
        let mut episodes = Vec::new();
        for noise in [0.5, 1.0] {
            let behaviour = SwingUp::DETUNED.noisy(noise);
            let streams = &mut Streams::new(seed, &format!("logs with noise {noise}"));
            episodes.extend(collect(&Pendulum, &task, &behaviour, 25, streams)?.to_episodes());
        }
        let logs = Dataset::from_episodes(episodes)?;
        let ensemble = EnsembleSettings {
            hidden: vec![64; 2],
            max_steps: Some(3_000),
            learn_reward: true,
            ..Default::default()
        };
        let settings = ModelSettings { ensemble, ..Default::default() };
        let model = Model::fit(&logs, &settings, seed, &Silent)?;
        let settings = EvaluationSettings {
            variants: vec![Variant::Ca, Variant::Da1, Variant::DaInf, Variant::Ds, Variant::Ts1],
            episodes: 2_000,
            cost_episodes: 0,
            adversary: AdversarySettings {
                hidden: vec![64; 2],
                batch_size: 256,
                episodes: 300,
                gradient_steps: 300,
                ..Default::default()
            },
            ..Default::default()
        };
        // The reward is learned, too, so that what happens to it shows.
        let task = hambo::Task { reward: None, ..task.clone() };
        let found = model.evaluate(&SwingUp::GOOD, &task, &settings, seed, &Silent)?;
        let mut codes: Vec<&str> = found.warnings.iter().map(hambo::Warning::code).collect();
        codes.dedup();
        for result in &found.variants {
            println!(
                "{},{},{:.3},{:.3},{:.4},{},{:.4},{}",
                seed.0,
                result.variant,
                result.lower_bound,
                result.estimate.mean,
                1.0 - (truth - result.lower_bound) / truth.abs(),
                result.rounds.len(),
                result.went.outside_data,
                codes.join(" "),
            );
        }
    }
    Ok(())
}
