//! What everything that waits is built on.

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::AsRawFd;
use tokio::runtime::{Builder, Runtime};

/// Descriptors that a run takes, with everything that can be asked of it.
const NEEDED: u64 = 24;

/// Descriptors will run out, and not everything that needs one can say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "of {limit} files that may be open at once {left} are left, and {NEEDED} are needed; nothing was run\nhint: raise the limit: ulimit -n {}",
    remedy(*limit, *left)
)]
struct TooFew {
    limit: u64,
    left: u64,
}

/// A runtime for one thread. Where there are too few descriptors it is not even tried: half of it would be there, and
/// the rest would panic.
pub(crate) fn build() -> io::Result<Runtime> {
    enough().map_err(io::Error::other)?;
    Builder::new_current_thread().enable_all().build()
}

/// Whether there are descriptors for what could also be done later.
pub(crate) fn has_room() -> bool {
    enough().is_ok()
}

fn enough() -> Result<(), TooFew> {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    // New ones get the lowest number that is free.
    let used =
        eventfd(0, EventfdFlags::CLOEXEC).map_or(limit, |next| u64::from(next.as_raw_fd().unsigned_abs()));
    let left = limit.saturating_sub(used);
    if left < NEEDED { Err(TooFew { limit, left }) } else { Ok(()) }
}

/// A limit that is high enough, and round.
fn remedy(limit: u64, left: u64) -> u64 {
    (limit - left + 2 * NEEDED).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_enough() {
        for (limit, left, expected) in [(10, 7, 64), (3, 0, 64), (1024, 3, 2048)] {
            let said = TooFew { limit, left }.to_string();
            assert!(said.ends_with(&format!("hint: raise the limit: ulimit -n {expected}")), "{said}");
        }
        assert!(build().is_ok());
    }
}
