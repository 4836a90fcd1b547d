//! The binary as it is shipped: linked statically, so that it runs on any Linux of its architecture and
//! starts without a dynamic loader, which is a tenth of a whole sandboxed run.

use crate::process::{cargo, run, target};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// Builds it; says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    let host = host()?;
    // With the target named, the flag reaches only what is shipped: procedural macros cannot be static.
    let mut build =
        cargo(["build", "--profile", "dist", "--quiet", "--package", "stockade-cli", "--target", &host]);
    run(build.env("RUSTFLAGS", "-C target-feature=+crt-static"))
        .context("the C library's static part may be missing (Fedora: glibc-static)")?;
    let made = target().join(&host).join("dist/stockade");
    let shipped = target().join("dist/stockade");
    std::fs::create_dir_all(target().join("dist")).context("target/dist")?;
    std::fs::copy(&made, &shipped).with_context(|| made.display().to_string())?;
    Ok(shipped)
}

fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV does not name its host")
}
