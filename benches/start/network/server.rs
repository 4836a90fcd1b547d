//! What is downloaded from, and the plain relay the gateway is measured against.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

/// How much is read and written at once, here and in the relay.
const BLOCK: usize = 256 * 1024;

/// A server on an address of this machine that a sandbox has no other way to.
pub(super) struct Server {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// A relay in front of it.
    pub(super) relay: SocketAddr,
}

impl Server {
    /// Listens for as long as the benchmark runs.
    pub(super) fn start() -> Result<Self> {
        let here = own_address()?;
        let address = serve((here, 0).into(), answer)?;
        let relay = serve((here, 0).into(), move |client| relay(client, address))?;
        Ok(Self { address, relay })
    }
}

/// The address this machine would use to reach somebody else; nothing is sent.
fn own_address() -> Result<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).context("this machine has no network of its own")?;
    match socket.local_addr()? {
        SocketAddr::V4(own) if !own.ip().is_loopback() => Ok(*own.ip()),
        own => anyhow::bail!("{own} is not an address others could reach"),
    }
}

fn serve(at: SocketAddr, each: impl Fn(TcpStream) + Send + Sync + 'static) -> Result<SocketAddr> {
    let listener = TcpListener::bind(at).with_context(|| format!("could not listen on {at}"))?;
    let address = listener.local_addr()?;
    let each = std::sync::Arc::new(each);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let each = std::sync::Arc::clone(&each);
            thread::spawn(move || each(client));
        }
    });
    Ok(address)
}

/// `GET /N` is answered with N bytes, everything else with what was sent.
fn answer(mut client: TcpStream) {
    let _ = client.set_nodelay(true);
    let mut head = Vec::new();
    let mut block = vec![0; BLOCK];
    loop {
        let Ok(count @ 1..) = client.read(&mut block) else { return };
        head.extend_from_slice(&block[..count]);
        if !head.starts_with(&b"GET /"[..head.len().min(5)]) {
            if client.write_all(&head).is_err() {
                return;
            }
            head.clear();
        } else if head.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&head[5..]).into_owned();
            let wanted: usize = text.split(' ').next().and_then(|size| size.parse().ok()).unwrap_or(0);
            head.clear();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {wanted}\r\n\r\n");
            if client.write_all(answer.as_bytes()).is_err() {
                return;
            }
            block.fill(b'x');
            let mut left = wanted;
            while left > 0 {
                match client.write(&block[..left.min(BLOCK)]) {
                    Ok(count @ 1..) => left -= count,
                    _ => return,
                }
            }
        }
    }
}

/// Two threads, each copying one direction.
fn relay(client: TcpStream, to: SocketAddr) {
    let Ok(server) = TcpStream::connect(to) else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else { return };
    let back = thread::spawn(move || copy(server_too, client_too));
    copy(client, server);
    let _ = back.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut block = vec![0; BLOCK];
    while let Ok(count @ 1..) = from.read(&mut block) {
        if to.write_all(&block[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
