//! Servers that answer a request without reading its body, and take the body for the next request.

use super::second::second;
use super::terminated::{localhost, tls_config, trusting};
use super::{PATIENCE, admitted, all, gateway, parrot, proxied, until};
use crate::Termination;
use crate::gateway::testing::plan;
use bytes::Bytes;
use http::Request;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use stockade_policy::{Cause, GatewayPlan, ParentProxy, TlsPlan, Upstreams};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

const HIDDEN: &str = "DELETE /hidden HTTP/1.1\r\nHost: denied.test\r\n\r\n";

/// Whether a server ends a connection when it is asked to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manners {
    Good,
    Bad,
}

/// The method and path of every request that the server has taken, with the number of its connection.
type Taken = Arc<Mutex<Vec<(usize, String)>>>;

/// A server that reads nothing but heads, in TLS where there is an acceptor. Gives its port.
async fn hasty(manners: Manners, tls: Option<TlsAcceptor>) -> (u16, Taken) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let taken = Taken::default();
    let (port, takes) = (listener.local_addr().unwrap().port(), Arc::clone(&taken));
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            let (takes, tls) = (Arc::clone(&takes), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => answer(stream, number, manners, &takes).await,
                    Some(tls) => answer(tls.accept(stream).await.unwrap(), number, manners, &takes).await,
                }
            });
        }
    });
    (port, taken)
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut to: S,
    number: usize,
    manners: Manners,
    taken: &Taken,
) {
    let mut held = Vec::new();
    loop {
        while let Some(end) = held.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(held.drain(..end + 4).collect()).unwrap();
            let line = head.split(" HTTP/1.").next().unwrap().to_owned();
            let said = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n<{line}>", line.len() + 2);
            taken.lock().unwrap().push((number, line));
            let asked = head.to_ascii_lowercase().contains("connection: close\r\n");
            if to.write_all(said.as_bytes()).await.is_err() || asked && manners == Manners::Good {
                let _ = to.shutdown().await;
                return;
            }
        }
        if !matches!(to.read_buf(&mut held).await, Ok(1..)) {
            return;
        }
    }
}

fn open() -> GatewayPlan {
    plan(&["a.test", "127.0.0.1"])
}

fn lines(taken: &Taken) -> Vec<String> {
    taken.lock().unwrap().iter().map(|(_, line)| line.clone()).collect()
}

