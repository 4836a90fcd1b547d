//! Which of the caller's descriptors may cross the wall as they are.
//!
//! A descriptor belongs to the host's mounts, not to the sandbox's. Whoever holds one can open it again
//! through /proc/self/fd, change its mode, or walk away from a directory with `..`; no mount of the plan
//! stands in the way. So a regular file goes in only where the plan itself lets the command do everything
//! with that very file. Everywhere else its bytes go through a pipe.

use rustix::fs::{FileType, OFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use stockade_policy::{Files, MountKind, Plan, Rights, RootView};

/// How a descriptor reaches the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// As it is.
    Inherit,
    /// Through a pipe.
    Relay,
    /// It is the null device: the sandbox has its own.
    Null,
}

/// A descriptor was not let through.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrossError {
    /// It would open the host's directories to the command.
    #[error(
        "descriptor {number} {what}; nothing was run\nhint: a command could walk from it to files the policy hides; redirect it from a file, a pipe or /dev/null"
    )]
    Refused {
        /// Its number inside.
        number: i32,
        /// What it is.
        what: &'static str,
    },
    /// Held for reading and writing: no pipe can stand for it.
    #[error(
        "descriptor {number} is open for reading and writing, and what it leads to is not the sandbox's; nothing was run\nhint: open it for one of the two; a file can be allowed with --allow-write, a socket replaced by a connected pair"
    )]
    BothWays {
        /// Its number inside.
        number: i32,
    },
    /// It could not be looked at or relayed.
    #[error("cannot use descriptor {number}: {source}")]
    Unusable {
        /// Its number inside.
        number: i32,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Judges one descriptor.
pub(crate) fn judge(
    descriptor: &OwnedFd,
    number: i32,
    plan: &Plan,
    files: &dyn Files,
) -> Result<Crossing, CrossError> {
    let unusable = |error: rustix::io::Errno| CrossError::Unusable { number, source: error.into() };
    // An O_PATH descriptor answers to little else, so it is asked first.
    if rustix::fs::fcntl_getfl(descriptor).map_err(unusable)?.contains(OFlags::PATH) {
        return Err(CrossError::Refused { number, what: "was opened with O_PATH" });
    }
    let seen = rustix::fs::fstat(descriptor).map_err(unusable)?;
    match FileType::from_raw_mode(seen.st_mode) {
        FileType::Directory => Err(CrossError::Refused { number, what: "is a directory" }),
        FileType::CharacterDevice if is_null(seen.st_rdev) => Ok(Crossing::Null),
        // Bytes come out of a device and go in, but its mode and times are the host's. Terminals are not
        // given at all: who holds one can read what is typed.
        FileType::CharacterDevice => Ok(Crossing::Relay),
        FileType::Fifo if !is_nameless(descriptor) => Ok(Crossing::Relay),
        FileType::Socket if !is_pair(descriptor) => Ok(Crossing::Relay),
        FileType::RegularFile | FileType::BlockDevice => {
            let rights = name(descriptor, (seen.st_dev, seen.st_ino), files)
                .map(|path| rights_at(plan, &path))
                .unwrap_or(NOTHING);
            Ok(if rights == Rights::ALL { Crossing::Inherit } else { Crossing::Relay })
        }
        _ => Ok(Crossing::Inherit),
    }
}

const NOTHING: Rights = Rights { read: false, write: false, execute: false };

/// A pipe that no path leads to has no mode worth changing.
fn is_nameless(descriptor: &OwnedFd) -> bool {
    std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
        .is_ok_and(|name| name.as_os_str().as_encoded_bytes().starts_with(b"pipe:"))
}

/// One end of a connected pair leads to its other end and nowhere else. Every other socket belongs to the
/// host's network, or reaches any socket file by its path.
fn is_pair(descriptor: &OwnedFd) -> bool {
    use rustix::net::sockopt::{socket_domain, socket_type};
    use rustix::net::{AddressFamily, SocketType, getpeername};
    socket_domain(descriptor) == Ok(AddressFamily::UNIX)
        && matches!(socket_type(descriptor), Ok(SocketType::STREAM | SocketType::SEQPACKET))
        && getpeername(descriptor).is_ok()
}

fn is_null(device: u64) -> bool {
    (rustix::fs::major(device), rustix::fs::minor(device)) == (1, 3)
}

/// The file's present name, if that name still leads to it.
fn name(descriptor: &OwnedFd, identity: (u64, u64), files: &dyn Files) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd())).ok()?;
    let named = files.look(&path).ok()?;
    ((named.dev, named.ino) == identity).then_some(path)
}

