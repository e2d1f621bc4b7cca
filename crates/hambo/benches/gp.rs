//! What a Gaussian process costs beside its algebra: a fit over the bare Cholesky factorisation of the
//! same size, a prediction over the bare triangular solve, in one run. Not in turns: faer's own threads
//! hold on to rayon's for a while, and would slow down what follows.
//!
//!     cargo bench -p hambo --bench gp

use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par, Spec};
use hambo::dynamics::gp::Regression;
use hambo::dynamics::kernel::{Kernel, KernelKind};
use hambo::{Result, Seed};
use ndarray::{Array1, Array2};
use rand::RngExt;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TURNS: usize = 15;

fn main() -> Result<()> {
    println!("threads: {}", rayon::current_num_threads());
    fit(2000, 4)?;
    predict(1000, 4, 10_000)
}

fn uniform(rows: usize, columns: usize, name: &str) -> Array2<f64> {
    let mut rng = Seed(0).stream(name);
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(-2.0..2.0))
}

fn regression(rows: usize, inputs: usize) -> Result<Regression> {
    let x = uniform(rows, inputs, "inputs");
    let y: Array1<f64> = x.rows().into_iter().map(|x| x.mapv(f64::sin).sum()).collect();
    let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 1.0, inputs);
    Regression::fit(kernel, 1e-4, x.view(), y.view())
}

/// A well-conditioned matrix without denormal numbers.
fn matrix(rows: usize) -> Mat<f64> {
    Mat::from_fn(rows, rows, |i, j| if i == j { 2.0 } else { 0.5 / (1.0 + i.abs_diff(j) as f64) })
}

fn fit(rows: usize, inputs: usize) -> Result<()> {
    let ours = median_seconds(
        || (),
        |()| {
            regression(rows, inputs).expect("positive definite");
        },
    );
    let bare = matrix(rows);
    let theirs = [Par::Seq, Par::rayon(0)].map(|par| {
        let scratch = cholesky_in_place_scratch::<f64>(rows, par, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        median_seconds(
            || bare.clone(),
            |mut factor| {
                let (stack, spec) = (MemStack::new(&mut memory), Spec::default());
                cholesky_in_place(factor.as_mut(), Default::default(), par, stack, spec)
                    .expect("positive definite");
            },
        )
    });
    report("fit", ours, theirs);
    Ok(())
}

fn predict(rows: usize, inputs: usize, points: usize) -> Result<()> {
    let model = regression(rows, inputs)?;
    let at = uniform(points, inputs, "points");
    let ours = median_seconds(
        || (),
        |()| {
            std::hint::black_box(model.predict(at.view()));
        },
    );
    let lower = matrix(rows);
    let right = Mat::<f64>::from_fn(rows, points, |i, j| ((i * 7 + j) % 13) as f64);
    let theirs = [Par::Seq, Par::rayon(0)].map(|par| {
        median_seconds(
            || right.clone(),
            |mut solved| solve_lower_triangular_in_place(lower.as_ref(), solved.as_mut(), par),
        )
    });
    report("predict", ours, theirs);
    Ok(())
}

fn median_seconds<P>(prepare: impl Fn() -> P, mut work: impl FnMut(P)) -> f64 {
    let mut times: Vec<f64> = (0..TURNS)
        .map(|_| {
            let prepared = prepare();
            let begun = Instant::now();
            work(prepared);
            begun.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times[TURNS / 2]
}

/// Over the faster of one thread and all threads.
fn report(what: &str, ours: f64, theirs: [f64; 2]) {
    let best = theirs[0].min(theirs[1]);
    let [ours_ms, one, all] = [ours, theirs[0], theirs[1]].map(|seconds| 1e3 * seconds);
    println!(
        "{what}: {ours_ms:.1} ms; bare {one:.1} ms, {all:.1} ms on all threads: {:.2}",
        ours / best
    );
}
