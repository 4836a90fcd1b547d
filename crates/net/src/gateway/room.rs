//! Room for requests of which only the beginning has come.
//!
//! Each may take as long as a head may, and be as long: thousands of clients that go on slowly would have the
//! gateway hold half a gigabyte.

use super::places::{Place, Places};
use super::ward::Ward;
use std::sync::Arc;

const KILOBYTE: usize = 1024;
/// What one read brings needs no room: most heads are whole then.
const FREE: usize = 8 * KILOBYTE;

/// What one client may hold.
#[derive(Debug)]
pub(crate) struct Room {
    heads: Arc<Places>,
    taken: Option<Place>,
}

/// There is no more room.
#[derive(Debug)]
pub(crate) struct Full;

impl Ward {
    /// Room for what a client begins.
    pub(crate) fn room(&self) -> Room {
        Room { heads: Arc::clone(&self.heads), taken: None }
    }
}

impl Room {
    /// Takes room for so many bytes, in place of what was taken before.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), Full> {
        self.taken = None;
        if bytes > FREE {
            self.taken = Some(self.heads.take_many(bytes.div_ceil(KILOBYTE)).ok_or(Full)?);
        }
        Ok(())
    }

    /// Nothing is held any more.
    pub(crate) fn leave(&mut self) {
        self.taken = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_once() {
        let heads = Places::alone(|| 100);
        let room = || Room { heads: Arc::clone(&heads), taken: None };
        let (mut one, mut other) = (room(), room());
        other.hold(FREE).unwrap();
        for size in [FREE + 1, 60 * KILOBYTE, 90 * KILOBYTE] {
            one.hold(size).unwrap();
        }
        assert!(other.hold(11 * KILOBYTE).is_err());
        one.leave();
        other.hold(100 * KILOBYTE).unwrap();
        drop(other);
        one.hold(100 * KILOBYTE).unwrap();
    }
}
