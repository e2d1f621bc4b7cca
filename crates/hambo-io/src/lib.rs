//! Everything of hambo that touches bytes.
//!
//! So far: saving and loading fitted models ([`model`]), and reports ([`report`]).

mod error;
pub mod model;
pub mod report;
mod verdict;

pub use error::{Error, Result};
pub use verdict::{Verdict, disqualifies};
