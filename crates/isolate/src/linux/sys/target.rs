//! Reaching into the thread whose call is held.

use super::check;
use rustix::io::Errno;

const PAGE: usize = 4096;

/// Reads memory of another thread into `into`; returns how much could be read.
pub(crate) fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
    // SAFETY: `local` is our own slice; the kernel checks the other side.
    check(unsafe { libc::process_vm_readv(thread as i32, &raw const local, 1, &raw const remote, 1, 0) } as _)
        .map(|length| length as usize)
}

/// How many descriptors a thread may have.
pub(crate) fn descriptor_limit(thread: u32) -> Result<u64, Errno> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: nothing is set, and the answer goes to our own variable.
    let asked =
        unsafe { libc::prlimit64(thread as i32, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) };
    check(asked.into()).map(|_| limit.rlim_cur)
}

/// Reads a string that ends in NUL, of at most `into.len()` bytes with it. Returns its length without.
pub(crate) fn read_string(thread: u32, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < into.len() {
        let from = address.checked_add(filled as u64).ok_or(Errno::FAULT)?;
        // The next page may not be there, and then nothing at all would be read.
        let to_page_end = PAGE - (from as usize & (PAGE - 1));
        let end = into.len().min(filled + to_page_end);
        let read = match read_memory(thread, from, &mut into[filled..end])? {
            0 => return Err(Errno::FAULT),
            read => read,
        };
        if let Some(nul) = into[filled..filled + read].iter().position(|byte| *byte == 0) {
            return Ok(filled + nul);
        }
        filled += read;
    }
    Err(Errno::NAMETOOLONG)
}
