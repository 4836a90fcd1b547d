//! Where a program lies, and whether a command behind walls could have put it there.

use crate::{FileKind, Files, Request};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where shells look when nobody has told them.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// More links than this is a circle.
const MOST_LINKS: usize = 40;

/// Finds programs the way a shell would.
pub(super) struct Lookup<'a> {
    pub(super) request: &'a Request,
    pub(super) files: &'a dyn Files,
    /// What commands may write, without links.
    pub(super) roots: &'a [PathBuf],
}

/// Why a program is not trusted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Untrusted {
    #[error("the program {} lies where commands may write", .0.display())]
    Program(PathBuf),
    #[error("PATH has {} before the program, where commands may write", .0.display())]
    Directory(PathBuf),
    #[error("PATH has a directory that depends on where the command runs")]
    Relative,
    #[error("PATH is not set, and shells then look for programs where they like")]
    NoPath,
    #[error("{program}: {how}, and PATH has {}, where commands may write", directory.display())]
    Plugins { program: String, how: String, directory: PathBuf },
    #[error("the program {} is run by {}, which commands can change", .0.display(), .1.display())]
    Interpreter(PathBuf, PathBuf),
    #[error("there is no telling where {} lies or what runs it", .0.display())]
    Unknown(PathBuf),
}

impl Lookup<'_> {
    /// Whether no command behind walls could have chosen what runs under this name.
    pub(super) fn check(&self, program: &str, path: Option<&OsStr>) -> Result<(), Untrusted> {
        self.check_deeper(program, path, 0)
    }

    /// The same for a program that runs others, which are so many by now.
    pub(super) fn check_deeper(
        &self,
        program: &str,
        path: Option<&OsStr>,
        depth: usize,
    ) -> Result<(), Untrusted> {
        if program.contains('/') {
            let place = self.request.cwd.join(program);
            self.trusted(&place)?;
            return if self.files.runs(&place) {
                self.check_interpreter(&place, path, depth)
            } else {
                Ok(())
            };
        }
        for directory in path.unwrap_or(OsStr::new(USUAL_PATH)).as_bytes().split(|byte| *byte == b':') {
            let directory = Path::new(OsStr::from_bytes(directory));
            if !directory.is_absolute() {
                return Err(Untrusted::Relative);
            }
            match self.trusted(directory) {
                Ok(()) => {}
                Err(Untrusted::Program(_)) => return Err(Untrusted::Directory(directory.to_owned())),
                Err(other) => return Err(other),
            }
            let place = directory.join(program);
            if self.files.look(&place).is_ok_and(|found| found.kind != FileKind::Directory) {
                self.trusted(&place)?;
                // Shells go on behind what they cannot run: another file, a link that leads nowhere.
                if self.files.runs(&place) {
                    return self.check_interpreter(&place, path, depth);
                }
            }
        }
        // A program that is nowhere does not run; one that the shell has built in needs no file.
        Ok(())
    }

    /// The same for a program that looks for others on PATH by names that nobody has to have.
    pub(super) fn check_plugins(&self, program: &str, how: &str, path: &OsStr) -> Result<(), Untrusted> {
        for directory in path.as_bytes().split(|byte| *byte == b':') {
            let directory = Path::new(OsStr::from_bytes(directory));
            if !directory.is_absolute() {
                return Err(Untrusted::Relative);
            }
            if self.trusted(directory).is_err() {
                let (program, how) = (program.to_owned(), how.to_owned());
                return Err(Untrusted::Plugins { program, how, directory: directory.to_owned() });
            }
        }
        Ok(())
    }

    /// The same for a shell that was told no PATH: some go on in the working directory.
    pub(super) fn check_without_path(&self, program: &str) -> Result<(), Untrusted> {
        if program.contains('/') { self.check(program, None) } else { Err(Untrusted::NoPath) }
    }

    /// Goes to a path name by name, through every link, and never through what commands may write.
    pub(super) fn trusted(&self, path: &Path) -> Result<(), Untrusted> {
        let mut links = 0;
        let mut at = PathBuf::from("/");
        let mut ahead: Vec<PathBuf> = names(path);
        while let Some(name) = ahead.pop() {
            if name.as_os_str() == ".." {
                at.pop();
                continue;
            }
            at.push(&name);
            if self.roots.iter().any(|root| at.starts_with(root)) {
                return Err(Untrusted::Program(path.to_owned()));
            }
            match self.files.look(&at) {
                Ok(found) if found.kind == FileKind::Symlink => {
                    links += 1;
                    let unknown = || Untrusted::Unknown(path.to_owned());
                    let target = self.files.follow(&at).map_err(|_| unknown())?;
                    if links > MOST_LINKS {
                        return Err(unknown());
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    } else {
                        at.pop();
                    }
                    ahead.extend(names(&target));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The names of a path, last one first.
fn names(path: &Path) -> Vec<PathBuf> {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().rev().filter(wanted).map(|part| PathBuf::from(part.as_os_str())).collect()
}
