//! Long work on a thread of its own, served by the thread that asked for it.
//!
//! The worker knows nothing of Python. When it needs a Python function it sends a question and waits;
//! the calling thread answers, and otherwise waits without the interpreter's lock and looks for signals.
//! Hence Ctrl-C works during any computation, however long, and functions run where they were given:
//! in the caller's thread, with its context variables and with what `torch.no_grad()` set there.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use hambo::{BoxError, Event, Observer};
use hambo_io::checkpoints::Checkpoints;
use ndarray::{Array2, ArrayD};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::Failure;

/// Between two looks for signals.
const LOOK_FOR_SIGNALS: Duration = Duration::from_millis(50);
/// Between two signs of life of one stage.
const REPORT_PROGRESS: Duration = Duration::from_millis(100);
/// How long a worker that was told to stop is waited for. Then it is left to find out by itself.
const WAIT_FOR_WORKER: Duration = Duration::from_millis(300);

/// The process in which the module was imported, and with it the threads of rayon's own pool.
static IMPORTED_IN: OnceLock<u32> = OnceLock::new();

pub(crate) fn remember_process() {
    IMPORTED_IN.get_or_init(std::process::id);
}

/// What a Python function is given.
pub(crate) enum Arguments {
    Batches(Vec<Array2<f32>>),
    Draw { count: usize, seed: u64 },
}

/// Where the worker asks and reports.
#[derive(Clone)]
pub(crate) struct Desk {
    requests: Sender<Question>,
    stop: Arc<AtomicBool>,
    reported: Arc<Mutex<Reported>>,
    /// Where what was found is kept, if anywhere, and the name of the evaluation.
    kept: Option<(Checkpoints, String)>,
}

/// When the last event was passed on, of which stage, and of which part of an evaluation.
struct Reported {
    at: Instant,
    stage: &'static str,
    part: Option<String>,
}

/// What a worker says. The result has no type here, so that a desk has none either.
enum Question {
    Call { function: usize, arguments: Arguments, reply: SyncSender<Option<ArrayD<f32>>> },
    Progress(Event, Option<String>),
    Done(Box<dyn Any + Send>),
}

