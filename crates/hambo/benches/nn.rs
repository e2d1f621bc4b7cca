//! Speed of the networks, as shares of the best bare float32 product available here.
//!
//! All figures come from one run, in turns, because a shared machine changes its speed:
//! - product: five products 1000 x 256 x 256, by gemm and by faer, on all threads
//! - forward: the ensemble (K = 5, 23-256x4-34) on 1,000 rows
//! - training step: one full SVGD step of `Ensemble::fit` on 1,024 rows: gathering the mini-batch,
//!   forward, backward, Stein direction, Adam

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use hambo::Device;
use hambo::dataset::Episode;
use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
use hambo::internals::{Layout, Mlps, tensor};
use hambo::{Dataset, Event, Result, Seed};
use ndarray::{Array1, Array2, s};
use rand::RngExt;
use rand_distr::StandardNormal;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEMBERS: usize = 5;
const STATE_DIM: usize = 17;
const ACTION_DIM: usize = 6;
const BATCH: usize = 1024;
const TURNS: usize = 150;

fn main() -> Result<()> {
    let layout = Layout::new(STATE_DIM + ACTION_DIM, &[256; 4], 2 * STATE_DIM);
    let networks =
        Mlps::random(layout.clone(), MEMBERS, Device::Cpu, &mut Seed(0).stream("networks"));
    let inputs = tensor(normal(1000, STATE_DIM + ACTION_DIM).view());
    let flops_per_row = (MEMBERS * layout.flops_per_row()) as f64;

    let product = Mutex::new(Product::new());
    let forward = || drop(networks.outputs(inputs.clone()));
    let state = Mutex::new((Instant::now(), Seconds::default()));
    // The fit calls this after each of its steps; the other measurements take turns with it.
    let observer = |_: &Event| {
        let mut guard = state.lock().expect("one thread");
        let (since, seconds) = &mut *guard;
        seconds.step.push(since.elapsed().as_secs_f64());
        let mut product = product.lock().expect("one thread");
        seconds.gemm.push(time(|| product.gemm()));
        seconds.faer.push(time(|| product.faer()));
        seconds.forward.push(time(forward));
        *since = Instant::now();
        ControlFlow::Continue(())
    };
    let settings = EnsembleSettings {
        members: MEMBERS,
        batch_size: BATCH,
        max_steps: Some(TURNS),
        evaluate_every: TURNS,
        ..Default::default()
    };
    Ensemble::fit(&walk()?.all(), &settings, Seed(0), &observer)?;

    let (_, seconds) = state.into_inner().expect("one thread");
    let product_flops = 5.0 * 2.0 * 1000.0 * 256.0 * 256.0;
    let gemm = product_flops / median(seconds.gemm) / 1e9;
    let faer = product_flops / median(seconds.faer) / 1e9;
    let best = gemm.max(faer);
    let show = |name: &str, speed: f64| {
        println!("{name:<22} {speed:6.1} GFLOP/s  {:5.1} %", 100.0 * speed / best);
    };
    println!("{} threads, medians of {TURNS} turns", rayon::current_num_threads());
    show("product, gemm", gemm);
    show("product, faer", faer);
    show("forward", flops_per_row * 1000.0 / median(seconds.forward) / 1e9);
    show("training step", 3.0 * flops_per_row * BATCH as f64 / median(seconds.step) / 1e9);
    Ok(())
}

#[derive(Default)]
struct Seconds {
    gemm: Vec<f64>,
    faer: Vec<f64>,
    forward: Vec<f64>,
    step: Vec<f64>,
}

/// Seconds per call, after a first call that warms the caches.
fn time(mut work: impl FnMut()) -> f64 {
    const CALLS: u32 = 4;
    work();
    let start = Instant::now();
    (0..CALLS).for_each(|_| work());
    start.elapsed().as_secs_f64() / f64::from(CALLS)
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn normal(rows: usize, columns: usize) -> Array2<f32> {
    let mut rng = Seed(0).stream("numbers");
    Array2::from_shape_simple_fn((rows, columns), || rng.sample(StandardNormal))
}

/// Random walks with the dimensions of HalfCheetah.
fn walk() -> Result<Dataset> {
    let episodes = (0..20).map(|_| {
        let mut states = normal(501, STATE_DIM);
        states.accumulate_axis_inplace(ndarray::Axis(0), |previous, next| *next += 0.1 * previous);
        Episode {
            states: states.slice(s![..500, ..]).to_owned(),
            next_states: states.slice(s![1.., ..]).to_owned(),
            actions: normal(500, ACTION_DIM),
            rewards: Array1::zeros(500),
            terminated: false,
            truncated: true,
        }
    });
    Ok(Dataset::from_episodes(episodes.collect())?)
}

/// The bare product: five times `[1000, 256] x [256, 256]`.
struct Product {
    inputs: Array2<f32>,
    weights: Array2<f32>,
    outputs: Array2<f32>,
}

impl Product {
    fn new() -> Self {
        Self {
            inputs: normal(5 * 1000, 256),
            weights: normal(5 * 256, 256),
            outputs: Array2::zeros((5 * 1000, 256)),
        }
    }

    /// The five factor pairs and where each product goes.
    fn parts(&mut self) -> impl Iterator<Item = (&[f32], &[f32], &mut [f32])> {
        let inputs = self.inputs.as_slice().expect("row-major").chunks(1000 * 256);
        let weights = self.weights.as_slice().expect("row-major").chunks(256 * 256);
        let outputs = self.outputs.as_slice_mut().expect("row-major").chunks_mut(1000 * 256);
        inputs.zip(weights).zip(outputs).map(|((x, w), y)| (x, w, y))
    }

    fn faer(&mut self) {
        for (inputs, weights, outputs) in self.parts() {
            matmul(
                MatMut::from_row_major_slice_mut(outputs, 1000, 256),
                Accum::Replace,
                MatRef::from_row_major_slice(inputs, 1000, 256),
                MatRef::from_row_major_slice(weights, 256, 256),
                1.0,
                Par::rayon(0),
            );
        }
    }

    #[allow(unsafe_code)]
    fn gemm(&mut self) {
        for (inputs, weights, outputs) in self.parts() {
            // SAFETY: the slices hold 1000 x 256, 256 x 256 and 1000 x 256 values, row by row, and
            // strides are given as (columns, rows).
            unsafe {
                gemm::gemm(
                    1000,
                    256,
                    256,
                    outputs.as_mut_ptr(),
                    1,
                    256,
                    false,
                    inputs.as_ptr(),
                    1,
                    256,
                    weights.as_ptr(),
                    1,
                    256,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::Rayon(0),
                );
            }
        }
    }
}
