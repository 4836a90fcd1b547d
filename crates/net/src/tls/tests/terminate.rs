//! TLS that is looked into, with real handshakes on both sides.

use super::scene::{Scene, Serve, scene};
use rustls::RootCertStore;
use std::time::Duration;
use stockade_policy::{Cause, DomainPattern, GatewayPlan, RequestRule, Switch, TlsPlan, ViolationKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const SHOUT: Serve = |mut stream| {
    Box::pin(async move {
        let mut said = [0; 64];
        loop {
            let read = stream.read(&mut said).await?;
            if read == 0 {
                return stream.shutdown().await;
            }
            stream.write_all(&said[..read].to_ascii_uppercase()).await?;
        }
    })
};

const GREET: Serve = |mut stream| {
    Box::pin(async move {
        stream.write_all(b"220 ready\r\n").await?;
        stream.read_to_end(&mut Vec::new()).await?;
        stream.shutdown().await
    })
};

const ANSWER: Serve = |mut stream| {
    Box::pin(async move {
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n\r\n") {
            said.push(stream.read_u8().await?);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").await?;
        stream.read_to_end(&mut Vec::new()).await?;
        stream.shutdown().await
    })
};

fn plain(_: &mut GatewayPlan, _: &mut TlsPlan) {}

fn refuse_opaque(plan: &mut GatewayPlan, _: &mut TlsPlan) {
    plan.refuse_opaque_tunnels = Switch::Allowed;
}

/// The one refusal there was.
fn refusal(scene: &Scene) -> stockade_policy::NetRefusal {
    let refusals = scene.witness.refusals.lock().unwrap();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    refusals[0].clone()
}

/// Waits for the one refusal to come.
async fn refused(scene: &Scene) -> stockade_policy::NetRefusal {
    for _ in 0..400 {
        if !scene.witness.causes().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    refusal(scene)
}

#[tokio::test]
async fn a_client_that_trusts_the_bundle_meets_a_certificate_of_ours() {
    let scene = scene(&[], SHOUT, plain).await;
    let one = scene.shake("a.example.org", "a.example.org", &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(one.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let other = scene.shake("a.example.org", "a.example.org", &[b"http/1.1"]).await.unwrap();
    assert_eq!(other.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let certificate = |client: &tokio_rustls::client::TlsStream<_>| {
        client.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    assert_eq!(certificate(&one), certificate(&other));
    let third = scene.shake("b.example.org", "b.example.org", &[b"h2"]).await.unwrap();
    assert_ne!(certificate(&one), certificate(&third));
}

#[tokio::test]
async fn a_request_is_answered() {
    for alpn in [&[&b"http/1.1"[..]][..], &[]] {
        let scene = scene(&[b"http/1.1"], ANSWER, plain).await;
        let mut client = scene.shake("a.example.org", "a.example.org", alpn).await.unwrap();
        client
            .write_all(b"GET /x HTTP/1.1\r\nHost: a.example.org\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).await.unwrap();
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.starts_with("HTTP/1.1 200") && heard.ends_with("hello"), "{alpn:?} {heard}");
    }
}

#[tokio::test]
async fn the_name_inside_must_be_the_name_outside() {
    for (sni, told) in [("b.example.org", "b.example.org"), ("192.0.2.7", "no host")] {
        let scene = scene(&[], SHOUT, plain).await;
        let error = scene.shake("a.example.org", sni, &[b"h2"]).await.unwrap_err();
        let refusal = refused(&scene).await;
        assert_eq!((refusal.kind, refusal.cause), (ViolationKind::Connect, Cause::Mismatch), "{error}");
        assert!(refusal.reason.contains(told), "{}", refusal.reason);
        assert_eq!(refusal.subject, "a.example.org:443");
    }
}

#[tokio::test]
async fn a_client_that_does_not_trust_us_is_explained() {
    let scene = scene(&[], SHOUT, plain).await;
    let nobody = RootCertStore::empty();
    scene.shake_trusting(nobody, "a.example.org", "a.example.org", &[b"h2"]).await.unwrap_err();
    let refusal = refused(&scene).await;
    assert!(refusal.reason.contains("SSL_CERT_FILE"), "{}", refusal.reason);
    assert!(refusal.suggestion.unwrap().contains("excludeDomains"));
}

#[tokio::test]
async fn something_else_than_http_passes_where_it_may() {
    let scene = scene(&[], SHOUT, plain).await;
    let mut client = scene.shake("a.example.org", "a.example.org", &[]).await.unwrap();
    client.write_all(b"*1\r\n$4\r\nping\r\n").await.unwrap();
    let mut heard = [0; 14];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"*1\r\n$4\r\nPING\r\n");
    client.shutdown().await.unwrap();
    assert_eq!(client.read(&mut heard).await.unwrap(), 0);
    let record = scene.witness.records(1).await.remove(0);
    assert_eq!((record.sent, record.received), (14, 14));
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard() {
    let scene = scene(&[], GREET, plain).await;
    let mut client = scene.shake("a.example.org", "a.example.org", &[]).await.unwrap();
    let mut heard = [0; 11];
    timeout(Duration::from_secs(5), client.read_exact(&mut heard)).await.unwrap().unwrap();
    assert_eq!(&heard, b"220 ready\r\n");
    // No server of HTTP greets anybody, so that mail may have lines like those of requests.
    client.write_all(b"EHLO a\r\n> GET /log HTTP/1.1\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    timeout(Duration::from_secs(5), client.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    assert!(scene.witness.causes().is_empty());
}

#[tokio::test]
async fn other_protocols_are_agreed_on_by_the_server() {
    let scene = scene(&[b"imap"], SHOUT, plain).await;
    let mut client = scene.shake("a.example.org", "a.example.org", &[b"pop3", b"imap"]).await.unwrap();
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"imap"[..]));
    client.write_all(b"a1 noop\r\n").await.unwrap();
    let mut heard = [0; 9];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"A1 NOOP\r\n");
}

#[tokio::test]
async fn something_else_than_http_is_refused_where_it_must_be() {
    let with_rule = |plan: &mut GatewayPlan, _: &mut TlsPlan| {
        let rule = plan.allowed[0].rule.clone();
        let pattern = DomainPattern::parse_allowed("a.example.org").unwrap();
        let (methods, paths) = (vec!["GET".to_owned()], vec![]);
        plan.requests.push(RequestRule { pattern, methods, paths, verdict: Switch::Allowed, rule });
    };
    for change in [refuse_opaque, with_rule as fn(&mut GatewayPlan, &mut TlsPlan)] {
        let scene = scene(&[], SHOUT, change).await;
        let mut client = scene.shake("a.example.org", "a.example.org", &[]).await.unwrap();
        client.write_all(b"\x01\x02ping\r\n").await.unwrap();
        assert!(!matches!(client.read(&mut [0; 14]).await, Ok(1..)));
        let refusal = refused(&scene).await;
        assert_eq!(refusal.cause, Cause::Protocol);
        assert!(refusal.suggestion.unwrap().contains("excludeDomains"));
    }
    let scene = scene(&[b"imap"], SHOUT, refuse_opaque).await;
    assert!(scene.shake("a.example.org", "a.example.org", &[b"imap"]).await.is_err());
    assert_eq!(refused(&scene).await.cause, Cause::Protocol);
}

#[tokio::test]
async fn only_so_many_are_looked_into_at_once() {
    let scene = scene(&[], SHOUT, |_, tls| tls.max_tunnels = Some(1)).await;
    let mut first = scene.shake("a.example.org", "a.example.org", &[]).await.unwrap();
    first.write_all(b"\x01").await.unwrap();
    first.read_u8().await.unwrap();
    let error = scene.shake("b.example.org", "b.example.org", &[]).await.unwrap_err();
    assert!(error.to_string().contains("AccessDenied"), "{error}");
    let refusal = refused(&scene).await;
    assert_eq!((refusal.kind, refusal.cause), (ViolationKind::Limit, Cause::Limit));
    drop(first);
    scene.witness.records(2).await;
    scene.shake("b.example.org", "b.example.org", &[]).await.unwrap();
}

#[tokio::test]
async fn a_handshake_does_not_take_for_ever() {
    let scene = scene(&[], SHOUT, |_, tls| tls.handshake_timeout_ms = Some(100)).await;
    let mut hello = Vec::new();
    let config = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = "a.example.org".try_into().unwrap();
    rustls::ClientConnection::new(config.into(), name).unwrap().write_tls(&mut hello).unwrap();
    let mut client = scene.connect("a.example.org").await;
    client.write_all(&hello).await.unwrap();
    let mut heard = Vec::new();
    let ended = timeout(Duration::from_secs(5), client.read_to_end(&mut heard)).await;
    assert!(ended.is_ok());
    assert_eq!(scene.witness.records(1).await[0].verdict, crate::Verdict::Failed);
}

/// What is waited for before it is known to be a handshake is part of one.
#[tokio::test]
async fn half_a_hello_is_not_waited_for_any_longer() {
    let exclude = |_: &mut GatewayPlan, tls: &mut TlsPlan| {
        tls.handshake_timeout_ms = Some(200);
        tls.exclude.push(DomainPattern::parse_denied("b.example.org").unwrap());
    };
    let scene = scene(&[], SHOUT, exclude).await;
    for (host, ends) in [("a.example.org", true), ("b.example.org", false)] {
        let mut client = scene.connect(host).await;
        client.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await.unwrap();
        let ended = timeout(Duration::from_secs(2), client.read_u8()).await;
        assert_eq!(ended.is_ok(), ends, "{host}");
    }
}

#[tokio::test]
async fn hosts_that_are_excluded_are_passed_through() {
    let exclude = |_: &mut GatewayPlan, tls: &mut TlsPlan| {
        tls.exclude.push(DomainPattern::parse_denied("*.example.org").unwrap());
    };
    let scene = scene(&[b"imap"], SHOUT, exclude).await;
    let client = scene.shake("a.example.org", "a.example.org", &[b"imap"]).await.unwrap();
    let met = client.get_ref().1.peer_certificates().unwrap()[0].clone();
    let ours = super::super::certificate::facts(&met).unwrap();
    let common = ours.subject.get(&rcgen::DnType::CustomDnType(vec![2, 5, 4, 3]));
    assert_eq!(common, Some(&"rcgen self signed cert".into()));
}

/// What comes back for a request, said after this time.
async fn asked_late(scene: &Scene, alpn: &[&[u8]], wait: Duration, request: &str) -> String {
    let mut client = scene.shake("a.example.org", "a.example.org", alpn).await.unwrap();
    tokio::time::sleep(wait).await;
    client.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let _ = timeout(Duration::from_secs(5), client.read_to_end(&mut heard)).await.expect("it ends");
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn a_request_is_judged_however_late_it_comes() {
    let late = Duration::from_millis(500);
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let scene = scene(&[], ANSWER, plain).await;
    let heard = asked_late(&scene, &[], late, &request("evil.test")).await;
    assert!(heard.starts_with("HTTP/1.1 421 "), "{heard}");
    assert_eq!(refused(&scene).await.cause, Cause::Mismatch);
    let heard = asked_late(&scene, &[], late, &request("a.example.org")).await;
    assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
}

#[tokio::test]
async fn a_request_does_not_pass_behind_something_else() {
    for (serve, first, rest) in [(SHOUT, "PROPFIND", " /x"), (GREET, "", "GET /x")] {
        for alpn in [&[][..], &[&b"imap"[..]]] {
            let scene = scene(alpn, serve, plain).await;
            let mut client = scene.shake("a.example.org", "a.example.org", alpn).await.unwrap();
            client.write_all(first.as_bytes()).await.unwrap();
            assert!(client.read(&mut [0; 64]).await.unwrap() > 0);
            let rest = format!("{rest} HTTP/1.1\r\nHost: evil.test\r\n\r\n");
            client.write_all(rest.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            let _ = timeout(Duration::from_secs(5), client.read_to_end(&mut heard)).await.expect("it ends");
            assert!(!String::from_utf8_lossy(&heard).contains("EVIL"));
            assert_eq!(refused(&scene).await.cause, Cause::Protocol);
        }
    }
}

#[tokio::test]
async fn a_request_does_not_pass_behind_other_words() {
    for first in ["hello\r\n\r\n", "\"", "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n"] {
        for alpn in [&[][..], &[&b"imap"[..]]] {
            let scene = scene(alpn, SHOUT, plain).await;
            let mut client = scene.shake("a.example.org", "a.example.org", alpn).await.unwrap();
            let said = format!("{first}GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n");
            client.write_all(said.as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            let _ = timeout(Duration::from_secs(5), client.read_to_end(&mut heard)).await.expect("it ends");
            assert!(heard.is_empty());
            assert_eq!(refused(&scene).await.cause, Cause::Protocol);
        }
    }
}

#[tokio::test]
async fn every_kind_of_http_is_looked_into() {
    let scene = scene(&[b"http/1.0"], ANSWER, plain).await;
    let request = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let heard = asked_late(&scene, &[b"http/1.0"], Duration::ZERO, request).await;
    assert!(heard.starts_with("HTTP/1.1 421 "), "{heard}");
    assert_eq!(refused(&scene).await.cause, Cause::Mismatch);
    assert!(scene.shake("a.example.org", "a.example.org", &[b"spdy/3"]).await.is_err());
}
