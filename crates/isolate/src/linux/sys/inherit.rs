//! Descriptors that a plain child process gets under the numbers they have here.

use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Leaves these descriptors open in the program that the command becomes, and in no other child of this process.
/// They are closed here when the command is dropped.
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    if descriptors.is_empty() {
        return;
    }
    let keep = move || {
        for descriptor in &descriptors {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: after the fork this makes one system call for each descriptor; it neither allocates nor locks.
    unsafe { command.pre_exec(keep) };
}
