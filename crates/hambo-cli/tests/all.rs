//! One program for all tests of the command: each further one would compile and link it again.

mod baselines;
mod common;
mod learn;
mod many;
mod modules;
mod run;
mod transcripts;
