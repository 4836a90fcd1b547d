//! Every raw system call of the probe. The rest of the program sees `io::Result`.
#![expect(unsafe_code, reason = "an attacker talks to the kernel itself")]

pub(crate) mod errno;
pub(crate) mod faults;
pub(crate) mod files;
pub(crate) mod filter;
pub(crate) mod kernel;
pub(crate) mod naming;
pub(crate) mod processes;
pub(crate) mod sockets;
pub(crate) mod turning;

use std::io;

/// One system call. Private to this room, whose functions pass only live memory or addresses the
/// kernel is expected to refuse.
fn call(number: libc::c_long, args: &[usize]) -> io::Result<usize> {
    let arg = |at: usize| args.get(at).copied().unwrap_or(0);
    // SAFETY: the pointers among the arguments are made in this room from memory that outlives the call.
    let result = unsafe { libc::syscall(number, arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A descriptor or other small signed number as a call's argument.
fn signed(value: i32) -> usize {
    value as isize as usize
}