/// What the plan lets a command do with the host's file at this path.
fn rights_at(plan: &Plan, path: &Path) -> Rights {
    // Parents come before children, so the last mount that holds the path is the one that counts.
    match plan.mounts.iter().rev().find(|mount| path.starts_with(&mount.path)).map(|mount| &mount.kind) {
        Some(MountKind::Bind { rights, .. }) if !overlaid(plan, path) => *rights,
        // Changes to the host's own file would not be held back.
        Some(MountKind::Bind { rights, .. } | MountKind::Overlay { rights, .. }) => {
            Rights { write: false, ..*rights }
        }
        Some(_) => NOTHING,
        None => match plan.root {
            RootView::Host { rights } => rights,
            RootView::Listed => NOTHING,
        },
    }
}

/// Whether an overlay hides the host's own file at this path.
fn overlaid(plan: &Plan, path: &Path) -> bool {
    let is_overlay = |kind: &MountKind| matches!(kind, MountKind::Overlay { .. });
    plan.mounts.iter().any(|mount| is_overlay(&mount.kind) && path.starts_with(&mount.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealFiles;
    use std::fs::{self, File};
    use stockade_policy::{Identity, Limits, Mount, NetworkPlan, Switch, SyscallPlan, UnixSockets};

    fn plan(mounts: Vec<(PathBuf, MountKind)>) -> Plan {
        Plan {
            preset: "default".into(),
            workspace: "/".into(),
            root: RootView::Host { rights: Rights::READ_ONLY },
            mounts: mounts.into_iter().map(|(path, kind)| Mount { path, kind, rule: None }).collect(),
            environment: Vec::new(),
            network: NetworkPlan::Loopback,
            syscalls: SyscallPlan {
                unix_sockets: UnixSockets::PairsOnly,
                nested_user_namespaces: Switch::Refused,
            },
            broker: None,
            limits: Limits::default(),
            layers: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn bind(path: &Path, rights: Rights) -> (PathBuf, MountKind) {
        let identity: Identity = RealFiles.look(path).unwrap();
        (path.to_owned(), MountKind::Bind { identity, rights })
    }

    fn crossing(file: File, plan: &Plan) -> Crossing {
        judge(&file.into(), 0, plan, &RealFiles).unwrap()
    }

    #[test]
    fn a_file_crosses_only_where_the_plan_lets_it_be_written() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        fs::create_dir(top.join("kept")).unwrap();
        fs::write(top.join("free"), "").unwrap();
        fs::write(top.join("kept/file"), "").unwrap();
        let plan = plan(vec![bind(&top, Rights::ALL), bind(&top.join("kept"), Rights::READ_ONLY)]);

        assert_eq!(crossing(File::open(top.join("free")).unwrap(), &plan), Crossing::Inherit);
        assert_eq!(crossing(File::open(top.join("kept/file")).unwrap(), &plan), Crossing::Relay);
        assert_eq!(crossing(File::open("/etc/hostname").unwrap(), &plan), Crossing::Relay);

        let gone = File::open(top.join("free")).unwrap();
        fs::remove_file(top.join("free")).unwrap();
        assert_eq!(crossing(gone, &plan), Crossing::Relay);
    }

    #[test]
    fn a_private_directory_hides_the_hosts() {
        let place = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(place.path()).unwrap();
        fs::write(top.join("file"), "").unwrap();
        let plan = plan(vec![
            bind(top.parent().unwrap(), Rights::ALL),
            (top.clone(), MountKind::Tmpfs { mode: 0o700, size: None }),
        ]);
        assert_eq!(crossing(File::open(top.join("file")).unwrap(), &plan), Crossing::Relay);
    }

    #[test]
    fn directories_and_path_descriptors_are_refused() {
        let plan = plan(Vec::new());
        let directory: OwnedFd = File::open("/").unwrap().into();
        let error = judge(&directory, 0, &plan, &RealFiles).unwrap_err();
        assert!(error.to_string().starts_with("descriptor 0 is a directory"), "{error}");

        let path = rustix::fs::open("/etc/hostname", OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        let error = judge(&path, 1, &plan, &RealFiles).unwrap_err();
        assert!(error.to_string().starts_with("descriptor 1 was opened with O_PATH"), "{error}");
    }

    #[test]
    fn pipes_cross_and_null_is_the_sandboxes_own() {
        let plan = plan(Vec::new());
        let (reading, _writing) = rustix::pipe::pipe().unwrap();
        assert_eq!(judge(&reading, 0, &plan, &RealFiles).unwrap(), Crossing::Inherit);
        assert_eq!(crossing(File::open("/dev/null").unwrap(), &plan), Crossing::Null);
    }
}
