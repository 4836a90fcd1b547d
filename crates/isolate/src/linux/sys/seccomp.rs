//! Installing a filter.

use super::check;
use libc::sock_filter;
use rustix::io::Errno;

/// Applies the program to this process for ever. Needs no_new_privs.
pub(crate) fn install_filter(program: &[sock_filter]) -> Result<(), Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program outlives the call; the kernel copies and never writes it.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) })
        .map(drop)
}
