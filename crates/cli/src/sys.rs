//! The few calls of the command line that the standard library does not offer safely.
#![expect(unsafe_code, reason = "raw system calls live here and in witness/sys.rs")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Our own copy of an open descriptor; fails where there is none.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC reads no memory, and a number that is not open is answered with EBADF.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Whether a descriptor of that number is open.
pub(crate) fn is_open(number: RawFd) -> io::Result<()> {
    // SAFETY: F_GETFD reads no memory, and a number that is not open is answered with EBADF.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether we were started with a signal ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zero bytes are a valid `sigaction`.
    let mut present: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only fills `present`, which outlives it.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut present) };
    asked == 0 && present.sa_sigaction == libc::SIG_IGN
}

/// Makes a file-size limit of the caller's an error that can be told instead of a silent death. Commands
/// get the signal's default back.
pub(crate) fn outlive_file_size_limit() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets this process, whose sandbox has been made already, have as many descriptors as it may: each connection
/// through the gateway takes two.
pub(crate) fn want_many_descriptors() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let wanted = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Fewer connections at once are no reason not to run.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, wanted);
}

/// Gives back the memory that the program's own code and constants take: whatever is needed again is read again, from
/// the file. Breakpoints that a debugger has set in them are lost.
pub(crate) fn let_go_of_program() {
    // SAFETY: the callback keeps to what it is promised, and nothing is passed through.
    unsafe { libc::dl_iterate_phdr(Some(let_go_of_first), std::ptr::null_mut()) };
}

/// The C library tells of the program itself first; an answer other than zero ends the list.
unsafe extern "C" fn let_go_of_first(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the C library hands in a description that is valid during the call, with an array of that many headers.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let is_unchanged =
        |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0;
    for header in headers.iter().filter(is_unchanged) {
        let first = base + header.p_vaddr;
        let start = first - first % page;
        let length = first + header.p_memsz - start;
        // SAFETY: what the program may not write is as it is in the file, and comes back from there. Addresses that were
        // put in when it was loaded lie in parts that may be written.
        unsafe { libc::madvise(start as *mut libc::c_void, length as usize, libc::MADV_DONTNEED) };
    }
    1
}

/// Closes everything but 0, 1 and 2. For the very beginning of a process, which has opened nothing yet.
pub(crate) fn forget_descriptors() -> io::Result<()> {
    // SAFETY: nothing in this process owns a descriptor above 2 so early.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    if closed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Goes on in a process that belongs to no terminal and can never get one. The one that was started ends. For the
/// very beginning of a process, which has one thread.
pub(crate) fn leave() -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: there is one thread, so that the child has everything the parent had.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(()),
        // SAFETY: ends this process without running anything of it a second time.
        _ => unsafe { libc::_exit(0) },
    }
}

/// Makes 0, 1 and 2 the null device.
pub(crate) fn silence() -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_program_gives_its_pages_back_and_goes_on() {
        let resident = || {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let program = std::fs::read_link("/proc/self/exe").unwrap();
            let mut pages = 0;
            let mut is_code = false;
            for line in maps.lines() {
                if line.contains(" r-xp ") || line.contains(" rw-p ") || line.contains(" r--p ") {
                    is_code = line.contains(" r-xp ") && line.ends_with(program.to_str().unwrap());
                } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_code) {
                    pages += size.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
                }
            }
            pages
        };
        let before = resident();
        let_go_of_program();
        let after = resident();
        assert!(after < before, "{after} of {before} kB");
    }

    #[test]
    fn copies_what_is_open() {
        let file = File::open("/dev/null").unwrap();
        assert!(duplicate(file.as_raw_fd()).is_ok());
        assert_eq!(duplicate(99_999).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert!(is_open(file.as_raw_fd()).is_ok() && is_open(99_999).is_err());
    }

    #[test]
    fn the_runtime_ignores_broken_pipes_and_nothing_else() {
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGTERM));
    }
}
