//! The attacker. `probe ACT ARGS...` tries one act with as few system calls as it can and prints exactly
//! one line: `ok [detail]` or `errno ENAME`. The status is 0 in both cases, so that a wall that kills is
//! seen as a different status. `probe batch` reads acts from standard input and answers a line each.
//!
//! Details are words separated by spaces; bytes that would break a line or a word are percent-escaped.

mod answer;
mod batch;
mod faults;
mod files;
mod kept;
mod kernel;
mod naming;
mod network;
mod opened;
mod processes;
mod race;
mod sockets;
mod swaps;
mod sys;
mod turning;
mod view;

use answer::{Answer, Args, Failure};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// A caller's mistake, told apart from every status a wall could cause.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "batch") {
        return batch::run();
    }
    match attempt(&words) {
        Ok(detail) => say(&answer::line(&Ok(detail))),
        Err(Failure::Errno(number)) => say(&answer::line(&Err(Failure::Errno(number)))),
        Err(Failure::Usage(what)) => {
            eprintln!("probe: {what}");
            ExitCode::from(USAGE)
        }
    }
}

/// Finds the room that knows the act, and tries it there.
fn attempt(words: &[OsString]) -> Answer {
    let Some((act, rest)) = words.split_first() else {
        return Err(Failure::Usage("no act".into()));
    };
    let act = act.to_string_lossy();
    let args = Args(rest);
    files::act(&act, &args)
        .or_else(|| sockets::act(&act, &args))
        .or_else(|| network::act(&act, &args))
        .or_else(|| kernel::act(&act, &args))
        .or_else(|| processes::act(&act, &args))
        .or_else(|| view::act(&act, &args))
        .or_else(|| race::act(&act, &args))
        .or_else(|| naming::act(&act, &args))
        .or_else(|| swaps::act(&act, &args))
        .or_else(|| faults::act(&act, &args))
        .or_else(|| opened::act(&act, &args))
        .or_else(|| turning::act(&act, &args))
        .or_else(|| kept::act(&act, &args))
        .unwrap_or_else(|| Err(Failure::Usage(format!("unknown act {act}"))))
}

fn say(line: &str) -> ExitCode {
    let mut out = std::io::stdout();
    // A closed descriptor 1 is a situation the tests make on purpose.
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(USAGE + 1),
    }
}
