//! Changing modes and attributes on behalf of the caller.
//!
//! Mounts keep what was there at the start as it was. What the host made since is protected by its name alone: a hook
//! that is not executable must not become one that is.

use super::act::Answer;
use super::call::{Change, Follow, PathArgument, Whom};
use super::caller::Base;
use super::opening::own_descriptor;
use super::resolve::Led;
use super::trial::Trial;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, XattrFlags, chmodat, fchmod, fcntl_getfl, fremovexattr,
    fsetxattr, fstat, openat2, removexattr, setxattr,
};
use rustix::io::Errno;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use stockade_policy::{Judgement, Refusal, Switch, ViolationKind};

/// The largest attribute the kernel takes.
const LARGEST: u64 = 64 * 1024;

/// A change with everything that lay in the caller's memory.
enum Alteration {
    Mode(Mode),
    SetAttribute { name: CString, value: Vec<u8>, flags: XattrFlags },
    RemoveAttribute { name: CString },
}

impl Trial<'_> {
    pub(super) fn alter(mut self, whom: Whom, change: Change) -> Result<Answer, Errno> {
        let alteration = self.read_change(change)?;
        // A later run that holds changes back would take a file with such marks for something else.
        if let Alteration::SetAttribute { name, .. } = &alteration
            && name.to_bytes().starts_with(b"user.overlay.")
        {
            return Err(Errno::PERM);
        }
        // Before anything is resolved: what is judged keeps its name until the act is done.
        let _changes = self.caller.broker.changes();
        let file = self.whom(whom, change)?;
        let found = fstat(&file)?;
        let is_stream = matches!(FileType::from_raw_mode(found.st_mode), FileType::Fifo | FileType::Socket);
        let full = match self.caller.path_of(&file) {
            // Nobody can reach it by a name.
            _ if found.st_nlink == 0 => return alteration.act(&file).map(|()| Answer::DONE),
            Ok(path) => path,
            // A pipe, a socket: it has no name that a rule could be about.
            Err(_) if is_stream => return alteration.act(&file).map(|()| Answer::DONE),
            // What cannot be told cannot be judged.
            Err(errno) => return Err(errno),
        };
        self.caller.broker.standing.check(&file, &full, &self.caller.broker.proc)?;
        if let Judgement::Refused(refusal) = self.caller.broker.judge.change(&full) {
            let refusal = Refusal { grantable: Switch::Refused, ..refusal };
            let errno = self.as_a_wall_would(ViolationKind::Write, &full);
            if let Err(answer) = self.refuse(ViolationKind::Write, &full, refusal, errno) {
                return Ok(answer);
            }
        }
        let subjects = || -> Vec<(ViolationKind, PathBuf)> { vec![(ViolationKind::Write, full)] };
        Ok(self.finish(subjects, None, || alteration.act(&file).map(|()| Answer::DONE)))
    }

    fn read_change(&self, change: Change) -> Result<Alteration, Errno> {
        let caller = self.caller;
        Ok(match change {
            Change::Mode(mode) => Alteration::Mode(Mode::from_raw_mode(mode & 0o7777)),
            Change::RemoveAttribute { name } => Alteration::RemoveAttribute { name: caller.path(name)? },
            Change::SetAttribute { size, .. } if size > LARGEST => return Err(Errno::TOOBIG),
            Change::SetAttribute { name, value, size, flags } => Alteration::SetAttribute {
                name: caller.path(name)?,
                value: caller.memory(value, usize::try_from(size).map_err(|_| Errno::TOOBIG)?)?,
                flags: XattrFlags::from_bits(flags).ok_or(Errno::INVAL)?,
            },
        })
    }

    /// The file that is meant.
    fn whom(&self, whom: Whom, change: Change) -> Result<Arc<OwnedFd>, Errno> {
        match whom {
            Whom::Named { path, follow } => self.named(path, follow, change),
            Whom::Open { unless: Some((path, follow)), .. }
                if !self.caller.path(path.address)?.is_empty() =>
            {
                self.named(path, follow, change)
            }
            Whom::Open { number: libc::AT_FDCWD, .. } => self.working_directory(),
            Whom::Open { number, unless } => {
                let file = self.caller.descriptor(number)?;
                // One that only names a place is good enough where the call takes a name as well.
                match unless.is_none() && fcntl_getfl(&file)?.contains(OFlags::PATH) {
                    true => Err(Errno::BADF),
                    false => Ok(Arc::new(file)),
                }
            }
        }
    }

    fn named(&self, path: PathArgument, follow: Follow, change: Change) -> Result<Arc<OwnedFd>, Errno> {
        // Behind a slash the kernel looks for a directory, through links.
        let is_directory = self.caller.path(path.address)?.to_bytes().ends_with(b"/");
        let follow = if is_directory { Follow::Yes } else { follow };
        let rest = match self.caller.lead(path, follow)? {
            Led::To(place) => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let resolve = ResolveFlags::NO_SYMLINKS;
                return openat2(&place.directory, &place.name, flags, Mode::empty(), resolve).map(Arc::new);
            }
            Led::IntoProc(rest) => rest,
        };
        match (follow, change) {
            // The link itself.
            (Follow::No, Change::Mode(_)) => Err(Errno::OPNOTSUPP),
            (Follow::No, _) => Err(Errno::PERM),
            (Follow::Yes, _) if rest.strip_suffix(b"/").unwrap_or(&rest) == b"self/cwd" => {
                self.working_directory()
            }
            (Follow::Yes, _) => {
                self.caller.descriptor(own_descriptor(&rest).ok_or(Errno::PERM)?).map(Arc::new)
            }
        }
    }

    fn working_directory(&self) -> Result<Arc<OwnedFd>, Errno> {
        match self.caller.base(PathArgument { directory: libc::AT_FDCWD, address: 0 }, b".")? {
            Base::Directory(directory) => Ok(directory),
            Base::Root => Err(Errno::PERM),
        }
    }
}

impl Alteration {
    /// By descriptor where that may be written through, and otherwise by the name the descriptor has for us.
    fn act(&self, file: &OwnedFd) -> Result<(), Errno> {
        let only_names = fcntl_getfl(file)?.contains(OFlags::PATH);
        // From the directory that every thread of ours works in.
        let name = format!("self/fd/{}", file.as_raw_fd());
        match self {
            Self::Mode(mode) if only_names => chmodat(rustix::fs::CWD, name, *mode, AtFlags::empty()),
            Self::Mode(mode) => fchmod(file, *mode),
            Self::SetAttribute { name: attribute, value, flags } if only_names => {
                setxattr(name, attribute, value, *flags)
            }
            Self::SetAttribute { name, value, flags } => fsetxattr(file, name, value, *flags),
            Self::RemoveAttribute { name: attribute } if only_names => removexattr(name, attribute),
            Self::RemoveAttribute { name } => fremovexattr(file, name),
        }
    }
}
