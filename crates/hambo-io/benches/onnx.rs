//! Rows per second of a policy in an ONNX file, in batches of a thousand.
//!
//! `cargo bench -p hambo-io --bench onnx -- policy.onnx 11 3` with the widths of states and actions; set
//! `RAYON_NUM_THREADS` to choose the number of threads.

use std::time::{Duration, Instant};

use hambo::task::Policy;
use hambo::{RowStreams, Seed};
use hambo_io::onnx::OnnxPolicy;
use ndarray::Array2;
use rand::RngExt;
use rand_distr::StandardNormal;

const BATCH: usize = 1000;

fn main() -> Result<(), hambo::BoxError> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [path, state_dim, action_dim] = &*arguments else {
        return Err("give a file, the width of a state and the width of an action".into());
    };
    let state_dim: usize = state_dim.parse()?;
    let started = Instant::now();
    let policy = OnnxPolicy::load(path, state_dim, action_dim.parse()?)?;
    println!("loaded and checked in {:.0} ms", started.elapsed().as_secs_f64() * 1e3);

    let mut rng = Seed(0).stream("bench");
    let states =
        Array2::from_shape_simple_fn((BATCH, state_dim), || rng.sample::<f32, _>(StandardNormal));
    // The median over batches, because others share the machine.
    let mut times: Vec<Duration> = Vec::new();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        let before = Instant::now();
        policy.act(states.view(), &mut RowStreams::new(&mut rng, states.nrows()))?;
        times.push(before.elapsed());
    }
    times.sort();
    let rate = |time: Duration| BATCH as f64 / time.as_secs_f64();
    println!(
        "{} threads, batches of {BATCH}: median {:.0} rows/s, best {:.0} rows/s, {} batches",
        rayon::current_num_threads(),
        rate(times[times.len() / 2]),
        rate(times[0]),
        times.len()
    );
    Ok(())
}
