//! What the tests and the benchmark need from the machine, fetched only where it is missing.

use crate::{machine, process};
use anyhow::{Context, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The comparison in the benchmark is with this release; another one would move the ratios silently.
const SRT: &str = "@anthropic-ai/sandbox-runtime@0.0.83";

/// How long another package manager may keep us waiting.
const LOCK_PATIENCE: Duration = Duration::from_secs(300);

/// Something the machine has to have.
struct Need {
    package: &'static str,
    present: fn() -> bool,
}

const TESTS: &[Need] = &[
    Need { package: "bubblewrap", present: || machine::has_program("bwrap") },
    Need { package: "ripgrep", present: || machine::has_program("rg") },
    Need { package: "tmux", present: || machine::has_program("tmux") },
    Need { package: "git", present: || machine::has_program("git") },
    Need { package: "make", present: || machine::has_program("make") },
    Need { package: "python3", present: || machine::has_program("python3") },
    Need { package: "python3-venv", present: || machine::python_has("venv, ensurepip") },
    Need { package: "python3-pip", present: || machine::python_has("pip") },
    Need { package: "strace", present: || machine::has_program("strace") },
    Need { package: "acl", present: || machine::has_program("setfacl") },
    Need { package: "rsync", present: || machine::has_program("rsync") },
    Need { package: "nodejs", present: || machine::has_program("node") },
    Need { package: "npm", present: || machine::has_program("npm") },
    Need { package: "gcc", present: || machine::has_program("gcc") },
    Need { package: "iproute2", present: || has_system_program("ip") },
    Need { package: "curl", present: || machine::has_program("curl") },
    Need { package: "openssl", present: || machine::has_program("openssl") },
    Need { package: "bind9-dnsutils", present: || machine::has_program("dig") },
    Need { package: "openssh-client", present: || machine::has_program("ssh") },
    Need { package: "openssh-server", present: || has_system_program("sshd") },
    Need { package: "redis-tools", present: || machine::has_program("redis-cli") },
    Need { package: "redis-server", present: || machine::has_program("redis-server") },
    Need { package: "postgresql", present: has_postgresql },
    Need { package: "golang-go", present: || machine::has_program("go") },
];

const PEERS: &[Need] = &[
    Need { package: "bubblewrap", present: || machine::has_program("bwrap") },
    Need { package: "ripgrep", present: || machine::has_program("rg") },
    Need { package: "socat", present: || machine::has_program("socat") },
    Need { package: "nodejs", present: || machine::has_program("node") },
    Need { package: "npm", present: || machine::has_program("npm") },
    Need { package: "musl-tools", present: || machine::has_program("musl-gcc") },
];

/// Makes the machine fit for the tests, or says what it lacks.
pub(crate) fn for_tests() -> Result<()> {
    provide(TESTS);
    Ok(())
}

/// Makes the other sandboxes of the benchmark available; the ones that cannot be had are left out there.
pub(crate) fn for_bench() -> Option<PathBuf> {
    provide(PEERS);
    let directory = process::target().join("peers");
    match install_srt(&directory) {
        Ok(program) => Some(program),
        Err(error) => {
            eprintln!("setup: srt is left out of the comparison: {error:#}");
            None
        }
    }
}

/// A missing package never stops us: the tests that need it say so by name.
fn provide(needs: &[Need]) {
    let missing = missing(needs);
    if missing.is_empty() {
        return;
    }
    let names = missing.join(" ");
    if machine::is_root() && machine::has_apt() {
        eprintln!("setup: installing {names}");
        match install(&missing) {
            Ok(()) => {}
            Err(error) => eprintln!("setup: {error:#}\nsetup: going on without {names}"),
        }
    } else if machine::has_apt() {
        eprintln!("setup: missing: {names}\nsetup: to have every test run: sudo apt-get install {names}");
    } else {
        eprintln!(
            "setup: missing (names as Debian has them): {names}\nsetup: tests that need them are skipped"
        );
    }
}

fn missing(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().filter(|need| !(need.present)()).map(|need| need.package).collect()
}

/// Whether a program is there that ordinary users often do not have on their PATH.
fn has_system_program(name: &str) -> bool {
    machine::has_program(name) || ["/usr/sbin", "/sbin"].iter().any(|dir| Path::new(dir).join(name).exists())
}

/// The server is kept off the PATH, below its version.
fn has_postgresql() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    machine::has_program("psql")
        && versions.into_iter().any(|version| version.path().join("bin/initdb").exists())
}

