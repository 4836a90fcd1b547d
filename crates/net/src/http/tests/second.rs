//! Tunnels of HTTP/2 clients of the proxy.

use super::super::proxy::{PREFACE, serve_proxy};
use super::super::second::server;
use super::super::server::Room;
use super::super::two::Tunnel;
use super::broken::{Ending, breaking};
use super::terminated::{localhost, tls_origin, trusting};
use super::{PATIENCE, gateway, origin, pair, parrot, proxied, witnessed};
use crate::gateway::testing::{Recorder, narrow_ward, plan, ward};
use crate::relay::BreakOff;
use crate::{Termination, Verdict, Via};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{Method, Request, Response};
use std::sync::Arc;
use stockade_policy::{Cause, GatewayPlan, TlsPlan};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

pub(super) async fn second(client: TcpStream) -> SendRequest<Bytes> {
    // A window that a test fills.
    client.set_nodelay(true).unwrap();
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(16 * 1024);
    let (send, connection) = builder.handshake(client).await.unwrap();
    tokio::spawn(connection);
    send.ready().await.unwrap()
}

/// Asks for a tunnel; gives the answer and what was said besides.
async fn connect(client: &SendRequest<Bytes>, request: Request<()>) -> (Response<()>, Tunnel) {
    let (response, send) = client.clone().send_request(request, false).unwrap();
    let (head, receive) = timeout(PATIENCE, response).await.unwrap().unwrap().into_parts();
    (Response::from_parts(head, ()), Tunnel::new(receive, send))
}

fn to(authority: &str) -> Request<()> {
    Request::builder().method(Method::CONNECT).uri(authority).body(()).unwrap()
}

