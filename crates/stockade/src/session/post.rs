//! Where a session's shell really is, whatever has the name of its directory by now.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::process::Pid;
use std::os::fd::OwnedFd;
use std::path::Path;
use stockade_policy::{Chooser, FileKind, Footing, Identity};

/// The last shell, as far as its directory is concerned.
#[derive(Debug, Default)]
pub(super) enum Post {
    /// There has been none: nothing behind walls has had a say.
    #[default]
    Empty,
    /// Its directory in /proc, which is nobody else's when its number is.
    Shell(OwnedFd),
    /// It has none there that could be opened.
    Hidden,
}

impl Post {
    /// Of a shell that is there.
    pub(super) fn of(shell: Pid) -> Self {
        let place = format!("/proc/{}", shell.as_raw_nonzero());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, place, flags, Mode::empty()).map_or(Self::Hidden, Self::Shell)
    }

    /// Who chose the directory that the session is in, if its caller had it begin in this one.
    pub(super) fn chooser(&self, began: &Path) -> Chooser {
        let footing = match self {
            Self::Empty => return Chooser::Caller,
            Self::Shell(place) => match statat(place, "cwd", AtFlags::empty()) {
                Ok(seen) => {
                    Footing::In(Identity { dev: seen.st_dev, ino: seen.st_ino, kind: FileKind::Directory })
                }
                Err(Errno::NOENT | Errno::SRCH) => Footing::Nowhere,
                Err(_) => Footing::Hidden,
            },
            Self::Hidden => Footing::Hidden,
        };
        Chooser::Commands { began: began.to_owned(), footing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealFiles;
    use std::fs;
    use std::process::Command;
    use stockade_policy::Files;

    #[test]
    fn a_process_is_where_it_is() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        fs::create_dir(at("first")).unwrap();
        let mut child = Command::new("sleep").arg("60").current_dir(at("first")).spawn().unwrap();
        let post = Post::of(Pid::from_child(&child));
        let footing = || match post.chooser(&top) {
            Chooser::Commands { began, footing } if began == top => footing,
            other => panic!("{other:?}"),
        };
        let real = RealFiles.look(&at("first")).unwrap();
        assert_eq!(footing(), Footing::In(real));
        fs::rename(at("first"), at("second")).unwrap();
        fs::create_dir(at("first")).unwrap();
        assert_eq!(footing(), Footing::In(RealFiles.look(&at("second")).unwrap()));
        fs::remove_dir(at("second")).unwrap();
        assert_eq!(footing(), Footing::In(real));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(footing(), Footing::Nowhere);
        assert_eq!(Post::default().chooser(&top), Chooser::Caller);
    }
}
