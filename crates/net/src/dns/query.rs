//! Reading a query. Every byte of it is hostile.
//!
//! Only what a stub resolver is ever asked is understood: one question, no answers. That is little enough to
//! be read here, and a library that knows records would balk at a question for a kind it does not know, which
//! deserves an ordinary answer.

use super::wire::{Flags, Kind, Rcode};
use stockade_policy::{Host, HostError};

/// A header.
const HEADER: usize = 12;
/// The longest name on the wire, its final zero included.
const NAME: usize = 255;
/// Additional records a query may bring along: one is usual.
const EXTRAS: u16 = 4;

/// What came.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// Nothing to reply to: too short to have a number, or itself an answer.
    Noise,
    /// Something to refuse without looking closer.
    Fault(Fault),
    /// A question.
    Query(Query),
}

/// Something that is not a question we take.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) id: u16,
    pub(super) flags: Flags,
    pub(super) rcode: Rcode,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) id: u16,
    pub(super) flags: Flags,
    /// The question as it came: the answer repeats it, letter case included.
    pub(super) question: Vec<u8>,
    pub(super) name: Asked,
    pub(super) kind: Kind,
    pub(super) class: u16,
    pub(super) edns: Option<Edns>,
}

/// The name that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    /// The root.
    Root,
    /// A host.
    Host(Host),
    /// Not a host's name; how it may be shown, and what is wrong with it.
    Odd { shown: String, error: HostError },
}

/// What the asker can do beyond the first version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edns {
    pub(super) version: u8,
    /// The largest datagram it takes.
    pub(super) size: u16,
    /// It wants signatures. There are none, but the wish is repeated.
    pub(super) signed: bool,
}

/// Reads a message.
pub(super) fn read(bytes: &[u8]) -> Message {
    let mut rest = Reader { bytes, at: 0 };
    let (Some(id), Some(word)) = (rest.word(), rest.word()) else { return Message::Noise };
    let flags = Flags(word);
    if flags.is_answer() || bytes.len() < HEADER {
        return Message::Noise;
    }
    if !flags.is_query() {
        return Message::Fault(Fault { id, flags, rcode: Rcode::NOT_IMPLEMENTED });
    }
    match read_question(rest, id, flags) {
        Some(query) => Message::Query(query),
        None => Message::Fault(Fault { id, flags, rcode: Rcode::FORMAT }),
    }
}

fn read_question(mut rest: Reader<'_>, id: u16, flags: Flags) -> Option<Query> {
    let counts = [rest.word()?, rest.word()?, rest.word()?];
    let extras = rest.word()?;
    if counts != [1, 0, 0] || extras > EXTRAS {
        return None;
    }
    let start = rest.at;
    let labels = rest.labels()?;
    let (kind, class) = (Kind(rest.word()?), rest.word()?);
    let question = rest.bytes[start..rest.at].to_vec();
    let mut edns = None;
    for _ in 0..extras {
        let found = rest.extra()?;
        if found.is_some() && edns.is_some() {
            return None;
        }
        edns = edns.or(found);
    }
    if rest.at != rest.bytes.len() {
        return None;
    }
    Some(Query { id, flags, question, name: asked(&labels), kind, class, edns })
}

/// A name from its labels. A dot *within* a label is no border between two.
fn asked(labels: &[&[u8]]) -> Asked {
    if labels.is_empty() {
        return Asked::Root;
    }
    let text = labels.join(&b'.');
    let parsed = match labels.iter().any(|label| label.contains(&b'.')) {
        true => Err(HostError::Name(shown(labels))),
        false => Host::parse(&text),
    };
    match parsed {
        Ok(host) => Asked::Host(host),
        Err(error) => Asked::Odd { shown: shown(labels), error },
    }
}

/// A name as text, whatever is in it. Whoever shows it writes out what cannot be read.
fn shown(labels: &[&[u8]]) -> String {
    let each = |label: &&[u8]| String::from_utf8_lossy(label).replace('.', "\\.");
    labels.iter().map(each).collect::<Vec<_>>().join(".")
}

/// A place in a message.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn word(&mut self) -> Option<u16> {
        self.take(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// The labels of a name that is written out. There is nothing before the first name that a compression
    /// pointer could point to, so that none is followed anywhere.
    fn labels(&mut self) -> Option<Vec<&'a [u8]>> {
        let (start, mut labels) = (self.at, Vec::new());
        loop {
            // The two high bits mark pointers and label types that were given up.
            let length = self.byte().filter(|length| *length < 64)?;
            if self.at - start + usize::from(length) > NAME {
                return None;
            }
            match length {
                0 => return Some(labels),
                _ => labels.push(self.take(usize::from(length))?),
            }
        }
    }

    /// Passes over an additional record and says what it is if it is the one that matters.
    fn extra(&mut self) -> Option<Option<Edns>> {
        let labels = self.labels()?;
        let (kind, class) = (Kind(self.word()?), self.word()?);
        let (high, low) = (self.word()?, self.word()?);
        let length = self.word()?;
        self.take(usize::from(length))?;
        if kind != Kind::OPT {
            return Some(None);
        }
        let [_, version] = high.to_be_bytes();
        labels.is_empty().then_some(Some(Edns { version, size: class, signed: low & 0x8000 != 0 }))
    }
}
