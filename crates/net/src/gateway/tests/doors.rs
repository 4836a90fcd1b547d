//! Doors, published and forwarded ports.

use super::super::testing::{Recorder, plan};
use super::super::{Gateway, GatewayError, GatewayOptions};
use super::{all, echo, exchange, is_reset};
use crate::{BoxFuture, Door, DoorKind, Inward, Verdict, Via};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, ForwardPort, GatewayPlan, ParentProxy, Publish};
use tokio::net::TcpStream;

/// The network of the test itself.
struct Here;

impl Inward for Here {
    fn socket(&self) -> BoxFuture<'_, io::Result<OwnedFd>> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
        Box::pin(async move { Ok(socket?) })
    }
}

fn door(kind: DoorKind) -> (SocketAddr, Door) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    (listener.local_addr().unwrap(), Door { kind, socket: listener.into() })
}

fn forwarding(door: SocketAddr, server: SocketAddr) -> GatewayPlan {
    let forward = vec![ForwardPort { inside: door.port(), host: server.port() }];
    GatewayPlan { forward, ..GatewayPlan::default() }
}

fn open(plan: GatewayPlan, doors: Vec<Door>, witness: &Arc<Recorder>) -> Result<Gateway, GatewayError> {
    Gateway::open(GatewayOptions {
        reserved: crate::Reserved::default(),
        plan: Arc::new(plan),
        doors,
        inward: Some(Arc::new(Here)),
        witness: witness.clone(),
        termination: None,
        vault: None,
    })
}

#[tokio::test]
async fn ports_of_the_host_can_be_reached_until_the_gateway_is_gone() {
    let server = echo().await;
    let (address, door) = door(DoorKind::Forward(server.port()));
    let witness = Recorder::new();
    let gateway = open(forwarding(address, server), vec![door], &witness).unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    assert_eq!(exchange(&mut client, b"hello").await.unwrap(), b"hello");
    let record = &witness.records(1).await[0];
    assert_eq!((record.via, record.verdict, record.sent), (Via::Forward, Verdict::Allowed, 5));
    let mut left = TcpStream::connect(address).await.unwrap();
    drop(gateway);
    let _ = all(&mut left).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn ports_inside_can_be_published() {
    let server = echo().await;
    let witness = Recorder::new();
    let published = Publish { host: 0, inside: server.port() };
    let plan = GatewayPlan { publish: vec![published], ..GatewayPlan::default() };
    let gateway = open(plan, Vec::new(), &witness).unwrap();
    let port = gateway.published()[0].host;
    assert_ne!(port, 0);
    let mut client = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert_eq!(exchange(&mut client, b"hello").await.unwrap(), b"hello");
    assert_eq!(witness.records(1).await[0].via, Via::Publish);
    // A plan without it closes the port and what runs over it.
    let mut left = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    gateway.change(Arc::new(GatewayPlan::default())).unwrap();
    assert!(is_reset(&all(&mut left).await));
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn a_forwarded_port_that_the_plan_lost_is_closed() {
    let server = echo().await;
    let (address, door) = door(DoorKind::Forward(server.port()));
    let witness = Recorder::new();
    let gateway = open(forwarding(address, server), vec![door], &witness).unwrap();
    let mut left = TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    gateway.change(Arc::new(GatewayPlan::default())).unwrap();
    assert!(is_reset(&all(&mut left).await));
    assert!(is_reset(&all(&mut TcpStream::connect(address).await.unwrap()).await));
    assert_eq!(witness.causes(), [Cause::NotListed]);
}

#[tokio::test]
async fn a_change_that_fails_changes_nothing() {
    let server = echo().await;
    let old = Publish { host: 0, inside: server.port() };
    let mut kept = plan(&["kept.test"]);
    kept.publish = vec![old];
    let gateway = open(kept, Vec::new(), &Recorder::new()).unwrap();
    let before = gateway.published();
    let mut port_taken = plan(&["new.test"]);
    port_taken.publish = vec![Publish { host: 0, inside: 2 }, Publish { host: server.port(), inside: 1 }];
    let mut no_route = plan(&["new.test"]);
    no_route.publish = vec![Publish { host: 0, inside: 3 }];
    no_route.upstreams.parent_proxy =
        Some(ParentProxy { http: Some("socks5://x.test".into()), ..ParentProxy::default() });
    for failing in [port_taken, no_route] {
        gateway.change(Arc::new(failing)).unwrap_err();
        assert_eq!(gateway.ward.judge().plan().allowed, plan(&["kept.test"]).allowed);
        assert_eq!(gateway.published(), before);
        let mut client = TcpStream::connect(("127.0.0.1", before[0].host)).await.unwrap();
        assert_eq!(exchange(&mut client, b"hello").await.unwrap(), b"hello");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_cannot_be_published() {
    let server = echo().await;
    let publish = vec![Publish { host: server.port(), inside: 1 }];
    let plan = GatewayPlan { publish, ..GatewayPlan::default() };
    assert!(matches!(open(plan, Vec::new(), &Recorder::new()), Err(GatewayError::Publish { .. })));
}

#[tokio::test]
async fn whoever_connects_to_the_transparent_door_itself_is_reset() {
    let (address, door) = door(DoorKind::Transparent);
    let _gateway = open(plan(&["127.0.0.1"]), vec![door], &Recorder::new()).unwrap();
    assert!(is_reset(&all(&mut TcpStream::connect(address).await.unwrap()).await));
}

#[test]
fn a_gateway_needs_a_runtime() {
    assert!(matches!(open(plan(&[]), Vec::new(), &Recorder::new()), Err(GatewayError::NoRuntime)));
}
