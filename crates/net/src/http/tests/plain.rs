//! Requests on streams that were let in, without TLS.

use super::{PATIENCE, admitted, all, gateway, origin, parrot, reading, until};
use crate::Verdict;
use crate::gateway::testing::plan;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, GatewayPlan, NetLimits, Switch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn open() -> GatewayPlan {
    plan(&["a.test", "127.0.0.1"])
}

#[tokio::test]
async fn requests_follow_each_other() {
    let port = origin().await;
    let (mut client, witness, _ward) = admitted(open(), &format!("a.test:{port}")).await;
    let first = until(&mut client, format!("GET /1?q HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n"), ">").await;
    assert!(first.contains("<GET /1?q host=a.test:"), "{first}");
    let chunked =
        "POST /2 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert!(
        until(&mut client, chunked, ">")
            .await
            .contains("<POST /2 host=a.test headers=connection,host,transfer-encoding body=abc>")
    );
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client, "").await, "");
    let records = witness.records(2).await;
    let seen: Vec<_> =
        records.iter().map(|record| (record.request.clone().unwrap().1, record.status)).collect();
    assert_eq!(seen, [("/1".into(), Some(200)), ("/2".into(), Some(200))]);
    assert!(records.iter().all(|record| record.sent > 30 && record.received > 60), "{records:?}");
}

