//! A caller and the files around it.

use super::{Answer, Run, binaries, skip, sys};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Nobody's number: no account is needed to be an ordinary user.
const USER: u32 = 61_234;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Root,
    User,
}

impl Caller {
    /// Numbers to change to before the start; none when this process already is the caller.
    pub(crate) fn become_ids(self) -> Option<(u32, u32)> {
        (self == Self::User && sys::is_root()).then_some((USER, USER))
    }

    pub(crate) fn ids(self) -> (u32, u32) {
        self.become_ids().unwrap_or_else(sys::own_ids)
    }
}

/// Runs a test's body for each caller this process can be.
pub(crate) fn each_caller<F: Fn(&World)>(body: F) {
    let name = std::any::type_name_of_val(&body).trim_end_matches("::{{closure}}").to_string();
    if sys::is_root() {
        body(&World::new(Caller::Root));
    } else {
        skip(&format!("{name} (root caller)"), "the suite does not run as root");
    }
    body(&World::new(Caller::User));
}

/// A home, a workspace, and a place outside, all owned by the caller and gone at the end.
pub(crate) struct World {
    pub(crate) caller: Caller,
    pub(crate) base: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) outside: PathBuf,
    _keep: TempDir,
}

impl World {
    pub(crate) fn new(caller: Caller) -> Self {
        Self::below(caller, Path::new("/var/tmp"))
    }

    pub(crate) fn below(caller: Caller, parent: &Path) -> Self {
        let keep = tempfile::Builder::new().prefix("stockade-it-").tempdir_in(parent).expect("a world");
        fs::set_permissions(keep.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        let base = keep.path().to_path_buf();
        let world = Self {
            caller,
            home: base.join("home"),
            ws: base.join("home/work"),
            outside: base.join("outside"),
            base,
            _keep: keep,
        };
        world.give(&world.base);
        for dir in [&world.home, &world.ws, &world.outside] {
            world.dir(dir);
        }
        world
    }

    /// Makes the caller the owner.
    pub(crate) fn give(&self, path: &Path) {
        let (user, group) = self.caller.ids();
        lchown(path, Some(user), Some(group))
            .unwrap_or_else(|error| panic!("chown {}: {error}", path.display()));
    }

    /// Makes the caller the owner of a whole tree.
    pub(crate) fn give_all(&self, path: &Path) {
        self.give(path);
        if path.symlink_metadata().expect("stat").is_dir() {
            for entry in fs::read_dir(path).expect("list") {
                self.give_all(&entry.expect("list").path());
            }
        }
    }

    /// A directory with its parents; relative ones lie in the workspace.
    pub(crate) fn dir(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.ws.join(path);
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect();
        for dir in missing.iter().rev() {
            fs::create_dir(dir).unwrap_or_else(|error| panic!("mkdir {}: {error}", dir.display()));
            self.give(dir);
        }
        path
    }

    /// A file with its parents; relative ones lie in the workspace.
    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.ws.join(path);
        self.dir(path.parent().expect("a parent"));
        fs::write(&path, content).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        self.give(&path);
        path
    }

    /// An executable script or program.
    pub(crate) fn script(&self, path: impl AsRef<Path>, content: &str) -> PathBuf {
        let path = self.file(path, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) -> PathBuf {
        let path = self.ws.join(path);
        self.dir(path.parent().expect("a parent"));
        symlink(target, &path).expect("symlink");
        self.give(&path);
        path
    }

    /// A settings file outside the workspace.
    pub(crate) fn settings(&self, content: impl AsRef<[u8]>) -> PathBuf {
        self.file(self.base.join("settings.json"), content)
    }

    /// What a fresh shell of the caller would have.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let pair = |name: &str, value: &OsStr| (OsString::from(name), value.to_os_string());
        vec![
            pair("HOME", self.home.as_os_str()),
            pair("PATH", OsStr::new("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")),
            pair("USER", OsStr::new("tester")),
            pair("LANG", OsStr::new("C.UTF-8")),
            pair("TERM", OsStr::new("dumb")),
        ]
    }

    /// `stockade run ...`
    pub(crate) fn run(&self) -> Run<'_> {
        Run::new(self, &binaries().stockade, &["run"])
    }

    /// `stockade ...`
    pub(crate) fn stockade(&self) -> Run<'_> {
        Run::new(self, &binaries().stockade, &[])
    }

    /// `srt ...`
    pub(crate) fn srt(&self) -> Run<'_> {
        Run::new(self, &binaries().srt, &[])
    }

    /// Any program, without walls: the control of a control.
    pub(crate) fn bare(&self, program: impl AsRef<Path>) -> Run<'_> {
        Run::new(self, program.as_ref(), &[])
    }

    /// One act of the probe without walls.
    #[track_caller]
    pub(crate) fn outside_probe(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
        let words: Vec<OsString> = words.into_iter().map(|word| word.as_ref().to_os_string()).collect();
        let asked = format!("{words:?} without walls");
        Answer::all(self.bare(&binaries().probe).opts(words).go(), &[asked]).remove(0)
    }

    /// One act of the probe behind the default walls.
    #[track_caller]
    pub(crate) fn probe(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
        self.run().probe(words)
    }
}
