//! The proxy port.

use super::{PATIENCE, all, gateway, origin, parrot, proxied, until, witnessed};
use crate::gateway::testing::{Recorder, plan, rule};
use crate::{Verdict, Via};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, DomainPattern, GatewayPlan, NetLimits, Upstreams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn get(url: &str) -> String {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nProxy-Connection: keep-alive\r\n\r\n")
}

#[tokio::test]
async fn one_client_several_hosts() {
    let (first, second) = (origin().await, origin().await);
    let (mut client, witness, _ward) = proxied(plan(&["a.test", "b.test", "127.0.0.1"])).await;
    for round in 0..3 {
        let heard = until(&mut client, get(&format!("http://a.test:{first}/x{round}?q=1")), ">").await;
        assert!(
            heard.contains(&format!("<GET /x{round}?q=1 host=a.test:{first} headers=host body=>")),
            "{heard}"
        );
        let heard = until(&mut client, get(&format!("http://b.test:{second}/y{round}")), ">").await;
        assert!(heard.contains(&format!("<GET /y{round} host=b.test:{second} ")), "{heard}");
    }
    let records = witness.records(6).await;
    assert_eq!(records.iter().filter(|record| record.status == Some(200)).count(), 6);
    assert_eq!(records[0].via, Via::HttpProxy);
    assert_eq!(records[0].request, Some(("GET".into(), "/x0".into())));
}

#[tokio::test]
async fn refusals_say_why() {
    let mut denied = rule("denied.test");
    denied.reason = Some("ask the\nsecurity team".into());
    let plan = GatewayPlan { denied: vec![denied], ..plan(&["a.test"]) };
    let (mut client, witness, _ward) = proxied(plan.clone()).await;
    let heard = all(&mut client, get("http://evil.test/x")).await;
    assert!(heard.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{heard}");
    assert!(heard.to_lowercase().contains("x-proxy-error: blocked-by-allowlist\r\n"), "{heard}");
    assert!(heard.contains("blocked by network allowlist"), "{heard}");
    assert_eq!(witness.causes(), [Cause::NotListed]);
    let (mut client, _, _ward) = proxied(plan.clone()).await;
    let heard = all(&mut client, get("http://denied.test/x")).await;
    assert!(heard.starts_with("HTTP/1.1 403 ") && heard.contains("security team"), "{heard}");
    let (mut client, _, _ward) = proxied(plan.clone()).await;
    let heard = all(&mut client, "CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 403 ask the security team\r\n"), "{heard}");
    let (mut client, _, _ward) = proxied(plan).await;
    let heard = all(&mut client, get("http://a.test/x")).await;
    assert!(heard.contains("blocked-by-sandbox-runtime"), "the name leads to this machine: {heard}");
}

