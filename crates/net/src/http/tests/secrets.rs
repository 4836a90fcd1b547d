//! Real values in requests: what the server gets, and what is told about it.

use super::{PATIENCE, all, origin, parrot, serving, until, witnessed};
use crate::credentials::{Secret, StandIn, VaultEntry};
use crate::gateway::testing::{Recorder, plan};
use crate::{Gateway, Vault};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, DomainPattern, GatewayPlan, NetLimits, Switch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than what stands for it.
pub(super) const REAL: &str = "REAL-VALUE-REAL-VALUE-REAL-VALUE-REAL-VALUE-REAL-VALUE-REAL-VALUE";

/// How the server tells that it got the real value.
pub(super) fn shown() -> String {
    REAL.replace("REAL-VALUE", "THE-VALUE+")
}

/// How the requests come.
#[derive(Clone, Copy, Debug)]
enum Through {
    Proxy,
    Tunnel,
}

/// A client of a gateway that puts a real value in the place of a stand-in on its way to this port.
async fn client(
    port: u16,
    through: Through,
    limits: NetLimits,
) -> (TcpStream, StandIn, Arc<Recorder>, Gateway) {
    let stand_in = StandIn::mint().unwrap();
    let entry = VaultEntry {
        name: "TOKEN".into(),
        stand_in: stand_in.clone(),
        real: Secret::new(REAL.into()),
        hosts: vec![DomainPattern::parse_allowed("127.0.0.1").unwrap()],
    };
    let vault = Vault::new(vec![entry], vec![], Switch::Allowed);
    let plan = GatewayPlan { plaintext_credentials: Switch::Allowed, limits, ..plan(&["127.0.0.1"]) };
    let witness = Recorder::new();
    let (gateway, mut client) = witnessed(plan, &witness, None, Some(Arc::new(vault))).await;
    if let Through::Tunnel = through {
        until(&mut client, format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    }
    (client, stand_in, witness, gateway)
}

fn post(port: u16, through: Through, path: &str, body: &str) -> String {
    let at = format!("127.0.0.1:{port}");
    let to = match through {
        Through::Proxy => format!("http://{at}"),
        Through::Tunnel => String::new(),
    };
    format!("POST {to}{path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn no_record_holds_a_real_value() {
    for through in [Through::Proxy, Through::Tunnel] {
        let port = origin().await;
        let (mut client, stand_in, witness, _gateway) = client(port, through, NetLimits::default()).await;
        let fake = stand_in.as_str();
        let request = post(port, through, &format!("/a/{fake}/b?key={fake}"), fake);
        let heard = until(&mut client, request, ">").await;
        let shown = shown();
        assert!(heard.contains(&format!("<POST /a/{shown}/b?key={shown} ")), "{heard}");
        assert!(heard.contains(&format!("body={shown}>")), "{heard}");
        let records = witness.records(1).await;
        assert_eq!(records[0].request, Some(("POST".into(), format!("/a/{fake}/b"))), "{through:?}");
        let told = format!("{records:?} {:?}", witness.refusals.lock().unwrap());
        assert!(!told.contains(REAL), "{told}");
    }
}

#[tokio::test]
async fn short_bodies_keep_a_length() {
    for through in [Through::Proxy, Through::Tunnel] {
        let port = origin().await;
        let (mut client, stand_in, witness, _gateway) = client(port, through, NetLimits::default()).await;
        for body in [format!("<{}", stand_in.as_str()), "<nothing".to_owned()] {
            let heard = until(&mut client, post(port, through, "/", &body), ">").await;
            let body = body.replace(stand_in.as_str(), &shown());
            let expected = format!("headers=accept-encoding,connection,content-length,host body={body}>");
            assert!(heard.contains(&expected), "{heard}");
        }
        let sent = post(port, Through::Tunnel, "/", &format!("<{REAL}")).len();
        let asked = "Accept-Encoding: identity\r\nConnection: close\r\n".len();
        assert_eq!(witness.records(2).await[0].sent, (sent + asked) as u64);
        let long = format!("{}{}", "x".repeat(1 << 20), stand_in.as_str());
        let heard = until(&mut client, post(port, through, "/", &long), ">").await;
        assert!(
            heard.contains("headers=accept-encoding,connection,host,transfer-encoding "),
            "{}",
            &heard[..200]
        );
        assert!(heard.ends_with(&format!("x{}>", shown())));
    }
}

/// A limit holds for what is sent, which may be longer than what was there.
#[tokio::test]
async fn bodies_that_are_held_whole_wait_for_room() {
    const ALL: usize = 64 << 20;
    let port = origin().await;
    let (mut client, stand_in, _, gateway) = client(port, Through::Tunnel, NetLimits::default()).await;
    let others = gateway.ward.room_for_body(ALL).await;
    let request = post(port, Through::Tunnel, "/", stand_in.as_str());
    client.write_all(request.as_bytes()).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_millis(200), client.read_u8()).await;
    assert!(heard.is_err(), "there is no room yet");
    drop(others);
    let heard = until(&mut client, String::new(), ">").await;
    assert!(heard.contains(&format!("body={}>", shown())), "{heard}");
    // And it is given back.
    tokio::time::timeout(PATIENCE, gateway.ward.room_for_body(ALL)).await.unwrap();
}

#[tokio::test]
async fn limits_hold_for_what_is_sent() {
    let port = origin().await;
    let limits = NetLimits { max_request_bytes: Some(50), ..NetLimits::default() };
    let (mut client, stand_in, witness, _gateway) = client(port, Through::Proxy, limits).await;
    assert!(stand_in.as_str().len() < 50 && REAL.len() > 50);
    let heard = all(&mut client, post(port, Through::Proxy, "/", stand_in.as_str())).await;
    assert!(heard.starts_with("HTTP/1.1 413 ") && heard.contains("longer than the limits allow"), "{heard}");
    assert_eq!(witness.causes(), [Cause::Limit]);
}

/// The answer to one of these is the request, real values and all.
#[tokio::test]
async fn nobody_is_asked_to_send_a_request_back() {
    for through in [Through::Proxy, Through::Tunnel] {
        for method in ["TRACE", "trace", "TRACK"] {
            let port = origin().await;
            let (mut client, _, witness, _gateway) = client(port, through, NetLimits::default()).await;
            let request = post(port, through, "/", "").replacen("POST", method, 1);
            let heard = all(&mut client, request).await;
            assert!(heard.starts_with("HTTP/1.1 405 "), "{through:?} {heard}");
            assert_eq!(witness.causes(), [Cause::Request]);
        }
    }
}

/// What a server sends back of a request does not tell the real value.
#[tokio::test]
async fn an_echo_is_covered() {
    async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let place = request.uri().to_string();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let response = Response::builder().header("location", place);
        let encoded = body.starts_with(b"encoded");
        let response = if encoded { response.header("content-encoding", "gzip") } else { response };
        Ok(response.body(Full::new([&body[..], b"."].concat().into())).unwrap())
    }
    for through in [Through::Proxy, Through::Tunnel] {
        let port = serving(answer).await;
        let (mut client, stand_in, _, _gateway) = client(port, through, NetLimits::default()).await;
        let fake = stand_in.as_str();
        let cover: String = fake.chars().cycle().take(REAL.len()).collect();
        let request = post(port, through, &format!("/{fake}"), &format!("<{fake}>"));
        let heard = until(&mut client, request, ">.").await;
        assert!(heard.contains(&format!("location: /{cover}\r\n")), "{heard}");
        assert!(heard.contains(&format!("content-length: {}\r\n", REAL.len() + 3)), "{heard}");
        assert!(heard.ends_with(&format!("<{cover}>.")), "{heard}");
        let request = post(port, through, "/", "encoded");
        let heard = all(&mut client, request).await;
        assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("encoded answer"), "{heard}");
    }
}

