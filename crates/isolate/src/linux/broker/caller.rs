//! The thread whose call is held: its memory, its directories, its file mask, who it is.

use super::call::PathArgument;
use super::process::Broker;
use crate::linux::sys::{self, Held};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::CString;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

thread_local! {
    /// The file mask of this thread, which nothing else changes.
    static WORN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A place that only names: no right to read or write comes with it.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where a path starts.
#[derive(Debug)]
pub(super) enum Base {
    Root,
    Directory(Arc<OwnedFd>),
}

/// What a process is to the person who reads about it.
pub(super) struct Identity {
    /// As the sandbox numbers it.
    pub(super) pid: u32,
    pub(super) session: u32,
    pub(super) program: Option<String>,
}

/// The thread of a held call.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) broker: &'a Arc<Broker>,
    pub(super) held: &'a Held,
}

impl Caller<'_> {
    /// Reads a path, once: what the caller writes there afterwards changes nothing.
    pub(super) fn path(&self, address: u64) -> Result<CString, Errno> {
        let mut buffer = [0; libc::PATH_MAX as usize];
        let length = sys::read_string(self.held.thread, address, &mut buffer).map_err(unreachable)?;
        CString::new(&buffer[..length]).map_err(|_| Errno::INVAL)
    }

    pub(super) fn memory(&self, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0; length];
        let read = sys::read_memory(self.held.thread, address, &mut buffer).map_err(unreachable)?;
        if read < length { Err(Errno::FAULT) } else { Ok(buffer) }
    }

    /// Where a path argument starts.
    pub(super) fn base(&self, argument: PathArgument, path: &[u8]) -> Result<Base, Errno> {
        if path.first() == Some(&b'/') {
            return Ok(Base::Root);
        }
        let directory = if argument.directory == libc::AT_FDCWD {
            self.working_directory()?
        } else {
            let directory = self.descriptor(argument.directory)?;
            if FileType::from_raw_mode(fstat(&directory)?.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            Arc::new(directory)
        };
        Ok(Base::Directory(directory))
    }

    fn working_directory(&self) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(directory) = self.broker.memory().directory(self.held.thread) {
            return Ok(directory);
        }
        let name = format!("{}/cwd", self.held.thread);
        let directory = openat(&self.broker.proc, name, PLACE, Mode::empty()).map_err(unreachable)?;
        self.still_there()?;
        let directory = Arc::new(directory);
        self.broker.memory().remember_directory(self.held.thread, &directory);
        Ok(directory)
    }

    /// A copy of one of the caller's descriptors.
    pub(super) fn descriptor(&self, number: i32) -> Result<OwnedFd, Errno> {
        let known = self.broker.memory().handle(self.held.thread);
        let got = match known.map(|handle| sys::descriptor_of(&handle, number)) {
            // The number belonged to another thread then.
            None | Some(Err(Errno::SRCH)) => {
                self.handle().and_then(|handle| sys::descriptor_of(&handle, number))
            }
            Some(got) => got,
        };
        self.still_there()?;
        got.map_err(|errno| if errno == Errno::BADF { errno } else { Errno::ACCESS })
    }

    /// Fails where the caller has no room for one more descriptor. The kernel asks this first: what an open makes or
    /// cuts must not happen when nobody gets the file.
    pub(super) fn has_room(&self) -> Result<(), Errno> {
        let name = format!("{}/fd", self.held.thread);
        let Ok(found) = statat(&self.broker.proc, name, AtFlags::empty()) else { return Ok(()) };
        // Before Linux 6.2 nobody counts them there, and the size is zero.
        let count = u64::try_from(found.st_size).unwrap_or(0);
        match sys::descriptor_limit(self.held.thread) {
            Ok(limit) if count > 0 && count >= limit => Err(Errno::MFILE),
            _ => Ok(()),
        }
    }

    /// A handle to the thread, or to its process: they share their descriptors.
    fn handle(&self) -> Result<Arc<OwnedFd>, Errno> {
        let handle = match sys::handle_to_thread(self.held.thread) {
            // Before Linux 6.9 only whole processes have such a handle.
            Err(Errno::INVAL) => {
                let leader = self.status("Tgid:").and_then(|text| text.parse().ok()).ok_or(Errno::ACCESS)?;
                sys::handle_to_process(leader)
            }
            other => other,
        };
        let handle = Arc::new(handle?);
        self.still_there()?;
        self.broker.memory().remember_handle(self.held.thread, &handle);
        Ok(handle)
    }

    /// As long as it waits, its number means the same thread.
    pub(super) fn still_there(&self) -> Result<(), Errno> {
        if self.broker.listener.still_waits(self.held.id) { Ok(()) } else { Err(Errno::NOENT) }
    }

    /// Makes this thread create files with the caller's mask.
    pub(super) fn wear_mask(&self) -> Result<(), Errno> {
        let mask = self.mask()?;
        WORN.with(|worn| {
            if worn.replace(Some(mask)) != Some(mask) {
                rustix::process::umask(Mode::from_raw_mode(mask));
            }
        });
        Ok(())
    }

    /// The caller's file mask.
    pub(super) fn mask(&self) -> Result<u32, Errno> {
        let remembered = self.broker.memory().mask(self.held.thread);
        let mask = match remembered {
            Some(mask) => mask,
            None => {
                let text = self.status("Umask:").ok_or(Errno::ACCESS)?;
                let mask = u32::from_str_radix(&text, 8).map_err(|_| Errno::ACCESS)?;
                self.broker.memory().remember_mask(self.held.thread, mask);
                mask
            }
        };
        Ok(mask)
    }

    /// One field of the kernel's description of the thread.
    fn status(&self, field: &str) -> Option<String> {
        let text = self.read_proc("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(field))?;
        Some(line.trim().to_owned())
    }

    fn read_proc(&self, name: &str) -> Option<String> {
        let path = format!("{}/{name}", self.held.thread);
        let file = openat(&self.broker.proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut text = Vec::new();
        std::fs::File::from(file).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Who it is, for a record.
    pub(super) fn identity(&self) -> Identity {
        let status = self.read_proc("status").unwrap_or_default();
        // The last number of such a line is the one inside the innermost namespace.
        let inner = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            line.split_whitespace().last()?.parse().ok()
        };
        let name =
            status.lines().find_map(|line| line.strip_prefix("Name:")).map(|name| name.trim().to_owned());
        let exe = rustix::fs::readlinkat(&self.broker.proc, format!("{}/exe", self.held.thread), Vec::new());
        let program = exe.ok().map(|path| String::from_utf8_lossy(path.to_bytes()).into_owned()).or(name);
        Identity { pid: inner("NStgid:").unwrap_or(0), session: inner("NSsid:").unwrap_or(0), program }
    }

    /// Whether it says it is git, for whom more is done; nothing is given away to who lies.
    pub(super) fn is_git(&self) -> bool {
        let program = self.identity().program.unwrap_or_default();
        program.rsplit('/').next().is_some_and(|name| name.starts_with("git"))
    }

    /// The terminal that controls the caller's session, if it is one of the sandbox's own.
    pub(super) fn terminal(&self) -> Option<PathBuf> {
        const TERMINALS_OF_OURS: u32 = 136;
        let stat = self.read_proc("stat")?;
        let after_name = stat.rsplit_once(')')?.1;
        let device: u32 = after_name.split_whitespace().nth(4)?.parse().ok()?;
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
        (major == TERMINALS_OF_OURS).then(|| PathBuf::from(format!("/dev/pts/{minor}")))
    }
}

/// A caller that cannot be looked into gets nothing.
fn unreachable(errno: Errno) -> Errno {
    match errno {
        Errno::FAULT | Errno::NAMETOOLONG | Errno::BADF | Errno::NOTDIR => errno,
        _ => Errno::ACCESS,
    }
}
