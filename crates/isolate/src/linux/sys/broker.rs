//! Making the broker's process.

use super::check;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Who returns from [`fork_broker`].
pub(crate) enum Forked {
    /// The launcher, with a descriptor that means the new process.
    Launcher { pidfd: OwnedFd },
    /// The new process.
    Broker,
}

/// A copy of this process, made with the C library's own `fork`: unlike the first process the copy goes
/// on to allocate memory and start threads, and only `fork` leaves the allocator's locks free in it.
pub(crate) fn fork_broker() -> Result<Forked, Errno> {
    // SAFETY: the child runs code that owes nothing to other threads of the launcher: it takes no lock of
    // the program's and leaves with `_exit`.
    match check(unsafe { libc::fork() }.into())? {
        0 => Ok(Forked::Broker),
        pid => {
            // SAFETY: our own child, not yet waited for, so that the number means it; the descriptor is new.
            let pidfd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) });
            match pidfd {
                // SAFETY: the kernel just gave us this descriptor.
                Ok(pidfd) => Ok(Forked::Launcher { pidfd: unsafe { OwnedFd::from_raw_fd(pidfd as i32) } }),
                Err(error) => {
                    // SAFETY: numbers only; it must not live on without anybody who knows it.
                    unsafe {
                        libc::kill(pid as i32, libc::SIGKILL);
                        libc::waitpid(pid as i32, std::ptr::null_mut(), 0);
                    }
                    Err(error)
                }
            }
        }
    }
}

/// The namespaces a broker lives in. A process that has closed itself to everybody keeps those that were opened before.
#[derive(Debug)]
pub(crate) struct Namespaces {
    pub(crate) user: OwnedFd,
    pub(crate) mount: OwnedFd,
}

impl Namespaces {
    /// Those of a process.
    pub(crate) fn of(process: u32) -> Result<Self, Errno> {
        let open = |name: &str| {
            let path = format!("/proc/{process}/ns/{name}");
            rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        Ok(Self { user: open("user")?, mount: open("mnt")? })
    }

    /// Enters both.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        for (namespace, kind) in [(&self.user, libc::CLONE_NEWUSER), (&self.mount, libc::CLONE_NEWNS)] {
            // SAFETY: numbers only; this process has one thread.
            check(unsafe { libc::setns(namespace.as_raw_fd(), kind) }.into())?;
        }
        Ok(())
    }
}

/// Keeps only the right to look into the processes of our user namespace.
pub(crate) fn keep_only_tracing() -> Result<(), Errno> {
    const SYS_PTRACE: u32 = 1 << 19;
    let header = [0x2008_0522_u32, 0]; // _LINUX_CAPABILITY_VERSION_3, this thread
    let only = [SYS_PTRACE, SYS_PTRACE, 0, 0, 0, 0];
    // SAFETY: capset reads two structures that outlive the call; prctl reads numbers.
    unsafe {
        check(libc::syscall(libc::SYS_capset, header.as_ptr(), only.as_ptr()))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into()).map(drop)
    }
}

/// Gives this thread a working directory and file-creation mask of its own.
pub(crate) fn unshare_file_mask() -> Result<(), Errno> {
    // SAFETY: numbers only.
    check(unsafe { libc::unshare(libc::CLONE_FS) }.into()).map(drop)
}

/// What means a thread for as long as we keep it.
pub(crate) fn handle_to_thread(thread: u32) -> Result<OwnedFd, Errno> {
    const PIDFD_THREAD: i32 = libc::O_EXCL;
    open_handle(thread, PIDFD_THREAD)
}

/// What means a process for as long as we keep it.
pub(crate) fn handle_to_process(process: u32) -> Result<OwnedFd, Errno> {
    open_handle(process, 0)
}

fn open_handle(to: u32, flags: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: numbers only; the descriptor is new and ours.
    unsafe {
        let handle = check(libc::syscall(libc::SYS_pidfd_open, to, flags))?;
        Ok(OwnedFd::from_raw_fd(handle as i32))
    }
}

/// A copy of a descriptor of another thread's or process's.
pub(crate) fn descriptor_of(handle: &OwnedFd, number: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: numbers only; the descriptor is new and ours.
    unsafe {
        let descriptor = check(libc::syscall(libc::SYS_pidfd_getfd, handle.as_raw_fd(), number, 0))?;
        Ok(OwnedFd::from_raw_fd(descriptor as i32))
    }
}

/// Connects to an address that is passed on as it came.
pub(crate) fn connect_raw(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    // SAFETY: the kernel reads the slice, which outlives the call.
    check(
        unsafe {
            libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as libc::socklen_t)
        }
        .into(),
    )
    .map(drop)
}

/// Binds to an address that is passed on as it came.
pub(crate) fn bind_raw(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    // SAFETY: the kernel reads the slice, which outlives the call.
    check(
        unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as libc::socklen_t) }
            .into(),
    )
    .map(drop)
}
