//! Putting real values in the place of stand-ins.

use super::needles::{After, Found};
use super::place::Place;
use super::stray::Why;
use super::vault::Store;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// Bytes of real values that one body may take up. A body made of nothing but short stand-ins for a long
/// secret would otherwise grow a thousand times.
const LARGEST_BODY_GROWTH: usize = 1 << 20;

/// The same for everything before the body.
pub(super) const LARGEST_HEAD_GROWTH: usize = 32 << 10;

/// Replaces in a body that comes in pieces. Give it every piece in order, then finish.
///
/// The length of what comes out is not that of what goes in: a `Content-Length` no longer holds.
pub(crate) struct Replacer {
    store: Arc<Store>,
    permits: Vec<Result<(), Why>>,
    place: Place,
    /// The beginning of a stand-in at the end of the last piece.
    held: Vec<u8>,
    budget: usize,
}

impl Replacer {
    pub(super) fn new(store: Arc<Store>, permits: Vec<Result<(), Why>>, place: Place) -> Self {
        Self { store, permits, place, held: Vec::new(), budget: LARGEST_BODY_GROWTH }
    }

    /// Takes a piece and gives what can be sent on. Only what may be the beginning of a stand-in is held
    /// back, so that whoever waits for an answer before sending more is not kept waiting.
    pub(crate) fn push(&mut self, piece: Bytes) -> Bytes {
        if self.held.is_empty() && self.store.needles.find(&piece, 0, After::MoreMayCome) == Found::Nothing {
            return piece;
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(&piece);
        self.replace(text, After::MoreMayCome)
    }

    /// What was held back. Nothing more comes.
    pub(crate) fn finish(mut self) -> Bytes {
        let text = std::mem::take(&mut self.held);
        self.replace(text, After::Nothing)
    }

    fn replace(&mut self, text: Vec<u8>, after: After) -> Bytes {
        let mut out = Vec::with_capacity(text.len());
        let work = Work { store: &self.store, permits: &self.permits, place: self.place };
        let pass = work.run(&text, after, &mut self.budget, &mut out);
        self.held = text[pass.end..].to_vec();
        out.into()
    }
}

/// One pass over a text.
pub(super) struct Work<'a> {
    pub(super) store: &'a Store,
    pub(super) permits: &'a [Result<(), Why>],
    pub(super) place: Place,
}

/// What a pass did. Entries are told by their number.
#[derive(Default)]
pub(super) struct Done {
    /// How far it came.
    pub(super) end: usize,
    /// Whose stand-ins were replaced.
    pub(super) replaced: Vec<usize>,
    /// Whose were not.
    pub(super) strays: Vec<(usize, Why)>,
}

impl Work<'_> {
    /// Writes `text` with its stand-ins replaced.
    pub(super) fn run(&self, text: &[u8], after: After, budget: &mut usize, out: &mut Vec<u8>) -> Done {
        let mut pass = Done::default();
        loop {
            match self.store.needles.find(text, pass.end, after) {
                Found::Nothing => {
                    out.extend_from_slice(&text[pass.end..]);
                    pass.end = text.len();
                    return pass;
                }
                Found::Begun { start } => {
                    out.extend_from_slice(&text[pass.end..start]);
                    pass.end = start;
                    return pass;
                }
                Found::Whole { start, length, number } => {
                    out.extend_from_slice(&text[pass.end..start]);
                    pass.end = start + length;
                    let real = self.store.real(number);
                    let why = match self.permits[number] {
                        Ok(()) if real.len() <= *budget => {
                            *budget -= real.len();
                            self.place.write(real, out);
                            pass.replaced.push(number);
                            continue;
                        }
                        Ok(()) => Why::Unfit,
                        Err(why) => why,
                    };
                    pass.strays.push((number, why));
                    out.extend_from_slice(&text[start..pass.end]);
                }
            }
        }
    }
}

impl fmt::Debug for Replacer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Replacer")
    }
}
