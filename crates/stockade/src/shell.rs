//! The words a process is started with.

use std::ffi::OsString;
use std::path::Path;
use stockade_policy::CommandLine;

/// The shell that commands are given to.
pub(crate) fn program() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

/// A program and its arguments; shell text is given to bash where there is one.
pub(crate) fn argv(command: &CommandLine) -> Vec<OsString> {
    match command {
        CommandLine::Argv(words) => words.clone(),
        CommandLine::Shell(text) => {
            vec![program().into(), "-c".into(), text.clone()]
        }
    }
}
