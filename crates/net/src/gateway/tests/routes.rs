//! Ways out through other proxies.

use super::super::Places;
use super::super::testing::{Recorder, plan, ward};
use super::{Sandbox, all, exchange, is_reset};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
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
    let allowed = Switch::Allowed;
    for (addresses, private, works) in [
        (&["192.0.2.1"][..], Switch::Refused, true),
        (&["10.0.0.1"], Switch::Refused, false),
        (&["10.0.0.1"], allowed, true),
        // The proxy may take any of them.
        (&["192.0.2.1", "10.0.0.1"], Switch::Refused, false),
        (&["192.0.2.1", "127.0.0.1"], allowed, false),
        (&["169.254.169.254"], allowed, false),
        (&[], Switch::Refused, true),
    ] {
        let (mut plan, asked) = parent().await;
        plan.private_addresses = private;
        let sandbox = Sandbox::toward(plan, "far.test:5432").await;
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        sandbox.ward.dialler().lookups().know("far.test", &addresses);
        let mut client = sandbox.connect().await;
        let answer = exchange(&mut client, b"\x01").await;
        assert_eq!(answer.is_ok(), works, "{answer:?}");
        assert_eq!(asked.lock().unwrap().len(), usize::from(works));
        assert_eq!(sandbox.witness.causes().contains(&Cause::Address), !works);
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_passes_where_no_rule_is_about_addresses() {
    let unknown = ("a".repeat(64).as_str(), 0).to_socket_addrs().unwrap_err();
    let timed_out = io::Error::from(io::ErrorKind::TimedOut);
    for (error, private, denied, works) in [
        (&unknown, Switch::Refused, None, true),
        (&timed_out, Switch::Refused, None, false),
        (&timed_out, Switch::Allowed, Some("203.0.113.0/24"), false),
        (&timed_out, Switch::Allowed, None, true),
    ] {
        let (mut plan, _) = parent().await;
        plan.private_addresses = private;
        plan.denied_addresses.extend(denied.map(|network| network.parse::<ipnet::IpNet>().unwrap()));
        let sandbox = Sandbox::toward(plan, "far.test:5432").await;
        sandbox.ward.dialler().lookups().know_failure("far.test", error);
        let answer = exchange(&mut sandbox.connect().await, b"\x01").await;
        assert_eq!(answer.is_ok(), works, "{error} {private:?} {denied:?}: {answer:?}");
        assert_eq!(sandbox.witness.causes().contains(&Cause::Address), !works);
    }
}

#[tokio::test]
async fn no_more_sockets_lead_out_than_there_are_places() {
    let (plan, _) = parent().await;
    let witness = Recorder::new();
    let mut ward = ward(plan, &witness);
    Arc::get_mut(&mut ward).unwrap().servers = Places::alone(|| 1);
    ward.dialler().lookups().know("far.test", &["192.0.2.1".parse().unwrap()]);
    let sandbox = Sandbox::of(ward, witness, "far.test:5432").await;
    let mut first = sandbox.connect().await;
    first.write_all(b"\x01").await.unwrap();
    assert_eq!(first.read_u8().await.unwrap(), 1);
    for _ in 0..2 {
        assert!(is_reset(&exchange(&mut sandbox.connect().await, b"\x01").await));
    }
    assert_eq!(sandbox.witness.causes(), [Cause::Limit], "it is told once");
    // Its place is given back.
    drop(first);
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
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
    let lookups = sandbox.ward.dialler().lookups();
    lookups.know("far.test", &["10.0.0.1".parse().unwrap()]);
    assert!(is_reset(&exchange(&mut sandbox.connect().await, b"\x01x").await));
    assert_eq!(sandbox.witness.causes(), [Cause::Address]);
    lookups.know("far.test", &["192.0.2.1".parse().unwrap()]);
    let mut client = sandbox.connect().await;
    assert_eq!(exchange(&mut client, b"\x01x").await.unwrap(), b"\x01x");
    assert_eq!(*asked.lock().unwrap(), ["CONNECT far.test:5432 HTTP/1.1"]);
    assert_eq!(sandbox.witness.records(1).await[0].address, None);
    // Without the proxy there is no other way.
    drop(directory);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
}