/// After the agreement, too: what comes then is a WebSocket that can be read, or does not come.
#[tokio::test]
async fn messages_are_covered() {
    const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    let ask = |port: u16, through: Through, what: &str| {
        let more = format!(
            " HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: {what}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
        );
        post(port, through, "/", "").replacen("POST", "GET", 1).replacen(" HTTP/1.1\r\n", &more, 1)
    };
    let leaked = |head: &str, first: u8| -> &'static [u8] {
        let (start, end) = REAL.split_at(20);
        let frames =
            [&[first, 20][..], start.as_bytes(), &[0x80, u8::try_from(end.len()).unwrap()], end.as_bytes()];
        Box::leak([format!("{head}X-Echo: {REAL}\r\n\r\n").as_bytes(), &frames.concat()].concat().into())
    };
    for through in [Through::Proxy, Through::Tunnel] {
        let (port, heard) = parrot(leaked(AGREED, 0x01)).await;
        let (mut client, stand_in, _, _gateway) = client(port, through, NetLimits::default()).await;
        let cover: Vec<u8> = stand_in.as_str().bytes().cycle().take(REAL.len()).collect();
        client.write_all(ask(port, through, "websocket").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(&cover[20..]) {
            let read = tokio::time::timeout(PATIENCE, client.read_buf(&mut answer)).await.unwrap().unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 101 ") && !answer.contains(&REAL[..20]), "{answer}");
        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap().to_lowercase();
        assert!(heard.contains("upgrade: websocket") && !heard.contains("deflate"), "{heard}");
        // Packed frames break it off, a server that wants them is not listened to, and nothing else follows.
        let (port, _) = parrot(leaked(AGREED, 0x41)).await;
        let (mut client, _, _, _gateway) = self::client(port, through, NetLimits::default()).await;
        client.write_all(ask(port, through, "websocket").as_bytes()).await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut Vec::new())).await.unwrap();
        assert!(ended.is_err(), "{ended:?}");
        let wishing = format!("{AGREED}Sec-WebSocket-Extensions: permessage-deflate\r\n");
        for (says, what, status) in
            [(leaked(&wishing, 0x01), "websocket", 502), (leaked(AGREED, 0x01), "shell", 403)]
        {
            let (port, _) = parrot(says).await;
            let (mut client, _, _, _gateway) = self::client(port, through, NetLimits::default()).await;
            let answer = until(&mut client, ask(port, through, what), "\n").await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }
}

