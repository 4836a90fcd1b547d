//! Writing an answer.

use super::query::{Fault, Query};
use super::wire::{Flags, INTERNET, Kind, Rcode};
use std::net::{Ipv4Addr, Ipv6Addr};

/// How long an address of the pool may be kept. It stands for the name for good, but whether the name may be
/// asked for can change.
const TTL: u32 = 60;
/// How long a no may be kept: a person may have allowed the name by then.
const NO_TTL: u32 = 5;
/// What every asker takes.
const SMALLEST: u16 = 512;
/// What passes everywhere in one piece.
const LARGEST: u16 = 1232;
/// The whole of what TCP carries.
const STREAM: usize = u16::MAX as usize;
/// The name in the question, which stands right after the header.
const ASKED: [u8; 2] = [0xc0, 12];
/// Extended DNS error 15: the operator of this server does not want the name to be used.
const BLOCKED: u16 = 15;
/// As much of a reason as is sent along.
const REASON: usize = 120;

/// What carries the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Datagrams: short, and cut where they are too long.
    Datagram,
    /// A stream.
    Stream,
}

/// What to answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// These records.
    Records(Vec<Record>),
    /// The name is there, but nothing of that kind.
    Nothing,
    /// There is no such name.
    NoSuchName,
    /// The name is not allowed, for this reason.
    Blocked(String),
    /// Something else.
    Rcode(Rcode),
}

/// One record about the name in the question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    /// A name of letters, digits, hyphens and underscores.
    Ptr(String),
}

/// The answer to something that was not understood.
pub(super) fn write_fault(fault: &Fault) -> Vec<u8> {
    header(fault.id, fault.flags.answer(fault.rcode), [0; 4])
}

/// The answer to a question.
pub(super) fn write(query: &Query, answer: &Answer, carrier: Carrier) -> Vec<u8> {
    let rcode = match answer {
        Answer::Records(_) | Answer::Nothing => Rcode::GOOD,
        Answer::NoSuchName | Answer::Blocked(_) => Rcode::NO_SUCH_NAME,
        Answer::Rcode(rcode) => *rcode,
    };
    let flags = query.flags.answer(rcode);
    let limit = match (carrier, query.edns) {
        (Carrier::Stream, _) => STREAM,
        (Carrier::Datagram, edns) => {
            usize::from(edns.map_or(SMALLEST, |edns| edns.size.clamp(SMALLEST, LARGEST)))
        }
    };
    let mut body = Vec::with_capacity(128);
    let (mut answers, mut authorities) = (0, 0);
    if let Answer::Records(records) = answer {
        records.iter().for_each(|record| put_record(&mut body, record));
        answers = u16::try_from(records.len()).unwrap_or(u16::MAX);
    }
    if matches!(answer, Answer::Nothing | Answer::NoSuchName | Answer::Blocked(_)) {
        put_authority(&mut body);
        authorities = 1;
    }
    let reason = match answer {
        Answer::Blocked(reason) => Some(reason.as_str()),
        _ => None,
    };
    let extra = query.edns.map(|edns| options(rcode, edns.signed, reason));
    let whole = assemble(query, flags, [answers, authorities], &body, extra.as_deref());
    if whole.len() <= limit {
        return whole;
    }
    let short = query.edns.map(|edns| options(rcode, edns.signed, None));
    assemble(query, flags.truncated(), [0, 0], &[], short.as_deref())
}

fn assemble(query: &Query, flags: Flags, counts: [u16; 2], body: &[u8], extra: Option<&[u8]>) -> Vec<u8> {
    let [answers, authorities] = counts;
    let mut out = header(query.id, flags, [1, answers, authorities, u16::from(extra.is_some())]);
    out.extend_from_slice(&query.question);
    out.extend_from_slice(body);
    out.extend_from_slice(extra.unwrap_or_default());
    out
}

fn header(id: u16, flags: Flags, counts: [u16; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    for word in [id, flags.0].into_iter().chain(counts) {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out
}

fn put_record(out: &mut Vec<u8>, record: &Record) {
    let (kind, data) = match record {
        Record::A(address) => (Kind::A, address.octets().to_vec()),
        Record::Aaaa(address) => (Kind::AAAA, address.octets().to_vec()),
        Record::Ptr(name) => (Kind::PTR, wire_name(name)),
    };
    put(out, &ASKED, kind, TTL, &data);
}

/// The start of authority that tells how long a no may be kept. It speaks for the root, which is above every
/// name.
fn put_authority(out: &mut Vec<u8>) {
    let mut data = wire_name("gateway.stockade.invalid");
    data.extend_from_slice(&wire_name("nobody.invalid"));
    // Serial number, refresh, retry, expire: for servers that copy zones. The last is the time of a no.
    for number in [1, 3600, 600, 86_400, NO_TTL] {
        data.extend_from_slice(&number.to_be_bytes());
    }
    put(out, &[0], Kind::SOA, NO_TTL, &data);
}

fn put(out: &mut Vec<u8>, owner: &[u8], kind: Kind, ttl: u32, data: &[u8]) {
    out.extend_from_slice(owner);
    out.extend_from_slice(&kind.0.to_be_bytes());
    out.extend_from_slice(&INTERNET.to_be_bytes());
    out.extend_from_slice(&ttl.to_be_bytes());
    out.extend_from_slice(&length(data));
    out.extend_from_slice(data);
}

/// The EDNS record: what we take, and why the answer is what it is.
fn options(rcode: Rcode, signed: bool, reason: Option<&str>) -> Vec<u8> {
    let mut data = Vec::new();
    if let Some(reason) = reason {
        let text = &reason[..reason.floor_char_boundary(REASON)];
        let mut error = BLOCKED.to_be_bytes().to_vec();
        error.extend_from_slice(text.as_bytes());
        // Option 15 carries extended errors; that the error has the same number is chance.
        data.extend_from_slice(&15_u16.to_be_bytes());
        data.extend_from_slice(&length(&error));
        data.extend_from_slice(&error);
    }
    let mut out = vec![0];
    out.extend_from_slice(&Kind::OPT.0.to_be_bytes());
    out.extend_from_slice(&LARGEST.to_be_bytes());
    out.extend_from_slice(&[rcode.high(), 0, if signed { 0x80 } else { 0 }, 0]);
    out.extend_from_slice(&length(&data));
    out.extend_from_slice(&data);
    out
}

/// Nothing here comes near the limit.
fn length(data: &[u8]) -> [u8; 2] {
    u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes()
}

/// A name written out. Labels of a [`stockade_policy::Host`] are never longer than 63 bytes.
fn wire_name(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        out.push(u8::try_from(label.len()).unwrap_or(0));
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out
}
