//! Panics of the libraries below.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs somebody else's code on somebody else's file, and turns a panic into its message.
///
/// The checks before it keep out what is known to make a library panic. This is the last resort for what
/// they miss: a file must never end the process of the one who reads it. Nothing that could be left half
/// changed may outlive a panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("no reason given").to_owned()
    })
}
