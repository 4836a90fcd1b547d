//! Keeping a caller on its core while it is handed a descriptor.
//!
//! The kernel wakes whoever gets a descriptor on an idle core, and waking a core takes several times as
//! long as the whole call; on the broker's own core the caller runs as soon as the broker waits for the next
//! one. The caller may go where it likes again right afterwards. It must never notice: what it starts
//! inherits its cores, so calls that start something or ask about cores are held, too, and give them back
//! first.

use super::process::Broker;
use crate::linux::sys::{self, Cores};
use std::collections::HashMap;

/// Callers that are kept, and where they could run before.
#[derive(Default)]
pub(super) struct Kept(HashMap<u32, Cores>);

/// A caller is kept on this core until this is dropped.
pub(super) struct Keeping<'a> {
    broker: &'a Broker,
    thread: u32,
}

impl Broker {
    /// Keeps a caller on this core.
    pub(super) fn keep_here(&self, thread: u32) -> Keeping<'_> {
        let mut kept = self.kept();
        if let Some(usual) = sys::keep_on_this_core(thread) {
            kept.0.insert(thread, usual);
        }
        Keeping { broker: self, thread }
    }

    /// Gives a caller its cores back.
    pub(super) fn let_go(&self, thread: u32) {
        let mut kept = self.kept();
        if let Some(usual) = kept.0.remove(&thread) {
            sys::let_run_on(thread, &usual);
        }
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.broker.let_go(self.thread);
    }
}
