//! The binary as it is shipped: linked statically, so that it runs on any Linux of its architecture and
//! starts without a dynamic loader, which is a tenth of a whole sandboxed run. It can be loaded anywhere, and
//! its seventeen thousand addresses are kept as a bitmap, which is read in no time.
//!
//! With musl where its target is installed: the GNU C library asks the processor about itself at every start, which
//! virtual machines answer slowly (a twentieth of a run), and its static form still wants shared parts of the very
//! same version to look up names.
//!
//! It is linked twice, the second time with what a start runs in one place (`order`): scattered over the whole
//! program, the kernel has to bring in six times as many pages.

use crate::order;
use crate::process::{cargo, quietly, run, target};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const STATIC: &str = "-C target-feature=+crt-static";
const PACKED: &str = "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs";

/// Builds it; says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    let host = host()?;
    let musl = host.replace("-gnu", "-musl");
    let has_musl = has_target(&musl) && crate::machine::has_program("musl-gcc");
    if !has_musl {
        eprintln!(
            "dist: built with the GNU C library; a quicker binary needs `rustup target add {musl}` and musl-gcc \
             (Debian: musl-tools)"
        );
    }
    let aim = if has_musl { &musl } else { &host };
    let made = target().join(aim).join("dist/stockade");
    let mut flags = PACKED;
    build_with(flags, aim, &[])?;
    // A C library before glibc 2.36 or musl 1.2.4 leaves packed addresses as they are.
    if !starts(&made) {
        flags = STATIC;
        build_with(flags, aim, &[])?;
    }
    let place = target().join("dist");
    std::fs::create_dir_all(&place).context("target/dist")?;
    let shipped = place.join("stockade");
    strip(&made, &shipped)?;
    match order::of(&made, &place, &host) {
        Ok(arguments) => {
            build_with(flags, aim, &arguments)?;
            if starts(&made) {
                strip(&made, &shipped)?;
            }
        }
        Err(why) => eprintln!("dist: what a start runs is not in one place, which makes it slower: {why:#}"),
    }
    Ok(shipped)
}

/// Builds it with its symbols; `more` is for the linker's last step alone, so that nothing else is built again.
fn build_with(flags: &str, aim: &str, more: &[String]) -> Result<()> {
    // With the target named, the flags reach only what is shipped: procedural macros cannot be static.
    let mut build = cargo(["rustc", "--profile", "dist", "--quiet", "--config", "profile.dist.strip=false"]);
    build.args(["--package", "stockade-cli", "--bin", "stockade", "--target", aim, "--"]).args(more);
    if aim.ends_with("-musl") {
        build.env(format!("CC_{}", aim.replace('-', "_")), "musl-gcc");
    }
    run(build.env("RUSTFLAGS", flags))
        .context("the C library's static part may be missing (Fedora: glibc-static)")
}

fn strip(made: &Path, shipped: &Path) -> Result<()> {
    quietly(Command::new("strip").arg("-o").args([shipped, made]))
}

/// Whether the standard library is there for a target.
fn has_target(name: &str) -> bool {
    let said = Command::new("rustc").args(["--print", "target-libdir", "--target", name]).output();
    said.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_dir())
}

fn starts(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success())
}

fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV does not name its host")
}
