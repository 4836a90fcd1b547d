//! Questions over real sockets: datagrams and streams.

use super::{A, AAAA, World, question, records};
use crate::dns::{serve_stream, serve_udp};
use simple_dns::RCODE;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use stockade_policy::Switch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

async fn udp(world: &Arc<World>, at: &str) -> SocketAddr {
    let socket = UdpSocket::bind(at).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(serve_udp(world.clone(), socket.into_std().unwrap().into()));
    address
}

/// A client of a resolver.
async fn asker(world: &Arc<World>) -> UdpSocket {
    let address = udp(world, "127.0.0.1:0").await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(address).await.unwrap();
    client
}

async fn exchange(client: &UdpSocket, message: &[u8]) -> Vec<u8> {
    client.send(message).await.unwrap();
    let mut buffer = vec![0; 2048];
    let received = tokio::time::timeout(Duration::from_secs(5), client.recv(&mut buffer)).await;
    buffer.truncate(received.unwrap().unwrap());
    buffer
}

#[tokio::test]
async fn answers_come_from_the_address_that_was_asked() {
    let world = World::new(Switch::Refused);
    // A connected socket takes datagrams of its peer alone.
    for (at, asked) in [("0.0.0.0:0", "127.0.0.53"), ("[::]:0", "::1"), ("[::]:0", "127.8.8.8")] {
        let port = udp(&world, at).await.port();
        let family = if asked.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
        let client = UdpSocket::bind(family).await.unwrap();
        client.connect((asked.parse::<IpAddr>().unwrap(), port)).await.unwrap();
        let answer = exchange(&client, &question("allow.test", A)).await;
        assert_eq!(records(&answer).1, ["198.18.0.1"], "{asked}");
    }
}

#[tokio::test]
async fn a_slow_lookup_delays_nobody_else() {
    let world = World::new(Switch::Refused);
    let client = asker(&world).await;
    client.send(&question("slow.allow.test", A)).await.unwrap();
    let quick = exchange(&client, &question("evil.test", A)).await;
    assert_eq!(records(&quick).0, RCODE::NameError);
    world.gate.add_permits(1);
    let slow = exchange(&client, b"noise").await;
    assert_eq!(records(&slow).1, ["198.18.0.1"]);
}

#[tokio::test]
async fn a_flood_of_lookups_is_bounded_and_passes() {
    let world = World::new(Switch::Refused);
    let client = asker(&world).await;
    assert_eq!(records(&exchange(&client, &question("before.allow.test", A)).await).0, RCODE::NoError);
    world.lookups.store(0, Ordering::Relaxed);
    for _ in 0..100 {
        client.send(&question("slow.allow.test", A)).await.unwrap();
    }
    // Those for whom there is no place hear so at once.
    for _ in 0..36 {
        assert_eq!(records(&exchange(&client, b"noise").await).0, RCODE::ServerFailure);
    }
    assert_eq!(world.lookups.load(Ordering::Relaxed), 64);
    // A name that is written down has a place all the same, and so has one that was answered for.
    assert_eq!(records(&exchange(&client, &question("allow.test", A)).await).0, RCODE::NoError);
    assert_eq!(records(&exchange(&client, &question("before.allow.test", A)).await).0, RCODE::NoError);
    assert_eq!(records(&exchange(&client, &question("new.allow.test", A)).await).0, RCODE::ServerFailure);
    world.gate.add_permits(1);
    for _ in 0..64 {
        assert_eq!(records(&exchange(&client, b"noise").await).0, RCODE::NoError);
    }
    assert_eq!(records(&exchange(&client, &question("allow.test", A)).await).0, RCODE::NoError);
}

async fn connected(world: &Arc<World>) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (served, _) = listener.accept().await.unwrap();
    tokio::spawn(serve_stream(world.clone(), served));
    client
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

#[tokio::test]
async fn a_stream_carries_several_questions() {
    let world = World::new(Switch::Refused);
    let mut client = connected(&world).await;
    let all = [framed(&question("allow.test", A)), framed(&question("allow.test", AAAA))].concat();
    // Byte by byte, as a slow network would.
    for byte in all {
        client.write_all(&[byte]).await.unwrap();
    }
    for meant in ["198.18.0.1", "fd53:746f:636b::1"] {
        let length = client.read_u16().await.unwrap();
        let mut answer = vec![0; usize::from(length)];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(records(&answer).1, [meant]);
    }
    client.write_all(&framed(&[0; 5000])).await.unwrap();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0, "nonsense ends the conversation");
}

#[tokio::test(start_paused = true)]
async fn silent_and_slow_streams_are_ended() {
    let world = World::new(Switch::Refused);
    let mut silent = connected(&world).await;
    let mut slow = connected(&world).await;
    slow.write_all(&framed(&question("allow.test", A))[..5]).await.unwrap();
    for client in [&mut slow, &mut silent] {
        let ended = tokio::time::timeout(Duration::from_secs(60), client.read(&mut [0; 1])).await;
        assert_eq!(ended.unwrap().unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn there_is_room_for_so_many_streams() {
    let world = World::new(Switch::Refused);
    let mut clients = Vec::new();
    for _ in 0..64 {
        let mut client = connected(&world).await;
        client.write_all(&framed(&question("allow.test", A))).await.unwrap();
        client.read_u16().await.unwrap();
        clients.push(client);
    }
    assert_eq!(connected(&world).await.read(&mut [0; 1]).await.unwrap_or(0), 0);
    clients.clear();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut client = connected(&world).await;
    client.write_all(&framed(&question("allow.test", A))).await.unwrap();
    assert!(client.read_u16().await.is_ok());
}
