//! Everything of hambo that touches bytes.
//!
//! - [`read`]: logged data from Minari, D4RL-style HDF5, Parquet, Arrow, CSV and NPZ files
//! - [`store`]: data larger than memory, converted once and then mapped
//! - [`inspect`]: what is in a file, and what is likely wrong with it
//! - [`profile`]: the columns of a table that nobody has explained yet
//! - [`onnx`]: policies, rewards and terminations from ONNX files
//! - [`expression`]: rewards and terminations as text over named columns
//! - [`task`]: a task's parts from text
//! - [`model`]: fitted models as directories
//! - [`result`]: an evaluation as a JSON document
//! - [`report`]: an evaluation as a page to read
//! - [`cache`]: results that were found before
//! - [`checkpoints`]: work that was interrupted
//! - [`atomic`]: files that are there as a whole or not at all

pub mod atomic;
pub mod cache;
pub mod checkpoints;
mod error;
pub mod expression;
mod guard;
pub mod inspect;
mod mapped;
pub mod model;
pub mod onnx;
pub mod profile;
pub mod read;
mod remote;
pub mod report;
pub mod result;
pub mod store;
pub mod task;

pub use error::{Error, Result};
