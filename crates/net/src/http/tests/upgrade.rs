//! Connections that turn into something else.

use super::{admitted, all, origin, parrot, proxied, reading, until};
use crate::Verdict;
use crate::gateway::testing::plan;
use std::net::Ipv4Addr;
use std::time::Duration;
use stockade_policy::{Cause, GatewayPlan};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const ASKING: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const AGREED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";

fn plans() -> [GatewayPlan; 2] {
    let open = || plan(&["a.test", "127.0.0.1"]);
    [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }]
}

#[tokio::test]
async fn what_follows_an_agreement_passes_unseen() {
    for plan in plans() {
        let (port, heard) = parrot(AGREED).await;
        let (mut client, witness, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}\x01\x02 early");
        assert!(until(&mut client, request, "hello").await.starts_with("HTTP/1.1 101 "));
        client.write_all(b" late \r\n\r\n").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(all(&mut client, "").await, "");
        assert!(heard.lock().unwrap().ends_with(b"\r\n\r\n\x01\x02 early late \r\n\r\n"));
        let record = &witness.records(1).await[0];
        assert_eq!(record.status, Some(101));
        // What was said after the agreement counts, too.
        let (sent, received) = ("\x01\x02 early late \r\n\r\n".len(), "hello".len());
        assert!(record.sent >= sent as u64 && record.received >= received as u64, "{record:?}");
    }
}

#[tokio::test]
async fn the_proxy_passes_it_too() {
    let (port, heard) = parrot(AGREED).await;
    let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let at = format!("127.0.0.1:{port}");
    let request = format!("GET http://{at}/ws HTTP/1.1\r\nHost: {at}\r\n{ASKING}");
    until(&mut client, request, "hello").await;
    client.write_all(b"late").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client, "").await, "");
    assert!(heard.lock().unwrap().ends_with(b"\r\n\r\nlate"));
}

#[tokio::test]
async fn without_an_agreement_it_is_still_http() {
    for plan in plans() {
        let port = origin().await;
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}");
        assert!(until(&mut client, &request, ">").await.contains("/ws"));
        assert!(until(&mut client, "GET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await.contains("/2"));
        let evil = "GET /3 HTTP/1.1\r\nHost: evil.test\r\n\r\n";
        assert!(all(&mut client, evil).await.starts_with("HTTP/1.1 421 "));
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_agreement() {
    let (port, heard) = parrot(b"").await;
    let (mut client, _, _ward) = admitted(plans()[0].clone(), &format!("a.test:{port}")).await;
    let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}GET /evil HTTP/1.1\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
    assert!(heard.contains("/ws") && !heard.contains("evil"), "{heard}");
}

#[tokio::test]
async fn later_requests_cannot_turn_a_stream() {
    let port = origin().await;
    let (mut client, _, _ward) = admitted(plans()[0].clone(), &format!("a.test:{port}")).await;
    until(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await;
    let heard = all(&mut client, format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}")).await;
    assert!(heard.starts_with("HTTP/1.1 400 "), "{heard}");
}

#[tokio::test]
async fn other_kinds_of_http_are_not_asked_for() {
    for plan in plans() {
        let port = origin().await;
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let request = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\n\
                       Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
        assert!(until(&mut client, request, ">").await.contains("headers=host body"));
    }
}

/// A server that says these pieces, some time apart, to everybody who has said something. Gives its port.
async fn slow(pieces: &[&'static [u8]]) -> u16 {
    let pieces = pieces.to_vec();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        for piece in pieces {
            stream.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    port
}

#[tokio::test]
async fn answers_may_come_in_pieces() {
    let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}");
    for (pieces, status) in [
        (
            &[&b"HT"[..], b"TP/1.1 1", b"01 Switching\r\nUpgra", b"de: WebSocket\r\n\r", b"\n", b"hello"][..],
            101,
        ),
        (&[b"HTTP/1.1 2", b"00 OK\r\nContent-Length: 5\r\n\r\n", b"hello"], 200),
        (&[b"HTTP/1.", b"0 200 OK\r\n\r\n", b"hello"], 200),
    ] {
        let port = slow(pieces).await;
        let (mut client, witness, _ward) = admitted(plans()[0].clone(), &format!("a.test:{port}")).await;
        let heard = until(&mut client, &request, "hello").await;
        assert_eq!(heard.as_bytes(), pieces.concat());
        drop(client);
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.status, record.received), (Some(status), heard.len() as u64));
    }
}

#[tokio::test]
async fn a_server_that_stalls_in_its_status_is_given_up() {
    let port = slow(&[b"HTTP/1.1"]).await;
    let (mut client, _, _ward) = admitted(plans()[0].clone(), &format!("a.test:{port}")).await;
    let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}");
    client.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::time::pause();
    let ended = tokio::time::timeout(Duration::from_secs(60), client.read(&mut [0])).await;
    assert!(!matches!(ended.expect("it ends"), Ok(1..)));
}

#[tokio::test]
async fn where_requests_have_rules_only_web_sockets_follow() {
    for plan in plans() {
        let plan = GatewayPlan { requests: vec![reading("a.test")], ..plan };
        let (port, heard) = parrot(AGREED).await;
        let (mut client, witness, _ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
        let request = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: shell\r\n\r\n";
        let answer = all(&mut client, request).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert_eq!(witness.causes(), [Cause::Request]);
        assert!(heard.lock().unwrap().is_empty());
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        until(&mut client, format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}"), "hello").await;
    }
}

/// Where the answer may name any protocol, so that what follows is one that nobody has judged.
#[tokio::test]
async fn only_what_was_asked_for_follows() {
    for plan in plans() {
        for named in ["Upgrade: h2c\r\n", "Upgrade: websocket, h2c\r\n", ""] {
            let says = format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{named}\r\nhello");
            let (port, heard) = parrot(says.leak().as_bytes()).await;
            let (mut client, witness, _ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
            let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{ASKING}PRI * HTTP/2.0\r\n\r\n");
            let answer = all(&mut client, request).await;
            assert!(answer.starts_with("HTTP/1.1 502 ") && !answer.contains("hello"), "{named:?} {answer}");
            assert!(!String::from_utf8_lossy(&heard.lock().unwrap()).contains("PRI"));
            assert_eq!(witness.records(1).await[0].verdict, Verdict::Failed);
        }
    }
}