async fn text(mut body: RecvStream) -> String {
    let mut text = Vec::new();
    while let Some(piece) = body.data().await {
        text.extend_from_slice(&piece.unwrap());
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn tunnels_carry_anything() {
    let (port, heard) = parrot(b"welcome").await;
    let (client, witness, _ward) = proxied(plan(&["a.test", "127.0.0.1"])).await;
    let client = second(client).await;
    for round in 1..=2 {
        let (response, mut tunnel) = connect(&client, to(&format!("a.test:{port}"))).await;
        assert_eq!(response.status(), 200);
        tunnel.write_all(b"\x01early").await.unwrap();
        let mut said = [0; 7];
        timeout(PATIENCE, tunnel.read_exact(&mut said)).await.unwrap().unwrap();
        assert_eq!(&said, b"welcome");
        tunnel.write_all(b" late").await.unwrap();
        tunnel.shutdown().await.unwrap();
        assert_eq!(timeout(PATIENCE, tunnel.read(&mut said)).await.unwrap().unwrap(), 0);
        assert!(heard.lock().unwrap().ends_with(b"\x01early late"));
        let record = witness.records(round).await.pop().unwrap();
        assert_eq!((record.via, record.sent, record.received), (Via::Connect, 11, 7));
        assert_eq!((record.verdict, record.target), (Verdict::Allowed, format!("a.test:{port}")));
    }
}

/// Each direction has an end of its own, and no more is under way than the other side has room for.
#[tokio::test]
async fn what_was_said_before_an_end_arrives_however_long_it_is() {
    const LENGTH: usize = 500_000;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        // Only now: the client has long since ended.
        stream.write_all(&heard).await.unwrap();
        heard.len()
    });
    let (client, witness, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let (_, mut tunnel) = connect(&second(client).await, to(&at.to_string())).await;
    let said: Vec<u8> = (0..LENGTH).map(|number| (number % 251) as u8 | 0x80).collect();
    tunnel.write_all(&said).await.unwrap();
    tunnel.shutdown().await.unwrap();
    let mut heard = Vec::new();
    timeout(PATIENCE, tunnel.read_to_end(&mut heard)).await.unwrap().unwrap();
    assert!(heard == said);
    assert_eq!(server.await.unwrap(), LENGTH);
    let record = witness.records(1).await.remove(0);
    assert_eq!((record.sent, record.received), (LENGTH as u64, LENGTH as u64));
}

#[tokio::test]
async fn refusals_say_why() {
    let (client, witness, _ward) = proxied(plan(&["a.test", "b.test", "127.0.0.1"])).await;
    let client = second(client).await;
    let with_host = |host: &str| {
        let mut request = to("a.test:443");
        request.headers_mut().insert("host", host.parse().unwrap());
        request
    };
    for (request, status, said) in [
        (to("evil.test:443"), 403, "blocked by network allowlist"),
        (to("127.0.0.1:1"), 502, "cannot reach 127.0.0.1:1"),
        (to("a.test"), 400, "not understood"),
        (with_host("b.test:443"), 400, "differ"),
        (with_host("a.test:22"), 400, "differ"),
    ] {
        let (response, _send) = client.clone().send_request(request, true).unwrap();
        let response = timeout(PATIENCE, response).await.unwrap().unwrap();
        assert_eq!(response.status(), status, "{said}");
        let heard = text(response.into_body()).await;
        assert!(heard.contains(said), "{heard}");
    }
    assert_eq!(witness.causes(), [Cause::NotListed, Cause::Grammar, Cause::Grammar, Cause::Grammar]);
    let records = witness.records(5).await;
    assert_eq!((records[0].via, records[0].verdict), (Via::Connect, Verdict::Refused));
    assert_eq!(records[1].verdict, Verdict::Failed);
    assert_eq!((records[2].via, records[2].target.as_str()), (Via::Connect, "a.test"));
}

/// A client could have any number of tunnels for the price of a few connections.
#[tokio::test]
async fn a_crowd_of_tunnels_leaves_room_for_others() {
    let (port, _) = parrot(b"welcome").await;
    let at = format!("127.0.0.1:{port}");
    let (witness, (client, ours)) = (Recorder::new(), pair().await);
    let ward = narrow_ward(plan(&["127.0.0.1"]), &witness);
    tokio::spawn(serve_proxy(Arc::clone(&ward), ours));
    let client = second(client).await;
    let (response, mut tunnel) = connect(&client, to(&at)).await;
    assert_eq!(response.status(), 200);
    for _ in 0..2 {
        let (response, _) = connect(&client, to(&at)).await;
        assert_eq!(response.status(), 429);
    }
    assert_eq!(witness.causes(), [Cause::Limit], "a crowd is told of once");
    let records = witness.records(2).await;
    assert_eq!((records[1].verdict, records[1].target.as_str()), (Verdict::Refused, at.as_str()));
    assert_eq!(records[1].reason.as_deref(), Some("a sandbox may have 1 tunnels over HTTP/2 at once"));
    // Whoever does without HTTP/2 needs no such place.
    let (mut other, ours) = pair().await;
    tokio::spawn(serve_proxy(Arc::clone(&ward), ours));
    other.write_all(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).await.unwrap();
    let mut said = [0; 12];
    timeout(PATIENCE, other.read_exact(&mut said)).await.unwrap().unwrap();
    assert_eq!(&said, b"HTTP/1.1 200");
    // The place is given back.
    tunnel.break_off();
    drop(tunnel);
    assert_eq!(connect(&client, to(&at)).await.0.status(), 200);
}

/// What a client does not read is held in small pieces only, however much it says that it has room for.
#[tokio::test]
async fn little_is_held_for_a_client_that_does_not_read() {
    let ward = ward(plan(&[]), &Recorder::new());
    let big = ward.room_for_big_buffers();
    for (room, most) in [(Room::of(big.as_ref()), 64 * 1024), (Room::of(None), 16 * 1024)] {
        let (mut client, ours) = tokio::io::duplex(4096);
        client.write_all(PREFACE).await.unwrap();
        // The largest windows there are.
        client.write_all(b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff").await.unwrap();
        client.write_all(b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0").await.unwrap();
        let fields = b"\0\x07:method\x07CONNECT\0\x0a:authority\x09a.test:80";
        client.write_all(&[0, 0, u8::try_from(fields.len()).unwrap(), 1, 4, 0, 0, 0, 1]).await.unwrap();
        client.write_all(fields).await.unwrap();
        let mut connection = server(&room).handshake::<_, Bytes>(ours).await.unwrap();
        let (request, mut respond) = connection.accept().await.unwrap().unwrap();
        tokio::spawn(async move { while connection.accept().await.is_some() {} });
        let out = respond.send_response(Response::new(()), false).unwrap();
        let mut tunnel = Tunnel::new(request.into_body(), out);
        let mut taken = 0;
        while let Ok(written) = timeout(PATIENCE / 20, tunnel.write(&[0; 1024])).await {
            taken += written.unwrap();
            assert!(taken < 1 << 20);
        }
        // What the library has begun to write, or the duplex holds, is beside it.
        assert!((most / 2..=most + 40 * 1024).contains(&taken), "{taken} of {most}");
    }
}

/// The reason for which the other side gave the stream up.
fn reason(error: &std::io::Error) -> Option<Reason> {
    error.get_ref()?.downcast_ref::<h2::Error>()?.reason()
}

#[tokio::test]
async fn what_breaks_off_does_not_look_like_an_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let (client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let client = second(client).await;
    // The server's failure reaches the client.
    let (_, mut tunnel) = connect(&client, to(&at)).await;
    tunnel.write_all(b"\x01").await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    server.write_all(b"half").await.unwrap();
    assert_eq!(timeout(PATIENCE, tunnel.read(&mut [0; 8])).await.unwrap().unwrap(), 4);
    server.break_off();
    drop(server);
    let error = timeout(PATIENCE, tunnel.read(&mut [0; 8])).await.unwrap().unwrap_err();
    assert_eq!(reason(&error), Some(Reason::CONNECT_ERROR));
    // The client's failure reaches the server.
    let (_, mut tunnel) = connect(&client, to(&at)).await;
    tunnel.write_all(b"\x01half").await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    server.read_exact(&mut [0; 5]).await.unwrap();
    tunnel.break_off();
    let heard = timeout(PATIENCE, server.read(&mut [0; 8])).await.unwrap();
    assert_eq!(heard.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    // The other streams of the connection go on.
    let (response, _) = connect(&client, to(&at)).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_change_of_policy_ends_the_tunnel_and_not_the_connection() {
    let (port, _) = parrot(b"welcome").await;
    let witness = Recorder::new();
    let (gateway, client) = witnessed(plan(&["127.0.0.1"]), &witness, None, None).await;
    let client = second(client).await;
    let (_, mut tunnel) = connect(&client, to(&format!("127.0.0.1:{port}"))).await;
    tunnel.write_all(b"\x01").await.unwrap();
    tunnel.read_exact(&mut [0; 7]).await.unwrap();
    gateway.change(Arc::new(plan(&[]))).unwrap();
    let error = timeout(PATIENCE, tunnel.read(&mut [0; 8])).await.unwrap().unwrap_err();
    assert_eq!(reason(&error), Some(Reason::CONNECT_ERROR));
    let (response, _) = connect(&client, to(&format!("127.0.0.1:{port}"))).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn requests_in_tunnels_are_judged() {
    let port = origin().await;
    let (client, witness, _ward) = proxied(plan(&["a.test", "127.0.0.1"])).await;
    let (_, mut tunnel) = connect(&second(client).await, to(&format!("a.test:{port}"))).await;
    tunnel.write_all(b"GET /in HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b">") {
        assert_ne!(timeout(PATIENCE, tunnel.read_buf(&mut heard)).await.unwrap().unwrap(), 0);
    }
    tunnel.write_all(b"GET /in HTTP/1.1\r\nHost: evil.test\r\n\r\n").await.unwrap();
    timeout(PATIENCE, tunnel.read_to_end(&mut heard)).await.unwrap().unwrap();
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.contains("<GET /in ") && heard.contains("HTTP/1.1 421 "), "{heard}");
    assert_eq!(witness.causes(), [Cause::Mismatch]);
}

#[tokio::test]
async fn tls_in_tunnels_is_looked_into() {
    let (port, root) = tls_origin(b"http/1.1").await;
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, root).unwrap();
    let tls = TlsPlan { extra_roots: vec![roots], ..TlsPlan::default() };
    let termination = Arc::new(Termination::new(&tls).unwrap());
    let plan = GatewayPlan { strip_response_headers: vec!["x-secret".into()], ..plan(&["127.0.0.1"]) };
    let (_gateway, client) = gateway(plan, Some(Arc::clone(&termination)), None).await;
    let (_, tunnel) = connect(&second(client).await, to(&format!("127.0.0.1:{port}"))).await;
    let mut client = trusting(&termination, b"http/1.1").connect(localhost(), tunnel).await.unwrap();
    client.write_all(b"GET /in HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut heard = String::new();
    timeout(PATIENCE, client.read_to_string(&mut heard)).await.unwrap().unwrap();
    assert!(heard.contains("<GET /in ") && !heard.contains("x-secret"), "{heard}");
}

#[tokio::test]
async fn bodies_go_both_ways_and_may_break_off() {
    let port = origin().await;
    let (client, witness, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let client = second(client).await;
    let request = Request::post(format!("http://127.0.0.1:{port}/up")).body(()).unwrap();
    let (response, send) = client.clone().send_request(request, false).unwrap();
    let sending = async {
        let mut send = send;
        for _ in 0..30 {
            let mut piece = Bytes::from(vec![b'x'; 10_000]);
            while !piece.is_empty() {
                send.reserve_capacity(piece.len());
                let room = std::future::poll_fn(|cx| match send.capacity() {
                    0 => send.poll_capacity(cx).map(|room| room.unwrap().unwrap()),
                    room => std::task::Poll::Ready(room),
                });
                let room = room.await.min(piece.len());
                send.send_data(piece.split_to(room), false).unwrap();
            }
        }
        send.send_data(Bytes::new(), true).unwrap();
    };
    let (response, ()) = timeout(PATIENCE, async { tokio::join!(response, sending) }).await.unwrap();
    let mut body = response.unwrap().into_body();
    let mut heard = Vec::new();
    while let Some(piece) = timeout(PATIENCE, body.data()).await.unwrap() {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        heard.extend_from_slice(&piece);
    }
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.starts_with("<POST /up ") && heard.ends_with(&format!("body={}>", "x".repeat(300_000))));
    let head = format!("POST /up HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(witness.records(1).await[0].sent, 300_000 + head.len() as u64);
    let port = breaking(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf", Ending::Fin).await;
    let request = Request::get(format!("http://127.0.0.1:{port}/")).body(()).unwrap();
    let (response, _) = client.clone().send_request(request, true).unwrap();
    let mut body = timeout(PATIENCE, response).await.unwrap().unwrap().into_body();
    assert_eq!(body.data().await.unwrap().unwrap(), "half");
    assert!(timeout(PATIENCE, body.data()).await.unwrap().unwrap().is_err());
}
