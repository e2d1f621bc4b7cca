//! What a long stage tells its caller while it works, and how the caller stops it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// One sign of life.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What is being done, such as `"fit"`.
    pub stage: &'static str,
    /// Steps done so far.
    pub step: usize,
    /// Steps at the most; a stage may end earlier.
    pub of: usize,
    /// The number worth watching, with its name.
    pub metric: Option<(&'static str, f64)>,
}

/// Receives events. Returning [`ControlFlow::Break`] cancels the work, which then ends in
/// [`Error::Cancelled`]. It is asked at least several times a second.
pub trait Observer: Sync {
    fn observe(&self, event: &Event) -> ControlFlow<()>;
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
