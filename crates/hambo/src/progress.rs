//! What a long stage tells its caller while it works, and how the caller stops it or lets it go on
//! after an interruption.

use std::ops::ControlFlow;

use crate::error::{BoxError, Error, Result};

/// One sign of life.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What is being done, such as `"fit"`.
    pub stage: &'static str,
    /// Steps done so far.
    pub step: usize,
    /// Steps at most; a stage may end earlier.
    pub of: usize,
    /// The number worth watching, with its name.
    pub metric: Option<(&'static str, f64)>,
}

/// Receives events, and may keep what was found.
pub trait Observer: Sync {
    /// Returning [`ControlFlow::Break`] cancels the work, which then ends in [`Error::Cancelled`].
    /// It is asked at least several times a second.
    fn observe(&self, event: &Event) -> ControlFlow<()>;

    /// What [`keep`](Self::keep) was given in an earlier evaluation that was interrupted, for the
    /// part of that name, such as `"return, CA"`. An evaluation asks before it begins a part. What
    /// was kept is good only for the same model, policy, task, settings and seed; whoever keeps it
    /// must see to that.
    fn recall(&self, _part: &str) -> Result<Option<Vec<u8>>, BoxError> {
        Ok(None)
    }

    /// What [`keep_half`](Self::keep_half) was given last, for the work of that name.
    fn recall_half(&self, _work: &str) -> Result<Option<Vec<u8>>, BoxError> {
        Ok(None)
    }

    /// Whether halves are kept: they take time to make.
    fn keeps_halves(&self) -> bool {
        false
    }

    /// Work of that name has come so far, and is not finished. Its name changes with everything that it depends
    /// on.
    fn keep_half(&self, _work: &str, _half: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }

    /// A part is finished: `found` is a [`Finding`](crate::Finding) as JSON.
    fn keep(&self, _part: &str, _found: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _event: &Event) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: Fn(&Event) -> ControlFlow<()> + Sync> Observer for F {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self(event)
    }
}

/// Reports `event` and turns a request to stop into an error.
pub(crate) fn report(observer: &dyn Observer, event: &Event) -> Result<()> {
    match observer.observe(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled { stage: event.stage, step: event.step }),
    }
}
