//! One program for all tests of the library: each further one would compile and link it again.
#![allow(clippy::unwrap_used)]

mod adversary;
mod backtest;
mod baselines;
mod baselines_linear;
mod common;
mod dataset;
mod determinism;
#[cfg(feature = "wgpu")]
mod devices;
mod evaluate;
mod evidence;
mod exogenous;
mod gp;
mod hallucination;
mod history;
mod learn;
mod learn_choices;
mod learn_opponents;
mod limits;
mod logged;
mod tasks;
mod verdict;
mod worlds;
