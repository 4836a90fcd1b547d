//! Many acts in one process: a line of percent-escaped words each, a line of answer each.

use crate::answer::{line, unescape};
use crate::attempt;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

pub(crate) fn run() -> ExitCode {
    match answer_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("probe: batch: {error}");
            ExitCode::from(crate::USAGE)
        }
    }
}

fn answer_all() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for asked in io::stdin().lock().split(b'\n') {
        let asked = asked?;
        let words: Vec<OsString> = asked.split(|byte| *byte == b' ').map(unescape).collect();
        writeln!(out, "{}", line(&attempt(&words)))?;
    }
    out.flush()
}
