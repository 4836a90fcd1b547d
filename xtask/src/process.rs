//! Running other programs, and saying which one failed.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |named| root().join(named))
}

/// The cargo that runs us, in the repository.
pub(crate) fn cargo<I, A>(arguments: I) -> Command
where
    I: IntoIterator<Item = A>,
    A: AsRef<OsStr>,
{
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// How a command is written in a message.
pub(crate) fn written(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command on our own terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let text = written(command);
    let status = command.status().with_context(|| format!("could not start `{text}`"))?;
    if !status.success() {
        bail!("`{text}` failed ({status})");
    }
    Ok(())
}

/// Runs a command without a word; its output becomes part of the error if it fails.
pub(crate) fn quietly(command: &mut Command) -> Result<()> {
    let text = written(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{text}`"))?;
    if !output.status.success() {
        let said =
            String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
        bail!("`{text}` failed ({})\n{}", output.status, said.trim_end());
    }
    Ok(())
}
