//! Unpacking an archive of small files.

use super::Task;
use crate::columns::{Caller, words};
use crate::grounds::{Grounds, scatter, scattered};
use anyhow::Result;
use std::path::Path;

/// As long as a small source file's beginning.
const LINES: usize = 10;

pub(super) fn task(caller: &Caller, grounds: &Grounds, files: usize) -> Result<Task> {
    let source = grounds.place()?;
    scatter(&source.workspace, files, |number| {
        format!("line of the file {number} in the archive\n").repeat(LINES)
    })?;
    let archive = grounds.store("archive")?.join("files.tar");
    let mut pack = words(&["tar", "cf"]);
    pack.extend([archive.clone().into(), "--sort=name".into(), ".".into()]);
    caller.set_up(&source, &pack)?;
    let mut argv = words(&["tar", "xf"]);
    argv.push(archive.into());
    let made = scattered(Path::new(""), files - 1);
    Ok(Task { argv, ready: |_| Ok(()), made })
}
