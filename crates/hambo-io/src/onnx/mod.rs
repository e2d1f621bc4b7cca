//! Policies, rewards and terminations from ONNX files, run by tract.
//!
//! | file | inputs | outputs |
//! |---|---|---|
//! | [`OnnxPolicy`], deterministic | one, `[batch, d_s]` | `action`, or the only one: `[batch, d_a]` |
//! | [`OnnxPolicy`], Gaussian | one, `[batch, d_s]` | `mean`, and `log_std` or `std`: `[batch, d_a]` |
//! | [`OnnxReward`] | any of `state`, `action`, `next_state` | `reward`, or the only one: one value per row |
//! | [`OnnxTermination`] | the same | `terminated`, or the only one: true or false, 1 or 0, per row |
//!
//! All inputs are float32. Normalising, squashing and scaling belong into the graph: what it returns
//! is the action, and a Gaussian policy's sample is not clipped. The batch may be declared as
//! anything, also as 1, as long as no row's result depends on another row.
//!
//! Loading reads nothing but the one file, and checks all of it before the engine sees it. Rows are
//! run in chunks of a fixed size, the last one filled up, so that neither the number of rows nor the
//! number of threads changes a result. Another kind of processor may, in the last bits: the engine
//! chooses its kernels by it.

mod check;
mod engine;
mod error;
mod file;
mod functions;
mod network;
mod policy;
mod probe;
mod range;
mod shapes;
mod write;

pub use error::{OnnxError, OnnxProblem};
pub use functions::{OnnxReward, OnnxTermination};
pub use policy::OnnxPolicy;
pub use range::{ActionRangeNote, RangeDifference};
pub use write::write_policy;
