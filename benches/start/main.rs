//! What a sandbox costs: the start, many rules, many at once, memory. One command, one table each, and at
//! the end which promises were held in this run.
#![forbid(unsafe_code)]

mod crowd;
mod grounds;
mod library;
mod memory;
mod report;
mod rules;
mod start;
mod tools;

use anyhow::Result;
use grounds::Grounds;
use library::Library;
use report::Report;
use std::process::ExitCode;
use stockade_bench::Format;
use tools::Tools;

/// How many rounds each part takes.
#[derive(Clone, Copy, Debug)]
struct Effort {
    start: usize,
    rules: usize,
    crowd: usize,
}

const FULL: Effort = Effort { start: 200, rules: 20, crowd: 7 };
const QUICK: Effort = Effort { start: 30, rules: 4, crowd: 2 };

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut effort = FULL;
    let mut format = Format::Text;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => effort = QUICK,
            "--markdown" => format = Format::Markdown,
            // Cargo says so to every benchmark.
            "--bench" => {}
            unknown => anyhow::bail!("unknown option `{unknown}` (there are --quick and --markdown)"),
        }
    }

    let tools = Tools::find()?;
    let grounds = Grounds::lay_out()?;
    let library = Library::open(&grounds)?;
    let mut report = Report::new(format);
    start::measure(&tools, &library, &grounds, effort.start, &mut report);
    rules::measure(&tools, &grounds, effort.rules, &mut report)?;
    crowd::measure(&tools, &library, &grounds, effort.crowd, &mut report);
    memory::measure(&tools, &library, &grounds, &mut report);
    report.finish();
    Ok(())
}
