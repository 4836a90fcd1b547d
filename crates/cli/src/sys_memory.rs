//! The program's memory.
//!
//! Most runs last a few milliseconds, and a tenth of that went to the C library's allocator and to the kernel, which
//! hands out one page for each first touch. So the first megabyte is a part of the program: the kernel is asked for
//! what a short run needs at once, small pieces are kept in lists by size, and nothing is looked up to free one. What
//! does not fit, whatever is large, and whatever comes while another thread is at it, is the C library's.
//!
//! Nothing here waits: a process that was forked while another thread held the lists goes on without them.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// All there is.
const SIZE: usize = 1024 * 1024;
/// What a short run needs.
const AT_ONCE: usize = 256 * 1024;
/// Up to here every multiple of sixteen has a list of its own, then every power of two.
const SMALL: usize = 1024;
const LARGEST: usize = 32 * 1024;
const LISTS: usize = SMALL / UNIT + 1 + (LARGEST / SMALL).ilog2() as usize;
const UNIT: usize = 16;

/// Memory for the whole program.
#[derive(Debug)]
pub struct Memory {
    region: Region,
    taken: AtomicBool,
    state: UnsafeCell<State>,
}

#[derive(Debug)]
#[repr(C, align(4096))]
struct Region(UnsafeCell<[u8; SIZE]>);

#[derive(Debug)]
struct State {
    /// How much was ever handed out.
    used: usize,
    /// The first free piece of each size; each piece holds the address of the next.
    free: [*mut u8; LISTS],
}

// SAFETY: the state is only touched by whoever has set `taken`, and a piece of the region belongs to whoever it was
// handed out to.
unsafe impl Sync for Memory {}

impl Memory {
    /// Nothing handed out yet.
    #[expect(clippy::new_without_default, reason = "it stands in a static")]
    pub const fn new() -> Self {
        Self {
            region: Region(UnsafeCell::new([0; SIZE])),
            taken: AtomicBool::new(false),
            state: UnsafeCell::new(State { used: 0, free: [ptr::null_mut(); LISTS] }),
        }
    }

    fn start(&self) -> *mut u8 {
        self.region.0.get().cast()
    }

    fn holds(&self, piece: *mut u8) -> bool {
        (piece as usize).wrapping_sub(self.start() as usize) < SIZE
    }

    /// Does something with the lists, unless somebody else is at it.
    fn with<T>(&self, act: impl FnOnce(&mut State) -> Option<T>) -> Option<T> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: whoever set `taken` is alone with the state until it is cleared, and `act` does not come back here.
        let done = act(unsafe { &mut *self.state.get() });
        self.taken.store(false, Ordering::Release);
        done
    }

    /// A piece for this list, which has pieces of this size.
    fn take(&self, list: usize, size: usize) -> Option<*mut u8> {
        self.with(|state| {
            let first = state.free[list];
            if !first.is_null() {
                // SAFETY: pieces in a list are free, at least UNIT bytes large, aligned, and hold the next one's address.
                state.free[list] = unsafe { first.cast::<*mut u8>().read() };
                return Some(first);
            }
            if state.used == 0 {
                // SAFETY: the region is ours; that its pages come at once changes nothing about what is in them.
                // Where the kernel does not know how, they come one by one.
                unsafe { libc::madvise(self.start().cast(), AT_ONCE, libc::MADV_POPULATE_WRITE) };
            }
            let piece = state.used;
            if SIZE - piece < size {
                return None;
            }
            state.used += size;
            // SAFETY: `piece` lies inside the region.
            Some(unsafe { self.start().add(piece) })
        })
    }
}

/// The list for pieces of a layout, and their size.
fn list(layout: Layout) -> Option<(usize, usize)> {
    let size = layout.size();
    match size {
        _ if layout.align() > UNIT || size > LARGEST => None,
        0..=SMALL => {
            let units = size.div_ceil(UNIT).max(1);
            Some((units, units * UNIT))
        }
        _ => {
            let size = size.next_power_of_two();
            Some((SMALL / UNIT + (size / SMALL).ilog2() as usize, size))
        }
    }
}

