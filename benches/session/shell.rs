//! A shell without walls.

use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell that reads commands from a pipe and says when each is over, as agents use one without a sandbox.
pub(crate) struct BareShell {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl BareShell {
    pub(crate) fn start(workspace: &Path) -> Result<Self> {
        let mut child = Command::new("/bin/bash")
            .args(["--norc", "--noprofile"])
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = child.stdin.take().context("no way in")?;
        let answers = BufReader::new(child.stdout.take().context("no way out")?);
        Ok(Self { child, orders, answers })
    }

    pub(crate) fn run(&mut self, text: &str) -> Result<()> {
        self.orders.write_all(format!("{text}\necho \"over $? $PWD\"\n").as_bytes())?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer.starts_with("over 0 "), "it answered {answer:?}");
        Ok(())
    }
}

impl Drop for BareShell {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