impl Desk {
    /// Calls one of the functions that [`run`] was given.
    pub(crate) fn call(
        &self,
        function: usize,
        arguments: Arguments,
    ) -> Result<ArrayD<f32>, BoxError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let asked = self.requests.send(Question::Call { function, arguments, reply });
        let answer = asked.ok().and_then(|()| answer.recv().ok().flatten());
        // Whatever the function raised is kept by the caller, who raises it again.
        answer.ok_or_else(|| "it was stopped".into())
    }

    /// The same desk, which keeps what was found under a name.
    pub(crate) fn keeping(&self, folder: Option<&Path>, name: String) -> Self {
        let kept = folder.map(|folder| (Checkpoints::at(folder), name));
        Self { kept, ..self.clone() }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Observer for Desk {
    fn observe(&self, event: &Event) -> std::ops::ControlFlow<()> {
        if self.is_stopped() {
            return std::ops::ControlFlow::Break(());
        }
        if let Ok(mut reported) = self.reported.lock() {
            let now = Instant::now();
            if event.stage != reported.stage || now.duration_since(reported.at) > REPORT_PROGRESS {
                (reported.at, reported.stage) = (now, event.stage);
                // Nobody listens when nobody asked for progress any more.
                let part = reported.part.clone();
                let _ = self.requests.send(Question::Progress(event.clone(), part));
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    fn recall(&self, part: &str) -> Result<Option<Vec<u8>>, BoxError> {
        if let Ok(mut reported) = self.reported.lock() {
            reported.part = Some(part.into());
        }
        let Some((checkpoints, name)) = &self.kept else { return Ok(None) };
        Ok(checkpoints.recall(&format!("{part} {name}"))?)
    }

    fn keep(&self, part: &str, found: &[u8]) -> Result<(), BoxError> {
        let Some((checkpoints, name)) = &self.kept else { return Ok(()) };
        Ok(checkpoints.keep(&format!("{part} {name}"), found)?)
    }

    fn recall_half(&self, work: &str) -> Result<Option<Vec<u8>>, BoxError> {
        let Some((checkpoints, _)) = &self.kept else { return Ok(None) };
        Ok(checkpoints.recall(work)?)
    }

    fn keeps_halves(&self) -> bool {
        self.kept.is_some()
    }

    fn keep_half(&self, work: &str, half: &[u8]) -> Result<(), BoxError> {
        let Some((checkpoints, _)) = &self.kept else { return Ok(()) };
        Ok(checkpoints.keep(work, half)?)
    }
}

/// How work is done.
#[derive(Default)]
pub(crate) struct Manner<'a, 'py> {
    /// Who is told of events.
    pub(crate) progress: Option<&'a Bound<'py, PyAny>>,
    /// How many threads compute; all cores if nobody says.
    pub(crate) threads: Option<usize>,
}

/// Runs `job` on a thread of its own. `functions` are what it may call.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    functions: &[Bound<'_, PyAny>],
    Manner { progress, threads }: Manner<'_, '_>,
    job: impl FnOnce(&Desk) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (requests, questions) = mpsc::channel();
    let questions = Mutex::new(questions);
    let stop = Arc::new(AtomicBool::new(false));
    let desk = Desk {
        requests: requests.clone(),
        stop: stop.clone(),
        reported: Arc::new(Mutex::new(Reported { at: Instant::now(), stage: "", part: None })),
        kept: None,
    };
    let job = move || -> Farewell {
        let result = catch_unwind(AssertUnwindSafe(|| in_threads(threads, || job(&desk))));
        Box::new(move || drop(requests.send(Question::Done(Box::new(result)))))
    };
    hand_to_worker(Box::new(job)).map_err(|error| Failure::new("HamboError", error).raise(py))?;

    let mut raised: Option<(PyErr, Instant)> = None;
    loop {
        let question = py.detach(|| match questions.lock() {
            Ok(questions) => questions.recv_timeout(LOOK_FOR_SIGNALS),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        let mut failed = None;
        match question {
            Ok(Question::Done(result)) => {
                return match raised {
                    Some((error, _)) => Err(error),
                    None => finish(py, result),
                };
            }
            Ok(Question::Call { reply, .. }) if raised.is_some() => drop(reply),
            Ok(Question::Call { function, arguments, reply }) => {
                match answer(py, functions, function, arguments) {
                    Ok(answer) => drop(reply.send(Some(answer))),
                    Err(error) => failed = Some(error),
                }
            }
            Ok(Question::Progress(event, part)) if raised.is_none() => {
                failed = progress.and_then(|progress| report(progress, &event, part).err());
            }
            Ok(Question::Progress(..)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::internal("the worker has vanished").raise(py));
            }
        }
        match &raised {
            Some((error, since)) if since.elapsed() > WAIT_FOR_WORKER => {
                return Err(error.clone_ref(py));
            }
            Some(_) => {}
            None => {
                if let Some(error) = failed.or_else(|| py.check_signals().err()) {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some((error, Instant::now()));
                }
            }
        }
    }
}

/// What a worker does, and what it says when it is free again.
type Job = Box<dyn FnOnce() -> Farewell + Send>;
type Farewell = Box<dyn FnOnce() + Send>;

/// Workers without work, and the process they live in. A thread keeps memory that it has used, so it is
/// better to use the same one again.
static IDLE: Mutex<(u32, Vec<Sender<Job>>)> = Mutex::new((0, Vec::new()));
const MOST_IDLE: usize = 4;

fn hand_to_worker(mut job: Job) -> std::io::Result<()> {
    while let Some(worker) = with_idle(Vec::pop).flatten() {
        match worker.send(job) {
            Ok(()) => return Ok(()),
            Err(unsent) => job = unsent.0,
        }
    }
    let (own, jobs) = mpsc::channel::<Job>();
    let work = move || {
        let mut next = Some(job);
        while let Some(job) = next {
            let farewell = job();
            let stays = with_idle(|idle| {
                let room = idle.len() < MOST_IDLE;
                if room {
                    idle.push(own.clone());
                }
                room
            });
            farewell();
            next = if stays == Some(true) { jobs.recv().ok() } else { None };
        }
    };
    let thread = std::thread::Builder::new().name("hambo".into()).stack_size(16 << 20);
    thread.spawn(work).map(drop)
}

fn with_idle<R>(look: impl FnOnce(&mut Vec<Sender<Job>>) -> R) -> Option<R> {
    let mut idle = IDLE.lock().ok()?;
    // A forked process has none of its parent's threads.
    if idle.0 != std::process::id() {
        *idle = (std::process::id(), Vec::new());
    }
    Some(look(&mut idle.1))
}

fn finish<T: Send + 'static>(py: Python<'_>, result: Box<dyn Any + Send>) -> PyResult<T> {
    let result = result.downcast::<std::thread::Result<Result<T, Failure>>>();
    match result.map(|result| *result) {
        Ok(Ok(result)) => result.map_err(|failure| failure.raise(py)),
        Ok(Err(panic)) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Err(Failure::internal(text.unwrap_or_default()).raise(py))
        }
        Err(_) => Err(Failure::internal("a result of another type").raise(py)),
    }
}

/// A forked process has none of its parent's threads, so rayon's own pool would wait for ever there.
fn in_threads<R: Send>(threads: Option<usize>, job: impl FnOnce() -> R + Send) -> R {
    if threads.is_none() && IMPORTED_IN.get() == Some(&std::process::id()) {
        return job();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build() {
        Ok(pool) => pool.install(job),
        Err(_) => job(),
    }
}

fn answer(
    py: Python<'_>,
    functions: &[Bound<'_, PyAny>],
    function: usize,
    arguments: Arguments,
) -> PyResult<ArrayD<f32>> {
    let arguments = match arguments {
        Arguments::Batches(batches) => {
            PyTuple::new(py, batches.into_iter().map(|batch| batch.into_pyarray(py)))?
        }
        Arguments::Draw { count, seed } => (count, seed).into_pyobject(py)?,
    };
    let found = functions[function].call1(arguments)?;
    // The package's own wrappers see to it that this is what comes back.
    let found = found.cast_into::<PyArrayDyn<f32>>().map_err(PyErr::from)?;
    Ok(found.to_owned_array())
}

fn report(progress: &Bound<'_, PyAny>, event: &Event, part: Option<String>) -> PyResult<()> {
    progress.call1((event.stage, event.step, event.of, event.metric, part)).map(drop)
}
