//! The client, which runs inside and outside of sandboxes alike.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The word that makes this program be the client and nothing else.
pub(crate) const WORD: &str = "__network";

/// How a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With an ordinary connect.
    Plain,
    /// Through the HTTP proxy that the environment names, with the whole address in the request.
    Http,
    /// Through the same proxy, with CONNECT.
    Connect,
    /// Through the SOCKS proxy that the environment names.
    Socks,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Http, Self::Connect, Self::Socks];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Http => "http",
            Self::Connect => "connect",
            Self::Socks => "socks",
        }
    }
}

/// Does one thing and prints what it took.
pub(crate) fn main(words: &[String]) -> Result<()> {
    let [act, way, target, number] = words else { bail!("usage: {WORD} ACT WAY ADDRESS NUMBER") };
    let way = Way::ALL.into_iter().find(|known| known.word() == way).context("there is no such way")?;
    let target: SocketAddr = target.parse().context("the address is none")?;
    let number: usize = number.parse().context("the number is none")?;
    match act.as_str() {
        "download" => println!("{}", download(way, target, number)?.as_nanos()),
        "connections" => {
            let mut times = connections(way, target, number)?;
            times.sort_unstable();
            let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_nanos();
            println!("{} {}", at(50), at(99));
        }
        "idle" => {
            let open: Vec<TcpStream> = (0..number).map(|_| reach(way, target)).collect::<Result<_>>()?;
            println!("{}", open.len());
            // Until the other end has seen enough.
            std::io::stdin().read_to_end(&mut Vec::new())?;
        }
        other => bail!("there is no act {other}"),
    }
    Ok(())
}

/// From the first word of the request to the last byte of the answer.
fn download(way: Way, target: SocketAddr, bytes: usize) -> Result<Duration> {
    let mut stream = reach(way, target)?;
    let begin = Instant::now();
    let place = if way == Way::Http { format!("http://{target}") } else { String::new() };
    stream.write_all(format!("GET {place}/{bytes} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())?;
    let mut block = vec![0; 256 * 1024];
    let (mut head, mut body) = (Vec::new(), None);
    loop {
        let count = stream.read(&mut block).context("the download broke off")?;
        ensure!(count > 0, "the download ended early");
        let got = match &mut body {
            Some(got) => {
                *got += count;
                *got
            }
            None => {
                head.extend_from_slice(&block[..count]);
                let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                ensure!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head[..end]));
                *body.insert(head.len() - end - 4)
            }
        };
        if got >= bytes {
            return Ok(begin.elapsed());
        }
    }
}

/// How long it takes until a new connection has carried a byte there and back.
fn connections(way: Way, target: SocketAddr, count: usize) -> Result<Vec<Duration>> {
    (0..count)
        .map(|_| {
            let begin = Instant::now();
            let mut stream = reach(way, target)?;
            // No byte that a request could begin with: those are waited on for a moment.
            stream.write_all(&[0])?;
            stream.read_exact(&mut [0])?;
            Ok(begin.elapsed())
        })
        .collect()
}

fn reach(way: Way, target: SocketAddr) -> Result<TcpStream> {
    let to =
        |address: &str| TcpStream::connect(address).with_context(|| format!("could not reach {address}"));
    let mut stream = match way {
        Way::Plain => to(&target.to_string())?,
        Way::Http | Way::Connect => to(&proxy("http_proxy")?)?,
        Way::Socks => to(&proxy("all_proxy")?)?,
    };
    stream.set_nodelay(true)?;
    match way {
        Way::Plain | Way::Http => {}
        Way::Connect => {
            let allowed = credentials("http_proxy").map(|text| format!("Proxy-Authorization: {text}\r\n"));
            let allowed = allowed.unwrap_or_default();
            // In one piece, as curl does; `write!` makes a packet of every part.
            let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{allowed}\r\n");
            stream.write_all(request.as_bytes())?;
            let (mut head, mut piece) = (Vec::new(), [0; 1024]);
            while !head.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece)?;
                ensure!(count > 0, "the proxy said nothing");
                head.extend_from_slice(&piece[..count]);
            }
            ensure!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        }
        Way::Socks => socks(&mut stream, target)?,
    }
    Ok(stream)
}

fn socks(stream: &mut TcpStream, target: SocketAddr) -> Result<()> {
    let SocketAddr::V4(target) = target else { bail!("only IPv4 is measured") };
    stream.write_all(&[5, 1, 0])?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen)?;
    ensure!(chosen == [5, 0], "the SOCKS proxy wants something else: {chosen:?}");
    let mut request = vec![5, 1, 0, 1];
    request.extend(target.ip().octets());
    request.extend(target.port().to_be_bytes());
    stream.write_all(&request)?;
    let mut reply = [0; 10];
    stream.read_exact(&mut reply)?;
    ensure!(reply[1] == 0, "the SOCKS proxy refuses: {}", reply[1]);
    Ok(())
}

/// `host:port` of a proxy variable.
fn proxy(name: &str) -> Result<String> {
    let url = std::env::var(name).with_context(|| format!("{name} is not set"))?;
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    Ok(rest.trim_end_matches('/').to_owned())
}

/// What a proxy that knows its sandboxes by password wants to hear.
fn credentials(name: &str) -> Option<String> {
    let url = std::env::var(name).ok()?;
    let (user, _) = url.split_once("://")?.1.rsplit_once('@')?;
    Some(format!("Basic {}", base64(user.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number =
            three.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
