//! A parent proxy that is itself reached over TLS.

use super::terminated::{tls_config, tls_origin};
use super::{PATIENCE, all, gateway, until};
use crate::gateway::testing::plan;
use crate::relay::BreakOff;
use crate::{Gateway, Termination};
use std::sync::Arc;
use stockade_policy::{GatewayPlan, ParentProxy, TlsPlan, Upstreams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// A client of a gateway whose way out is this proxy, and which knows `root`.
async fn led(port: u16, root: Option<String>) -> (Gateway, TcpStream) {
    let url = Some(format!("https://me:pw@127.0.0.1:{port}"));
    let proxy = ParentProxy { http: url.clone(), https: url, no_proxy: None };
    let upstreams = Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() };
    let directory = tempfile::tempdir().unwrap();
    let termination = root.map(|root| {
        let roots = directory.path().join("roots.pem");
        std::fs::write(&roots, root).unwrap();
        let nobody = stockade_policy::DomainPattern::parse_allowed("nobody.test").unwrap();
        let tls = TlsPlan { extra_roots: vec![roots], hosts: vec![nobody], ..TlsPlan::default() };
        Arc::new(Termination::new(&tls).unwrap())
    });
    gateway(GatewayPlan { upstreams, ..plan(&["192.0.2.7"]) }, termination, None).await
}

#[tokio::test]
async fn requests_go_through_it() {
    let (port, root) = tls_origin(b"http/1.1").await;
    let (_gateway, mut client) = led(port, Some(root)).await;
    let request = "GET http://192.0.2.7/x HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n";
    for _ in 0..2 {
        let heard = until(&mut client, request, ">").await;
        let understood = "<GET http://192.0.2.7/x host=192.0.2.7 headers=host,proxy-authorization body=>";
        assert!(heard.contains(understood), "{heard}");
    }
}

#[tokio::test]
async fn it_must_prove_who_it_is() {
    let (port, _) = tls_origin(b"http/1.1").await;
    let (_, others) = tls_config(b"http/1.1");
    for root in [None, Some(others)] {
        let (_gateway, mut client) = led(port, root).await;
        let heard = all(&mut client, "CONNECT 192.0.2.7:4433 HTTP/1.1\r\n\r\n").await;
        assert!(heard.starts_with("HTTP/1.1 502 "), "{heard}");
        // A machine without certificates of its own says that instead; both name a remedy.
        assert!(heard.contains("not trusted") || heard.contains("no certificates"), "{heard}");
        assert!(heard.contains("SSL_CERT_FILE"), "{heard}");
    }
}

#[tokio::test]
async fn a_proxy_without_tls_is_told_of() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let (_, root) = tls_config(b"http/1.1");
    let (_gateway, mut client) = led(port, Some(root)).await;
    let heard = all(&mut client, "CONNECT 192.0.2.7:4433 HTTP/1.1\r\n\r\n").await;
    assert!(heard.contains(&format!("http://127.0.0.1:{port}?")), "{heard}");
}

/// Whoever cannot reach anything wants to know which proxy to look at.
#[tokio::test]
async fn a_proxy_that_fails_is_named() {
    let garbage = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = garbage.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = garbage.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(b"SSH-2.0-x\r\n\r\n").await.unwrap();
        }
    });
    for port in [1, at] {
        let url = Some(format!("http://me:pw@127.0.0.1:{port}"));
        let proxy = ParentProxy { http: url.clone(), https: url, no_proxy: None };
        let upstreams = Upstreams { parent_proxy: Some(proxy), ..Upstreams::default() };
        for request in [
            "CONNECT 192.0.2.7:4433 HTTP/1.1\r\n\r\n",
            "GET http://192.0.2.7/x HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n",
        ] {
            let plan = GatewayPlan { upstreams: upstreams.clone(), ..plan(&["192.0.2.7"]) };
            let (_gateway, mut client) = gateway(plan, None, None).await;
            let heard = all(&mut client, request).await;
            assert!(heard.starts_with("HTTP/1.1 502 "), "{heard}");
            assert!(heard.contains(&format!("through the proxy 127.0.0.1:{port}: ")), "{heard}");
            assert!(!heard.contains("pw"), "{heard}");
        }
    }
}

/// Ends are passed on as ends, and failures as failures, through the TLS as well.
#[tokio::test]
async fn tunnels_go_through_it() {
    let (config, root) = tls_config(b"http/1.1");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    for breaks in [false, true] {
        let (_gateway, mut client) = led(port, Some(root.clone())).await;
        let proxy = async {
            let mut stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            (stream, String::from_utf8(head).unwrap())
        };
        let asking = until(&mut client, "CONNECT 192.0.2.7:4433 HTTP/1.1\r\n\r\n", "\r\n\r\n");
        let ((mut stream, head), answer) = tokio::join!(proxy, asking);
        assert!(head.starts_with("CONNECT 192.0.2.7:4433 HTTP/1.1\r\n") && head.contains(": Basic bWU6cHc="));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        client.write_all(b"\x01hello").await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut heard)).await.unwrap().unwrap();
        assert_eq!(heard, b"\x01hello");
        stream.write_all(b"late").await.unwrap();
        stream.flush().await.unwrap();
        let mut late = [0; 4];
        timeout(PATIENCE, client.read_exact(&mut late)).await.unwrap().unwrap();
        match breaks {
            true => stream.break_off(),
            false => stream.shutdown().await.unwrap(),
        }
        drop(stream);
        let ended = timeout(PATIENCE, client.read(&mut late)).await.unwrap();
        assert_eq!(ended.is_err(), breaks, "{ended:?}");
    }
}
