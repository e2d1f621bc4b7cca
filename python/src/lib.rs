//! The native half of the Python package: `hambo._native`.
//!
//! It is private. What users see is written in Python, in the folder `hambo`; here are only the doors
//! to the Rust crates, which take and give plain values, arrays and JSON.

mod arrow;
mod baselines;
mod cache;
mod columns;
mod command;
mod dataset;
mod errors;
mod evaluate;
mod learn;
mod model;
mod parts;
mod rank;
mod work;

use mimalloc::MiMalloc;

/// Training allocates much: with the system's allocator it takes half as long again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::baselines::baselines;
    #[pymodule_export]
    use super::cache::{cache, cached};
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::dataset::Dataset;
    #[pymodule_export]
    use super::evaluate::{
        backtest, backtest_parts, check_evaluation, decimals, default_settings, evaluate,
        how_close, ranking_html, report_html, simulate, verdict,
    };
    #[pymodule_export]
    use super::learn::learn;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::rank::{dominated, look, ranking};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::work::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
