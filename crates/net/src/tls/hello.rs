//! What a TLS client says first, read without any key: which name it wants and what it can speak.
//!
//! With an encrypted ClientHello (`Ech::Offered`) the name seen here is the outer one. That is the name
//! that is judged; which name the server picks from the sealed part cannot be seen without termination.

use super::cursor::Cursor;
use std::borrow::Cow;
use stockade_policy::Host;

/// The longest hello that is read. Post-quantum key shares make about two thousand bytes.
const LONGEST_HELLO: usize = 16 * 1024;
/// Records may be as small as a sender likes; this many bytes of them are looked at.
const LONGEST_FIRST: usize = 2 * LONGEST_HELLO;
/// What one record holds at most before it is encrypted.
const LONGEST_RECORD: usize = 1 << 14;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// What the first bytes of a client are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// Not TLS.
    NotTls,
    /// Perhaps TLS; more bytes would tell.
    NeedMore,
    /// A whole ClientHello.
    Client {
        /// The name the client wants; none where it gave none.
        sni: Option<Host>,
        /// The protocols it can speak inside, in its order.
        alpn: Vec<Vec<u8>>,
        /// Whether a second, sealed hello is inside.
        ech: Ech,
        /// The highest version offered: 0x0303 is TLS 1.2, 0x0304 TLS 1.3.
        version: u16,
    },
    /// A ClientHello that wants several names, or one that is none. To be refused.
    BadName(String),
    /// It begins as TLS and then is not, or is longer than any hello. To be refused.
    Broken,
}

/// Whether a hello has an encrypted one inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ech {
    /// No.
    Absent,
    /// Yes, or random bytes that look like one: browsers always send something there.
    Offered,
}

/// Reads the first bytes of a client.
pub(crate) fn sniff(first: &[u8]) -> Hello {
    match handshake(first) {
        Gathered::Message(body) => client(&body),
        Gathered::NotTls => Hello::NotTls,
        Gathered::Broken => Hello::Broken,
        Gathered::NeedMore if first.len() > LONGEST_FIRST => Hello::Broken,
        Gathered::NeedMore => Hello::NeedMore,
    }
}

enum Gathered<'a> {
    Message(Cow<'a, [u8]>),
    NeedMore,
    NotTls,
    Broken,
}

/// The body of the first handshake message, put together from its records.
fn handshake(first: &[u8]) -> Gathered<'_> {
    let mut records = Cursor::new(first);
    let mut message: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    loop {
        let mut header = records;
        match beginning(header.rest()) {
            Beginning::Handshake => {}
            Beginning::Other if message.is_empty() => return Gathered::NotTls,
            Beginning::Other | Beginning::Strange => return Gathered::Broken,
        }
        // Kind and version. Servers take a hello whatever minor version its records say.
        let Some(length) = header.take(3).and_then(|_| header.number(2)) else { return Gathered::NeedMore };
        if length == 0 || length > LONGEST_RECORD {
            return Gathered::Broken;
        }
        let here = header.rest();
        let here = &here[..length.min(here.len())];
        if message.is_empty() {
            message = Cow::Borrowed(here);
        } else {
            message.to_mut().extend_from_slice(here);
        }
        let mut inner = Cursor::new(&message);
        if inner.byte().is_some_and(|kind| kind != CLIENT_HELLO) {
            return Gathered::Broken;
        }
        if let Some(size) = inner.number(3) {
            if size > LONGEST_HELLO {
                return Gathered::Broken;
            }
            if message.len() >= 4 + size {
                return Gathered::Message(match message {
                    Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[4..4 + size]),
                    Cow::Owned(bytes) => Cow::Owned(bytes[4..4 + size].to_vec()),
                });
            }
        }
        if header.take(length).is_none() {
            return Gathered::NeedMore;
        }
        records = header;
    }
}

/// What the first bytes of a record are, as far as they are there. Judged byte by byte: a stream that is not
/// TLS must be known as soon as it is not.
enum Beginning {
    /// A handshake, or what can still become one.
    Handshake,
    /// Something that servers may take for TLS, and that no client begins with: to be refused, because what is
    /// inside cannot be read here.
    Strange,
    Other,
}

