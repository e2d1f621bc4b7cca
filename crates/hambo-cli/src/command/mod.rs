//! One file per command.

mod backtest;
mod convert;
mod demo;
mod evaluate;
mod explain;
mod fit;
mod init;
mod inspect;
mod learn;
mod plan;
mod rank;
mod report;

use clap::CommandFactory;

use crate::args::{Certify, Command, Config, Invocation};
use crate::config;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen;

pub(crate) fn run(invocation: &Invocation) -> Result<Exit> {
    let quiet = invocation.appearance.quiet;
    let progress = &Progress::new(quiet);
    match &invocation.command {
        Command::Demo(args) => demo::run(args, quiet, progress),
        Command::Inspect(args) => inspect::run(args, quiet, progress),
        Command::Init(args) => init::run(args, progress),
        Command::Convert(args) => convert::run(args, progress),
        Command::Fit(args) => fit::run(args, quiet, progress),
        Command::Evaluate(args) => {
            let (threshold, margin) = (None, None);
            let call = evaluate::Call { args, threshold, margin, words: &invocation.words };
            evaluate::run(&call, quiet, progress)
        }
        Command::Certify(args) => {
            let Certify { threshold, margin, exit_zero, evaluate: args } = args;
            let margin = args.bound.against.as_ref().map(|_| margin.unwrap_or(0.0));
            let call =
                evaluate::Call { args, threshold: *threshold, margin, words: &invocation.words };
            let exit = evaluate::run(&call, quiet, progress)?;
            Ok(if *exit_zero { Exit::Done } else { exit })
        }
        Command::Backtest(args) => backtest::run(args, quiet, progress),
        Command::Learn(args) => learn::run(args, quiet, progress),
        Command::Rank(args) => rank::run(args, &invocation.words, quiet, progress),
        Command::Plan(args) => plan::run(args, progress),
        Command::Report(args) => report::run(args, progress),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Config(Config::Schema) => print_schema(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Invocation::command(), "hambo", &mut script);
            screen::print(&String::from_utf8_lossy(&script))?;
            Ok(Exit::Done)
        }
        Command::Man { out: Some(out) } => {
            let failed = |error| Failure::io(out, "write the manual to it", &error);
            std::fs::create_dir_all(out).map_err(failed)?;
            clap_mangen::generate_to(Invocation::command(), out).map_err(failed)?;
            Ok(Exit::Done)
        }
        Command::Man { out: None } => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Invocation::command())
                .render(&mut page)
                .map_err(|error| Failure::Internal(format!("the manual page: {error}")))?;
            screen::print(&String::from_utf8_lossy(&page))?;
            Ok(Exit::Done)
        }
    }
}

fn print_schema() -> Result<Exit> {
    let schema = schemars::schema_for!(config::Config);
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::Internal(format!("the schema: {error}")))?;
    screen::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
