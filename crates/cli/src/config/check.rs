//! One settings file looked at by itself.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use stockade::{
    Caller, Directories, FileKind, Files, Flags, Identity, Inputs, Layer, MANAGED_SETTINGS, Notice, OwnPaths,
    Policy, RealFiles, SettingsErrors, SettingsFile,
};

/// What a file by itself says that the person should know, or what is wrong with it. The file system knows
/// its content under its path.
pub(super) fn check(file: SettingsFile, files: &dyn Files) -> Result<Vec<Notice>, SettingsErrors> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    let Directories { config, state, cache } = Directories::new(&environment, home.as_deref());
    let inputs = Inputs {
        cwd: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        home,
        environment,
        own: OwnPaths { config, state, cache, ..OwnPaths::default() },
        preset: None,
        settings: vec![file],
        flags: Flags::default(),
    };
    Ok(Policy::load(inputs, files)?.notices().to_vec())
}

/// Who speaks in a file of this name.
pub(super) fn layer_of(path: &Path) -> Layer {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_claude = path.parent().and_then(Path::file_name) == Some(OsStr::new(".claude"));
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let at_home = stockade::home(&environment).is_some_and(|home| path == home.join(".claude").join(name));
    match name {
        _ if path == Path::new(MANAGED_SETTINGS) || name == "managed-settings.json" => Layer::Managed,
        ".stockade.json" | ".stockade.local.json" => Layer::Project,
        "settings.json" | "settings.local.json" if in_claude && !at_home => Layer::Project,
        _ => Layer::User,
    }
}

/// The real files, but for one whose content is known here.
pub(super) struct With<'a> {
    pub(super) path: &'a Path,
    pub(super) content: &'a [u8],
}

impl Files for With<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == self.path { Ok(self.content.to_vec()) } else { RealFiles.read(path) }
    }

    fn caller(&self) -> Caller {
        RealFiles.caller()
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        RealFiles.look(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.resolve(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.follow(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        RealFiles.list(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_who_speaks() {
        for (path, expected) in [
            ("/etc/stockade/managed.json", Layer::Managed),
            ("/etc/claude-code/managed-settings.json", Layer::Managed),
            ("/w/.stockade.json", Layer::Project),
            ("/w/.stockade.local.json", Layer::Project),
            ("/w/.claude/settings.json", Layer::Project),
            ("/w/settings.json", Layer::User),
            ("/w/anything", Layer::User),
        ] {
            assert_eq!(layer_of(Path::new(path)), expected, "{path}");
        }
    }
}