#[tokio::test]
async fn odd_requests_are_refused() {
    for (request, text) in [
        ("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "this is a proxy"),
        ("GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "through CONNECT"),
        ("GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "differ"),
        ("GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n", "differ"),
        ("GET http://a.test/ HTTP/1.1\r\n\r\n", "exactly one Host"),
        ("GET http://x@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""),
        ("CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", ""),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n", "differ"),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:22\r\n\r\n", "differ"),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test/\r\n\r\n", "exactly one Host"),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost:\r\n\r\n", "exactly one Host"),
        ("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "can have no body"),
        ("CONNECT a.test%00.b.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", ""),
        ("GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "not understood"),
        ("\x16\x03\x01\x02\0\x01\0\x01\x7c\x03\x03\r\n\r\n", ""),
    ] {
        let (mut client, _, _ward) = proxied(plan(&["a.test", "b.test", "127.0.0.1"])).await;
        let heard = all(&mut client, request).await;
        assert!(heard.starts_with("HTTP/1.1 400 ") && heard.contains(text), "{request:?}: {heard}");
    }
}

#[tokio::test]
async fn tunnels_carry_anything() {
    let (port, heard) = parrot(b"welcome").await;
    let (mut client, witness, _ward) = proxied(plan(&["a.test", "127.0.0.1"])).await;
    let connect = format!("CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n\x01early");
    assert!(until(&mut client, connect, "welcome").await.starts_with("HTTP/1.1 200 "));
    client.write_all(b" late").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut client, "").await, "");
    assert_eq!(*heard.lock().unwrap(), b"\x01early late");
    let record = &witness.records(1).await[0];
    assert_eq!((record.via, record.sent, record.received), (Via::Connect, 11, 7));
}

/// An end is passed on as one, and the other direction goes on.
#[tokio::test]
async fn each_direction_of_a_tunnel_has_its_own_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    for server_says in [&b""[..], b"welcome"] {
        let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
        until(&mut client, format!("CONNECT {at} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(server_says).await.unwrap();
        server.shutdown().await.unwrap();
        assert_eq!(all(&mut client, "").await.as_bytes(), server_says);
        client.write_all(b"\x01more").await.unwrap();
        let mut heard = [0; 5];
        tokio::time::timeout(PATIENCE, server.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(&heard, b"\x01more");
        client.shutdown().await.unwrap();
        assert_eq!(tokio::time::timeout(PATIENCE, server.read(&mut heard)).await.unwrap().unwrap(), 0);
    }
    // The same the other way round.
    let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    until(&mut client, format!("CONNECT {at} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, server.read(&mut [0])).await.unwrap().unwrap(), 0);
    server.write_all(b"late").await.unwrap();
    drop(server);
    assert_eq!(all(&mut client, "").await, "late");
}

#[tokio::test]
async fn requests_in_tunnels_are_judged() {
    let port = origin().await;
    let (mut client, witness, _ward) = proxied(plan(&["a.test", "127.0.0.1"])).await;
    until(&mut client, format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
    assert!(until(&mut client, "GET /in HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await.contains("/in"));
    let heard = all(&mut client, "GET /in HTTP/1.1\r\nHost: evil.test\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 421 "), "{heard}");
    assert_eq!(witness.causes(), [Cause::Mismatch]);
}

#[tokio::test]
async fn unreachable_targets_are_told() {
    let (mut client, witness, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let heard = all(&mut client, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("cannot reach 127.0.0.1:1"), "{heard}");
    assert_eq!(witness.records(1).await[0].verdict, Verdict::Failed);
    let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    assert!(all(&mut client, get("http://127.0.0.1:1/")).await.starts_with("HTTP/1.1 502 "));
}

#[tokio::test]
async fn kept_connections_may_end() {
    // It ends after one answer without having said so.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut piece = [0; 1024];
            tokio::io::AsyncReadExt::read(&mut stream, &mut piece).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n<>").await.unwrap();
        }
    });
    let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    for _ in 0..5 {
        until(&mut client, get(&format!("http://127.0.0.1:{port}/")), "<>").await;
    }
}

#[tokio::test]
async fn bodies_stream_both_ways() {
    let port = origin().await;
    let (mut client, witness, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let at = format!("127.0.0.1:{port}");
    let head = format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n"
    );
    assert!(until(&mut client, head, "\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    let heard = until(&mut client, "x".repeat(300_000), ">").await;
    assert!(heard.contains("headers=connection,content-length,host body=xxx"), "{}", &heard[..200]);
    let chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: t\r\n\r\n";
    let heard =
        until(&mut client, format!("PUT http://{at}/ HTTP/1.1\r\nHost: {at}\r\n{chunked}"), ">").await;
    assert!(heard.contains("body=abc"), "{heard}");
    let last = "Connection: close\r\n";
    let head = format!("POST / HTTP/1.1\r\nHost: {at}\r\n{last}Content-Length: 300000\r\n\r\n");
    assert_eq!(witness.records(2).await[0].sent, 300_000 + head.len() as u64);
}

/// Whoever comes to a proxy has to speak first.
#[tokio::test]
async fn a_client_that_says_nothing_is_not_waited_for() {
    let tls = stockade_policy::TlsPlan { handshake_timeout_ms: Some(100), ..Default::default() };
    let termination = Arc::new(crate::Termination::new(&tls).unwrap());
    let (_gateway, mut silent) = gateway(plan(&[]), Some(Arc::clone(&termination)), None).await;
    assert_eq!(all(&mut silent, "").await, "");
    let (_gateway, mut halting) = gateway(plan(&[]), Some(termination), None).await;
    assert_eq!(all(&mut halting, "CONN").await, "");
}

#[tokio::test]
async fn rules_about_requests_are_kept() {
    use stockade_policy::{RequestRule, Switch};
    let port = origin().await;
    let host = DomainPattern::parse_allowed("127.0.0.1").unwrap();
    let reading = RequestRule {
        pattern: host,
        methods: vec!["GET".into()],
        paths: vec!["/admin/**".into()],
        verdict: Switch::Allowed,
        rule: rule("x.test").rule,
    };
    let plan = GatewayPlan { requests: vec![reading], ..plan(&["127.0.0.1"]) };
    let (mut client, witness, _ward) = proxied(plan).await;
    let at = format!("127.0.0.1:{port}");
    until(&mut client, get(&format!("http://{at}/admin/x")), ">").await;
    let post = format!("POST http://{at}/admin/x HTTP/1.1\r\nHost: {at}\r\nContent-Length: 0\r\n\r\n");
    assert!(all(&mut client, post).await.starts_with("HTTP/1.1 403 "));
    assert_eq!(witness.causes(), [Cause::Request]);
    assert_eq!(witness.records(2).await[1].verdict, Verdict::Refused);
}

#[tokio::test]
async fn what_a_proxy_does_not_take_is_on_record() {
    for (line, host, target) in [
        ("GET https://evil.test/", "evil.test", "evil.test:443"),
        ("GET https://evil.test:8443/", "evil.test:8443", "evil.test:8443"),
        ("GET /2", "evil.test", "evil.test:80"),
    ] {
        let (mut client, witness, _ward) = proxied(plan(&["a.test"])).await;
        let heard = all(&mut client, format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
        assert!(heard.starts_with("HTTP/1.1 400 "), "{heard}");
        let told = witness.refusals.lock().unwrap().clone();
        assert_eq!((told.len(), told[0].cause, told[0].subject.as_str()), (1, Cause::Grammar, target));
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.target.as_str(), record.verdict), (target, Verdict::Refused));
    }
}

#[tokio::test]
async fn bodies_that_are_wrong_or_too_long_are_the_clients_doing() {
    for (body, status, cause) in [("5\r\nabcdeX", 400, Cause::Grammar), ("14\r\n", 413, Cause::Limit)] {
        let (port, _) = parrot(b"").await;
        let limits = NetLimits { max_request_bytes: Some(10), ..NetLimits::default() };
        let (mut client, witness, _ward) = proxied(GatewayPlan { limits, ..plan(&["127.0.0.1"]) }).await;
        let at = format!("127.0.0.1:{port}");
        let head = format!("POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let body = format!("{body}{}", "x".repeat(20));
        let heard = all(&mut client, format!("{head}{body}")).await;
        assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{heard}");
        assert_eq!(witness.causes(), [cause]);
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.status, record.verdict), (Some(status), Verdict::Refused));
    }
}

#[tokio::test]
async fn an_unusual_spelling_is_called_that() {
    let (mut client, witness, _ward) = proxied(plan(&["a.test"])).await;
    let heard = all(&mut client, get("http://3405803789/")).await;
    assert!(heard.starts_with("HTTP/1.1 400 ") && heard.contains("unusual spelling"), "{heard}");
    assert_eq!(witness.causes(), [Cause::Grammar]);
}

#[tokio::test]
async fn another_proxy_takes_its_place() {
    let (port, heard) = parrot(b"other").await;
    let upstreams = Upstreams { http_proxy_port: Some(port), ..Upstreams::default() };
    let (mut client, _, _ward) = proxied(GatewayPlan { upstreams, ..plan(&[]) }).await;
    until(&mut client, "anything at all", "other").await;
    assert_eq!(*heard.lock().unwrap(), b"anything at all");
}

#[tokio::test]
async fn another_proxy_is_recorded_and_goes_with_its_plan() {
    let (port, _) = parrot(b"other").await;
    let led = |port| {
        let upstreams = Upstreams { http_proxy_port: Some(port), ..Upstreams::default() };
        Arc::new(GatewayPlan { upstreams, ..plan(&[]) })
    };
    let witness = Recorder::new();
    let (gateway, mut client) = witnessed((*led(port)).clone(), &witness, None, None).await;
    until(&mut client, "anything", "other").await;
    gateway.change(led(port)).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(witness.records.lock().unwrap().is_empty());
    gateway.change(Arc::new(plan(&[]))).unwrap();
    let record = witness.records(1).await.remove(0);
    assert_eq!((record.target, record.sent, record.received), (format!("127.0.0.1:{port}"), 8, 5));
    assert!(!matches!(client.read(&mut [0]).await, Ok(1..)));
}

#[tokio::test(start_paused = true)]
async fn slow_clients_are_sent_away() {
    let (mut client, _, _ward) = proxied(plan(&[])).await;
    client.write_all(b"GET http://a.te").await.unwrap();
    let begun = tokio::time::Instant::now();
    assert!(all_slowly(&mut client).await.starts_with("HTTP/1.1 408 "));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

async fn all_slowly(client: &mut tokio::net::TcpStream) -> String {
    let mut heard = String::new();
    tokio::io::AsyncReadExt::read_to_string(client, &mut heard).await.unwrap();
    heard
}

#[tokio::test]
async fn the_second_version_of_http_is_spoken() {
    let port = origin().await;
    let (client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
    let (send, connection) = h2::client::handshake(client).await.unwrap();
    tokio::spawn(connection);
    let mut send = send.ready().await.unwrap();
    for (url, status) in [(format!("http://127.0.0.1:{port}/two"), 200), ("http://evil.test/".into(), 403)] {
        let request = http::Request::get(url).body(()).unwrap();
        let (response, _) = send.send_request(request, true).unwrap();
        let response = response.await.unwrap();
        assert_eq!(response.status(), status);
        let mut body = response.into_body();
        let text = body.data().await.unwrap().unwrap();
        assert!(status == 403 || text.starts_with(b"<GET /two host=127.0.0.1"), "{text:?}");
    }
}

/// Another spelling of a place is an attempt to reach it, and on record like any other.
#[tokio::test]
async fn requests_for_no_place_are_told() {
    for (head, subject, host) in [
        ("CONNECT 0x0a090005:82 HTTP/1.1", "0x0a090005:82", "0x0a090005"),
        ("CONNECT 168361989:82 HTTP/1.1", "168361989:82", "168361989"),
        ("CONNECT evil.test\\a.test:80 HTTP/1.1", "evil.test\\a.test:80", "evil.test\\a.test"),
        ("CONNECT b.test:80 HTTP/1.1\r\nHost: a.test:80", "b.test:80", "b.test"),
        ("GET http://b.test/x?secret HTTP/1.1\r\nHost: a.test", "http://b.test/x", "b.test"),
        (
            "GET http://evil.test\\a.test/ HTTP/1.1\r\nHost: a.test",
            "http://evil.test\\a.test/",
            "evil.test\\a.test",
        ),
        ("GET http://0x0a090005/ HTTP/1.1\r\nHost: 0x0a090005", "http://0x0a090005/", "0x0a090005"),
        (
            "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
            "http://a.test/",
            "a.test",
        ),
        ("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\nContent-Length: 1", "a.test:80", "a.test"),
    ] {
        let (mut client, witness, ward) = proxied(plan(&["a.test", "b.test"])).await;
        client.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
        assert!(all_slowly(&mut client).await.starts_with("HTTP/1.1 400 "), "{head}");
        let refusals = witness.refusals.lock().unwrap().clone();
        assert_eq!(refusals.len(), 1, "{head}");
        assert_eq!((refusals[0].cause, refusals[0].subject.as_str()), (Cause::Grammar, subject));
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.verdict, record.target.as_str()), (Verdict::Refused, subject));
        let statistics = ward.statistics();
        assert_eq!((statistics.total.refused, statistics.hosts[0].0.as_str()), (1, host));
    }
}
