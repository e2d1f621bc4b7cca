//! One seed, one answer: not the number of threads, nor the run, changes a bit.
#![allow(clippy::unwrap_used)]

use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Dynamics, Prediction, Seed, Silent, Streams, collect};

/// Parameters and predictions of a fit inside a pool of `threads` threads. The networks have the
/// default width, so that every product and every pass is large enough to be split.
fn fit(threads: usize, kernel_spans_members: bool) -> (Vec<u8>, Prediction) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let seed = Seed(11);
        let task = pendulum::task(100);
        let behaviour = SwingUp::DETUNED.noisy(0.5);
        let logs =
            collect(&Pendulum, &task, &behaviour, 20, &mut Streams::new(seed, "logs")).unwrap();
        let mut settings =
            EnsembleSettings { max_steps: 12, evaluate_every: 5, ..Default::default() };
        if kernel_spans_members {
            settings.kernel = hambo::dynamics::SteinKernel::Median;
        }
        let (model, _) = Ensemble::fit(&logs.all(), &settings, seed, &Silent).unwrap();
        let prediction = model.predict(logs.states(), logs.actions()).unwrap();
        (model.networks().to_safetensors(), prediction)
    })
}

#[test]
fn same_seed_same_bits_on_one_and_two_threads_and_across_runs() {
    for kernel_spans_members in [false, true] {
        let one = fit(1, kernel_spans_members);
        assert!(one == fit(2, kernel_spans_members), "two threads differ from one");
        assert!(one == fit(1, kernel_spans_members), "a second run differs");
        assert!(one == fit(3, kernel_spans_members), "three threads differ from one");
    }
}
