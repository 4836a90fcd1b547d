//! SOCKS clients at a real door.

use crate::gateway::testing::{Recorder, plan};
use crate::{Door, DoorKind, Gateway, GatewayOptions, Termination, Verdict, Via};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use stockade_policy::{Cause, GatewayPlan, Upstreams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LOCALHOST: [u8; 4] = [127, 0, 0, 1];

/// A gateway with a SOCKS door, and where the door is.
pub(crate) fn open(
    plan: GatewayPlan,
    witness: &Arc<Recorder>,
    termination: Option<Arc<Termination>>,
) -> (Gateway, SocketAddr) {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Gateway::open(GatewayOptions {
        reserved: crate::Reserved::default(),
        plan: Arc::new(plan),
        doors: vec![Door { kind: DoorKind::Socks, socket: listener.into() }],
        inward: None,
        witness: Arc::clone(witness) as Arc<dyn crate::Witness>,
        termination,
        vault: None,
    });
    (gateway.unwrap(), address)
}

/// A client that wants this name, and what it was told.
pub(crate) async fn ask(door: SocketAddr, name: &[u8], port: u16) -> (TcpStream, u8) {
    let mut client = TcpStream::connect(door).await.unwrap();
    let length = u8::try_from(name.len()).unwrap();
    let request = [&[5, 1, 0, 5, 1, 0, 3, length][..], name, &port.to_be_bytes()].concat();
    client.write_all(&request).await.unwrap();
    let mut reply = [0; 12];
    client.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..3], [5, 0, 5]);
    (client, reply[3])
}

/// Gives back what it is sent, in capitals.
async fn shouting() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut said = Vec::new();
                stream.read_to_end(&mut said).await.unwrap();
                stream.write_all(&said.to_ascii_uppercase()).await.unwrap();
            });
        }
    });
    port
}

/// What comes back for `said`.
async fn shouted(mut client: TcpStream, said: &[u8]) -> Vec<u8> {
    client.write_all(said).await.unwrap();
    client.shutdown().await.unwrap();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).await.unwrap();
    heard
}

#[tokio::test]
async fn an_allowed_target_is_connected_and_recorded() {
    let (witness, port) = (Recorder::new(), shouting().await);
    let (_gateway, door) = open(plan(&["127.0.0.1"]), &witness, None);
    let (client, reply) = ask(door, b"127.0.0.1", port).await;
    assert_eq!(reply, 0);
    assert_eq!(shouted(client, b"\x01hello\n").await, b"\x01HELLO\n");
    let record = witness.records(1).await.remove(0);
    assert_eq!((record.via, record.verdict), (Via::Socks, Verdict::Allowed));
    assert_eq!((record.target, record.sent, record.received), (format!("127.0.0.1:{port}"), 7, 7));
}

