//! The logs have the last word: what a model keeps of them, and what they say against an evaluation.

mod behaviour;
mod episodes;
mod error_tree;
mod forgotten;
mod persistence;
mod sample;
mod second_opinion;
mod tensors;

pub use episodes::LoggedEpisodes;
pub use forgotten::Forgotten;
pub use persistence::Persistence;
pub use sample::{LoggedActions, LoggedSample};
pub(crate) use second_opinion::{BorrowedErrors, ErrorsOfOthers, Opinion};
