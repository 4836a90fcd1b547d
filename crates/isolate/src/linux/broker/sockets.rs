//! Unix sockets by path: who may be reached, and which names may be bound.

use super::act::Answer;
use super::call::Follow;
use super::caller::Base;
use super::connects::Onward;
use super::process::Broker;
use super::resolve::{Led, Place};
use super::trial::Trial;
use crate::linux::sys;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fcntl_getfl, fstat, openat2};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, sockopt};
use std::ffi::CString;
use stockade_policy::{Naming, Refusal, Switch, ViolationKind};

/// Sockets bound inside that are remembered.
const MOST_BOUND: usize = 256;
/// The longest address of any family that may be used inside.
const LONGEST: u64 = 128;

impl Trial<'_> {
    pub(super) fn connect(self, socket: i32, address: u64, length: u64) -> Result<Answer, Errno> {
        let socket = self.caller.descriptor(socket)?;
        let address = self.address(address, length)?;
        if sockopt::socket_domain(&socket)? != AddressFamily::UNIX {
            return match self.judge_internet(&socket, address) {
                Ok(onward) => self.patiently(socket, Target::Internet(onward)),
                Err(answer) => Ok(answer),
            };
        }
        let Some(path) = unix_path(&address)? else {
            return self.patiently(socket, Target::Raw(address));
        };
        let Name::Path(path) = path else { return Ok(self.abstract_name(&address)) };
        let place = match self.lead_to(&path)? {
            Led::To(place) => place,
            Led::IntoProc(_) => return Err(Errno::ACCESS),
        };
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let there = openat2(&place.directory, &place.name, flags, Mode::empty(), resolve)?;
        let found = fstat(&there)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(Errno::CONNREFUSED);
        }
        let bound_inside = self.caller.broker.is_bound_inside(&found);
        let mut trial = self;
        if !bound_inside {
            let full = place.full();
            let judgement = trial.caller.broker.judge.unix(&full);
            if let Err(answer) = trial.hear(ViolationKind::Unix, &full, judgement) {
                return Ok(answer);
            }
        }
        trial.patiently(socket, Target::Socket(there))
    }

    pub(super) fn bind(mut self, socket: i32, address: u64, length: u64) -> Result<Answer, Errno> {
        let socket = self.caller.descriptor(socket)?;
        let address = self.address(address, length)?;
        if sockopt::socket_domain(&socket)? != AddressFamily::UNIX {
            sys::bind_raw(&socket, &address)?;
            self.note_bound(&socket);
            return Ok(Answer::DONE);
        }
        let path = match unix_path(&address)? {
            Some(Name::Path(path)) => path,
            Some(Name::Abstract) => return Ok(self.abstract_name(&address)),
            // The kernel picks an abstract name, which only this network can see.
            None => {
                sys::bind_raw(&socket, &address)?;
                return Ok(Answer::DONE);
            }
        };
        let broker = self.caller.broker;
        let _changes = broker.changes();
        let text = path.to_bytes();
        let base = self.base_of(text)?;
        let Led::To(place) = self.caller.enter(base, text)? else { return Err(Errno::ACCESS) };
        self.caller.wear_mask()?;
        match self.judge_new(&place, Naming::Special) {
            // What stands in the way of a socket has a name of its own.
            Err(Answer::Refused(Errno::EXIST)) => return Err(Errno::ADDRINUSE),
            Err(answer) => return Ok(answer),
            Ok(()) => {}
        }
        let full = place.full();
        let subjects = || vec![(ViolationKind::Create, full)];
        Ok(self.finish(subjects, None, || {
            bind_at(broker, &socket, &place)?;
            broker.remember_socket(&place);
            Ok(Answer::DONE)
        }))
    }

    pub(super) fn address(&self, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
        if !(2..=LONGEST).contains(&length) {
            return Err(Errno::INVAL);
        }
        self.caller.memory(address, length as usize)
    }

    fn base_of(&self, path: &[u8]) -> Result<Base, Errno> {
        self.caller.base(super::call::PathArgument { directory: libc::AT_FDCWD, address: 0 }, path)
    }

    fn lead_to(&self, path: &CString) -> Result<Led, Errno> {
        self.caller.walk(self.base_of(path.to_bytes())?, path.to_bytes().to_vec(), Follow::Yes)
    }

    fn abstract_name(&self, address: &[u8]) -> Answer {
        let name = String::from_utf8_lossy(&address[3..]).into_owned();
        let refusal = Refusal {
            rule: None,
            reason: "unix sockets without a path are closed".into(),
            suggestion: None,
            grantable: Switch::Refused,
        };
        self.record(ViolationKind::Unix, format!("@{name}"), &refusal);
        Answer::Refused(Errno::PERM)
    }

    /// Connects on behalf of the caller, in a thread of its own where that may have to wait.
    fn patiently(self, socket: OwnedFd, target: Target) -> Result<Answer, Errno> {
        let waits = !fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK)
            && sockopt::socket_type(&socket)? != SocketType::DGRAM;
        if !waits {
            target.connect(self.caller.broker, &socket)?;
            return Ok(Answer::DONE);
        }
        let held = *self.caller.held;
        self.caller.broker.aside(move |broker| {
            let answer = match super::worker::settle_in(broker).and_then(|()| target.connect(broker, &socket))
            {
                Ok(()) => Answer::DONE,
                Err(errno) => Answer::Refused(errno),
            };
            answer.give(broker, &held);
        })?;
        Ok(Answer::Later)
    }
}

