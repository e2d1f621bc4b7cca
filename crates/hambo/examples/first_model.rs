//! A first look: fit an ensemble to logs of a mediocre controller, and ask what it knows.

use std::ops::ControlFlow;

use hambo::calibration::TemperatureKind;
use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Calibration, Dynamics, Event, Result, Seed, Streams, Unseen, collect};
use ndarray::{Array2, Axis};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let seed = Seed(0);
    let task = pendulum::task(200);
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let logs = collect(&Pendulum, &task, &behaviour, 50, &mut Streams::new(seed, "logs"))?;
    let summary = logs.summary();
    println!(
        "logs: {} transitions in {} episodes, returns {:.0} to {:.0}",
        summary.rows, summary.episodes, summary.returns.min, summary.returns.max
    );

    let (train, rest) = logs.all().split(0.1, &mut seed.stream("calibration split"))?;
    let settings = EnsembleSettings { max_steps: Some(2000), ..Default::default() };
    let (model, report) = Ensemble::fit(&train, &settings, seed, &show_progress)?;
    println!("fit: {} steps, the parameters of step {} kept", report.steps, report.best_step);

    let calibration = Calibration::fit(&model, &Unseen::by_all(rest), TemperatureKind::PerOutput)?;
    println!(
        "calibration: error {:.4} before, {:.4} after; temperatures {:.2}",
        calibration.error_before, calibration.error_after, calibration.temperatures
    );

    println!("epistemic std of the next angular velocity, hanging down without torque:");
    for speed in [0.0, 4.0, 8.0, 12.0, 16.0] {
        let state = Array2::from_shape_vec((1, 3), vec![-1.0, 0.0, speed]).expect("three values");
        let prediction = model.predict(state.view(), Array2::zeros((1, 1)).view())?;
        let std = prediction.epistemic_std.index_axis(Axis(0), 0)[2];
        let note = if speed > pendulum::MAX_SPEED { "  (faster than any in the data)" } else { "" };
        println!("  at {speed:4.0} rad/s: {std:.4}{note}");
    }
    Ok(())
}

fn show_progress(event: &Event) -> ControlFlow<()> {
    if let (Some((name, value)), 0) = (event.metric, event.step % 500) {
        println!("  {} {} of {}: {name} {value:.2}", event.stage, event.step, event.of);
    }
    ControlFlow::Continue(())
}
