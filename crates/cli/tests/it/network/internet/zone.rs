//! The name server of `test`, which remembers every question.

use super::land::{OTHER_RESOLVER, RESOLVER};
use super::sys;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const A: u16 = 1;
const AAAA: u16 = 28;

/// A question that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// Lower case, without the final dot.
    pub(crate) name: String,
    pub(crate) kind: u16,
    /// The server it was sent to.
    pub(crate) server: String,
    pub(crate) over: &'static str,
}

#[derive(Default)]
struct Memory {
    queries: Mutex<Vec<Query>>,
    /// How often the address of `rebind.test` was asked for.
    rebound: AtomicUsize,
    over: AtomicBool,
}

/// The servers, and what they heard.
pub(super) struct Zone {
    memory: Arc<Memory>,
    listeners: Vec<TcpListener>,
}

impl Zone {
    /// Starts serving in the calling thread's network.
    pub(super) fn open() -> Self {
        let memory = Arc::new(Memory::default());
        let mut listeners = Vec::new();
        for server in [RESOLVER, OTHER_RESOLVER, "2001:db8::53"] {
            let address: IpAddr = server.parse().expect("an address");
            let socket = UdpSocket::bind((address, 53)).expect("udp 53");
            // So that the thread notices the end.
            socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
            let (heard, name) = (Arc::clone(&memory), server.to_owned());
            thread::spawn(move || datagrams(&socket, &heard, &name));
            let listener = TcpListener::bind((address, 53)).expect("tcp 53");
            listeners.push(listener.try_clone().expect("dup"));
            let (heard, name) = (Arc::clone(&memory), server.to_owned());
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (heard, name) = (Arc::clone(&heard), name.clone());
                    thread::spawn(move || connection(stream, &heard, &name));
                }
            });
        }
        Self { memory, listeners }
    }

    /// Everything that was asked since the last time it was forgotten.
    pub(super) fn queries(&self) -> Vec<Query> {
        self.memory.queries.lock().expect("the log").clone()
    }

    pub(super) fn forget(&self) {
        self.memory.queries.lock().expect("the log").clear();
        self.memory.rebound.store(0, Ordering::Relaxed);
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        self.memory.over.store(true, Ordering::Relaxed);
        self.listeners.iter().for_each(sys::hang_up);
    }
}

fn datagrams(socket: &UdpSocket, memory: &Memory, server: &str) {
    let mut block = [0; 4096];
    while !memory.over.load(Ordering::Relaxed) {
        if let Ok((count, from)) = socket.recv_from(&mut block)
            && let Some(reply) = answer(&block[..count], memory, server, "udp")
        {
            let _ = socket.send_to(&reply, from);
        }
    }
}

fn connection(mut stream: TcpStream, memory: &Memory, server: &str) {
    let mut length = [0; 2];
    while stream.read_exact(&mut length).is_ok() {
        let mut block = vec![0; usize::from(u16::from_be_bytes(length))];
        if stream.read_exact(&mut block).is_err() {
            return;
        }
        let Some(reply) = answer(&block, memory, server, "tcp") else { return };
        let length = u16::try_from(reply.len()).expect("a short answer").to_be_bytes();
        if stream.write_all(&[&length[..], &reply].concat()).is_err() {
            return;
        }
    }
}

/// The reply to a question; none to what is not one.
fn answer(message: &[u8], memory: &Memory, server: &str, over: &'static str) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?);
    let question = message.get(12..at + 4)?;
    let name = labels.join(".");
    let query = Query { name: name.clone(), kind, server: server.to_owned(), over };
    memory.queries.lock().expect("the log").push(query);

    let found = addresses(&name, kind, memory);
    let code: u8 = if found.is_some() { 0 } else { 3 };
    let records: Vec<Vec<u8>> =
        found.unwrap_or_default().iter().filter_map(|address| record(*address, kind)).collect();
    let mut reply = message[..2].to_vec();
    // An authoritative answer, recursion allowed.
    reply.extend([0x85, 0x80 | code, 0, 1, 0, u8::try_from(records.len()).ok()?, 0, 0, 0, 0]);
    reply.extend(question);
    reply.extend(records.concat());
    Some(reply)
}

fn record(address: IpAddr, kind: u16) -> Option<Vec<u8>> {
    let data = match (address, kind) {
        (IpAddr::V4(address), A) => address.octets().to_vec(),
        (IpAddr::V6(address), AAAA) => address.octets().to_vec(),
        _ => return None,
    };
    let length = u8::try_from(data.len()).ok()?;
    // The name is a pointer to the question; an hour to live.
    let head = [0xc0, 12, 0, u8::try_from(kind).ok()?, 0, 1, 0, 0, 0x0e, 0x10, 0, length];
    Some([&head[..], &data].concat())
}

/// What a name leads to; nothing when there is no such name.
fn addresses(name: &str, kind: u16, memory: &Memory) -> Option<Vec<IpAddr>> {
    let four = |last: u8| IpAddr::from([203, 0, 113, last]);
    let six = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    let both = |last: u8| vec![four(last), six(u16::from(last) - 10 + 0x10)];
    let known = match name {
        "allow.test" | "api.test" | "git.test" | "db.test" | "cache.test" => both(10),
        "notallow.test" | "other.test" | "allow.test.evil.test" => both(12),
        "evil.test" => both(13),
        "xn--bcher-kva.test" => vec![four(14)],
        "v4only.test" => vec![four(10)],
        "v6only.test" => vec![six(0x10)],
        "private.test" => vec![IpAddr::from([10, 77, 0, 10])],
        "carrier.test" => vec![IpAddr::from([100, 64, 0, 10])],
        "unique.test" => vec![IpAddr::from([0xfd77, 0, 0, 0, 0, 0, 0, 0x10])],
        "metadata.test" => vec![IpAddr::from([169, 254, 169, 254])],
        "loop.test" => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        "loop6.test" => vec![IpAddr::V6(Ipv6Addr::LOCALHOST)],
        "mapped.test" => vec![IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped())],
        "any.test" => vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
        "own.test" => vec![four(1)],
        "mixed.test" => vec![IpAddr::V4(Ipv4Addr::LOCALHOST), four(10)],
        // Nobody has the second address.
        "half.test" => vec![four(10), six(0x99)],
        "rebind.test" if kind == A => {
            let first = memory.rebound.fetch_add(1, Ordering::Relaxed) == 0;
            vec![if first { four(10) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) }]
        }
        "rebind.test" => Vec::new(),
        name if name.starts_with("nx") => return None,
        name if name.ends_with(".allow.test") => both(11),
        name if name.ends_with(".evil.test") => both(13),
        _ => return None,
    };
    Some(known)
}
