//! Git itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory to work in, without the settings of whoever runs the tests.
pub(super) struct Place {
    directory: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// Free of links: temporary directories are links on some systems.
    pub(super) fn path(&self, below: &str) -> PathBuf {
        let root = self.directory.path().canonicalize().unwrap();
        if below.is_empty() { root } else { root.join(below) }
    }

    pub(super) fn try_git(&self, directory: &Path, arguments: &[&str]) -> Output {
        let empty = self.path("empty");
        fs::write(&empty, "").unwrap();
        Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path(""))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", empty)
            .output()
            .unwrap()
    }

    pub(super) fn git(&self, directory: &Path, arguments: &[&str]) {
        let output = self.try_git(directory, arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
