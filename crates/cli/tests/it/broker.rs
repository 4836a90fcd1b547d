//! What only the broker can judge, attacked inside real sandboxes; and faults in and around it.

mod caches;
mod carried;
mod conflicts;
mod cores;
mod faithful;
mod faults;
mod git;
mod kills;
mod links;
mod lists;
mod modes;
mod names;
mod programs;
mod records;
mod sockets;
mod spellings;
mod submodules;
mod swaps;
mod tracing;
