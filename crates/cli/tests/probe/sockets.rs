//! Acts on sockets.

use crate::answer::{Answer, Args, Failure};
use crate::files::done;
use crate::sys::sockets::{self as raw, Place};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

pub(crate) fn act(act: &str, args: &Args) -> Option<Answer> {
    Some(match act {
        "socket" => {
            numbers(args).and_then(|(domain, kind, protocol)| done(raw::socket(domain, kind, protocol)))
        }
        "socket-high" => numbers(args)
            .and_then(|(domain, kind, protocol)| done(raw::socket_with_high_bits(domain, kind, protocol))),
        "pair" => {
            domain(args, 0).and_then(|domain| kind(args, 1).and_then(|kind| done(raw::pair(domain, kind))))
        }
        "pair-sendto" => pair_sendto(args, Place::Path),
        "pair-sendto-abstract" => pair_sendto(args, Place::Abstract),
        "connect-unix" => connect(args, Place::Path),
        "connect-abstract" => connect(args, Place::Abstract),
        "connect-tcp" => tcp(args),
        "send-udp" => udp(args),
        "loopback4" => loopback(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        "loopback6" => loopback(SocketAddr::from((Ipv6Addr::LOCALHOST, 0))),
        _ => return None,
    })
}

fn numbers(args: &Args) -> Result<(i32, i32, i32), Failure> {
    Ok((domain(args, 0)?, kind(args, 1)?, args.int(2)?))
}

fn domain(args: &Args, at: usize) -> Result<i32, Failure> {
    Ok(match args.text(at)? {
        "unix" => libc::AF_UNIX,
        "inet" => libc::AF_INET,
        "inet6" => libc::AF_INET6,
        "netlink" => libc::AF_NETLINK,
        "vsock" => libc::AF_VSOCK,
        "alg" => libc::AF_ALG,
        "packet" => libc::AF_PACKET,
        "xdp" => libc::AF_XDP,
        "bluetooth" => libc::AF_BLUETOOTH,
        "can" => libc::AF_CAN,
        "tipc" => libc::AF_TIPC,
        "rds" => libc::AF_RDS,
        "key" => libc::AF_KEY,
        _ => args.int(at)?,
    })
}

fn kind(args: &Args, at: usize) -> Result<i32, Failure> {
    Ok(match args.text(at)? {
        "stream" => libc::SOCK_STREAM,
        "dgram" => libc::SOCK_DGRAM,
        "seqpacket" => libc::SOCK_SEQPACKET,
        "raw" => libc::SOCK_RAW,
        "stream-cloexec" => libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
        "dgram-cloexec" => libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
        _ => args.int(at)?,
    })
}

/// A pair whose one end forgets its peer can send to any path.
fn pair_sendto(args: &Args, place: Place) -> Answer {
    let [one, _other] = raw::pair(libc::AF_UNIX, kind(args, 1)?)?;
    done(raw::send_to_unix(&one, args.word(0)?.as_bytes(), place))
}

fn connect(args: &Args, place: Place) -> Answer {
    let socket = raw::socket(libc::AF_UNIX, kind(args, 1)?, 0)?;
    done(raw::connect_unix(&socket, args.word(0)?.as_bytes(), place))
}

fn target(args: &Args) -> Result<SocketAddr, Failure> {
    let text = args.text(0)?;
    text.parse().map_err(|_| Failure::Usage(format!("{text} is not an address")))
}

fn tcp(args: &Args) -> Answer {
    done(TcpStream::connect(target(args)?))
}

fn udp(args: &Args) -> Answer {
    let target = target(args)?;
    let any: SocketAddr =
        if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    done(UdpSocket::bind(any)?.send_to(b"ATTACK", target))
}

/// Serves itself a few bytes.
fn loopback(any: SocketAddr) -> Answer {
    let listener = TcpListener::bind(any)?;
    let mut client = TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(5))?;
    let (mut server, _) = listener.accept()?;
    server.write_all(b"hello")?;
    let mut heard = [0; 5];
    client.read_exact(&mut heard)?;
    Ok(String::from_utf8_lossy(&heard).into_owned())
}
