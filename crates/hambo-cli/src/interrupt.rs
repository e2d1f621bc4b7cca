//! Ctrl-C: the first one asks the work to stop, the second one ends it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Exit, Failure, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Listens to Ctrl-C and to requests to terminate.
pub(crate) fn listen() -> Result<()> {
    static LISTENING: AtomicBool = AtomicBool::new(false);
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let heard = || {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(heard)
        .map_err(|error| Failure::Internal(format!("cannot listen to Ctrl-C: {error}")))
}

pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// For stages that are not asked while they work.
pub(crate) fn check(stage: &str) -> Result<()> {
    match requested() {
        true => Err(Failure::Interrupted(format!("interrupted during {stage}"))),
        false => Ok(()),
    }
}
