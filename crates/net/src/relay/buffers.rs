//! Buffers, held only while there is data in them.
//!
//! Tried and left: pipes, through which bytes go from socket to socket without being copied (splice). On quick
//! machines the pages' way through a pipe costs more than copying them; what counts is how much is read at once.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a connection gets when many are busy at once.
const SMALL: usize = 16 * 1024;

/// Buffers of one size.
struct Size {
    length: usize,
    /// Those of one sandbox in use at once.
    most: usize,
    /// Those kept for the next that needs one.
    kept: usize,
}

/// Big enough for most that comes at once, small enough for the processor's cache.
const BIG: Size = Size { length: 64 * 1024, most: 64, kept: 4 };
/// For whoever has more than that: the more is read at once, the fewer turns both sides have to take.
const HUGE: Size = Size { length: 1024 * 1024, most: 16, kept: 2 };

/// The buffers of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    big: Mutex<Stock>,
    huge: Mutex<Stock>,
}

#[derive(Debug, Default)]
struct Stock {
    kept: Vec<Box<[u8]>>,
    taken: usize,
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
        let bytes = take(&self.big, &BIG).unwrap_or_else(|| vec![0; SMALL].into_boxed_slice());
        Buffer { bytes, home: self }
    }

    fn give_back(&self, bytes: Box<[u8]>) {
        let (stock, size) = match bytes.len() {
            length if length == BIG.length => (&self.big, BIG),
            length if length == HUGE.length => (&self.huge, HUGE),
            _ => return,
        };
        let mut stock = open(stock);
        stock.taken -= 1;
        if stock.kept.len() < size.kept {
            stock.kept.push(bytes);
        }
    }
}

fn take(stock: &Mutex<Stock>, size: &Size) -> Option<Box<[u8]>> {
    let mut stock = open(stock);
    if stock.taken == size.most {
        return None;
    }
    stock.taken += 1;
    let kept = stock.kept.pop();
    drop(stock);
    Some(kept.unwrap_or_else(|| vec![0; size.length].into_boxed_slice()))
}

fn open(stock: &Mutex<Stock>) -> MutexGuard<'_, Stock> {
    stock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer<'_> {
    /// Makes it as large as they get, if there is one to have. Its content is lost.
    pub(super) fn widen(&mut self) {
        if self.bytes.len() < HUGE.length
            && let Some(wide) = take(&self.home.huge, &HUGE)
        {
            let narrow = std::mem::replace(&mut self.bytes, wide);
            self.home.give_back(narrow);
        }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.bytes));
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
        let taken: Vec<_> = (0..BIG.most + 10).map(|_| buffers.take()).collect();
        assert_eq!(taken.iter().filter(|buffer| buffer.len() == BIG.length).count(), BIG.most);
        assert_eq!(taken.iter().filter(|buffer| buffer.len() == SMALL).count(), 10);
        drop(taken);
        assert_eq!(open(&buffers.big).kept.len(), BIG.kept);
        assert_eq!(open(&buffers.big).taken, 0);
        assert_eq!(buffers.take().len(), BIG.length);
    }

    #[test]
    fn few_are_widened_and_all_are_given_back() {
        let buffers = Buffers::default();
        let mut taken: Vec<_> = (0..HUGE.most + 3).map(|_| buffers.take()).collect();
        for buffer in &mut taken {
            buffer.widen();
            buffer.widen();
        }
        assert_eq!(taken.iter().filter(|buffer| buffer.len() == HUGE.length).count(), HUGE.most);
        assert_eq!(open(&buffers.big).taken, 3);
        drop(taken);
        assert_eq!((open(&buffers.huge).taken, open(&buffers.big).taken), (0, 0));
        assert_eq!((open(&buffers.huge).kept.len(), open(&buffers.big).kept.len()), (HUGE.kept, BIG.kept));
    }
}