// SAFETY: pieces are disjoint, at least as large and as aligned as was asked for, and go back to the list they came
// from, which their layout names; everything else is the system's allocator, told apart by address.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        list(layout).and_then(|(list, size)| self.take(list, size)).unwrap_or_else(|| {
            // SAFETY: the caller's promise about the layout.
            unsafe { System.alloc(layout) }
        })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match list(layout).and_then(|(list, size)| self.take(list, size)) {
            Some(piece) => {
                // SAFETY: the piece has at least this size, and nobody else knows of it.
                unsafe { piece.write_bytes(0, layout.size()) };
                piece
            }
            // SAFETY: the caller's promise about the layout.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if !self.holds(piece) {
            // SAFETY: what is not ours came from there, with this layout.
            return unsafe { System.dealloc(piece, layout) };
        }
        let Some((list, _)) = list(layout) else { return };
        // Where somebody else is at it, it stays unused.
        self.with(|state| {
            // SAFETY: the piece is free from now on, aligned and at least UNIT bytes large.
            unsafe { piece.cast::<*mut u8>().write(state.free[list]) };
            state.free[list] = piece;
            Some(())
        });
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.holds(piece) {
            // SAFETY: what is not ours came from there; the caller's promise about the size.
            return unsafe { System.realloc(piece, layout, size) };
        }
        // SAFETY: the caller promises that this size does not overflow with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if list(new) == list(layout) {
            return piece;
        }
        // SAFETY: the caller's promise about the layout; sizes are never zero.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: two different pieces, each at least as large as the smaller of both sizes; the old one is
            // given back as it was got.
            unsafe {
                ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
                self.dealloc(piece, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    /// Pieces of all sizes come, grow, shrink and go, more than fit into the region, and none ever changes another.
    #[test]
    fn pieces_are_apart() {
        static MEMORY: Memory = Memory::new();
        let mut pieces: Vec<(*mut u8, usize, u8)> = Vec::new();
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let is_whole = |&(piece, size, mark): &(*mut u8, usize, u8)| {
            // SAFETY: every piece was got with this size and filled.
            unsafe { std::slice::from_raw_parts(piece, size) }.iter().all(|byte| *byte == mark)
        };
        for turn in 0..20_000 {
            let mark = turn as u8;
            let below = [40, 600, 5_000, 70_000][next(4)];
            let size = 1 + next(below);
            // SAFETY: sizes are not zero, and pieces are used and given back with the size they were got with.
            unsafe {
                match next(5) {
                    0 | 1 => {
                        let piece = MEMORY.alloc(layout(size));
                        assert_eq!(piece as usize % 8, 0);
                        piece.write_bytes(mark, size);
                        pieces.push((piece, size, mark));
                    }
                    2 => {
                        let piece = MEMORY.alloc_zeroed(layout(size));
                        assert!(is_whole(&(piece, size, 0)));
                        piece.write_bytes(mark, size);
                        pieces.push((piece, size, mark));
                    }
                    3 if !pieces.is_empty() => {
                        let (piece, old, mark) = pieces.swap_remove(next(pieces.len()));
                        let piece = MEMORY.realloc(piece, layout(old), size);
                        assert!(is_whole(&(piece, old.min(size), mark)));
                        piece.write_bytes(mark, size);
                        pieces.push((piece, size, mark));
                    }
                    _ if pieces.len() > 200 || (turn % 2 == 0 && !pieces.is_empty()) => {
                        let piece = pieces.swap_remove(next(pieces.len()));
                        assert!(is_whole(&piece));
                        MEMORY.dealloc(piece.0, layout(piece.1));
                    }
                    _ => {}
                }
            }
        }
        assert!(pieces.iter().all(is_whole));
        assert!(
            pieces.iter().any(|piece| MEMORY.holds(piece.0))
                && pieces.iter().any(|piece| !MEMORY.holds(piece.0))
        );
    }

    /// Whoever finds somebody else at it gets memory elsewhere, and does not wait.
    #[test]
    fn nobody_waits() {
        static MEMORY: Memory = Memory::new();
        MEMORY.taken.store(true, Ordering::Relaxed);
        // SAFETY: got and given back with the same layout.
        unsafe {
            let piece = MEMORY.alloc(layout(16));
            assert!(!piece.is_null() && !MEMORY.holds(piece));
            MEMORY.dealloc(piece, layout(16));
        }
        assert!(list(Layout::from_size_align(64, 64).unwrap()).is_none());
        assert!(list(layout(LARGEST)).is_some_and(|(list, size)| list < LISTS && size == LARGEST));
    }
}