/// Requests whose bodies are a request, in both forms that a body has.
fn carrying(target: &str, host: &str) -> [String; 2] {
    let head = format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive\r\n");
    let (length, chunk) = (HIDDEN.len(), format!("2;\r\nx\n\r\n{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len()));
    [
        format!("{head}Content-Length: {length}\r\n\r\n{HIDDEN}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}"),
    ]
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S, says: &str) -> String {
    client.write_all(says.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let reading = async {
        while !heard.ends_with(b">") {
            assert_ne!(client.read_buf(&mut heard).await.unwrap(), 0, "{says:?}");
        }
    };
    timeout(PATIENCE, reading).await.expect("no answer");
    String::from_utf8(heard).unwrap()
}

/// Sends bodies that are requests, before, between and after requests without one.
async fn tempt<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S, base: &str, host: &str, taken: &Taken) {
    let get = |path: &str| format!("GET {base}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for (round, request) in carrying(&format!("{base}/ok"), host).iter().enumerate() {
        for (says, path) in [(request, "/ok"), (&get("/1"), "/1"), (request, "/ok"), (&get("/2"), "/2")] {
            let heard = ask(client, says).await;
            assert!(
                heard.ends_with(&format!("{path}>")) && heard.matches("HTTP/1.1").count() == 1,
                "{heard}"
            );
        }
        assert_eq!(lines(taken).len(), (round + 1) * 4, "{:?}", lines(taken));
    }
}

#[tokio::test]
async fn bodies_are_not_the_next_request() {
    for manners in [Manners::Good, Manners::Bad] {
        for plan in [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }] {
            for first in ["", "GET /0 HTTP/1.1\r\nHost: a.test\r\n\r\n"] {
                let (port, taken) = hasty(manners, None).await;
                let (mut client, _, _ward) = admitted(plan.clone(), &format!("a.test:{port}")).await;
                if !first.is_empty() {
                    ask(&mut client, first).await;
                    taken.lock().unwrap().clear();
                }
                for request in carrying("/ok", "a.test") {
                    assert!(ask(&mut client, &request).await.ends_with("<POST /ok>"));
                    let heard = ask(&mut client, "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
                    assert!(heard.ends_with("<GET /next>") && !heard.contains("hidden"), "{heard}");
                }
                if manners == Manners::Good {
                    assert_eq!(lines(&taken), ["POST /ok", "GET /next", "POST /ok", "GET /next"]);
                }
            }
        }
    }
}

#[tokio::test]
async fn nor_at_the_proxy() {
    let (port, taken) = hasty(Manners::Good, None).await;
    let (mut client, _, _ward) = proxied(open()).await;
    let host = format!("127.0.0.1:{port}");
    tempt(&mut client, &format!("http://{host}"), &host, &taken).await;
    let proxy = ParentProxy { http: Some(format!("http://127.0.0.1:{port}")), https: None, no_proxy: None };
    let upstreams = Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() };
    taken.lock().unwrap().clear();
    let (mut client, _, _ward) = proxied(GatewayPlan { upstreams, ..open() }).await;
    tempt(&mut client, "http://a.test", "a.test", &taken).await;
}

#[tokio::test]
async fn nor_out_of_http_2() {
    let (port, taken) = hasty(Manners::Good, None).await;
    let (client, _, _ward) = proxied(open()).await;
    let client = second(client).await;
    for _ in 0..2 {
        let request = Request::post(format!("http://127.0.0.1:{port}/ok")).body(()).unwrap();
        let (response, mut send) = client.clone().send_request(request, false).unwrap();
        send.send_data(Bytes::from(HIDDEN), true).unwrap();
        assert_eq!(timeout(PATIENCE, response).await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(lines(&taken), ["POST /ok", "POST /ok"]);
}

#[tokio::test]
async fn nor_inside_tls() {
    let (config, root) = tls_config(b"http/1.1");
    let (port, taken) = hasty(Manners::Good, Some(TlsAcceptor::from(Arc::new(config)))).await;
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, root).unwrap();
    let tls = TlsPlan { extra_roots: vec![roots], ..TlsPlan::default() };
    let termination = Arc::new(Termination::new(&tls).unwrap());
    for alpn in [&b"http/1.1"[..], b"h2"] {
        let (_gateway, mut tcp) = gateway(open(), Some(Arc::clone(&termination)), None).await;
        until(&mut tcp, format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"), "\r\n\r\n").await;
        let mut client = trusting(&termination, alpn).connect(localhost(), tcp).await.unwrap();
        taken.lock().unwrap().clear();
        if alpn == b"http/1.1" {
            tempt(&mut client, "", &format!("127.0.0.1:{port}"), &taken).await;
            continue;
        }
        let (client, connection) = h2::client::handshake(client).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post(format!("https://127.0.0.1:{port}/ok")).body(()).unwrap();
        let (response, mut send) = client.ready().await.unwrap().send_request(request, false).unwrap();
        send.send_data(Bytes::from(HIDDEN), true).unwrap();
        assert_eq!(timeout(PATIENCE, response).await.unwrap().unwrap().status(), 200);
        assert_eq!(lines(&taken), ["POST /ok"]);
    }
}

/// What follows the head of such a request would not be HTTP for one side and a body for the other.
#[tokio::test]
async fn a_request_that_turns_its_connection_has_no_body() {
    for first in ["", "GET /0 HTTP/1.1\r\nHost: a.test\r\n\r\n"] {
        let (port, taken) = hasty(Manners::Good, None).await;
        let (mut client, witness, _ward) = admitted(open(), &format!("a.test:{port}")).await;
        if !first.is_empty() {
            ask(&mut client, first).await;
        }
        let asking = "Connection: Upgrade, keep-alive\r\nUpgrade: websocket\r\n";
        let length = HIDDEN.len();
        let request = format!("GET /ws HTTP/1.1\r\nHost: a.test\r\n{asking}Content-Length: {length}\r\n\r\n");
        let heard = all(&mut client, request + HIDDEN).await;
        assert!(heard.starts_with("HTTP/1.1 400 "), "{heard}");
        assert_eq!(witness.causes(), [Cause::Grammar]);
        assert!(lines(&taken).iter().all(|line| line == "GET /0"), "{taken:?}");
    }
}

#[tokio::test]
async fn without_a_body_a_connection_is_kept() {
    for plan in [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }] {
        let (port, taken) = hasty(Manners::Good, None).await;
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        for rest in ["", "Content-Length: 0\r\n", ""] {
            ask(&mut client, &format!("POST / HTTP/1.1\r\nHost: a.test\r\n{rest}\r\n")).await;
        }
        assert_eq!(taken.lock().unwrap().last(), Some(&(0, "POST /".into())));
        ask(&mut client, &carrying("/", "a.test")[0]).await;
        ask(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        ask(&mut client, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        let last = taken.lock().unwrap().last().unwrap().0;
        let of_last = taken.lock().unwrap().iter().filter(|(number, _)| *number == last).count();
        assert_eq!(of_last, 2, "{taken:?}");
    }
}

#[tokio::test]
async fn answers_stay_in_their_order() {
    let (port, taken) = hasty(Manners::Good, None).await;
    let (mut client, witness, _ward) = admitted(open(), &format!("a.test:{port}")).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let head = "HEAD /h HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let requests = [&get("/1"), &get("/2"), &carrying("/3", "a.test")[0], &get("/4"), head].concat();
    client.write_all(requests.as_bytes()).await.unwrap();
    let heard = until(&mut client, "", "<GET /4>").await;
    let places = ["<GET /1>", "<GET /2>", "<POST /3>", "<GET /4>"].map(|answer| heard.find(answer));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{heard}");
    assert!(lines(&taken).iter().all(|line| !line.contains("hidden")), "{taken:?}");
    let paths = witness.records(4).await;
    let paths: Vec<_> = paths.iter().map(|record| record.request.clone().unwrap().1).collect();
    assert_eq!(paths, ["/1", "/2", "/3", "/4"]);
}

/// What is left of a body that nobody waits for goes nowhere.
#[tokio::test]
async fn an_answer_may_come_before_the_body() {
    for first in ["", "GET /0 HTTP/1.1\r\nHost: a.test\r\n\r\n"] {
        let (port, taken) = hasty(Manners::Good, None).await;
        let (mut client, _, _ward) = admitted(open(), &format!("a.test:{port}")).await;
        if !first.is_empty() {
            ask(&mut client, first).await;
        }
        let head = "POST /ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3000000\r\n\r\n";
        assert!(ask(&mut client, head).await.ends_with("<POST /ok>"));
        // Whoever goes on all the same is cut off, or reads the end of the connection.
        let rest = HIDDEN.repeat(3_000_000 / HIDDEN.len() + 2);
        let _ = timeout(PATIENCE, client.write_all(rest.as_bytes())).await.expect("it hangs");
        let mut heard = Vec::new();
        let _ = timeout(PATIENCE, client.read_to_end(&mut heard)).await.expect("the end did not come");
        assert_eq!(lines(&taken).last().map(String::as_str), Some("POST /ok"), "{taken:?}");
    }
}

/// A server that refuses a long body closes while it is still being sent.
#[tokio::test]
async fn an_answer_is_not_lost_with_the_rest_of_the_body() {
    for plan in [open(), GatewayPlan { strip_response_headers: vec!["X".into()], ..open() }] {
        let (port, _taken) = hasty(Manners::Good, None).await;
        let (client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let (mut from, mut to) = client.into_split();
        let sending = tokio::spawn(async move {
            let head = "POST /ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5000000\r\n\r\n";
            let _ = to.write_all(head.as_bytes()).await;
            let _ = to.write_all(&[b'x'; 5_000_000]).await;
        });
        let mut heard = Vec::new();
        while !heard.ends_with(b">") {
            let read = timeout(PATIENCE, from.read_buf(&mut heard)).await.expect("no answer").unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&heard));
        }
        assert!(String::from_utf8(heard).unwrap().ends_with("<POST /ok>"));
        sending.abort();
    }
}

/// A server that has answered and reads on would take what comes now for whatever it likes.
#[tokio::test]
async fn nothing_of_a_body_follows_its_answer() {
    for proxy in [false, true] {
        for says in [&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n<>"[..], b"HTTP/1.1 204 No\r\n\r\n"] {
            let (port, heard) = parrot(says).await;
            let at = format!("127.0.0.1:{port}");
            let (mut client, _witness, _ward) =
                if proxy { proxied(open()).await } else { admitted(open(), &at).await };
            let to = if proxy { format!("http://{at}") } else { String::new() };
            let head = format!("POST {to}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 100000\r\n\r\nearly");
            let end = if says.ends_with(b">") { "<>" } else { "\r\n\r\n" };
            assert!(until(&mut client, head, end).await.starts_with("HTTP/1.1 20"));
            for _ in 0..10 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                let _ = client.write_all(b"late").await;
            }
            let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
            assert!(heard.ends_with("early"), "{heard}");
        }
    }
}
