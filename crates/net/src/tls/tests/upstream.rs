//! TLS toward servers.

use super::super::termination::Termination;
use super::super::upstream::connect;
use super::scene::{Serve, private_server, server};
use std::io;
use std::net::Ipv4Addr;
use stockade_policy::{Target, TlsPlan};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

const END: Serve = |mut stream| Box::pin(async move { stream.shutdown().await });

/// What a server with a private authority is to somebody who knows `known` of it and wants `target`.
async fn met(known: fn(String) -> Option<String>, target: &str) -> io::Result<Option<Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    let (config, root) = private_server(&[b"http/1.1"]);
    let mut plan = TlsPlan::default();
    if let Some(root) = known(root) {
        std::fs::write(&roots, root).unwrap();
        plan.extra_roots.push(roots);
    }
    let termination = Termination::new(&plan).unwrap();
    let stream = TcpStream::connect(server(config, END).await).await.unwrap();
    let target = Target::parse(target.as_bytes(), Some(443)).unwrap();
    let stream = connect(&termination, stream, &target, &[b"h2", b"http/1.1"]).await?;
    Ok(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec))
}

#[tokio::test]
async fn a_server_must_prove_who_it_is() {
    assert_eq!(met(Some, "a.example.org").await.unwrap(), Some(b"http/1.1".to_vec()));
    let unknown = met(|_| None, "a.example.org").await.unwrap_err().to_string();
    // A machine without certificates of its own says that instead; both name the remedy.
    assert!(unknown.contains("not trusted") || unknown.contains("no certificates"), "{unknown}");
    assert!(unknown.contains("extraCaCertPaths"), "{unknown}");
    let other = met(Some, "a.example.com").await.unwrap_err().to_string();
    assert!(other.contains("not trusted") && other.contains("example.com"), "{other}");
    // No authority helps against that.
    assert!(other.ends_with("it is for another name"), "{other}");
    let literal = met(Some, "192.0.2.1").await.unwrap_err().to_string();
    assert!(literal.contains("not trusted"), "{literal}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_named() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"220 ready\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let termination = Termination::new(&TlsPlan::default()).unwrap();
    let target = Target::parse(b"a.example.org:443", None).unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let error = connect(&termination, stream, &target, &[]).await.unwrap_err().to_string();
    assert_eq!(error, "no TLS with a.example.org:443: what it says is not TLS");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let plan = TlsPlan { handshake_timeout_ms: Some(50), ..TlsPlan::default() };
    let termination = Termination::new(&plan).unwrap();
    let target = Target::parse(b"a.example.org:443", None).unwrap();
    let error = connect(&termination, stream, &target, &[]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}
