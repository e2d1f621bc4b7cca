//! Seconds per phase of a CA round on Pendulum: 1,000 episodes of 200 steps (K = 5, 4 x 256) while
//! exploring, 300 SAC steps of 1,024 rows, and the same episodes twice for judging. To be compared with
//! another program in alternating runs (`python/benchmarks/round_speed.py`).

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hambo::AdversarySettings;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::internals::{Game, Noise, train_sac};
use hambo::rollout::Limits;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    Activation, BoxError, Event, Model, ModelSettings, Policy, Result, Seed, Silent, Streams,
    collect,
};
use ndarray::{Array2, ArrayView2};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 2;

/// Tells rollouts from gradient steps: only rollouts ask a policy.
struct Asked(AtomicBool);

impl Policy for Asked {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut hambo::rng::RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        self.0.store(true, Ordering::Relaxed);
        SwingUp::GOOD.act(states, draws)
    }
}

/// Seconds of one round.
#[derive(Default, Clone, Copy)]
struct Phases {
    exploring: f64,
    gradient: f64,
    judging: f64,
}

fn main() -> Result<()> {
    let (seed, task) = (Seed(0), pendulum::task(200));
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let data = collect(&Pendulum, &task, &behaviour, 50, &mut Streams::new(seed, "logs"))?;
    // The paper's networks.
    let ensemble = EnsembleSettings {
        members: 5,
        activation: Activation::Relu,
        random_functions: 0.0,
        max_steps: Some(300),
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&data, &settings, seed, &Silent)?;

    let policy = Asked(AtomicBool::new(false));
    let clock = Mutex::new((Instant::now(), [Phases::default(); ROUNDS]));
    // The time since the report before belongs to a rollout if the policy was asked meanwhile. So
    // the last four gradient steps of a round, which end without a report, count as judging.
    let observer = |event: &Event| {
        let (last, rounds) = &mut *clock.lock().expect("one thread");
        let seconds = last.elapsed().as_secs_f64();
        *last = Instant::now();
        let round = &mut rounds[event.step];
        match (policy.0.swap(false, Ordering::Relaxed), round.gradient > 0.0) {
            (false, _) => round.gradient += seconds,
            (true, false) => round.exploring += seconds,
            (true, true) => round.judging += seconds,
        }
        ControlFlow::Continue(())
    };
    let game = Game {
        dynamics: &*model.dynamics,
        radius: &model.calibration.box_factors(),
        noise: Noise::Gaussian,
        task: &task,
        limits: Limits { states: task.state_bounds.as_ref(), ..Limits::default() },
        policy: &policy,
        exogenous: None,
        history: None,
    };
    let settings = AdversarySettings {
        gradient_steps: 300,
        max_rounds: ROUNDS,
        patience: ROUNDS + 1,
        ..Default::default()
    };
    train_sac(&game, &settings, seed, &observer)?;

    // The first round's exploring holds the neutral rollouts as well.
    for round in &clock.into_inner().expect("one thread").1[1..] {
        let Phases { exploring, gradient, judging } = round;
        println!(
            "exploring {exploring:.2} s, gradient steps {gradient:.2} s, judging {judging:.2} s"
        );
    }
    Ok(())
}
