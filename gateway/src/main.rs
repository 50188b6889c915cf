//! `atlas`, the executable. Everything is in the library beside it.

use std::process::ExitCode;

use atlas_gateway::commands::{self, Seams};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    commands::main(std::env::args_os(), Seams::production())
}
