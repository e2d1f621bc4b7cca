//! One program for all tests of this crate: each further one would compile and link it again.
#![allow(clippy::unwrap_used)]

mod backtest;
mod broken;
mod expression;
mod first_contact;
mod learned;
mod model;
mod onnx;
mod onnx_broken;
mod onnx_builder;
mod read;
mod remote;
#[cfg(feature = "png")]
mod report;
