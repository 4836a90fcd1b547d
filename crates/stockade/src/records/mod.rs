//! What is kept of runs: refusals in the store, decisions in the audit log.
//!
//! Both lie in the state directory, where no sandboxed command can see them. The log is written as things
//! happen, the first line of a run before its command starts; the store once, when a run ends with refusals.
//! A store that cannot be written never fails a run, and neither does the log unless the settings require it.

mod asker;
mod fault;
mod journal;
mod keeper;
mod name;
mod recorder;

pub use fault::RecordFault;
pub use keeper::Records;

pub(crate) use asker::AuditedAsker;
pub(crate) use fault::Faults;
pub(crate) use journal::Journal;
pub(crate) use keeper::Keeper;
pub(crate) use recorder::Recorder;
