//! What a start needs whatever its plan is, made before there is one.

use super::sys::{self, Helper};
use rustix::thread::UnshareFlags;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The one that waits for its plan.
static WAITING: Mutex<Option<Helper>> = Mutex::new(None);

/// Begins to make the namespaces of the next sandbox in a process beside this one. The next sandbox takes them;
/// they go with the calling thread, or with [`stand_down`]. Where they cannot be had nothing is lost: the start
/// tries again and says why.
pub(super) fn get_ready() {
    let mut waiting = waiting();
    if waiting.is_none() {
        let namespaces = UnshareFlags::NEWUSER
            | UnshareFlags::NEWNET
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWCGROUP;
        *waiting = Helper::begin(namespaces, sys::raise_loopback).ok();
    }
}

/// Gives up what [`get_ready`] made, if it is still there.
pub(super) fn stand_down() {
    waiting().take();
}

/// What is ready, if something is.
pub(super) fn take() -> Option<Helper> {
    waiting().take()
}

fn waiting() -> MutexGuard<'static, Option<Helper>> {
    // It is only ever replaced whole.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
