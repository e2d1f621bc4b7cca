//! Work on all worlds at the same time.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::Result;
use crate::progress::{Event, Observer, report};

/// What `of` finds for each of so many, in their order. They are independent of each other, so that nothing depends on
/// who is first.
pub(crate) fn side_by_side<T: Send>(
    count: usize,
    of: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    (0..count).into_par_iter().with_max_len(1).map(&of).collect()
}

/// The steps of several rollouts, reported as those of one.
pub(crate) struct Steps<'a> {
    observer: &'a dyn Observer,
    stage: &'static str,
    of: usize,
    done: Mutex<usize>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, stage: &'static str, of: usize) -> Self {
        Self { observer, stage, of, done: Mutex::new(0) }
    }

    /// One more is done.
    pub(crate) fn report(&self) -> Result<()> {
        // Whoever watches never sees them go backwards.
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event { stage: self.stage, step: *done, of: self.of, metric: None };
        *done += 1;
        report(self.observer, &event)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn steps_of_all_are_counted_in_order() {
        let expected = AtomicUsize::new(0);
        let observer = |event: &Event| {
            assert_eq!((event.step, event.of), (expected.fetch_add(1, Ordering::SeqCst), 400));
            ControlFlow::Continue(())
        };
        let steps = Steps::new(&observer, "some stage", 400);
        let found = side_by_side(4, |index| {
            (0..100).try_for_each(|_| steps.report())?;
            Ok(index)
        });
        assert_eq!(found.unwrap(), [0, 1, 2, 3]);
        assert_eq!(expected.into_inner(), 400);
    }

    #[test]
    fn whoever_stops_stops_all() {
        let observer = |event: &Event| match event.step {
            150.. => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let steps = Steps::new(&observer, "some stage", 400);
        let found = side_by_side(4, |_| (0..100).try_for_each(|_| steps.report()));
        assert!(matches!(found, Err(Error::Cancelled { stage: "some stage", .. })), "{found:?}");
    }
}