impl Broker {
    /// Whether a socket file was made by a command in this sandbox.
    pub(super) fn is_bound_inside(&self, found: &Stat) -> bool {
        let same = |socket: &OwnedFd| {
            fstat(socket).is_ok_and(|known| (known.st_dev, known.st_ino) == (found.st_dev, found.st_ino))
        };
        self.bound().iter().any(same)
    }

    /// Remembers a socket that was just bound. The descriptor keeps its number from being used again.
    fn remember_socket(&self, place: &Place) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat2(&place.directory, &place.name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        if let Ok(socket) = opened {
            let mut bound = self.bound();
            if bound.len() >= MOST_BOUND {
                bound.remove(0);
            }
            bound.push(socket);
        }
    }
}

/// Where a connection goes.
enum Target {
    /// An address without a path in it.
    Raw(Vec<u8>),
    /// A socket file that was looked at.
    Socket(OwnedFd),
    /// An internet address.
    Internet(Onward),
}

impl Target {
    fn connect(&self, broker: &Broker, socket: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Raw(address) => sys::connect_raw(socket, address),
            Self::Internet(Onward { address, remembered }) => {
                let connected = sys::connect_raw(socket, address);
                if let Some(number) = remembered {
                    broker.note_origin(*number, socket);
                }
                connected
            }
            // Every thread of ours works in the host's /proc.
            Self::Socket(there) => {
                let path = format!("self/fd/{}", there.as_raw_fd());
                rustix::net::connect(socket, &SocketAddrUnix::new(path)?)
            }
        }
    }
}

fn bind_at(broker: &Broker, socket: &OwnedFd, place: &Place) -> Result<(), Errno> {
    rustix::process::fchdir(&place.directory)?;
    let bound = SocketAddrUnix::new(place.name.as_c_str()).and_then(|name| rustix::net::bind(socket, &name));
    rustix::process::fchdir(&broker.proc)?;
    bound
}

/// What a unix address names.
enum Name {
    Path(CString),
    Abstract,
}

/// The name in a unix address; nothing in an empty one.
fn unix_path(address: &[u8]) -> Result<Option<Name>, Errno> {
    let family = u16::from_ne_bytes([address[0], address[1]]);
    if family != AddressFamily::UNIX.as_raw() {
        return Err(Errno::INVAL);
    }
    match &address[2..] {
        [] => Ok(None),
        [0, ..] => Ok(Some(Name::Abstract)),
        path => {
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            CString::new(&path[..end]).map(|path| Some(Name::Path(path))).map_err(|_| Errno::INVAL)
        }
    }
}
