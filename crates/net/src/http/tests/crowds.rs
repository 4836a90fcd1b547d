//! Bounds on what clients that ask for very much at once may hold, and requests over HTTP/2 of a wrong form.

use super::super::plain::serve_plain;
use super::super::proxy::{PREFACE, serve_proxy};
use super::second::second;
use super::{PATIENCE, pair, parrot};
use crate::gateway::testing::{Recorder, narrow_ward, plan, ward};
use crate::gateway::{Wanted, Ward};
use crate::{Verdict, Via};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use std::sync::Arc;
use stockade_policy::{Cause, Target, ViolationKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// A client of HTTP/2 at the proxy.
async fn client(ward: &Arc<Ward>) -> SendRequest<Bytes> {
    let (client, ours) = pair().await;
    ward.spawn(serve_proxy(Arc::clone(ward), ours));
    second(client).await
}

fn ask(client: &SendRequest<Bytes>, at: &str, head: usize) -> ResponseFuture {
    let request = Request::get(format!("http://{at}/")).header("x", "y".repeat(head)).body(()).unwrap();
    client.clone().send_request(request, true).unwrap().0
}

async fn status(response: ResponseFuture) -> u16 {
    timeout(PATIENCE, response).await.expect("an answer at once").unwrap().status().as_u16()
}

/// A server that takes requests and never answers.
async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    (listener, at)
}

