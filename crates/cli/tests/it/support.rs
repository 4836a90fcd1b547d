//! What every test stands on: two callers, a world of files for each, a way to run and to look.

mod answer;
mod binaries;
mod ran;
mod run;
mod skip;
mod snapshot;
mod sys;
mod watch;
mod world;

pub(crate) use answer::{Answer, escape};
pub(crate) use binaries::binaries;
pub(crate) use ran::Ran;
pub(crate) use run::{Live, Run};
pub(crate) use skip::skip;
pub(crate) use snapshot::Snapshot;
pub(crate) use sys::{Pty, exchange, is_root, kill, open_path};
pub(crate) use watch::{eventually, has_ended, mounts_of, processes_of};
pub(crate) use world::{Caller, World, each_caller};
