//! Everything of hambo that touches bytes.
//!
//! So far: saving and loading fitted models ([`model`]).

mod error;
pub mod model;

pub use error::{Error, Result};
