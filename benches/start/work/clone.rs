//! Cloning a repository of this machine.

use super::Task;
use crate::columns::{Caller, words};
use crate::grounds::{Grounds, scatter, scattered};
use anyhow::Result;
use std::path::Path;

pub(super) fn task(caller: &Caller, grounds: &Grounds, files: usize) -> Result<Task> {
    let source = grounds.place()?;
    scatter(&source.workspace, files, |number| format!("content of the file {number}\n").repeat(10))?;
    for step in [
        &["git", "init", "-q"][..],
        &["git", "add", "."],
        &["git", "-c", "user.name=N", "-c", "user.email=n@example.org", "commit", "-q", "-m", "all"],
        &["git", "repack", "-a", "-d", "-q"],
    ] {
        caller.set_up(&source, &words(step))?;
    }
    // Without links to the source's objects, which no wall lets through: all copy alike.
    let mut argv = words(&["git", "clone", "-q", "--no-hardlinks"]);
    argv.extend([source.workspace.into(), "copy".into()]);
    let made = scattered(Path::new("copy"), files - 1);
    Ok(Task { argv, ready: |_| Ok(()), made })
}
