//! What a sandbox costs: the start, many rules, many at once, memory, held system calls, everyday work. One
//! command, one table each, and at the end which promises were held in this run.
#![forbid(unsafe_code)]

mod broker;
mod calls;
mod columns;
mod crowd;
mod grounds;
mod inside;
mod library;
mod memory;
mod network;
mod options;
mod report;
mod rules;
mod start;
mod tools;
mod tree;
mod work;

use anyhow::Result;
use columns::Caller;
use grounds::Grounds;
use library::Library;
use options::Options;
use report::Report;
use std::process::ExitCode;
use tools::Tools;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((word, rest)) if word == inside::WORD => inside::main(rest),
        Some((word, rest)) if word == broker::WORD => broker::host(rest),
        Some((word, rest)) if word == network::WORD => network::client(rest),
        _ => Options::read(words.into_iter()).and_then(|options| run(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let (effort, scale) = (options.effort, options.scale);
    let tools = Tools::find()?;
    let grounds = Grounds::lay_out()?;
    let library = Library::open(&grounds)?;
    let caller = Caller::new(&grounds)?;
    let mut report = Report::new(options.format);
    report.condition(grounds.per_file);
    if options.wants("start") {
        start::measure(&tools, &library, &grounds, effort.start, &mut report);
    }
    if options.wants("rules") {
        rules::measure(&tools, &grounds, effort.rules, &mut report)?;
    }
    if options.wants("crowd") {
        crowd::measure(&tools, &library, &grounds, effort.crowd, &mut report);
    }
    if options.wants("memory") {
        memory::measure(&tools, &library, &grounds, &mut report);
    }
    if options.wants("broker") {
        broker::measure(&library, &grounds, effort.start, &mut report)?;
    }
    if options.wants("network") {
        network::measure(&tools, &grounds, effort.network, &mut report)?;
    }
    if options.wants("tree") {
        tree::measure(&tools, &caller, &grounds, effort.tree, scale.tree, &mut report)?;
    }
    let works = options.works();
    if !works.is_empty() {
        work::measure(&works, &caller, &grounds, effort.work, scale.work, &mut report)?;
    }
    // Last, because it removes files.
    if options.wants("calls") {
        calls::measure(&caller, &grounds, effort.calls, scale.calls, &mut report)?;
    }
    report.finish();
    Ok(())
}
