//! The broker: a process beside the launcher that answers held system calls.
//!
//! It judges what mounts cannot: names that do not exist yet, patterns, git's own files, unix sockets by
//! path. Where a rule depends on it the act is done here, with descriptors, on behalf of the caller; the
//! kernel never gets to read the caller's memory a second time. It also names every refusal of the walls,
//! and lets a call wait while somebody is asked.
//!
//! It lives in the sandbox's user and mount namespaces, because mount points are only busy for callers
//! inside them, and outside its process namespace, so that nothing inside can see or signal it. It holds
//! no capability but the one to look into the sandbox's processes: it can do what the caller could.
//! Should it die, every held call fails with ENOSYS, and so does every later one.

mod act;
mod altering;
mod call;
mod caller;
mod channel;
mod conflicts;
mod connects;
mod contents;
mod datagrams;
mod deeds;
mod deferred;
mod launcher;
mod memory;
mod moving;
mod named_trees;
mod naming;
mod opening;
mod others_git;
mod process;
mod questions;
mod repository;
mod resolve;
mod same_core;
mod search;
mod sockets;
mod stand_ins;
mod standing;
mod tally;
mod trial;
mod work_trees;
mod worker;

pub(crate) use channel::{Away, Noted, Said, Told, Transport, Who};
pub(crate) use deeds::perform;
pub(crate) use launcher::{BrokerHandle, Spoken};
pub(crate) use tally::{Sender, Shares, Tally, Telling};
