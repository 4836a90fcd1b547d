//! Ways out through other proxies.

use super::super::testing::plan;
use super::{Sandbox, all, exchange, is_reset};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use stockade_policy::{Cause, GatewayPlan, MitmProxy, ParentProxy, Switch};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

/// What the proxies were asked for.
type Asked = Arc<Mutex<Vec<String>>>;

/// Grants every tunnel, and is the server at its end, which sends everything back.
async fn tunnel(mut stream: impl AsyncRead + AsyncWrite + Unpin, asked: Asked) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let line = String::from_utf8(head).unwrap().lines().next().unwrap().to_owned();
    asked.lock().unwrap().push(line);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let _ = tokio::io::copy(&mut reader, &mut writer).await;
    let _ = writer.shutdown().await;
}

/// A plan whose way out is a proxy that remembers what it is asked.
async fn parent() -> (GatewayPlan, Asked) {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let https = Some(format!("http://{}", listener.local_addr().unwrap()));
    let heard = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(tunnel(stream, heard.clone()));
        }
    });
    let mut plan = plan(&["far.test"]);
    plan.upstreams.parent_proxy = Some(ParentProxy { https, ..ParentProxy::default() });
    (plan, asked)
}

#[tokio::test]
async fn through_the_proxy_that_leads_out() {
    let (mut plan, asked) = parent().await;
    plan.private_addresses = Switch::Allowed;
    let sandbox = Sandbox::toward(plan, "far.test:5432").await;
    let mut client = sandbox.connect().await;
    assert_eq!(exchange(&mut client, b"\x01x").await.unwrap(), b"\x01x");
    assert_eq!(*asked.lock().unwrap(), ["CONNECT far.test:5432 HTTP/1.1"]);
}

#[tokio::test]
async fn rules_about_addresses_hold_as_far_as_can_be_seen() {
    for (address, works) in [("192.0.2.1", true), ("10.0.0.1", false)] {
        let (plan, asked) = parent().await;
        let sandbox = Sandbox::toward(plan, "far.test:5432").await;
        sandbox.ward.dialler().lookups().know("far.test", &[address.parse::<IpAddr>().unwrap()]);
        let mut client = sandbox.connect().await;
        let answer = exchange(&mut client, b"\x01").await;
        assert_eq!(answer.is_ok(), works, "{answer:?}");
        assert_eq!(asked.lock().unwrap().len(), usize::from(works));
        assert_eq!(sandbox.witness.causes().contains(&Cause::Address), !works);
    }
}

#[tokio::test]
async fn through_a_socket_for_some_domains() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("proxy");
    let listener = UnixListener::bind(&socket).unwrap();
    let asked = Asked::default();
    let heard = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(tunnel(stream, heard.clone()));
        }
    });
    let mut plan = plan(&["far.test"]);
    let socket_path = socket.to_str().unwrap().to_owned();
    plan.upstreams.mitm_proxy = Some(MitmProxy { socket_path, domains: vec!["far.test".into()] });
    let sandbox = Sandbox::toward(plan, "far.test:5432").await;
    let mut client = sandbox.connect().await;
    assert_eq!(exchange(&mut client, b"\x01x").await.unwrap(), b"\x01x");
    assert_eq!(*asked.lock().unwrap(), ["CONNECT far.test:5432 HTTP/1.1"]);
    assert_eq!(sandbox.witness.records(1).await[0].address, None);
    // Without the proxy there is no other way.
    drop(directory);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
}
