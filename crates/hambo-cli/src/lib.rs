//! The `hambo` command: from logs and a policy to a lower bound on its return, a verdict and an exit
//! code.
//!
//! `args` says what can be typed, `config` what can be set in `hambo.toml`; every command has a file of
//! its own in `command`. It is a library, so that the Python package can bring the same command.

mod args;
mod assess;
mod command;
mod config;
mod describe;
mod failure;
mod halves;
mod interrupt;
mod logs;
mod opinions;
mod progress;
mod run;
mod screen;
mod shard;
mod task;

use std::ffi::OsString;

use args::Invocation;
use failure::Exit;

pub use failure::Failure;

/// Does what the words of a command line ask for, the first of which is the command's own name, and
/// returns the exit code.
///
/// It listens to the process's signals, reports panics in its own way, and prints: it is meant to be all
/// that the process does.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let invocation = match Invocation::read(words.into_iter().collect()) {
        Ok(invocation) => invocation,
        // Help or a mistake.
        Err(instead) => {
            // Nobody is left to tell if this fails.
            let _ = instead.print();
            return u8::try_from(instead.exit_code()).unwrap_or(Exit::Input as u8);
        }
    };
    failure::report_panics();
    let done = std::panic::catch_unwind(|| {
        interrupt::listen()?;
        command::run(&invocation)
    });
    let exit = match done {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => {
            screen::failure(&failure);
            failure.exit()
        }
        // The hook has said what happened.
        Err(_) => Exit::Internal,
    };
    exit as u8
}
