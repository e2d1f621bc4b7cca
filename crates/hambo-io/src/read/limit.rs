//! A damaged or hostile file may claim to hold more than any memory.

use std::path::Path;

use crate::error::{Error, Result};

/// So much may be claimed without question: compressed flags shrink a thousandfold, but are small.
const UNSUSPICIOUS_BYTES: u64 = 64 << 20;
/// Logged numbers do not compress further than this.
const LARGEST_RATIO: u64 = 200;

/// Refuses a claim of `declared` bytes that `stored` bytes cannot honour. `None` is more than a `u64`
/// can count.
pub(crate) fn check_claim(
    path: &Path,
    place: impl FnOnce() -> String,
    declared: Option<u64>,
    stored: u64,
) -> Result<()> {
    let declared = declared.unwrap_or(u64::MAX);
    if declared <= UNSUSPICIOUS_BYTES.max(stored.saturating_mul(LARGEST_RATIO)) {
        return Ok(());
    }
    Err(Error::Inflated { path: path.to_owned(), place: place(), declared, stored })
}

/// The product of dimensions and an element's size, `None` when it overflows.
pub(crate) fn bytes_of(shape: &[u64], element: u64) -> Option<u64> {
    shape.iter().try_fold(element, |product, &length| product.checked_mul(length))
}

/// The size of the file at `path`.
pub(crate) fn file_size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(Error::io(path, "look at the file"))?.len())
}
