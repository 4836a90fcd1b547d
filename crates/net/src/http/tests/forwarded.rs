//! Requests that go to another proxy.

use super::{PATIENCE, admitted, all, echo, origin, parrot, proxied, serving, until};
use crate::gateway::testing::plan;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use stockade_policy::{Cause, GatewayPlan, MitmProxy, ParentProxy, Switch, Upstreams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

/// A plan whose requests go through a proxy on this port.
fn led(port: u16, no_proxy: &str) -> GatewayPlan {
    let proxy = ParentProxy {
        http: Some(format!("http://me:pw@127.0.0.1:{port}")),
        https: None,
        no_proxy: Some(no_proxy.into()),
    };
    let upstreams = Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() };
    GatewayPlan { upstreams, ..plan(&["a.test", "b.test", "127.0.0.1", "192.0.2.7"]) }
}

/// A proxy that makes no tunnels.
async fn without_tunnels() -> u16 {
    async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        match *request.method() {
            Method::CONNECT => Ok(Response::builder().status(403).body(Full::default()).unwrap()),
            _ => echo(request).await,
        }
    }
    serving(answer).await
}

fn get(url: &str) -> String {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic mine\r\n\r\n")
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_whole_address() {
    let (mut client, witness, _ward) = proxied(led(origin().await, "")).await;
    for (url, host) in [
        ("http://a.test/x?q=1", "a.test"),
        ("http://a.test:8080/y", "a.test:8080"),
        ("http://b.test/", "b.test"),
        ("http://a.test/z", "a.test"),
    ] {
        let heard = until(&mut client, get(url), ">").await;
        let understood = format!("<GET {url} host={host} headers=host,proxy-authorization body=>");
        assert!(heard.contains(&understood), "{heard}");
    }
    let records = witness.records(4).await;
    assert_eq!(records[0].request, Some(("GET".into(), "/x".into())));
    assert!(records.iter().all(|record| record.status == Some(200)), "{records:?}");
}

#[tokio::test]
async fn the_proxy_hears_its_own_login_only() {
    let (port, heard) = parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n>").await;
    let (mut client, _, _ward) = proxied(led(port, "")).await;
    until(&mut client, get("http://a.test/"), ">").await;
    let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
    assert!(heard.starts_with("GET http://a.test/ HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains(": Basic bWU6cHc=\r\n") && !heard.contains("mine"), "{heard}");
}

#[tokio::test]
async fn some_hosts_need_no_proxy() {
    let (proxy, heard) = parrot(b"").await;
    let port = origin().await;
    let (mut client, _, _ward) = proxied(led(proxy, "a.test")).await;
    let answer = until(&mut client, get(&format!("http://a.test:{port}/x")), ">").await;
    assert!(answer.contains(&format!("<GET /x host=a.test:{port} headers=host body=>")), "{answer}");
    let (mut client, _, _ward) = admitted(led(proxy, "a.test"), &format!("a.test:{port}")).await;
    assert!(until(&mut client, "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await.contains("<GET /x "));
    assert!(heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_behind_a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("proxy");
    let listener = UnixListener::bind(&place).unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let server = hyper::server::conn::http1::Builder::new();
        server.serve_connection(TokioIo::new(stream), service_fn(echo)).await.unwrap();
    });
    let socket_path = place.to_str().unwrap().to_owned();
    let proxy = MitmProxy { socket_path, domains: vec!["a.test".into()] };
    let upstreams = Upstreams { mitm_proxy: Some(proxy), ..Upstreams::default() };
    let led = |hosts| GatewayPlan { upstreams: upstreams.clone(), ..plan(hosts) };
    let (mut client, witness, _ward) = proxied(led(&["a.test"])).await;
    let heard = all(&mut client, get("http://a.test/x")).await;
    assert!(heard.starts_with("HTTP/1.1 403 "), "the name leads to this machine: {heard}");
    assert_eq!(witness.causes(), [Cause::Address]);
    let (mut client, _, _ward) = proxied(led(&["a.test", "127.0.0.1"])).await;
    let heard = until(&mut client, get("http://a.test/x"), ">").await;
    assert!(heard.contains("<GET http://a.test/x host=a.test headers=host body=>"), "{heard}");
}

#[tokio::test]
async fn streams_that_were_let_in_go_the_same_way() {
    let proxy = without_tunnels().await;
    let (mut client, witness, _ward) = admitted(led(proxy, ""), "a.test:80").await;
    let heard = until(&mut client, "GET /1 HTTP/1.1\r\nHost: A.test\r\n\r\n", ">").await;
    assert!(heard.contains("<GET http://a.test/1 host=A.test "), "{heard}");
    let posted = "POST /2 HTTP/1.1\r\nHost: a.test:80\r\nContent-Length: 2\r\n\r\nhi";
    let heard = until(&mut client, posted, ">").await;
    assert!(heard.contains("<POST http://a.test/2 host=a.test:80 ") && heard.contains("body=hi"), "{heard}");
    let heard = all(&mut client, "GET /3 HTTP/1.1\r\nHost: evil.test\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 421 "), "{heard}");
    assert_eq!(witness.causes(), [Cause::Mismatch]);
    // A tunnel to that port is refused, and not needed.
    let (mut client, _, _ward) = proxied(led(proxy, "")).await;
    until(&mut client, "CONNECT a.test:80 HTTP/1.1\r\n\r\n", "\r\n\r\n").await;
    let heard = until(&mut client, "GET /4 HTTP/1.1\r\nHost: a.test\r\n\r\n", ">").await;
    assert!(heard.contains("<GET http://a.test/4 "), "{heard}");
}

#[tokio::test]
async fn without_a_tunnel_nothing_else_goes() {
    let proxy = without_tunnels().await;
    let (mut client, _, _ward) = proxied(led(proxy, "")).await;
    until(&mut client, "CONNECT a.test:80 HTTP/1.1\r\n\r\n", "\r\n\r\n").await;
    client.write_all(b"\x01 something else").await.unwrap();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, client.read_to_end(&mut rest)).await.unwrap();
    assert!(ended.is_err() || rest.is_empty(), "{rest:?}");
    let (mut client, _, _ward) = proxied(led(proxy, "")).await;
    let heard = all(&mut client, "CONNECT a.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("answered 403"), "{heard}");
}

/// What a proxy could understand in two ways, and what it cannot carry.
#[tokio::test]
async fn some_requests_take_a_tunnel() {
    let request = |host: &str, more: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    for (target, request) in [
        ("192.0.2.7:80", request("b.test", "")),
        ("a.test:8080", request("a.test", "")),
        ("a.test:80", request("b.test", "")),
        ("a.test:80", request("a.test", upgrade)),
        ("a.test:80", "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n".into()),
    ] {
        let (port, heard) = parrot(b"HTTP/1.1 403 No\r\n\r\n").await;
        let plan = GatewayPlan { host_mismatch: Switch::Allowed, ..led(port, "") };
        let (mut client, _, _ward) = admitted(plan, target).await;
        assert!(all(&mut client, &request).await.starts_with("HTTP/1.1 502 "), "{request}");
        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert!(heard.starts_with(&format!("CONNECT {target} HTTP/1.1\r\n")), "{request}: {heard}");
    }
}

#[tokio::test]
async fn addresses_are_judged_before_each_request() {
    let port = origin().await;
    let (mut client, witness, ward) = proxied(led(port, "")).await;
    until(&mut client, get("http://a.test/"), ">").await;
    ward.dialler().lookups().know("a.test", &["10.0.0.1".parse().unwrap()]);
    let heard = all(&mut client, get("http://a.test/")).await;
    assert!(heard.contains("blocked-by-sandbox-runtime"), "{heard}");
    assert_eq!(witness.causes(), [Cause::Address]);
    let (port, heard) = parrot(b"").await;
    let unlisted = GatewayPlan { allowed: plan(&["a.test"]).allowed, ..led(port, "") };
    for request in [get("http://a.test/"), get("http://evil.test/")] {
        let (mut client, _, _ward) = proxied(unlisted.clone()).await;
        assert!(all(&mut client, request).await.starts_with("HTTP/1.1 403 "));
    }
    assert!(heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_that_wants_a_login_does_not_ask_the_program() {
    let (port, _) =
        parrot(b"HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n").await;
    let (mut client, _, _ward) = proxied(led(port, "")).await;
    let heard = all(&mut client, get("http://a.test/")).await;
    assert!(heard.starts_with("HTTP/1.1 502 ") && heard.contains("wants another login"), "{heard}");
}

/// It would send its own login back.
#[tokio::test]
async fn a_proxy_is_not_asked_to_send_a_request_back() {
    let (port, heard) = parrot(b"").await;
    let (mut client, witness, _ward) = proxied(led(port, "")).await;
    let answer = all(&mut client, get("http://a.test/").replacen("GET", "TRACE", 1)).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert_eq!(witness.causes(), [Cause::Request]);
    assert!(heard.lock().unwrap().is_empty());
}
