//! One seed, one answer: not the number of threads, nor the run, changes a bit.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    BoxError, Dynamics, Error, EvaluationSettings, Event, LearnAgainst, LearnSettings, Model,
    ModelSettings, Observer, Prediction, Seed, Silent, Streams, collect,
};

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
            EnsembleSettings { max_steps: Some(12), evaluate_every: 5, ..Default::default() };
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

/// Stops a fit or learning at a step, and remembers how far it had come.
struct Interrupted {
    at: Option<usize>,
    half: Mutex<HashMap<String, Vec<u8>>>,
    first: Mutex<Option<usize>>,
}

impl Observer for Interrupted {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        if event.stage == "replay" {
            return ControlFlow::Continue(());
        }
        self.first.lock().unwrap().get_or_insert(event.step);
        if Some(event.step) == self.at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn recall_half(&self, work: &str) -> Result<Option<Vec<u8>>, BoxError> {
        Ok(self.half.lock().unwrap().get(work).cloned())
    }

    fn keeps_halves(&self) -> bool {
        true
    }

    fn keep_half(&self, work: &str, half: &[u8]) -> Result<(), BoxError> {
        self.half.lock().unwrap().insert(work.into(), half.to_vec());
        Ok(())
    }
}

#[test]
fn a_fit_that_was_interrupted_goes_on_and_ends_with_the_same_bits() {
    let seed = Seed(11);
    let (task, behaviour) = (pendulum::task(100), SwingUp::DETUNED.noisy(0.5));
    let logs = collect(&Pendulum, &task, &behaviour, 20, &mut Streams::new(seed, "logs")).unwrap();
    let settings = EnsembleSettings {
        hidden: vec![16],
        max_steps: Some(60),
        evaluate_every: 4,
        ..EnsembleSettings::default()
    };
    let fit = |observer: &dyn Observer| {
        let (model, report) = Ensemble::fit(&logs.all(), &settings, seed, observer)?;
        hambo::Result::Ok((model.networks().to_safetensors(), report))
    };
    let whole = fit(&Silent).unwrap();
    let mut observer =
        Interrupted { at: Some(50), half: Mutex::new(HashMap::new()), first: Mutex::new(None) };
    assert!(matches!(fit(&observer), Err(Error::Cancelled { step: 50, .. })));
    observer.at = None;
    *observer.first.lock().unwrap() = None;
    assert!(fit(&observer).unwrap() == whole, "another result than in one go");
    // It was kept where it was stopped, and not at the last fifth look.
    assert_eq!(*observer.first.lock().unwrap(), Some(51));

    // Other data, settings or seeds begin anew.
    *observer.first.lock().unwrap() = None;
    let other = Ensemble::fit(&logs.all(), &settings, Seed(12), &observer);
    assert!(other.is_ok());
    assert_eq!(*observer.first.lock().unwrap(), Some(1));
}

#[test]
fn learning_that_was_interrupted_goes_on_and_ends_with_the_same_bits() {
    let seed = Seed(11);
    let (task, behaviour) = (pendulum::task(20), SwingUp::DETUNED.noisy(0.5));
    let logs = collect(&Pendulum, &task, &behaviour, 20, &mut Streams::new(seed, "logs")).unwrap();
    let ensemble = EnsembleSettings {
        hidden: vec![16],
        members: 3,
        max_steps: Some(60),
        ..EnsembleSettings::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent).unwrap();
    let evaluation = EvaluationSettings::default();
    use LearnAgainst::{Ca, Da1, Logs, Mopo, Worlds};
    let ways = [(Logs, None), (Worlds, None), (Ca, None), (Da1, Some(4)), (Mopo, None)];
    for (against, branch) in ways {
        let settings = LearnSettings {
            against,
            branch,
            hidden: vec![8],
            clone_steps: 50,
            batch_size: 32,
            episodes: 5,
            gradient_steps: 20,
            judged_episodes: 4,
            // Less than there are steps, so that old ones are forgotten.
            replay_capacity: 150,
            max_rounds: 4,
            ..Default::default()
        };
        let learn = |observer: &dyn Observer| {
            let learned = model.learn(&task, &settings, &evaluation, seed, observer)?;
            hambo::Result::Ok((learned.policy.parts(), learned.rounds))
        };
        let whole = learn(&Silent).unwrap();
        let mut observer =
            Interrupted { at: Some(3), half: Mutex::new(HashMap::new()), first: Mutex::new(None) };
        assert!(matches!(learn(&observer), Err(Error::Cancelled { step: 3, .. })));
        observer.at = Some(2);
        // It does not come by the second round again.
        assert!(learn(&observer).unwrap() == whole, "{against:?}: another result than in one go");
    }
}
