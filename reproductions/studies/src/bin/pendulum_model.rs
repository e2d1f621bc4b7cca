//! How good is the ensemble on Pendulum? Five seeds of 10,000 transitions from a mediocre, noisy
//! controller; judged on fresh episodes of the same controller.
//!
//! - error: one-step RMSE over the standard deviation of the state difference
//! - gap: epistemic std where |angular velocity| is in [6, 8], after that region was removed from
//!   the data, over the epistemic std inside the remaining data
//! - temperature: what calibration multiplies the std by

use hambo::calibration::TemperatureKind;
use hambo::dataset::{Dataset, Episode, Subset, Target};
use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Calibration, Dynamics, Result, Seed, Silent, Streams, Unseen, collect};
use ndarray::{Array1, Axis};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EPISODES: usize = 50;
const SPEED: usize = 2;
const REMOVED: std::ops::RangeInclusive<f32> = 6.0..=8.0;

fn main() -> Result<()> {
    println!("seed  error %: cos, sin, speed   gap: cos, sin, speed   temperature    steps");
    for seed in 0..5 {
        study(Seed(seed))?;
    }
    Ok(())
}

fn study(seed: Seed) -> Result<()> {
    let task = pendulum::task(200);
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let logs = collect(&Pendulum, &task, &behaviour, EPISODES, &mut Streams::new(seed, "logs"))?;
    let fresh = collect(&Pendulum, &task, &behaviour, EPISODES, &mut Streams::new(seed, "fresh"))?;

    let (train, rest) = logs.all().split(0.1, &mut seed.stream("calibration split"))?;
    let (model, report) = Ensemble::fit(&train, &EnsembleSettings::default(), seed, &Silent)?;
    let calibration = Calibration::fit(&model, &Unseen::by_all(rest), TemperatureKind::PerOutput)?;
    let error = relative_error(&model, &fresh.all())?;

    let slow = without_fast_rows(&logs)?;
    let (slow_model, _) = Ensemble::fit(&slow.all(), &EnsembleSettings::default(), seed, &Silent)?;
    let gap = uncertainty_in_the_gap(&slow_model, &fresh)?;

    let list = |values: &Array1<f32>, digits: usize| {
        values.iter().map(|value| format!("{value:7.digits$}")).collect::<String>()
    };
    println!(
        "{:4}  {}     {}  {}  {}",
        seed.0,
        list(&(error * 100.0), 2),
        list(&gap, 1),
        list(&calibration.temperatures, 2),
        report.best_step
    );
    Ok(())
}

/// RMSE of the mean over the standard deviation of the target, per state column.
fn relative_error(model: &Ensemble, data: &Subset<'_>) -> Result<Array1<f32>> {
    let batch = data.slice(0, data.rows());
    let prediction = model.predict(batch.states.view(), batch.actions.view())?;
    let squares = (prediction.mean - &batch.next_states).mapv(|error| error * error);
    let rmse = squares.mean_axis(Axis(0)).expect("the data has rows").mapv(f32::sqrt);
    Ok(rmse / batch.targets(Target::Difference, batch.states.ncols(), false).std_axis(Axis(0), 0.0))
}

/// Mean epistemic std on fast rows over that on the others.
fn uncertainty_in_the_gap(model: &Ensemble, data: &Dataset) -> Result<Array1<f32>> {
    let prediction = model.predict(data.states(), data.actions())?;
    let mean_of = |fast: bool| {
        let rows: Vec<usize> = (0..data.rows()).filter(|&row| is_fast(data, row) == fast).collect();
        prediction.epistemic_std.select(Axis(0), &rows).mean_axis(Axis(0)).expect("both exist")
    };
    Ok(mean_of(true) / mean_of(false))
}

fn is_fast(data: &Dataset, row: usize) -> bool {
    REMOVED.contains(&data.states()[[row, SPEED]].abs())
}

/// The logs without fast rows; what is left of an episode becomes several.
fn without_fast_rows(data: &Dataset) -> Result<Dataset> {
    let mut episodes = Vec::new();
    for span in data.episodes() {
        let slow: Vec<usize> = span.rows.clone().filter(|&row| !is_fast(data, row)).collect();
        for run in slow.chunk_by(|a, b| a + 1 == *b) {
            let batch = data.gather(run);
            episodes.push(Episode {
                states: batch.states,
                actions: batch.actions,
                rewards: batch.rewards,
                next_states: batch.next_states,
                terminated: false,
                truncated: true,
            });
        }
    }
    Ok(Dataset::from_episodes(episodes)?)
}
