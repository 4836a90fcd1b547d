//! Held system calls: the kernel's side of the broker.

use super::check;
use libc::sock_filter;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;

/// A held call, as the kernel tells it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Held {
    pub(crate) id: u64,
    /// The thread, as our own process namespace numbers it.
    pub(crate) thread: u32,
    flags: u32,
    pub(crate) number: i32,
    arch: u32,
    instruction: u64,
    pub(crate) arguments: [u64; 6],
}

#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct AddDescriptor {
    id: u64,
    flags: u32,
    source: u32,
    target: u32,
    target_flags: u32,
}

const NEW_LISTENER: libc::c_ulong = 1 << 3;
/// Once we have taken a call, signals other than deadly ones wait for our answer. Without it a signal
/// would make the caller repeat an act that is done already.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
const CONTINUE: u32 = 1;
const AT_NUMBER: u32 = 1;
const AND_ANSWER: u32 = 2;
const WAKE_ON_THE_SAME_CORE: u64 = 1;

const RECEIVE: libc::c_ulong = request(3, 0, size_of::<Held>());
const SEND: libc::c_ulong = request(3, 1, size_of::<Response>());
const IS_VALID: libc::c_ulong = request(1, 2, size_of::<u64>());
const ADD_DESCRIPTOR: libc::c_ulong = request(1, 3, size_of::<AddDescriptor>());
const SET_FLAGS: libc::c_ulong = request(1, 4, size_of::<u64>());

const fn request(direction: libc::c_ulong, number: libc::c_ulong, size: usize) -> libc::c_ulong {
    direction << 30 | (size as libc::c_ulong) << 16 | (b'!' as libc::c_ulong) << 8 | number
}

/// Applies a program that may hold calls to this process for ever, and gives the end that answers them.
pub(crate) fn install_listener(program: &[sock_filter]) -> Result<OwnedFd, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program outlives the call; the kernel copies and never writes it. The descriptor is new.
    unsafe {
        let listener = check(libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            NEW_LISTENER | WAIT_KILLABLE,
            &raw const program,
        ))?;
        Ok(OwnedFd::from_raw_fd(listener as i32))
    }
}

/// The end that answers held calls.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl Listener {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        let listener = Self(descriptor);
        // Kernels before 6.6 wake us on any core, which is slower and nothing worse.
        // SAFETY: the flags are passed by value.
        let _ = check(
            unsafe { libc::ioctl(listener.0.as_raw_fd(), SET_FLAGS as _, WAKE_ON_THE_SAME_CORE) }.into(),
        );
        listener
    }

    /// Waits for a held call.
    pub(crate) fn receive(&self) -> Result<Held, Errno> {
        // SAFETY: all-zero is a valid `Held` (and what the kernel asks for); it outlives the call.
        unsafe {
            let mut held: Held = std::mem::zeroed();
            check(libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut held).into())?;
            Ok(held)
        }
    }

    /// Whether anybody is left whose calls could be held.
    pub(crate) fn has_callers(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
        let looked = poll(&mut ready, Some(&Timespec::default()));
        looked.is_ok() && !ready[0].revents().contains(PollFlags::HUP)
    }

    /// Whether the caller still waits: until then its process id means the same process.
    pub(crate) fn still_waits(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number that outlives the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), IS_VALID as _, &raw const id) }.into()).is_ok()
    }

    fn send(&self, response: &Response) -> Result<(), Errno> {
        // SAFETY: the kernel reads a structure that outlives the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const *response) }.into()).map(drop)
    }

    /// The call returns this value.
    pub(crate) fn answer(&self, id: u64, value: i64) -> Result<(), Errno> {
        self.send(&Response { id, value, error: 0, flags: 0 })
    }

    /// The call fails.
    pub(crate) fn refuse(&self, id: u64, errno: Errno) -> Result<(), Errno> {
        self.send(&Response { id, value: 0, error: -errno.raw_os_error(), flags: 0 })
    }

    /// The kernel does the call as if we had not been there, reading its arguments anew.
    pub(crate) fn go_on(&self, id: u64) -> Result<(), Errno> {
        self.send(&Response { id, value: 0, error: 0, flags: CONTINUE })
    }

    /// The call returns a descriptor: a copy of ours, at the next free number or at this one.
    pub(crate) fn hand_over(
        &self,
        id: u64,
        descriptor: BorrowedFd<'_>,
        at: Option<u32>,
        close_on_exec: bool,
    ) -> Result<(), Errno> {
        let added = AddDescriptor {
            id,
            flags: AND_ANSWER | if at.is_some() { AT_NUMBER } else { 0 },
            source: descriptor.as_raw_fd() as u32,
            target: at.unwrap_or(0),
            target_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        // SAFETY: the kernel reads a structure that outlives the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), ADD_DESCRIPTOR as _, &raw const added) }.into())
            .map(drop)
    }
}
