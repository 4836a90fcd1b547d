//! Calls that make processes or reach into others.

use super::{call, signed};
use std::ffi::CStr;
use std::io;

/// How a new process is asked for.
#[derive(Clone, Copy)]
pub(crate) enum How {
    Unshare,
    Clone,
    Clone3,
}

/// Makes namespaces and reports the error number of a mount made inside them, 0 for a success.
pub(crate) fn nest(how: How, flags: u64, over: &CStr) -> io::Result<i32> {
    let flags_word = usize::try_from(flags).map_err(io::Error::other)?;
    let child = match how {
        How::Unshare => {
            call(libc::SYS_unshare, &[flags_word])?;
            return Ok(mount_error(over));
        }
        How::Clone => call(libc::SYS_clone, &[flags_word | libc::SIGCHLD as usize, 0, 0, 0, 0])?,
        How::Clone3 => {
            // flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls
            let args: [u64; 8] = [flags, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
            call(libc::SYS_clone3, &[args.as_ptr() as usize, std::mem::size_of_val(&args)])?
        }
    };
    if child == 0 {
        leave(mount_error(over));
    }
    match wait(child)? {
        Ending::Exit(code) => Ok(code),
        Ending::Signal { .. } => Ok(libc::EINTR),
    }
}

fn mount_error(over: &CStr) -> i32 {
    super::kernel::mount(over).err().and_then(|error| error.raw_os_error()).unwrap_or(0)
}

/// How a child ended.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    Exit(i32),
    Signal { number: i32, core: bool },
}

/// Ends this process at once, without any destructor.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: ends the process; nothing runs afterwards.
    unsafe { libc::_exit(code) }
}

/// Waits for one child.
pub(crate) fn wait(child: usize) -> io::Result<Ending> {
    let mut status = 0_i32;
    call(libc::SYS_wait4, &[child, (&raw mut status) as usize, 0, 0])?;
    if libc::WIFEXITED(status) {
        Ok(Ending::Exit(libc::WEXITSTATUS(status)))
    } else {
        Ok(Ending::Signal { number: libc::WTERMSIG(status), core: libc::WCOREDUMP(status) })
    }
}

/// Forks; 0 in the child. The probe has one thread, so the child may go on as it likes.
pub(crate) fn fork() -> io::Result<usize> {
    // SAFETY: the only thread of this program.
    usize::try_from(unsafe { libc::fork() }).map_err(|_| io::Error::last_os_error())
}

pub(crate) fn setsid() -> io::Result<usize> {
    call(libc::SYS_setsid, &[])
}

/// Makes this process deaf to what a polite killer sends.
pub(crate) fn ignore_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
        // SAFETY: ignoring a signal installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

pub(crate) fn raise(signal: i32) -> io::Result<usize> {
    // SAFETY: restores the default action and signals this very process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    let own = call(libc::SYS_getpid, &[])?;
    call(libc::SYS_kill, &[own, signed(signal)])
}

pub(crate) fn kill(pid: i32, signal: i32) -> io::Result<usize> {
    call(libc::SYS_kill, &[signed(pid), signed(signal)])
}

pub(crate) fn trace(request: u32, pid: i32) -> io::Result<usize> {
    call(libc::SYS_ptrace, &[request as usize, signed(pid), 0, 0])
}

fn vm(number: libc::c_long, pid: i32) -> io::Result<usize> {
    let mut buffer = [0_u8; 8];
    let local = [buffer.as_mut_ptr() as usize, buffer.len()];
    // An address that is never mapped: through a hole this answers EFAULT.
    let remote = [0x1000_usize, 8];
    call(number, &[signed(pid), local.as_ptr() as usize, 1, remote.as_ptr() as usize, 1, 0])
}

pub(crate) fn vm_read(pid: i32) -> io::Result<usize> {
    vm(libc::SYS_process_vm_readv, pid)
}

pub(crate) fn vm_write(pid: i32) -> io::Result<usize> {
    vm(libc::SYS_process_vm_writev, pid)
}

pub(crate) fn pidfd_open(pid: i32) -> io::Result<usize> {
    call(libc::SYS_pidfd_open, &[signed(pid), 0])
}

/// Takes a descriptor out of another process.
pub(crate) fn steal(pid: i32, fd: i32) -> io::Result<usize> {
    let pidfd = pidfd_open(pid)?;
    call(libc::SYS_pidfd_getfd, &[pidfd, signed(fd), 0])
}

/// Dies of an abort in a child that asked for the biggest core it may have.
pub(crate) fn dump_core() -> io::Result<Ending> {
    let child = fork()?;
    if child == 0 {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: plain structures that live through the calls; abort ends the child.
        unsafe {
            libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
            let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const all);
            libc::abort();
        }
    }
    wait(child)
}

/// Soft and hard limit; all ones where there is none.
pub(crate) fn limit(resource: u32) -> io::Result<[u64; 2]> {
    let mut limit = [0_u64; 2];
    call(libc::SYS_prlimit64, &[0, resource as usize, 0, limit.as_mut_ptr() as usize])?;
    Ok(limit)
}

/// user, group, process, parent, group leader, session.
pub(crate) fn identity() -> io::Result<[usize; 6]> {
    Ok([
        call(libc::SYS_getuid, &[])?,
        call(libc::SYS_getgid, &[])?,
        call(libc::SYS_getpid, &[])?,
        call(libc::SYS_getppid, &[])?,
        call(libc::SYS_getpgid, &[0])?,
        call(libc::SYS_getsid, &[0])?,
    ])
}

/// One set*id call; 0 as id.
pub(crate) fn become_root() -> io::Result<usize> {
    call(libc::SYS_setuid, &[0])
}

pub(crate) fn set_groups() -> io::Result<usize> {
    call(libc::SYS_setgroups, &[0, 0])
}
