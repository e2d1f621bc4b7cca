//! Results that were found before.

use std::path::PathBuf;

use hambo_io::cache::{Cache, Entry};
use hambo_io::result::ResultDocument;
use pyo3::prelude::*;

use crate::errors::{Failure, not_json};

/// The result that depends on this alone, as JSON, if it was found before.
#[pyfunction]
pub(crate) fn cached(
    py: Python<'_>,
    folder: PathBuf,
    depends_on: &str,
) -> PyResult<Option<String>> {
    let found = entry(folder, depends_on).map_err(|failure| failure.raise(py))?.recall();
    let json = found.map(|found| serde_json::to_string(&found)).transpose();
    json.map_err(|error| Failure::internal(error).raise(py))
}

/// Keeps a result for the next time.
#[pyfunction]
pub(crate) fn cache(
    py: Python<'_>,
    folder: PathBuf,
    depends_on: &str,
    result: &str,
) -> PyResult<()> {
    let kept = || -> Result<(), Failure> {
        let document = ResultDocument::from_json(result.as_bytes()).map_err(Failure::internal)?;
        Ok(entry(folder, depends_on)?.keep(&document)?)
    };
    kept().map_err(|failure| failure.raise(py))
}

fn entry(folder: PathBuf, depends_on: &str) -> Result<Entry, Failure> {
    let depends_on: serde_json::Value =
        serde_json::from_str(depends_on).map_err(not_json("what a result depends on"))?;
    Ok(Cache::at(folder).entry(&depends_on)?)
}
