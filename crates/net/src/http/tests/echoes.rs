//! What comes back of a real value in pieces and at other ports.

use super::{PATIENCE, parrot, until, witnessed};
use crate::credentials::{Secret, StandIn, VaultEntry};
use crate::gateway::testing::{Recorder, plan};
use crate::{Gateway, Vault};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{DomainPattern, Switch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const REAL: &str = "sk-SuperSecretToken0123456789abcdef";

/// A client of a gateway with a secret for another port of the server, inside TLS.
async fn client() -> (TcpStream, String, Gateway) {
    let stand_in = StandIn::mint().unwrap();
    let fake = stand_in.as_str()[..REAL.len()].to_owned();
    let hosts = vec![DomainPattern::parse_denied("127.0.0.1:443").unwrap()];
    let entry = VaultEntry { name: "TOKEN".into(), stand_in, real: Secret::new(REAL.into()), hosts };
    let vault = Vault::new(vec![entry], vec![], Switch::Refused);
    let (gateway, client) =
        witnessed(plan(&["127.0.0.1"]), &Recorder::new(), None, Some(Arc::new(vault))).await;
    (client, fake, gateway)
}

/// A server that says this to whoever asks, with a pause before each but the first. Then it is silent.
async fn slow(says: Vec<String>, pause: Duration) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream.read_buf(&mut Vec::with_capacity(4096)).await.unwrap();
        for said in says {
            stream.write_all(said.as_bytes()).await.unwrap();
            tokio::time::sleep(pause).await;
        }
        std::future::pending::<()>().await;
    });
    port
}

/// Requests through the proxy, and through a tunnel as on any connection.
async fn ask(client: &mut TcpStream, port: u16, tunnel: bool) -> String {
    let at = format!("127.0.0.1:{port}");
    if !tunnel {
        return format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n");
    }
    until(client, format!("CONNECT {at} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n")
}

/// What a host was sent at one port it may show at another.
#[tokio::test]
async fn every_port_of_a_host_is_looked_at() {
    for tunnel in [false, true] {
        let says = format!("HTTP/1.1 200 OK\r\nX-Echo: {REAL}\r\nContent-Length: 37\r\n\r\n<{REAL}>");
        let (port, _) = parrot(Box::leak(says.into_bytes().into())).await;
        let (mut client, fake, _gateway) = client().await;
        let request = ask(&mut client, port, tunnel).await;
        let heard = until(&mut client, request, ">").await;
        assert!(heard.contains(&format!("X-Echo: {fake}\r\n")), "{heard}");
        assert!(heard.ends_with(&format!("<{fake}>")), "{heard}");
    }
}

/// However a server cuts it, and however long the rest takes: what was read of it waits.
#[tokio::test]
async fn a_value_that_comes_in_pieces_is_not_shown() {
    for tunnel in [false, true] {
        for cut in [1, 17, 34] {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 1037\r\n\r\n{}<", "x".repeat(1000));
            let says = vec![format!("{head}{}", &REAL[..cut]), format!("{}>", &REAL[cut..])];
            let port = slow(says, Duration::from_millis(300)).await;
            let (mut client, fake, _gateway) = client().await;
            let request = ask(&mut client, port, tunnel).await;
            let heard = until(&mut client, request, ">").await;
            assert!(heard.ends_with(&format!("x<{fake}>")), "{cut}: {heard}");
        }
    }
}

/// What a server says bit by bit is heard soon, though it says nothing more.
#[tokio::test]
async fn events_go_on_without_more() {
    for tunnel in [false, true] {
        let event = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
        let says = vec![head + &event("data: one\n\n"), event("data: two\n\n")];
        let port = slow(says, Duration::from_millis(400)).await;
        let (mut client, _, _gateway) = client().await;
        let request = ask(&mut client, port, tunnel).await;
        client.write_all(request.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        for data in ["one", "two"] {
            while !String::from_utf8_lossy(&heard).contains(data) {
                let read = tokio::time::timeout(PATIENCE, client.read_buf(&mut heard)).await.unwrap();
                assert_ne!(read.unwrap(), 0);
            }
            if data == "one" {
                assert!(!String::from_utf8_lossy(&heard).contains("two"), "each has come by itself");
            }
        }
    }
}

/// A server that says these pieces to everybody at once, whether or not they say anything.
async fn hasty(says: &[&str]) -> u16 {
    let says: Vec<String> = says.iter().map(ToString::to_string).collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        for said in says {
            stream.write_all(said.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        std::future::pending::<()>().await;
    });
    port
}

async fn tunnel(port: u16) -> (TcpStream, Gateway) {
    let (mut client, _, gateway) = client().await;
    until(&mut client, format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    (client, gateway)
}

/// Servers speak HTTP first to say that they have waited long enough, and may say anything with it.
#[tokio::test]
async fn an_answer_before_any_request_is_not_shown() {
    let said = format!("HTTP/1.1 408 Request Timeout\r\nX-Echo: {REAL}\r\n\r\n");
    for pieces in [&[&*said][..], &["H", "TTP/", &said[5..]]] {
        for first in [&b""[..], b"\x16\x03\x01", b"\x01"] {
            let (mut client, _gateway) = tunnel(hasty(pieces).await).await;
            client.write_all(first).await.unwrap();
            let mut heard = Vec::new();
            let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut heard)).await;
            let _ = ended.expect("it ends");
            assert_eq!(String::from_utf8_lossy(&heard), "", "{pieces:?} {first:?}");
        }
    }
}

/// Nor an answer to TLS that nobody speaks there.
#[tokio::test]
async fn an_answer_to_tls_is_not_shown() {
    let port = slow(vec![format!("HTTP/1.1 400 Bad Request\r\n\r\n{REAL}")], Duration::ZERO).await;
    let (mut client, _gateway) = tunnel(port).await;
    client.write_all(&crate::transparent::hello("127.0.0.1")).await.unwrap();
    let mut heard = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut heard)).await;
    let _ = ended.expect("it ends");
    assert_eq!(String::from_utf8_lossy(&heard), "");
}

/// Whoever else speaks first is heard at once, and so is the end of a word that could have become one of HTTP.
#[tokio::test]
async fn other_greetings_do_not_wait() {
    for pieces in [&["2"][..], &["S"], &["HE"], &["H", "i"], &["HTTP/x"]] {
        let (mut client, _gateway) = tunnel(hasty(pieces).await).await;
        until(&mut client, "", &pieces.concat()).await;
    }
}

/// In a message that is not at its end, too.
#[tokio::test]
async fn messages_go_on_without_more() {
    let agreed = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let port = slow(vec![format!("{agreed}\x01\x50some of a mess")], Duration::ZERO).await;
    let (mut client, _, _gateway) = client().await;
    let request = ask(&mut client, port, true).await;
    let request = request.replacen("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 1);
    let heard = until(&mut client, request, "some of a ").await;
    assert!(heard.starts_with("HTTP/1.1 101 ") && heard.ends_with("some of a "), "{heard}");
}
