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
