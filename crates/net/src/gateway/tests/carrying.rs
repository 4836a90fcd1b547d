//! What is spoken on a connection decides how it is carried.

use super::super::testing::{plan, rule};
use super::{Sandbox, all, echo, exchange, is_reset};
use std::net::SocketAddr;
use std::time::Duration;
use stockade_policy::{Cause, DomainPattern, Protocol, RequestRule, Switch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that says this first and then what it is told.
async fn greeter(greeting: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.write_all(greeting).await.unwrap();
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    address
}

/// A ClientHello for this name, as rustls makes it.
pub(super) fn hello(name: &str) -> Vec<u8> {
    let config = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = name.to_owned().try_into().unwrap();
    let mut client = rustls::ClientConnection::new(config.into(), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard_at_once() {
    let server = greeter(b"SSH-2.0-test\r\n").await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &server.to_string()).await;
    let mut client = sandbox.connect().await;
    let mut greeting = [0; 14];
    tokio::time::timeout(Duration::from_secs(1), client.read_exact(&mut greeting)).await.unwrap().unwrap();
    assert_eq!(&greeting, b"SSH-2.0-test\r\n");
    assert_eq!(exchange(&mut client, b"SSH-2.0-x\r\n").await.unwrap(), b"SSH-2.0-x\r\n");
}

#[tokio::test]
async fn protocols_are_judged_once_they_are_known() {
    for (greeting, protocols, works) in [
        (b"SSH-2.0-x".as_slice(), vec![Protocol::Ssh], true),
        (b"SSH-2.0-x", vec![Protocol::Https], false),
        (b"220 mail", vec![Protocol::Ssh], false),
        (b"220 mail", vec![Protocol::Tcp], true),
    ] {
        let server = greeter(greeting).await;
        let mut plan = plan(&["127.0.0.1"]);
        plan.protocols = protocols;
        let sandbox = Sandbox::toward(plan, &server.to_string()).await;
        let mut client = sandbox.connect().await;
        let mut first = [0; 8];
        let heard = client.read_exact(&mut first).await;
        assert_eq!(heard.is_ok(), works, "{greeting:?}");
        assert_eq!(sandbox.witness.causes().contains(&Cause::Protocol), !works);
    }
}

#[tokio::test]
async fn the_end_of_one_direction_leaves_the_other_open() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &address.to_string()).await;
    let mut client = sandbox.connect().await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.write_all(b"\x01ask").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut server).await.unwrap(), b"\x01ask");
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.write_all(b"answer").await.unwrap();
    drop(server);
    assert_eq!(all(&mut client).await.unwrap(), b"answer");
}

#[tokio::test]
async fn an_error_of_one_side_is_one_of_the_other() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &address.to_string()).await;
    let mut client = sandbox.connect().await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.write_all(b"\x01").await.unwrap();
    server.read_u8().await.unwrap();
    super::super::reset(server);
    assert!(is_reset(&all(&mut client).await));
}

#[tokio::test]
async fn tls_must_ask_for_the_name_that_was_judged() {
    let server = echo().await;
    let hosts = ["127.0.0.1", "named.test"];
    let sandbox = Sandbox::toward(plan(&hosts), &format!("named.test:{}", server.port())).await;
    sandbox.ward.dialler().lookups().know("named.test", &[server.ip()]);
    let (right, wrong) = (hello("named.test"), hello("other.test"));
    assert_eq!(exchange(&mut sandbox.connect().await, &right).await.unwrap(), right);
    assert!(is_reset(&exchange(&mut sandbox.connect().await, &wrong).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Mismatch]);
    // In pieces it is no other.
    let mut client = sandbox.connect().await;
    for piece in wrong.chunks(100) {
        if client.write_all(piece).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(is_reset(&all(&mut client).await));
}

#[tokio::test]
async fn beside_an_address_tls_may_ask_for_allowed_names_only() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1", "named.test"]), &server.to_string()).await;
    let (right, wrong, none) = (hello("named.test"), hello("other.test"), hello("127.0.0.1"));
    assert_eq!(exchange(&mut sandbox.connect().await, &right).await.unwrap(), right);
    assert_eq!(exchange(&mut sandbox.connect().await, &none).await.unwrap(), none);
    assert!(is_reset(&exchange(&mut sandbox.connect().await, &wrong).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Mismatch]);
}

#[tokio::test]
async fn what_cannot_be_judged_is_refused_where_it_has_to_be() {
    let server = echo().await;
    let mut ruled = plan(&["127.0.0.1"]);
    ruled.requests.push(RequestRule {
        pattern: DomainPattern::parse_allowed("127.0.0.1").unwrap(),
        methods: vec!["GET".into()],
        paths: Vec::new(),
        verdict: Switch::Allowed,
        rule: rule("127.0.0.1").rule,
    });
    let mut opaque = plan(&["127.0.0.1"]);
    opaque.refuse_opaque_tunnels = Switch::Allowed;
    for (plan, cause) in [(ruled, Cause::Request), (opaque, Cause::Protocol)] {
        let sandbox = Sandbox::toward(plan, &server.to_string()).await;
        assert!(is_reset(&exchange(&mut sandbox.connect().await, b"\x01").await));
        assert!(is_reset(&exchange(&mut sandbox.connect().await, &hello("127.0.0.1")).await));
        assert_eq!(sandbox.witness.causes(), [cause, cause]);
    }
}

#[tokio::test]
async fn a_megabyte_arrives_unharmed() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &server.to_string()).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut client = sandbox.connect().await;
    let (mut reader, mut writer) = client.split();
    let mut back = Vec::new();
    let (sent, read) = tokio::join!(
        async {
            writer.write_all(&bytes).await?;
            writer.shutdown().await
        },
        reader.read_to_end(&mut back)
    );
    sent.unwrap();
    read.unwrap();
    assert!(back == bytes);
}