fn beginning(record: &[u8]) -> Beginning {
    match record {
        [] | [HANDSHAKE] | [HANDSHAKE, 3, ..] => Beginning::Handshake,
        // Other kinds of records: a change of ciphers, an alert, data.
        [20 | 21 | 23, 3, ..] => Beginning::Strange,
        // The hello of SSL 2, which some servers still take, and which has no place for a name.
        [high, _, CLIENT_HELLO, 2 | 3, ..] if high & 0x80 != 0 => Beginning::Strange,
        _ => Beginning::Other,
    }
}

fn client(body: &[u8]) -> Hello {
    match extensions(body).and_then(|(legacy, all)| read(legacy, &all)) {
        Some(hello) => hello,
        None => Hello::Broken,
    }
}

/// The version of old and the extensions, each kind once.
fn extensions(body: &[u8]) -> Option<(u16, Vec<(usize, Cursor<'_>)>)> {
    let mut cursor = Cursor::new(body);
    let legacy = u16::try_from(cursor.number(2)?).ok()?;
    cursor.take(32)?;
    cursor.vector(1)?;
    cursor.vector(2)?;
    cursor.vector(1)?;
    let mut found: Vec<(usize, Cursor<'_>)> = Vec::new();
    if cursor.is_empty() {
        return Some((legacy, found));
    }
    let mut list = cursor.vector(2)?;
    while !list.is_empty() {
        let kind = list.number(2)?;
        let content = list.vector(2)?;
        // Of two, we might read one and the server the other.
        if found.iter().any(|(other, _)| *other == kind) {
            return None;
        }
        found.push((kind, content));
    }
    cursor.is_empty().then_some((legacy, found))
}

fn read(legacy: u16, extensions: &[(usize, Cursor<'_>)]) -> Option<Hello> {
    let of_kind =
        |kind: usize| extensions.iter().find(|(other, _)| *other == kind).map(|(_, content)| *content);
    let sni = match of_kind(0).map(server_name) {
        None => None,
        Some(Ok(host)) => Some(host),
        Some(Err(shown)) => return Some(Hello::BadName(shown)),
    };
    let alpn = match of_kind(16) {
        Some(content) => protocols(content)?,
        None => Vec::new(),
    };
    let version = match of_kind(43) {
        Some(content) => highest(content)?,
        None => legacy,
    };
    let ech = if of_kind(0xfe0d).is_some() { Ech::Offered } else { Ech::Absent };
    Some(Hello::Client { sni, alpn, ech, version })
}

/// The one name, or what stands there instead.
fn server_name(content: Cursor<'_>) -> Result<Host, String> {
    let shown = || String::from_utf8_lossy(&content.rest()[..content.rest().len().min(300)]).into_owned();
    let one = || {
        let mut outer = content;
        let mut list = outer.vector(2).filter(|_| outer.is_empty())?;
        let kind = list.byte()?;
        let name = list.vector(2)?;
        (kind == 0 && list.is_empty()).then_some(name.rest())
    };
    let name = one().ok_or_else(shown)?;
    Host::parse(name).map_err(|_| String::from_utf8_lossy(&name[..name.len().min(300)]).into_owned())
}

fn protocols(mut content: Cursor<'_>) -> Option<Vec<Vec<u8>>> {
    let mut list = content.vector(2).filter(|_| content.is_empty())?;
    let mut found = Vec::new();
    while !list.is_empty() {
        let name = list.vector(1)?;
        if name.is_empty() {
            return None;
        }
        found.push(name.rest().to_vec());
    }
    Some(found)
}

/// The highest version that is one; clients mix in others to keep servers tolerant.
fn highest(mut content: Cursor<'_>) -> Option<u16> {
    let mut list = content.vector(1).filter(|_| content.is_empty())?;
    let mut highest = 0x0300;
    while !list.is_empty() {
        let version = u16::try_from(list.number(2)?).ok()?;
        if (0x0301..=0x0304).contains(&version) {
            highest = highest.max(version);
        }
    }
    Some(highest)
}