#[tokio::test]
async fn only_so_many_requests_are_under_way() {
    let (_held, at) = silent().await;
    let witness = Recorder::new();
    let ward = narrow_ward(plan(&["127.0.0.1"]), &witness);
    let (one, other) = (client(&ward).await, client(&ward).await);
    let mut waiting: Vec<_> = (0..2).map(|_| ask(&one, &at, 8)).collect();
    waiting.push(ask(&other, &at, 8));
    // They are under way once their connections arrive.
    let _taken =
        [_held.accept().await.unwrap(), _held.accept().await.unwrap(), _held.accept().await.unwrap()];
    for _ in 0..3 {
        assert_eq!(status(ask(&other, &at, 8)).await, 429);
    }
    assert_eq!(witness.causes(), [Cause::Limit], "a crowd is told of once");
    assert_eq!(witness.refusals.lock().unwrap()[0].kind, ViolationKind::Limit);
    let records = witness.records(3).await;
    for record in &records {
        assert_eq!((record.verdict, record.target.as_str()), (Verdict::Refused, at.as_str()));
        assert_eq!(record.reason.as_deref(), Some("a sandbox may have 3 requests under way at once"));
    }
    // Whoever takes one back makes room for another.
    let (port, _) = parrot(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    drop(waiting);
    let at = format!("127.0.0.1:{port}");
    let begun = tokio::time::Instant::now();
    while status(ask(&one, &at, 8)).await != 200 {
        assert!(begun.elapsed() < PATIENCE);
    }
}

#[tokio::test]
async fn heads_have_only_so_much_room() {
    let (held, at) = silent().await;
    let witness = Recorder::new();
    let ward = narrow_ward(plan(&["127.0.0.1"]), &witness);
    let client = client(&ward).await;
    let _waiting = ask(&client, &at, 6 << 10);
    let _taken = held.accept().await.unwrap();
    assert_eq!(status(ask(&client, &at, 3 << 10)).await, 429);
    let reason = witness.records(1).await.remove(0).reason;
    let expected = "a sandbox may have 8 kilobytes in the heads of requests under way at once";
    assert_eq!(reason.as_deref(), Some(expected));
    assert_eq!(witness.causes(), [Cause::Limit]);
    // A short one has room.
    let _another = ask(&client, &at, 8);
    timeout(PATIENCE, held.accept()).await.unwrap().unwrap();
}

/// What is sent slowly has no more room than what is sent at once, whoever reads it.
#[tokio::test]
async fn beginnings_of_heads_have_only_so_much_room() {
    for begin in ["GET http://a.test/ HTTP/1.1\r\n", "CONNECT a.test:80 HTTP/1.1\r\n"] {
        let witness = Recorder::new();
        let ward = narrow_ward(plan(&["a.test"]), &witness);
        let (mut client, ours) = pair().await;
        ward.spawn(serve_proxy(Arc::clone(&ward), ours));
        client.write_all(begin.as_bytes()).await.unwrap();
        client.write_all(format!("x: {}", "y".repeat(12 << 10)).as_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let length = timeout(PATIENCE, client.read(&mut answer)).await.expect("an answer at once").unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 429 "), "{begin}");
        assert_eq!(witness.causes(), [Cause::Grammar], "{begin}");
    }
}

#[tokio::test]
async fn only_so_many_clients_speak_http_2() {
    let witness = Recorder::new();
    let ward = narrow_ward(plan(&["127.0.0.1"]), &witness);
    let (_one, other) = (client(&ward).await, client(&ward).await);
    let (mut third, ours) = pair().await;
    let door = ours.local_addr().unwrap();
    ward.spawn(serve_proxy(Arc::clone(&ward), ours));
    third.write_all(PREFACE).await.unwrap();
    let ended = timeout(PATIENCE, third.read(&mut [0; 64])).await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    let record = witness.records(1).await.remove(0);
    assert_eq!((record.target, record.via), (door.to_string(), Via::HttpProxy));
    assert_eq!(record.reason.as_deref(), Some("a sandbox may have 2 clients of HTTP/2 at once"));
    drop(other);
    let (port, _) = parrot(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    tokio::time::sleep(PATIENCE / 20).await;
    assert_eq!(status(ask(&client(&ward).await, &format!("127.0.0.1:{port}"), 8)).await, 200);
}

/// A frame of headers that ends its request, and the beginning of a connection before it.
fn said(fields: &[(&str, &str)]) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend([0, length(name)]);
        block.extend(name.bytes());
        block.push(length(value));
        block.extend(value.bytes());
    }
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    let head = [0, length[0], length[1], 1, 5, 0, 0, 0, 1];
    [PREFACE, b"\0\0\0\x04\0\0\0\0\0", &head, &block].concat()
}

/// Requests that some server behind might read in another way: the library does not take them, and they are
/// on record all the same.
#[tokio::test]
async fn requests_of_a_wrong_form_are_on_record() {
    for (name, value, path) in [
        ("x", "a\r\nb: c", "/"),
        ("x\r\n", "a", "/"),
        ("X-Upper", "a", "/"),
        ("content-length", "1x", "/"),
        ("content-length", "5", "/"),
        ("transfer-encoding", "chunked", "/"),
        ("x", "y", "/a\r\nb"),
    ] {
        let fields = [
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "a.test"),
            (":path", path),
            (name, value),
        ];
        for proxy in [true, false] {
            let witness = Recorder::new();
            let ward = ward(plan(&["a.test"]), &witness);
            let (client, ours) = pair().await;
            let door = ours.local_addr().unwrap().to_string();
            if proxy {
                ward.spawn(serve_proxy(Arc::clone(&ward), ours));
            } else {
                let target = Target::parse(b"a.test:80", None).unwrap();
                let wanted = Wanted { target, via: Via::Transparent, spoken: None };
                let admitted = ward.admit(wanted).await.unwrap();
                let first = Bytes::from_static(PREFACE);
                ward.spawn(serve_plain(Arc::clone(&ward), ours.into(), admitted, first));
            }
            let bytes = said(&fields);
            let mut client: TcpStream = client;
            client.write_all(if proxy { &bytes } else { &bytes[PREFACE.len()..] }).await.unwrap();
            let record = witness.records(1).await.remove(0);
            let to = if proxy { door.as_str() } else { "a.test:80" };
            assert_eq!(
                (record.target.as_str(), record.verdict),
                (to, Verdict::Refused),
                "{name} {value} {path}"
            );
            assert_eq!(witness.causes(), [Cause::Grammar], "{name} {value} {path}");
        }
    }
}
