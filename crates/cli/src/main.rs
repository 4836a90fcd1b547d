//! The `stockade` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    stockade_cli::main()
}
