//! What this machine is and has.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

/// Whether we run as root. A process owns its own entry in /proc, so no system call of ours is needed.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Whether packages come from apt.
pub(crate) fn has_apt() -> bool {
    has_program("apt-get")
}

/// Whether a program is on the PATH.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| {
        std::fs::metadata(directory.join(name))
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Whether the Python on the PATH can import a module.
pub(crate) fn python_has(module: &str) -> bool {
    Command::new("python3")
        .args(["-c", &format!("import {module}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
