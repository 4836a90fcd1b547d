//! Every `unsafe` of the native engine: the few system calls that neither std nor rustix offers.
//!
//! What runs between clone and exec allocates nothing, takes no lock and touches only memory that was
//! prepared before, because the launcher may be a program with many threads.
#![expect(unsafe_code, reason = "raw system calls live here and nowhere else")]

mod broker;
mod clone;
mod helper;
mod image;
mod inherit;
mod landlock;
mod listen;
mod mounts;
mod netlink;
mod network;
mod nft;
mod notify;
mod process;
mod seccomp;
mod signals;
mod target;
mod tracing;
mod unread;
mod watch;

pub(crate) use broker::{
    Forked, Namespaces, bind_raw, connect_raw, descriptor_of, fork_broker, handle_to_process,
    handle_to_thread, keep_only_tracing, unshare_file_mask,
};
pub(crate) use clone::{Side, clone_init, start_sharing_memory};
pub(crate) use helper::Helper;
pub(crate) use image::{Exec, ImageBuilder};
pub use inherit::inherit;
pub(crate) use landlock::{Ruleset, abi as landlock_abi, rights as landlock_rights};
pub(crate) use listen::{Carries, listen_at, stream_socket};
pub(crate) use mounts::{Attributes, set_attributes};
pub(crate) use network::{Reach, lead_everything_to, raise_loopback};
pub(crate) use notify::{Held, Listener, install_listener};
pub(crate) use process::{
    chdir_past_broker, close_all_but, close_on_exec_from, ended_well, exit_now, exit_status, kill_everyone,
    open_past_broker, place_descriptor, random_number, reap, reap_pidfd, shed_privileges,
};
pub(crate) use seccomp::install_filter;
pub(crate) use signals::{block_all_signals, child_signals, forget_handlers, unblock_signals};
pub(crate) use target::{descriptor_limit, read_memory, read_string};
pub use tracing::{Stillness, keep_still};
pub use unread::{hung_up, unread};
pub use watch::{watch, watch_reading};

use rustix::io::Errno;

/// The result of a raw call, as rustix would give it.
fn check(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result == -1 {
        // SAFETY: `__errno_location` always points at this thread's errno.
        Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }))
    } else {
        Ok(result)
    }
}