#[tokio::test]
async fn trailers_are_covered() {
    for through in [Through::Proxy, Through::Tunnel] {
        let says = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Echo\r\n\r\n0\r\nX-Echo: {REAL}\r\n\r\n"
        );
        let (port, _) = parrot(Box::leak(says.into_bytes().into())).await;
        let (mut client, stand_in, _, _gateway) = client(port, through, NetLimits::default()).await;
        let request =
            post(port, through, "/", "").replacen(" HTTP/1.1\r\n", " HTTP/1.1\r\nTE: trailers\r\n", 1);
        client.write_all(request.as_bytes()).await.unwrap();
        let mut heard = String::new();
        while !heard.contains("\r\n0\r\n") || !heard.ends_with("\r\n\r\n") {
            let mut piece = [0; 1024];
            let read = tokio::time::timeout(PATIENCE, client.read(&mut piece)).await.unwrap().unwrap();
            heard.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        let cover: String = stand_in.as_str().chars().cycle().take(REAL.len()).collect();
        assert!(heard.to_lowercase().contains(&format!("x-echo: {cover}")), "{heard}");
    }
}

/// Slices of an answer are not asked for, and not taken.
#[tokio::test]
async fn answers_come_whole() {
    let with_range = |port, through| {
        let more = " HTTP/1.1\r\nRange: bytes=0-9\r\nIf-Range: \"x\"\r\n";
        post(port, through, "/", "").replacen(" HTTP/1.1\r\n", more, 1)
    };
    for through in [Through::Proxy, Through::Tunnel] {
        let port = origin().await;
        let (mut client, _, _, _gateway) = client(port, through, NetLimits::default()).await;
        let heard = until(&mut client, with_range(port, through), ">").await;
        assert!(heard.contains("headers=accept-encoding,content-length,host "), "{heard}");
        for status in ["206 Partial Content", "416 Range Not Satisfiable"] {
            let says = format!("HTTP/1.1 {status}\r\nContent-Length: 10\r\n\r\n{}", &REAL[..10]);
            let (port, _) = parrot(Box::leak(says.into_bytes().into())).await;
            let (mut client, _, _, _gateway) = self::client(port, through, NetLimits::default()).await;
            let heard = all(&mut client, with_range(port, through)).await;
            assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("a part of an answer"), "{heard}");
            assert!(!heard.contains(&REAL[..10]), "{heard}");
        }
    }
}

/// The words beside the status and the names of headers are the server's, too.
#[tokio::test]
async fn nothing_in_a_head_tells() {
    let says = format!(
        "HTTP/1.1 200 {REAL}\r\nX-{REAL}: v\r\nx-{}: v\r\nX-Other: v\r\nContent-Length: 1\r\n\r\n.",
        REAL.to_lowercase()
    );
    let says: &'static [u8] = Box::leak(says.into_bytes().into());
    for through in [Through::Proxy, Through::Tunnel] {
        let (port, _) = parrot(says).await;
        let (mut client, _, _, _gateway) = client(port, through, NetLimits::default()).await;
        let heard = until(&mut client, post(port, through, "/", ""), "\r\n\r\n.").await;
        assert!(heard.starts_with("HTTP/1.1 200 OK\r\n") && heard.contains("X-Other: v\r\n"), "{heard}");
        assert!(!heard.to_lowercase().contains("real-value"), "{heard}");
    }
}

/// Nobody would know any more that it is.
#[tokio::test]
async fn an_answer_packed_for_the_way_is_refused() {
    for codings in ["gzip, chunked", "gzip\r\nTransfer-Encoding: chunked"] {
        let says = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n4\r\nPACK\r\n0\r\n\r\n");
        let says: &'static [u8] = Box::leak(says.into_bytes().into());
        for through in [Through::Proxy, Through::Tunnel] {
            let (port, _) = parrot(says).await;
            let (mut client, _, _, _gateway) = client(port, through, NetLimits::default()).await;
            let heard = all(&mut client, post(port, through, "/", "")).await;
            assert!(heard.starts_with("HTTP/1.1 502 ") && !heard.contains("PACK"), "{heard}");
        }
    }
}

/// What the gateway does not take for a request, some server might: then nothing would be covered in its answer.
#[tokio::test]
async fn an_answer_to_no_request_does_not_pass_where_a_secret_may_be_known() {
    for (answer, heard) in [("HTTP/1.1 200 OK\r\n\r\nsecret", ""), ("+OK secret", "+OK secret")] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_eq!(stream.read(&mut [0; 64]).await.unwrap(), 6);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let (mut client, _, witness, _gateway) = client(port, Through::Tunnel, NetLimits::default()).await;
        client.write_all(b"hello\n").await.unwrap();
        let mut said = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, client.read_to_end(&mut said)).await.expect("it ends");
        assert_eq!(String::from_utf8(said).unwrap(), heard);
        let refused = if heard.is_empty() { vec![Cause::Protocol] } else { Vec::new() };
        assert_eq!(witness.causes(), refused);
    }
}
