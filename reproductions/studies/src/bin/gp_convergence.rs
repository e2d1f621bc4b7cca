//! Gaussian process bounds approach the true return as data grows (the paper's `fig:gp_consistency`).
//!
//!     cargo run -p hambo-studies --bin gp_convergence -- pendulum|point_env [sizes] [first seed] [seeds] > gp.csv
//!
//! Data: single transitions at uniform states and actions. PointEnv with a proportional controller over
//! 30 steps, Pendulum with the good controller over 100, RBF kernels with learned hyper-parameters.
//! Both systems are free of noise and the model is told so; B is estimated. Everything is scaled so
//! that the true return (100,000 episodes) is 1: `1 - (J - value) / |J|`.

use std::time::Instant;

use hambo::AdversarySettings;
use hambo::dataset::Episode;
use hambo::dynamics::gp::GpSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::task::point_env::{self, PointEnv, Proportional};
use hambo::task::{Simulator, StateBounds, UniformPolicy};
use hambo::{
    Dataset, EvaluationSettings, Model, ModelSettings, Policy, Result, Seed, Silent, Streams, Task,
    collect, rollout,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A system, a policy for it, and data from everywhere.
struct Case {
    simulator: Box<dyn Simulator>,
    task: Task,
    policy: Box<dyn Policy>,
    everywhere: (Task, UniformPolicy),
}

impl Case {
    fn named(name: &str) -> Self {
        match name {
            "point_env" => Self {
                simulator: Box::new(PointEnv),
                task: point_env::task(30),
                policy: Box::new(Proportional::default()),
                everywhere: point_env::everywhere(),
            },
            _ => Self {
                simulator: Box::new(Pendulum),
                task: pendulum::task(100),
                policy: Box::new(SwingUp::GOOD),
                everywhere: pendulum::everywhere(),
            },
        }
    }

    fn true_return(&self) -> Result<f64> {
        let streams = &mut Streams::new(Seed(0), "truth");
        let (simulator, policy) = (&*self.simulator, &*self.policy);
        let returns =
            rollout::simulate(simulator, &self.task, policy, 100_000, streams, |_| Ok(()))?;
        Ok(returns.mean().expect("many episodes"))
    }

    fn model(&self, rows: usize, seed: Seed) -> Result<Model> {
        let (task, behaviour) = &self.everywhere;
        let streams = &mut Streams::new(seed, "logs");
        let data = collect(&*self.simulator, task, behaviour, 2 * rows, streams)?;
        let mut episodes = data.to_episodes();
        episodes.retain(|episode| !self.ends_on_a_bound(episode));
        episodes.truncate(rows);
        let data = Dataset::from_episodes(episodes)?;
        let gp = Some(GpSettings { deterministic: true, ..Default::default() });
        Model::fit(&data, &ModelSettings { gp, ..Default::default() }, seed, &Silent)
    }
}

impl Case {
    /// Whether a transition was stopped by a declared bound. Rollouts clamp to the bounds as well, so
    /// the model has to know only what would happen without them, which is smooth.
    fn ends_on_a_bound(&self, episode: &Episode) -> bool {
        let speed_limit = |bounds: &StateBounds| bounds.high()[bounds.high().len() - 1];
        let Some(limit) = self.task.state_bounds.as_ref().map(speed_limit) else { return false };
        episode.next_states.column(episode.next_states.ncols() - 1).iter().any(|s| s.abs() >= limit)
    }
}

fn settings() -> EvaluationSettings {
    let adversary = AdversarySettings {
        hidden: vec![64; 2],
        batch_size: 256,
        episodes: 200,
        gradient_steps: 500,
        ..Default::default()
    };
    EvaluationSettings { episodes: 2_000, adversary, ..Default::default() }
}

fn main() -> Result<()> {
    let text = |index: usize, default: &str| std::env::args().nth(index).unwrap_or(default.into());
    let number = |index, default| text(index, default).parse::<u64>().expect("a number");
    let name = text(1, "pendulum");
    let sizes: Vec<usize> = text(2, "50,100,150,200,300,500,1000")
        .split(',')
        .map(|size| size.parse().expect("a number"))
        .collect();
    let (first, count) = (number(3, "0"), number(4, "5"));

    let case = Case::named(&name);
    let truth = case.true_return()?;
    eprintln!("{name}: true return {truth:.2}");
    println!(
        "system,n,seed,bound,estimate,neutral,std_error,holds,radius,cost,rounds,converged,outside,\
         log10_worst_gap,seconds"
    );
    for seed in (first..first + count).map(Seed) {
        for &rows in &sizes {
            let begun = Instant::now();
            let model = case.model(rows, seed)?;
            let found = model.evaluate(&*case.policy, &case.task, &settings(), seed, &Silent)?;
            let scaled = |value: f64| 1.0 - (truth - value) / truth.abs();
            let (attacked, neutral) = (&found.variants[0], &found.variants[1]);
            let guarantee = found.guarantee.as_ref().expect("a Gaussian process has one");
            let radius = guarantee.confidence.radius.iter().copied().fold(0.0, f64::max);
            let costs = attacked.rounds.iter().map(|round| round.effect.mean / truth.abs());
            println!(
                "{name},{rows},{},{:.4},{:.4},{:.4},{:.4},{},{radius:.1},{:.4},{},{},{:.3},{:.0},{:.0}",
                seed.0,
                scaled(attacked.lower_bound),
                scaled(attacked.estimate.mean),
                scaled(neutral.estimate.mean),
                attacked.estimate.std_error / truth.abs(),
                attacked.lower_bound <= truth,
                costs.fold(0.0, f64::min),
                attacked.rounds.len(),
                attacked.converged == Some(true),
                attacked.went.outside_data,
                guarantee.log10_worst_gap.unwrap_or(f64::NEG_INFINITY),
                begun.elapsed().as_secs_f64(),
            );
        }
    }
    Ok(())
}
