//! Acts on the network, by name or by address.

use crate::answer::{Answer, Args, Failure, escape};
use rustix::process::{Resource, Rlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Nobody is waited for longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A flood that is held back ends after this long.
const FLOOD: Duration = Duration::from_secs(30);
/// How long the other side may be silent once it has spoken.
const QUIET: Duration = Duration::from_millis(300);

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "resolve" => resolve(args),
        "talk" => talk(args),
        "first-word" => first_word(args),
        "half-close" => half_close(args),
        "ask-udp" => ask_udp(args),
        "flood" => flood(args),
        "choir" => choir(args),
        _ => return None,
    })
}

/// Addresses of `host:port`, through the C library. A name without any is ENODATA.
fn look_up(target: &str) -> Result<Vec<SocketAddr>, Failure> {
    match target.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        Err(_) => Err(Failure::Errno(libc::ENODATA)),
    }
}

fn resolve(args: &Args) -> Answer {
    let found = look_up(&format!("{}:0", args.text(0)?))?;
    let mut addresses: Vec<String> = found.iter().map(|address| address.ip().to_string()).collect();
    addresses.dedup();
    Ok(addresses.join(" "))
}

/// The first address that takes us; the last error otherwise.
fn connect(args: &Args) -> Result<TcpStream, Failure> {
    let mut last = Failure::Errno(libc::ENODATA);
    for address in look_up(args.text(0)?)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// Whether nothing came in time, which is no failure of the kernel's.
fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// `talk HOST:PORT [BYTES]`: says it all at once and gives back what was answered until the other side
/// is silent or gone.
fn talk(args: &Args) -> Answer {
    let mut stream = connect(args)?;
    if let Ok(bytes) = args.word(1) {
        stream.write_all(bytes.as_bytes())?;
    }
    let mut heard = Vec::new();
    let mut block = [0; 16384];
    loop {
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(count) => heard.extend(&block[..count]),
            Err(error) if is_silence(error.kind()) => break,
            Err(error) if heard.is_empty() => return Err(error.into()),
            Err(_) => break,
        }
        stream.set_read_timeout(Some(QUIET))?;
    }
    Ok(escape(&heard))
}

/// `first-word HOST:PORT`: says nothing; how many milliseconds the server's first bytes took.
fn first_word(args: &Args) -> Answer {
    let begun = Instant::now();
    let mut stream = connect(args)?;
    let mut block = [0; 4096];
    let count = stream.read(&mut block)?;
    Ok(format!("ms={} said={}", begun.elapsed().as_millis(), escape(&block[..count])))
}

/// `half-close HOST:PORT BYTES`: says it, says that this was all, and hears the other side out.
fn half_close(args: &Args) -> Answer {
    let mut stream = connect(args)?;
    stream.write_all(args.word(1)?.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard)?;
    Ok(escape(&heard))
}

/// `ask-udp ADDRESS:PORT BYTES`: one datagram there, one back.
fn ask_udp(args: &Args) -> Answer {
    let text = args.text(0)?;
    let target: SocketAddr = text.parse().map_err(|_| Failure::Usage(format!("{text} is not an address")))?;
    let any: SocketAddr =
        if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.connect(target)?;
    socket.send(args.word(1)?.as_bytes())?;
    let mut block = [0; 4096];
    match socket.recv(&mut block) {
        Ok(count) => Ok(escape(&block[..count])),
        Err(error) if is_silence(error.kind()) => Err(Failure::Errno(libc::ETIMEDOUT)),
        Err(error) => Err(error.into()),
    }
}

/// `flood HOST:PORT COUNT MILLISECONDS [BYTES]`: as many connections as that, each with the bytes and
/// then nothing, held for that time.
fn flood(args: &Args) -> Answer {
    let (count, hold) = (args.int(1)?, Duration::from_millis(u64::try_from(args.number(2)?).unwrap_or(0)));
    let target = look_up(args.text(0)?)?.into_iter().next().ok_or(Failure::Errno(libc::ENODATA))?;
    all_descriptors()?;
    let mut held = Vec::new();
    let mut refused = 0;
    let end = Instant::now() + FLOOD;
    for _ in 0..count {
        if Instant::now() > end {
            break;
        }
        match TcpStream::connect_timeout(&target, Duration::from_secs(2)) {
            Ok(mut stream) => {
                if let Ok(bytes) = args.word(3) {
                    let _ = stream.write_all(bytes.as_bytes());
                }
                held.push(stream);
            }
            Err(_) => refused += 1,
        }
    }
    std::thread::sleep(hold);
    Ok(format!("held={} refused={refused}", held.len()))
}

/// As many descriptors as anybody gives us.
fn all_descriptors() -> Result<(), Failure> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .map_err(|errno| Failure::Errno(errno.raw_os_error()))
}

/// `choir HOST:PORT COUNT KIBIBYTES`: as many connections to a server that repeats what it hears, all open
/// and busy at once, each with bytes of its own. How many heard just those at the end of what was said.
fn choir(args: &Args) -> Answer {
    let (count, size) = (args.int(1)?, usize::try_from(args.int(2)?).unwrap_or(0) << 10);
    all_descriptors()?;
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(connect(args)?);
    }
    let said = |number: usize| -> Vec<u8> {
        let seed = number.wrapping_mul(2_654_435_761);
        (0..size).map(|at| (seed.wrapping_add(at.wrapping_mul(31)) >> 3).to_le_bytes()[0]).collect()
    };
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&said(number))?;
    }
    let mut same = 0;
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.shutdown(Shutdown::Write)?;
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard)?;
        same += usize::from(heard.ends_with(&said(number)));
    }
    Ok(format!("same={same}"))
}
