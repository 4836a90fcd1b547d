//! Keeping a process still, whatever signals it gets.
//!
//! A stop by signal ends with the next SIGCONT, which a process can have sent to itself in many ways before it is
//! stopped: by a timer, by a change in a directory. One that is traced and interrupted goes on only when whoever traces
//! it lets it.

use super::check;
use rustix::process::Pid;
use std::io;
use std::sync::mpsc::{Sender, channel};

/// A process that does nothing as long as this lives; from a moment after it was made, which shows in its state.
#[derive(Debug)]
pub struct Stillness {
    /// Dropped to let it go.
    _holding: Sender<()>,
}

/// Begins to trace a process and interrupts it. Its first thread is meant: the caller looks whether there are others.
///
/// Only the thread that began to trace may let go, so that there is one for just that. The state of the process
/// tells when it is stopped; nobody waits for it as for a child, because a program may wait for any child of its.
pub fn keep_still(process: Pid) -> io::Result<Stillness> {
    let (holding, end) = channel::<()>();
    let body = move || {
        let number = process.as_raw_nonzero().get();
        // SAFETY: PTRACE_SEIZE takes no memory of ours; the options say nothing.
        let seized = unsafe {
            libc::ptrace(libc::PTRACE_SEIZE, number, std::ptr::null_mut::<libc::c_void>(), 0_usize)
        };
        if check(seized).is_err() {
            return;
        }
        // SAFETY: as above.
        let _ = unsafe {
            libc::ptrace(libc::PTRACE_INTERRUPT, number, std::ptr::null_mut::<libc::c_void>(), 0_usize)
        };
        // Nothing is ever sent.
        let _ = end.recv();
        // SAFETY: as above. Should it fail, the kernel lets go when this thread ends.
        let _ = unsafe {
            libc::ptrace(libc::PTRACE_DETACH, number, std::ptr::null_mut::<libc::c_void>(), 0_usize)
        };
    };
    std::thread::Builder::new().name("stillness".into()).stack_size(64 * 1024).spawn(body)?;
    Ok(Stillness { _holding: holding })
}
