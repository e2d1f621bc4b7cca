//! What can be typed after `hambo rank`.

use std::path::PathBuf;

use clap::Args;

use super::{BoundFlags, Settings};
use crate::shard::Shard;

#[derive(Debug, Args)]
pub(crate) struct Rank {
    /// Model that `hambo fit` has written
    #[arg(long, value_name = "MODEL", required_unless_present = "merge")]
    pub model: Option<PathBuf>,

    /// Policies as ONNX files
    #[arg(long, value_name = "P.onnx", num_args = 1.., required_unless_present = "merge")]
    pub policies: Vec<PathBuf>,

    /// True returns to compare with, as CSV with the columns `policy` and `return`
    #[arg(long = "true", value_name = "RETURNS.csv")]
    pub truth: Option<PathBuf>,

    #[command(flatten)]
    pub bound: BoundFlags,

    /// Evaluate every policy; of ten or more, those that earn clearly less than another one in every
    /// world are otherwise left out
    #[arg(long)]
    pub all: bool,

    /// Let each bound fail with --delta; otherwise they share it, and all hold together
    #[arg(long)]
    pub separate: bool,

    /// Keep one run per policy in this directory, for `hambo report` and for --resume
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Go on with the runs in --out that were interrupted
    #[arg(long, requires = "out")]
    pub resume: bool,

    /// Look here for what was found before about the same policy, model, task and settings, and
    /// keep here what is found
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Evaluate every N-th policy only, beginning with the I-th, and keep it in --out for --merge
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with_all = ["truth", "report", "json"])]
    pub shard: Option<Shard>,

    /// Rank what all shards have kept in these directories; nothing is evaluated
    #[arg(
        long,
        value_name = "DIR",
        num_args = 1..,
        conflicts_with_all = ["model", "policies", "all", "separate", "out", "cache", "BoundFlags", "Settings"]
    )]
    pub merge: Vec<PathBuf>,

    /// Write a page about all of them
    #[arg(long, value_name = "F.html")]
    pub report: Option<PathBuf>,

    /// Write the ranking as JSON
    #[arg(long, value_name = "F")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub settings: Settings,
}
