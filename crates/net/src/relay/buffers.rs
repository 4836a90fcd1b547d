//! Buffers, held only while there is data in them.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Big enough for most that comes at once, small enough for the processor's cache.
const BIG: usize = 64 * 1024;
/// What a connection gets when many are busy at once.
const SMALL: usize = 16 * 1024;
/// Big buffers of one sandbox in use at once.
const MOST_BIG: usize = 64;
/// Big buffers kept for the next that needs one.
const KEPT: usize = 4;

/// The buffers of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Box<[u8]>>,
    big: usize,
}

/// One buffer, given back when dropped.
#[derive(Debug)]
pub(crate) struct Buffer<'a> {
    bytes: Box<[u8]>,
    home: &'a Buffers,
}

impl Buffers {
    /// A buffer; its content is whatever was in it before, of the same sandbox.
    pub(crate) fn take(&self) -> Buffer<'_> {
        let mut state = self.state();
        let bytes = if state.big < MOST_BIG {
            state.big += 1;
            let kept = state.kept.pop();
            drop(state);
            kept.unwrap_or_else(|| vec![0; BIG].into_boxed_slice())
        } else {
            drop(state);
            vec![0; SMALL].into_boxed_slice()
        };
        Buffer { bytes, home: self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        if self.bytes.len() == BIG {
            let mut state = self.home.state();
            state.big -= 1;
            if state.kept.len() < KEPT {
                state.kept.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

impl Deref for Buffer<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_gets_small_ones_and_little_is_kept() {
        let buffers = Buffers::default();
        let taken: Vec<_> = (0..MOST_BIG + 10).map(|_| buffers.take()).collect();
        assert_eq!(taken.iter().filter(|buffer| buffer.len() == BIG).count(), MOST_BIG);
        assert_eq!(taken.iter().filter(|buffer| buffer.len() == SMALL).count(), 10);
        drop(taken);
        assert_eq!(buffers.state().kept.len(), KEPT);
        assert_eq!(buffers.state().big, 0);
        assert_eq!(buffers.take().len(), BIG);
    }
}
