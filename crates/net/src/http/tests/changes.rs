//! Requests under way when the rules about requests change.

use super::second::second;
use super::{PATIENCE, admitted, parrot, proxied, reading, until};
use crate::gateway::testing::plan;
use http::Request;
use std::sync::Arc;
use stockade_policy::{GatewayPlan, RequestRule};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

const AGREED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";
/// An answer that does not come to its end.
const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";

fn open() -> GatewayPlan {
    plan(&["a.test", "b.test", "127.0.0.1"])
}

/// As it is, and with something to be done to answers: requests take another road then.
fn plans() -> [GatewayPlan; 2] {
    [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }]
}

/// A plan that lets one read these paths of the host and do nothing else.
fn ruled(plan: &GatewayPlan, path: &str) -> Arc<GatewayPlan> {
    let rule = RequestRule { paths: vec![path.to_owned()], ..reading("a.test") };
    Arc::new(GatewayPlan { requests: vec![rule], ..plan.clone() })
}

/// Whether the other side has ended, and not within a second.
async fn has_ended(client: &mut TcpStream) -> bool {
    !matches!(timeout(PATIENCE / 10, client.read(&mut [0; 64])).await, Err(_) | Ok(Ok(1..)))
}

#[tokio::test]
async fn web_sockets_end_with_the_request_that_led_to_them() {
    for plan in plans() {
        let (port, _) = parrot(AGREED).await;
        let (mut client, witness, ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
        let request = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        until(&mut client, request, "hello").await;
        ward.change(ruled(&plan, "/ws")).unwrap();
        assert!(!has_ended(&mut client).await);
        ward.change(ruled(&plan, "/other")).unwrap();
        assert!(has_ended(&mut client).await);
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.request, record.status), (Some(("GET".into(), "/ws".into())), Some(101)));
    }
}

#[tokio::test]
async fn answers_under_way_are_broken_off() {
    for plan in plans() {
        let (port, _) = parrot(HALF).await;
        let (mut client, witness, ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
        until(&mut client, "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n", "half").await;
        ward.change(ruled(&plan, "/1")).unwrap();
        assert!(!has_ended(&mut client).await);
        ward.change(ruled(&plan, "/2")).unwrap();
        let error = timeout(PATIENCE, client.read(&mut [0; 64])).await.unwrap();
        assert!(error.is_err(), "half an answer must not pass for a whole one");
        assert_eq!(witness.records(1).await.len(), 1);
    }
}

/// An answer whose end is that of the connection, and one whose length is known, of a host that is on no list any more.
#[tokio::test]
async fn answers_of_hosts_that_are_no_longer_allowed_are_broken_off() {
    const UNTIL_CLOSED: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf";
    for plan in plans() {
        for (answer, proxy) in [(HALF, false), (HALF, true), (UNTIL_CLOSED, false), (UNTIL_CLOSED, true)] {
            let (port, _) = parrot(answer).await;
            let at = format!("a.test:{port}");
            let (mut client, _witness, ward) = match proxy {
                true => proxied(plan.clone()).await,
                false => admitted(plan.clone(), &at).await,
            };
            let to = if proxy { format!("http://{at}") } else { String::new() };
            // In the older version no pieces are counted.
            until(&mut client, format!("GET {to}/1 HTTP/1.0\r\nHost: {at}\r\n\r\n"), "half").await;
            let removed = GatewayPlan { allowed: self::plan(&["b.test"]).allowed, ..plan.clone() };
            ward.change(Arc::new(removed)).unwrap();
            let ended = timeout(PATIENCE, client.read(&mut [0; 64])).await.unwrap();
            let said = String::from_utf8_lossy(answer);
            assert!(ended.is_err(), "a clean end: {said}, proxy {proxy}, {:?}", plan.strip_response_headers);
        }
    }
}

#[tokio::test]
async fn requests_that_wait_for_their_answer_end() {
    for plan in plans() {
        let (port, _) = parrot(b"").await;
        let (mut client, _, ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
        let request = "POST /1 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhalf";
        until(&mut client, request, "").await;
        assert!(!has_ended(&mut client).await);
        ward.change(ruled(&plan, "/1")).unwrap();
        let mut heard = Vec::new();
        let _ = timeout(PATIENCE, client.read_to_end(&mut heard)).await.expect("it ends");
        assert!(heard.is_empty() || heard.starts_with(b"HTTP/1.1 403 "), "{heard:?}");
    }
}

#[tokio::test]
async fn a_host_that_is_named_beside_an_address_counts() {
    for plan in plans() {
        let (port, _) = parrot(HALF).await;
        let (mut client, _, ward) = admitted(plan.clone(), &format!("127.0.0.1:{port}")).await;
        until(&mut client, "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n", "half").await;
        ward.change(ruled(&plan, "/1")).unwrap();
        assert!(has_ended(&mut client).await, "such requests are not let through to a host with rules");
    }
}

#[tokio::test]
async fn requests_of_the_proxy_end() {
    let (port, _) = parrot(HALF).await;
    let (mut client, _, ward) = proxied(open()).await;
    let at = format!("a.test:{port}");
    until(&mut client, format!("GET http://{at}/1 HTTP/1.1\r\nHost: {at}\r\n\r\n"), "half").await;
    ward.change(ruled(&open(), "/1")).unwrap();
    assert!(!has_ended(&mut client).await);
    ward.change(ruled(&open(), "/2")).unwrap();
    assert!(has_ended(&mut client).await);
}

#[tokio::test]
async fn other_requests_of_the_same_client_go_on() {
    let (port, _) = parrot(HALF).await;
    let (client, _, ward) = proxied(open()).await;
    let client = second(client).await;
    let mut bodies = Vec::new();
    for path in ["/1", "/2"] {
        let request = Request::get(format!("http://a.test:{port}{path}")).body(()).unwrap();
        let (response, _) = client.clone().ready().await.unwrap().send_request(request, true).unwrap();
        let mut body = timeout(PATIENCE, response).await.unwrap().unwrap().into_body();
        assert_eq!(timeout(PATIENCE, body.data()).await.unwrap().unwrap().unwrap(), "half");
        bodies.push(body);
    }
    ward.change(ruled(&open(), "/2")).unwrap();
    let [first, second] = &mut bodies[..] else { unreachable!() };
    assert!(timeout(PATIENCE, first.data()).await.unwrap().is_some_and(|piece| piece.is_err()));
    assert!(timeout(PATIENCE / 10, second.data()).await.is_err());
}