#[tokio::test]
async fn several_requests_at_once_are_all_judged() {
    let port = origin().await;
    let (mut client, witness, _ward) = admitted(open(), &format!("a.test:{port}")).await;
    let requests = "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi\
                    GET /3 HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let heard = all(&mut client, requests).await;
    let places: Vec<_> = ["/1", "/2", "HTTP/1.1 421"].iter().map(|part| heard.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{heard}");
    assert!(!heard.contains("/3 host"), "{heard}");
    assert_eq!(witness.causes(), [Cause::Mismatch]);
    assert_eq!(witness.records(3).await.last().unwrap().verdict, Verdict::Refused);
}

#[tokio::test]
async fn hosts_and_targets_must_agree() {
    let port = origin().await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "421"),
        ("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "421"),
        ("GET http://evil.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"),
        ("GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("GET / HTTP/1.0\r\n\r\n", "400"),
        ("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"),
        ("CONNECT / HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"),
    ] {
        let (mut client, _, _ward) = admitted(open(), &format!("a.test:{port}")).await;
        let heard = all(&mut client, request).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {heard}");
    }
    let (mut client, _, _ward) = admitted(open(), &format!("127.0.0.1:{port}")).await;
    until(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await;
    let heard = all(&mut client, "GET / HTTP/1.1\r\nHost: anything.test\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 421 "), "{heard}");
    let lax = GatewayPlan { host_mismatch: Switch::Allowed, ..open() };
    let (mut client, _, _ward) = admitted(lax, &format!("a.test:{port}")).await;
    until(&mut client, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", ">").await;
}

#[tokio::test]
async fn long_bodies_are_refused() {
    let port = origin().await;
    let limits = NetLimits { max_request_bytes: Some(4), ..NetLimits::default() };
    for (body, status) in [
        ("Content-Length: 5\r\n\r\nhello", "413"),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "413"),
        ("Connection: close\r\nContent-Length: 4\r\n\r\nhell", "200"),
    ] {
        let plan = GatewayPlan { limits, ..open() };
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let heard = all(&mut client, format!("POST / HTTP/1.1\r\nHost: a.test\r\n{body}")).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{body:?}: {heard}");
    }
}

#[tokio::test]
async fn requests_may_run_out() {
    let port = origin().await;
    let limits = NetLimits { requests_per_minute: Some(1), ..NetLimits::default() };
    let (mut client, witness, _ward) =
        admitted(GatewayPlan { limits, ..open() }, &format!("a.test:{port}")).await;
    let request = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    until(&mut client, request, ">").await;
    assert!(all(&mut client, request).await.starts_with("HTTP/1.1 429 "));
    assert_eq!(witness.causes(), [Cause::Limit]);
}

#[tokio::test]
async fn servers_that_cannot_be_reached_are_told() {
    let (mut client, witness, _ward) = admitted(open(), "127.0.0.1:1").await;
    let heard = all(&mut client, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("cannot reach 127.0.0.1:1"), "{heard}");
    assert_eq!(witness.records(1).await[0].verdict, Verdict::Failed);
    let (mut client, _, _ward) = admitted(plan(&["a.test"]), "a.test:80").await;
    let heard = all(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 403 ") && heard.contains("blocked-by-sandbox-runtime"), "{heard}");
}

#[tokio::test]
async fn answers_lose_what_is_to_be_stripped() {
    let port = origin().await;
    let plan = GatewayPlan { strip_response_headers: vec!["X-Secret".into()], ..open() };
    let (mut client, witness, _ward) = admitted(plan, &format!("a.test:{port}")).await;
    let request = "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi";
    let heard = until(&mut client, request, ">").await;
    assert!(heard.contains("x-other") && !heard.contains("x-secret") && heard.contains("body=hi"), "{heard}");
    assert!(until(&mut client, "GET /y HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await.contains("/y"));
    assert!(all(&mut client, "GET /z HTTP/1.1\r\nHost: b.test\r\n\r\n").await.starts_with("HTTP/1.1 421 "));
    let records = witness.records(3).await;
    assert_eq!(records[0].status, Some(200));
    assert_eq!(records[0].sent, (request.len() + "Connection: close\r\n".len()) as u64);
}

#[tokio::test]
async fn long_answers_are_refused() {
    let port = origin().await;
    let limits = NetLimits { max_response_bytes: Some(10), ..NetLimits::default() };
    let (mut client, _, _ward) = admitted(GatewayPlan { limits, ..open() }, &format!("a.test:{port}")).await;
    let heard = all(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("longer than the limits allow"), "{heard}");
    let (port, _) = parrot(b"HTTP/1.1 200 OK\r\n\r\nmore than ten bytes").await;
    let (mut client, witness, _ward) =
        admitted(GatewayPlan { limits, ..open() }, &format!("a.test:{port}")).await;
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
    let mut heard = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut heard)).await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert!(!String::from_utf8(heard).unwrap().contains("ten bytes"));
    assert_eq!(witness.causes(), [Cause::Limit]);
}

#[tokio::test(start_paused = true)]
async fn slow_clients_are_sent_away() {
    for plan in [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }] {
        let (mut client, _, _ward) = admitted(plan, "a.test:80").await;
        client.write_all(b"GET / HTTP/1.1\r\nHos").await.unwrap();
        let (mut from, mut to) = client.into_split();
        let dripping = tokio::spawn(async move {
            while to.write_all(b"t").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        });
        let mut heard = String::new();
        from.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 408 "), "{heard}");
        dripping.abort();
    }
}

/// An address is no way around the limits of the host behind it.
#[tokio::test]
async fn requests_count_for_the_host_they_name() {
    for strip in [vec![], vec!["X".to_owned()]] {
        let port = origin().await;
        let mut plan = GatewayPlan { strip_response_headers: strip, ..plan(&["127.0.0.1", "a.test"]) };
        plan.allowed[1].limits.requests_per_minute = Some(2);
        let (mut client, witness, _ward) = admitted(plan, &format!("127.0.0.1:{port}")).await;
        let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for host in ["a.test", "127.0.0.1", "127.0.0.1", "a.test", "127.0.0.1"] {
            until(&mut client, request(host), ">").await;
        }
        let heard = all(&mut client, request("a.test")).await;
        assert!(heard.starts_with("HTTP/1.1 429 "), "{heard}");
        assert_eq!(witness.causes(), [Cause::Limit]);
    }
}

#[tokio::test]
async fn a_change_of_policy_ends_streams() {
    let port = origin().await;
    for strip in [vec![], vec!["X".to_owned()]] {
        let allowed = GatewayPlan { strip_response_headers: strip, ..plan(&["127.0.0.1"]) };
        let (gateway, mut client) = gateway(allowed, None, None).await;
        until(&mut client, format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
        until(&mut client, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", ">").await;
        gateway.change(Arc::new(plan(&[]))).unwrap();
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut rest)).await;
        assert!(ended.is_ok() && rest.is_empty(), "{rest:?}");
    }
}

#[tokio::test]
async fn fragments_are_no_part_of_a_request() {
    for strip in [vec![], vec!["X".to_owned()]] {
        let (port, heard) = parrot(b"").await;
        let plan = GatewayPlan { strip_response_headers: strip, ..open() };
        let (mut client, witness, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let answer = all(&mut client, "GET /a#/../b HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(witness.causes(), [Cause::Grammar]);
        assert!(heard.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn where_requests_have_rules_no_header_asks_for_others() {
    for strip in [vec![], vec!["X".to_owned()]] {
        let port = origin().await;
        let free = GatewayPlan { strip_response_headers: strip, ..open() };
        let bound = GatewayPlan { requests: vec![reading("a.test")], ..free.clone() };
        for name in ["X-Original-URL", "x-rewrite-url", "X-HTTP-Method-Override", "X_HTTP_Method"] {
            let request = format!("GET /x HTTP/1.1\r\nHost: a.test\r\n{name}: DELETE\r\n\r\n");
            let (mut client, witness, _ward) = admitted(bound.clone(), &format!("a.test:{port}")).await;
            let heard = all(&mut client, &request).await;
            assert!(heard.starts_with("HTTP/1.1 403 "), "{name}: {heard}");
            assert_eq!(witness.causes(), [Cause::Request]);
            let (mut client, _, _ward) = admitted(free.clone(), &format!("a.test:{port}")).await;
            until(&mut client, &request, ">").await;
        }
    }
}
