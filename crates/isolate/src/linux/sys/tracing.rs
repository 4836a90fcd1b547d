//! Keeping a process still, whatever signals it gets.
//!
//! A stop by signal ends with the next SIGCONT, which a process can have sent to itself in many ways before it is
//! stopped: by a timer, by a change in a directory. One that is traced and interrupted goes on only when whoever traces
//! it lets it.

use super::check;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::c_void;
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A process that does nothing as long as this lives; from a moment after it was made, which shows in its state.
#[derive(Debug)]
pub struct Stillness {
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// Begins to trace a process and interrupts it. Its first thread is meant: the caller looks whether there are others.
///
/// Only the thread that began to trace may let go, so that there is one for just that. The state of the process
/// tells when it is stopped; nobody waits for it as for a child, because a program may wait for any child of its.
pub fn keep_still(process: Pid) -> io::Result<Stillness> {
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
    let awaited = Arc::clone(&end);
    let body = move || {
        if trace(Request::Seize, process).is_err() {
            return;
        }
        // Should it fail the process is not stopped, which the caller sees.
        let _ = trace(Request::Interrupt, process);
        // Its parent hears of its death from us only: a sandbox that ends waits for it.
        let mut either = [PollFd::new(&handle, PollFlags::IN), PollFd::new(&*awaited, PollFlags::IN)];
        while poll(&mut either, None) == Err(Errno::INTR) {}
        // Of one that has died the kernel lets go when this thread ends.
        let _ = trace(Request::Detach, process);
    };
    let thread = std::thread::Builder::new().name("stillness".into()).stack_size(64 * 1024).spawn(body)?;
    Ok(Stillness { end, thread: Some(thread) })
}

impl Drop for Stillness {
    fn drop(&mut self) {
        let told = rustix::io::write(&*self.end, &1_u64.to_ne_bytes());
        // It does nothing but let go; whoever comes next finds a process that goes on.
        if let (Ok(_), Some(thread)) = (told, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

enum Request {
    Seize,
    Interrupt,
    Detach,
}

fn trace(request: Request, process: Pid) -> Result<(), Errno> {
    let number = process.as_raw_nonzero().get();
    // The C libraries do not agree on the type of these numbers.
    let request = match request {
        Request::Seize => libc::PTRACE_SEIZE,
        Request::Interrupt => libc::PTRACE_INTERRUPT,
        Request::Detach => libc::PTRACE_DETACH,
    };
    // SAFETY: none of these requests reads or writes memory of ours: seizing has no options, the others take nothing.
    check(unsafe { libc::ptrace(request, number, null_mut::<c_void>(), null_mut::<c_void>()) }).map(drop)
}
