//! The `hambo` command, which the package brings as well.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command on the words of a command line, and returns its exit code.
///
/// It takes over the process's signals, as it does when it is a program of its own.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| hambo_cli::run(words))
}
