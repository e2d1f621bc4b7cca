//! Seconds per phase of a CA round on Pendulum: 1,000 episodes of 200 steps (K = 5, 4 x 256), then
//! 1,000 SAC steps of 1,024 rows. To be compared with another program in alternating runs.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use hambo::adversary::{AdversarySettings, Game, train_sac};
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Event, Model, ModelSettings, Result, Seed, Silent, Streams, collect};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 3;

fn main() -> Result<()> {
    let (seed, task) = (Seed(0), pendulum::task(200));
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let data = collect(&Pendulum, &task, &behaviour, 50, &mut Streams::new(seed, "logs"))?;
    let ensemble = EnsembleSettings { max_steps: 300, ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&data, &settings, seed, &Silent)?;

    let times = Mutex::new(Vec::new());
    let observer = |_: &Event| {
        times.lock().expect("one thread").push(Instant::now());
        ControlFlow::Continue(())
    };
    let game = Game {
        dynamics: &*model.dynamics,
        radius: &model.calibration.box_factors(),
        noise: true,
        task: &task,
        bounds: task.state_bounds.as_ref(),
        policy: &SwingUp::GOOD,
    };
    let settings =
        AdversarySettings { max_rounds: ROUNDS, patience: ROUNDS + 1, ..Default::default() };
    train_sac(&game, &settings, seed, &observer)?;

    // A round reports every twentieth of its gradient steps, then every step of its judging.
    let times = times.into_inner().expect("one thread");
    let reports = settings.gradient_steps / 20;
    for round in times.chunks_exact(reports + task.horizon) {
        let seconds = |from: usize, to: usize| (round[to] - round[from]).as_secs_f64();
        let gradient = seconds(0, reports - 1) * reports as f64 / (reports - 1) as f64;
        let steps = task.horizon as f64;
        let rollout = seconds(reports, reports + task.horizon - 1) * steps / (steps - 1.0);
        println!("rollouts {rollout:.2} s, gradient steps {gradient:.2} s");
    }
    Ok(())
}
