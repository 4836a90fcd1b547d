//! The `stockade` program.

use std::process::ExitCode;

#[global_allocator]
static MEMORY: stockade_cli::Memory = stockade_cli::Memory::new();

fn main() -> ExitCode {
    stockade_cli::main()
}
