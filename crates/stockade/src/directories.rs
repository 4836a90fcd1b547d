//! Stockade's own directories, and the private tool cache of a workspace.

use crate::files::real_path;
use crate::private::stable_hash;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use stockade_policy::OwnPaths;

/// Where Stockade keeps its own things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// Settings of the user.
    pub config: PathBuf,
    /// What must outlive a run.
    pub state: PathBuf,
    /// What may be thrown away.
    pub cache: PathBuf,
}

impl Directories {
    /// From the XDG variables, or below the home directory.
    pub fn new(environment: &[(OsString, OsString)], home: Option<&Path>) -> Self {
        // Without a home there is no place of our own; a path that cannot exist says so to whoever looks.
        let home = home.unwrap_or(Path::new("/nonexistent"));
        let place = |variable: &str, below: &str| {
            absolute(environment, variable).unwrap_or_else(|| home.join(below)).join("stockade")
        };
        Self {
            config: place("XDG_CONFIG_HOME", ".config"),
            state: place("XDG_STATE_HOME", ".local/state"),
            cache: place("XDG_CACHE_HOME", ".cache"),
        }
    }

    /// The user's settings file.
    pub fn user_settings(&self) -> PathBuf {
        self.config.join("settings.json")
    }

    /// As the policy wants to know them; makes the workspace's tool cache if it is not there.
    pub fn own_paths(&self, workspace: &Path) -> OwnPaths {
        OwnPaths {
            config: self.config.clone(),
            state: self.state.clone(),
            cache: self.cache.clone(),
            records: None,
            tool_cache: self.tool_cache(workspace),
            overlay: None,
            worked_in: Vec::new(),
        }
    }

    /// A directory for the tools that run in this workspace, and for nobody else. `None` where none can
    /// be made: tools then start from cold caches.
    fn tool_cache(&self, workspace: &Path) -> Option<PathBuf> {
        // A home that is not there is not ours to make; what goes below it is.
        let home = self.cache.parent()?.parent()?;
        if !home.is_dir() {
            return None;
        }
        let workspace = real_path(workspace).ok()?;
        let name = format!("{:016x}", stable_hash(workspace.as_os_str().as_bytes()));
        let directory = self.cache.join("workspaces").join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
        // Somebody else's directory under that name would hand our tools somebody else's cache.
        let seen = fs::symlink_metadata(&directory).ok()?;
        let ours = seen.is_dir() && seen.uid() == rustix::process::geteuid().as_raw();
        ours.then_some(directory)
    }
}

/// The caller's home directory: `HOME`, or what the account's line says.
pub fn home(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    absolute(environment, "HOME").or_else(|| {
        let accounts = fs::read("/etc/passwd").ok()?;
        account_home(&accounts, rustix::process::getuid().as_raw())
    })
}

fn account_home(accounts: &[u8], user: u32) -> Option<PathBuf> {
    let user = user.to_string();
    accounts.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        match fields[..] {
            [_, _, id, _, _, home, _] if id == user.as_bytes() => absolute_path(OsStr::from_bytes(home)),
            _ => None,
        }
    })
}

fn absolute(environment: &[(OsString, OsString)], variable: &str) -> Option<PathBuf> {
    let (_, value) = environment.iter().find(|(name, _)| name == variable)?;
    absolute_path(value)
}

fn absolute_path(value: &OsStr) -> Option<PathBuf> {
    Path::new(value).is_absolute().then(|| PathBuf::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn xdg_variables_win_when_absolute() {
        let seen = Directories::new(
            &variables(&[("XDG_CONFIG_HOME", "/c"), ("XDG_CACHE_HOME", "relative")]),
            Some(Path::new("/home/a")),
        );
        assert_eq!(seen.config, Path::new("/c/stockade"));
        assert_eq!(seen.state, Path::new("/home/a/.local/state/stockade"));
        assert_eq!(seen.cache, Path::new("/home/a/.cache/stockade"));
        assert_eq!(seen.user_settings(), Path::new("/c/stockade/settings.json"));
    }

    #[test]
    fn tool_cache_is_private_and_stable() {
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("ws");
        fs::create_dir(&workspace).unwrap();
        let cache = place.path().to_str().unwrap();
        let directories = Directories::new(&variables(&[("XDG_CACHE_HOME", cache)]), None);

        let first = directories.own_paths(&workspace).tool_cache.unwrap();
        assert_eq!(directories.own_paths(&workspace).tool_cache.unwrap(), first);
        assert!(first.starts_with(place.path().join("stockade/workspaces")));
        assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(directories.own_paths(&place.path().join("absent")).tool_cache, None);
    }

    #[test]
    fn a_home_that_is_not_there_stays_away() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        assert_eq!(Directories::new(&[], Some(&home)).own_paths(place.path()).tool_cache, None);
        assert!(!home.exists());
        fs::create_dir(&home).unwrap();
        assert!(Directories::new(&[], Some(&home)).own_paths(place.path()).tool_cache.is_some());
    }

    #[test]
    fn home_of_an_account() {
        let accounts = b"root:x:0:0:root:/root:/bin/sh\nbroken\na:x:1000:1000::/home/a:/bin/sh\n";
        assert_eq!(account_home(accounts, 1000).unwrap(), Path::new("/home/a"));
        assert_eq!(account_home(accounts, 7), None);
    }
}