#[tokio::test]
async fn both_dialects_and_every_kind_of_address_lead_there() {
    let (witness, port) = (Recorder::new(), shouting().await);
    let (_gateway, door) = open(plan(&["127.0.0.1"]), &witness, None);
    let port = port.to_be_bytes();
    let mapped = [&[0; 10][..], &[0xff; 2], &LOCALHOST].concat();
    for (request, reply) in [
        ([&[5, 1, 0, 5, 1, 0, 1][..], &LOCALHOST, &port].concat(), &[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0][..]),
        ([&[5, 1, 0, 5, 1, 0, 4][..], &mapped, &port].concat(), &[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        ([&[4, 1][..], &port, &LOCALHOST, b"me\0"].concat(), &[0, 0x5a, 0, 0, 0, 0, 0, 0]),
        ([&[4, 1][..], &port, &[0, 0, 0, 9], b"\x00127.0.0.1\0"].concat(), &[0, 0x5a, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut client = TcpStream::connect(door).await.unwrap();
        // What is said at once, without waiting for the reply, comes through as well.
        let heard = {
            client.write_all(&request).await.unwrap();
            shouted(client, b"\x01hello\n").await
        };
        assert_eq!(heard, [reply, b"\x01HELLO\n"].concat(), "{request:?}");
    }
    assert!(witness.causes().is_empty());
}

#[tokio::test]
async fn refusals_have_their_replies() {
    let witness = Recorder::new();
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap().port();
    let (_gateway, door) = open(plan(&["127.0.0.1"]), &witness, None);
    assert_eq!(ask(door, b"evil.test", 80).await.1, 2);
    assert_eq!(ask(door, b"127.0.0.2", 80).await.1, 2);
    assert_eq!(witness.causes(), [Cause::NotListed, Cause::NotListed]);
    assert_eq!(ask(door, b"127.0.0.1", closed).await.1, 5);
    assert_eq!(ask(door, b"127.0.0.1", 0).await.1, 1);
    assert_eq!(witness.causes()[2..], [Cause::Grammar]);
    for (request, expected, subject) in [
        (&[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80][..], 7, "127.0.0.1:80"),
        (&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0], 7, "0.0.0.0:0"),
        (&[5, 1, 0, 5, 1, 0, 9, 127, 0, 0, 1, 0, 80], 8, "unknown:0"),
    ] {
        let heard = shouted(TcpStream::connect(door).await.unwrap(), request).await;
        assert_eq!(heard[..4], [5, 0, 5, expected], "{request:?}");
        // Whatever is refused is on record.
        let told = witness.refusals.lock().unwrap().last().cloned().unwrap();
        assert_eq!((told.cause, told.subject.as_str()), (Cause::Grammar, subject));
        let record = witness.records.lock().unwrap().last().cloned().unwrap();
        assert_eq!((record.target.as_str(), record.verdict), (subject, Verdict::Refused));
        assert_eq!(record.reason.as_deref(), Some(told.reason.as_str()));
    }
    let four = shouted(TcpStream::connect(door).await.unwrap(), b"\x04\x01\x00\x50\x09\x09\x09\x09\0").await;
    assert_eq!(four[..2], [0, 0x5b]);
}

#[tokio::test]
async fn a_name_that_leads_where_it_must_not_is_refused() {
    let witness = Recorder::new();
    let denied_addresses = vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
    let (_gateway, door) = open(GatewayPlan { denied_addresses, ..plan(&["localhost"]) }, &witness, None);
    assert_eq!(ask(door, b"localhost", 80).await.1, 2);
    assert_eq!(witness.causes(), [Cause::Address]);
}

#[tokio::test]
async fn names_that_are_none_are_refused_before_they_are_judged() {
    let witness = Recorder::new();
    let (_gateway, door) = open(plan(&["*.allow.test"]), &witness, None);
    let bad: [&[u8]; 7] = [
        b"evil.test\0.allow.test",
        b"evil.test%00.allow.test",
        b"user@x.allow.test",
        "evil.test\u{ff0e}allow.test".as_bytes(),
        b"0x7f000001",
        b"a\r\n.allow.test",
        b"",
    ];
    for name in bad {
        assert_eq!(ask(door, name, 80).await.1, 1, "{}", name.escape_ascii());
    }
    assert_eq!(witness.causes(), [Cause::Grammar; 7]);
    let records = witness.records(7).await;
    assert!(records.iter().all(|record| (record.via, record.verdict) == (Via::Socks, Verdict::Refused)));
    let first = witness.refusals.lock().unwrap()[0].subject.clone();
    assert_eq!(first, "evil.test\0.allow.test:80");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_let_go() {
    let witness = Recorder::new();
    let (_gateway, door) = open(plan(&[]), &witness, None);
    let mut client = TcpStream::connect(door).await.unwrap();
    client.write_all(&[5, 1]).await.unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    assert!(started.elapsed() >= std::time::Duration::from_secs(10));
}

#[tokio::test]
async fn another_proxy_takes_our_place() {
    let witness = Recorder::new();
    let upstreams = Upstreams { socks_proxy_port: Some(shouting().await), ..Upstreams::default() };
    let (_gateway, door) = open(GatewayPlan { upstreams, ..plan(&[]) }, &witness, None);
    let heard = shouted(TcpStream::connect(door).await.unwrap(), b"\x05\x01\x00abc").await;
    assert_eq!(heard, b"\x05\x01\x00ABC");
    let record = witness.records(1).await.remove(0);
    assert_eq!((record.via, record.sent, record.received), (Via::Socks, 6, 6));
}
