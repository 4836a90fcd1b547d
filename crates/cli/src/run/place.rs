//! Where a file of ours goes: a directory that no command chose.

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use stockade::{Mount, MountKind};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// A name in a directory that is held: what is put in the way later does not lead us elsewhere.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
}

/// There is no such place, or a command may have chosen it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{} is a symbolic link in a directory that commands may write, and may lead anywhere", .0.display())]
    Link(PathBuf),
    #[error("it is {0}, not a plain file")]
    Kind(&'static str),
    #[error("it has {0} names, and under another one a command could write it")]
    Names(u64),
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Errno> for PlaceError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl PlaceError {
    /// What a person can do about it.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Link(_) => {
                "\nhint: an earlier command may have made it; name the directory it leads to, or remove it"
            }
            Self::Kind(_) => "\nhint: name a file that is not there yet, or one that may be replaced",
            Self::Names(_) => "\nhint: remove the file, so that a new one is made",
            Self::System(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                "\nhint: it is a symbolic link; name the file itself, or use fd:N"
            }
            Self::System(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                "\nhint: it is a pipe that nobody reads, or a socket; start the reader first"
            }
            Self::System(_) => "",
        }
    }
}

impl Place {
    /// Goes to the directory of a path step by step. A link is followed, but not where commands with these mounts
    /// can make one: the walk holds every directory it is in, so that none can be exchanged meanwhile.
    pub(super) fn find(path: &Path, mounts: &[Mount]) -> Result<Self, PlaceError> {
        let name = path.file_name().ok_or(io::Error::from(io::ErrorKind::InvalidFilename))?.to_owned();
        let mut directory = open(CWD, OsStr::new("."))?;
        let mut rest = steps(path.parent().unwrap_or(Path::new("")));
        let mut links = 0;
        while let Some(step) = rest.pop() {
            let next = open(&directory, &step)?;
            if !is_link(&next)? {
                directory = next;
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let holder = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
            if is_writable(mounts, &holder) {
                return Err(PlaceError::Link(holder.join(step)));
            }
            let target = rustix::fs::readlinkat(&next, "", Vec::new())?.into_bytes();
            rest.extend(steps(Path::new(&OsString::from_vec(target))));
        }
        // Whatever it is, it must be a directory.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&directory, ".", flags, Mode::empty())?;
        Ok(Self { directory, name })
    }

    /// Where the name really is, if commands with these mounts could change or take it.
    pub(super) fn exposed(&self, mounts: &[Mount]) -> Option<PathBuf> {
        let holder = std::fs::read_link(format!("/proc/self/fd/{}", self.directory.as_raw_fd())).ok()?;
        is_writable(mounts, &holder).then(|| holder.join(&self.name))
    }

    /// Whether a new file may take the name: what else has it may be somebody's device or pipe.
    pub(super) fn is_for_a_file(&self) -> Result<(), PlaceError> {
        // Beside it a draft is made.
        rustix::fs::accessat(&self.directory, ".", Access::WRITE_OK, AtFlags::EACCESS)?;
        let seen = match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            seen => FileType::from_raw_mode(seen?.st_mode),
        };
        Err(match seen {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => io::Error::from(io::ErrorKind::IsADirectory).into(),
            FileType::Symlink => PlaceError::Kind("a symbolic link"),
            FileType::Fifo => PlaceError::Kind("a named pipe"),
            FileType::Socket => PlaceError::Kind("a socket"),
            _ => PlaceError::Kind("a device"),
        })
    }
}

/// The steps of a path, the first one last. An absolute one begins at the root wherever one is.
fn steps(path: &Path) -> Vec<OsString> {
    let steps = path.components().filter(|step| *step != Component::CurDir);
    steps.rev().map(|step| step.as_os_str().to_owned()).collect()
}

fn open(directory: impl rustix::fd::AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn is_link(opened: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(opened)?.st_mode).is_symlink())
}

/// Whether commands can leave something in a directory.
fn is_writable(mounts: &[Mount], directory: &Path) -> bool {
    let holds = |mount: &&Mount| directory.starts_with(&mount.path);
    let nearest = mounts.iter().filter(holds).max_by_key(|mount| mount.path.components().count());
    nearest.is_some_and(|mount| match &mount.kind {
        MountKind::Bind { rights, .. } | MountKind::Overlay { rights, .. } => rights.write,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use stockade::{FileKind, Identity, Rights};

    fn mount(path: PathBuf, rights: Rights) -> Mount {
        let identity = Identity { dev: 1, ino: 1, kind: FileKind::Directory };
        Mount { path, kind: MountKind::Bind { identity, rights }, rule: None }
    }

    fn real(place: &Place) -> PathBuf {
        fs::read_link(format!("/proc/self/fd/{}", place.directory.as_raw_fd())).unwrap()
    }

    #[test]
    fn links_are_followed_but_for_those_a_command_can_make() {
        let keep = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(keep.path()).unwrap();
        for name in ["ws/deep/er", "ws/kept", "other"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let mounts = [mount(top.join("ws"), Rights::ALL), mount(top.join("ws/kept"), Rights::READ_ONLY)];
        let find = |path: &str| Place::find(&top.join(path), &mounts);
        symlink("ws", top.join("mine")).unwrap();
        symlink(top.join("other"), top.join("ws/kept/link")).unwrap();
        for (path, leads_to) in [
            ("ws/r", "ws"),
            ("ws/deep/../deep/./er/r", "ws/deep/er"),
            ("mine/deep/r", "ws/deep"),
            ("mine/../other/r", "other"),
            ("ws/kept/link/r", "other"),
        ] {
            let place = find(path).unwrap();
            assert_eq!(
                (real(&place), place.name.as_os_str()),
                (top.join(leads_to), OsStr::new("r")),
                "{path}"
            );
        }
        symlink("../other", top.join("ws/rdir")).unwrap();
        symlink(top.join("other"), top.join("ws/deep/rdir")).unwrap();
        for path in ["ws/rdir/r", "ws/deep/rdir/r", "mine/rdir/r", "ws/rdir/../ws/r", "ws/rdir/./r"] {
            let error = find(path).unwrap_err();
            assert!(matches!(&error, PlaceError::Link(link) if link.ends_with("rdir")), "{path}: {error}");
            assert!(error.hint().contains("hint: "));
        }
        // Without mounts nothing is a command's.
        assert_eq!(real(&Place::find(&top.join("ws/rdir/r"), &[]).unwrap()), top.join("other"));
    }

    #[test]
    fn what_leads_nowhere_is_told() {
        let keep = tempfile::tempdir().unwrap();
        fs::write(keep.path().join("file"), "").unwrap();
        symlink("loop", keep.path().join("loop")).unwrap();
        for (path, errno) in [("file/r", libc::ENOTDIR), ("absent/r", libc::ENOENT), ("loop/r", libc::ELOOP)]
        {
            let error = Place::find(&keep.path().join(path), &[]).unwrap_err();
            assert!(
                matches!(&error, PlaceError::System(error) if error.raw_os_error() == Some(errno)),
                "{path}: {error}"
            );
        }
        assert!(Place::find(Path::new("/"), &[]).is_err());
        assert_eq!(real(&Place::find(Path::new("/r"), &[]).unwrap()), Path::new("/"));
        assert!(Place::find(Path::new("r"), &[]).is_ok());
    }
}
