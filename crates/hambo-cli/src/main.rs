//! The `hambo` command: from logs and a policy to a lower bound on its return, a verdict and an exit
//! code.
//!
//! `args` says what can be typed, `config` what can be set in `hambo.toml`; every command has a file of
//! its own in `command`.

mod args;
mod atomic;
mod command;
mod config;
mod describe;
mod failure;
mod interrupt;
mod json;
mod origin;
mod progress;
mod run;
mod screen;
mod source;
mod task;

use std::process::ExitCode;

use args::Invocation;
use failure::Exit;

/// Training allocates much, and the system's allocator halves its speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let invocation = Invocation::read();
    failure::report_panics();
    let done = std::panic::catch_unwind(|| {
        interrupt::listen()?;
        command::run(&invocation)
    });
    match done {
        Ok(Ok(exit)) => exit.code(),
        Ok(Err(failure)) => {
            screen::failure(&failure);
            failure.exit().code()
        }
        // The hook has said what happened.
        Err(_) => Exit::Internal.code(),
    }
}
