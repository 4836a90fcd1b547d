//! `cargo xtask`: what the project does to itself. Plain Rust, so that nothing but cargo is needed.

mod bench;
mod dist;
mod generate;
mod machine;
mod order;
mod process;
mod setup;
mod skips;
mod sources;
mod sys_steps;
mod tally;
mod test;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  setup                       install what the tests need (as root on Debian and Ubuntu),
                              or say what is missing
  test                        everything that guards a change: set-up, format, lints, source rules,
                              tests, generated files
  generate [--check]          write the schema, the man pages and the completions, or compare them
  dist                        build the binary as it is shipped, linked statically: target/dist/stockade
  bench [--quick] [--small] [--markdown] [--only PART]...
                              build as shipped and measure, against other sandboxes where there are any;
                              parts: start, rules, crowd, memory, broker, calls, tree, git, cargo, npm, pip, tar
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["setup"] => setup::for_tests().map(|()| ExitCode::SUCCESS),
        ["test"] => test::run(),
        ["generate"] => generate::write().map(|()| ExitCode::SUCCESS),
        ["generate", "--check"] => generate::check().map(|()| ExitCode::SUCCESS),
        ["dist"] => {
            println!("{}", dist::build()?.display());
            Ok(ExitCode::SUCCESS)
        }
        ["bench", options @ ..] => bench::run(options).map(|()| ExitCode::SUCCESS),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("unknown command `{}`\n\n{USAGE}", words.join(" ")),
    }
}