fn install(packages: &[&str]) -> Result<()> {
    let _quiet = NoServices::begin(Path::new("/usr/sbin/policy-rc.d"))?;
    // The lists have a lock of their own, for which apt knows no time-out.
    patiently(|| apt(&["update"]))?;
    patiently(|| {
        let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
        arguments.extend(packages);
        apt(&arguments)
    })
}

fn apt(arguments: &[&str]) -> Result<()> {
    let wait = format!("DPkg::Lock::Timeout={}", LOCK_PATIENCE.as_secs());
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").args(["-qq", "-o", &wait]).args(arguments);
    process::quietly(&mut command)
}

/// While this lives, no package starts the service it brings: the tests start their own, and a machine
/// that was set up for tests must not begin to listen.
struct NoServices {
    /// Where packages ask; nowhere when the machine already has an answer of its own.
    ours: Option<PathBuf>,
}

impl NoServices {
    fn begin(place: &Path) -> Result<Self> {
        if place.exists() {
            return Ok(Self { ours: None });
        }
        let failed = || format!("could not write {}", place.display());
        // 101 is the documented answer for an act that is forbidden.
        std::fs::write(place, "#!/bin/sh\nexit 101\n").with_context(failed)?;
        let ours = Self { ours: Some(place.to_path_buf()) };
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).with_context(failed)?;
        Ok(ours)
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(place) = &self.ours
            && let Err(error) = std::fs::remove_file(place)
        {
            eprintln!("setup: could not remove {}: {error}", place.display());
        }
    }
}

/// Tries again while another process holds one of apt's locks.
fn patiently(mut act: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    loop {
        match act() {
            Err(error) if is_locked(&error.to_string()) && start.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_secs(2));
            }
            result => return result,
        }
    }
}

fn is_locked(message: &str) -> bool {
    message.contains("Could not get lock") || message.contains("Unable to lock")
}

fn install_srt(directory: &Path) -> Result<PathBuf> {
    let program = directory.join("node_modules/.bin/srt");
    if !program.exists() {
        eprintln!("setup: installing {SRT}");
        std::fs::create_dir_all(directory)
            .with_context(|| format!("could not make {}", directory.display()))?;
        let mut npm = Command::new("npm");
        npm.current_dir(directory).args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            ".",
            SRT,
        ]);
        process::quietly(&mut npm)?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_only_what_is_missing() {
        let needs =
            [Need { package: "there", present: || true }, Need { package: "not-there", present: || false }];
        assert_eq!(missing(&needs), ["not-there"]);
    }

    #[test]
    fn services_are_kept_still_only_during_an_installation() {
        let place = std::env::temp_dir().join(format!("stockade-policy-{}", std::process::id()));
        let quiet = NoServices::begin(&place).unwrap();
        assert_eq!(Command::new(&place).status().unwrap().code(), Some(101));
        drop(quiet);
        assert!(!place.exists());
        std::fs::write(&place, "the machine's own").unwrap();
        drop(NoServices::begin(&place).unwrap());
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "the machine's own");
        std::fs::remove_file(&place).unwrap();
    }

    #[test]
    fn waits_for_locks_and_for_nothing_else() {
        assert!(is_locked("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7"));
        assert!(!is_locked("E: Unable to locate package nothing"));
        let mut tries = 0;
        let result = patiently(|| {
            tries += 1;
            anyhow::bail!("no such package")
        });
        assert!(result.is_err());
        assert_eq!(tries, 1);
    }
}
