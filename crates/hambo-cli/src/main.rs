//! The `hambo` command as a program of its own.

use std::process::ExitCode;

/// Training allocates much, and the system's allocator halves its speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(hambo_cli::run(std::env::args_os()))
}
