//! The sockets, and what comes in there.

use crate::support::*;
use rustix::net::sockopt;
use std::collections::HashMap;
use std::sync::Arc;
use stockade_isolate::{CreateError, DoorSocketKind, NativeProvider, Provider};
use stockade_policy::{Event, ForwardPort, GatewayPlan, LayerState, ProxyPorts, WallLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, UdpSocket};

#[tokio::test]
async fn every_door_is_there_once() {
    let dir = scratch();
    let forward: Vec<_> = (0..9).map(|at| ForwardPort { inside: 7000 + at, host: 8000 + at }).collect();
    let network = GatewayPlan {
        proxies: Some(ProxyPorts { http: 3128, socks: 1080 }),
        forward: forward.clone(),
        ..GatewayPlan::default()
    };
    let sandbox = create(plan(dir.path(), gateway(network))).await;
    let doors = sandbox.doors();
    let mut counted: HashMap<String, usize> = HashMap::new();
    for door in &doors {
        *counted.entry(format!("{:?}", door.kind)).or_default() += 1;
    }
    for kind in ["Transparent", "DnsUdp", "DnsTcp", "Http", "Socks"] {
        assert_eq!(counted.remove(kind), Some(2), "{kind}");
    }
    for port in forward {
        assert_eq!(counted.remove(&format!("Forward({})", port.host)), Some(2), "{port:?}");
    }
    assert!(counted.is_empty(), "{counted:?}");
    let http = doors.iter().find(|door| door.kind == DoorSocketKind::Http).unwrap();
    let address = std::net::TcpListener::from(http.socket.try_clone().unwrap()).local_addr().unwrap();
    assert_eq!(address, "127.0.0.1:3128".parse().unwrap());
    assert!(sandbox.doors().is_empty());
    let detail = "nft redirect, IPv4 and IPv6".to_owned();
    assert_eq!(sandbox.enforcement().state(WallLayer::Gateway), Some(&LayerState::Enforced { detail }));
    sandbox.destroy().await;
}

#[tokio::test]
async fn two_doors_at_one_port_are_an_error_that_names_it() {
    let dir = scratch();
    let network = GatewayPlan {
        forward: vec![ForwardPort { inside: 7000, host: 1 }, ForwardPort { inside: 7000, host: 2 }],
        ..GatewayPlan::default()
    };
    let plan = Arc::new(plan(dir.path(), gateway(network)));
    let error = NativeProvider::new().create(plan).await.err().unwrap();
    assert!(matches!(&error, CreateError::Plan { reason } if reason.contains("port 7000")), "{error}");
}

#[tokio::test]
async fn every_connection_comes_in_with_its_destination() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let mut doors = sandbox.doors();
    let [four, six] = take(&mut doors, DoorSocketKind::Transparent).try_into().unwrap();
    for (door, address) in [(four, "1.2.3.9:443"), (six, "[2606:4700::9]:8443")] {
        let door = listener(door);
        let act = format!("connect {address}");
        let inside = run(&sandbox, &act, dir.path());
        let serving = async {
            let (mut stream, peer) = door.accept().await.unwrap();
            let original = if peer.is_ipv4() {
                sockopt::ip_original_dst(&stream).unwrap().into()
            } else {
                std::net::SocketAddr::from(sockopt::ipv6_original_dst(&stream).unwrap())
            };
            stream.write_all(original.to_string().as_bytes()).await.unwrap();
        };
        let ((said, outcome), ()) = both(inside, serving).await;
        assert_eq!((said, outcome.exit_code), (vec![address.to_owned()], 0));
    }
    let (said, outcome) = run(&sandbox, "own-loopback", dir.path()).await;
    assert_eq!(outcome.exit_code, 0);
    assert_eq!(said, ["127.0.0.1:0", "127.9.9.9:0", "[::1]:0"]);
    sandbox.destroy().await;
}

#[tokio::test]
async fn names_are_asked_for_at_the_door_whatever_server_is_meant() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(open()))).await;
    let mut doors = sandbox.doors();
    let [four, six] = take(&mut doors, DoorSocketKind::DnsUdp).try_into().unwrap();
    let four = UdpSocket::from_std(four.into()).unwrap();
    // An answer to loopback needs its source named, which is the gateway's to do.
    for (server, heard) in
        [("8.8.8.8:53", "answer"), ("10.255.255.53:53", "answer"), ("127.0.0.53:53", "WouldBlock")]
    {
        let serving = async {
            let mut question = [0; 64];
            let (length, from) = four.recv_from(&mut question).await.unwrap();
            assert_eq!(&question[..length], b"question");
            four.send_to(b"answer", from).await.unwrap();
        };
        let act = format!("ask-name-server {server}");
        let ((said, _), ()) = both(run(&sandbox, &act, dir.path()), serving).await;
        assert_eq!(said, [heard], "{server}");
    }
    let six = UdpSocket::from_std(six.into()).unwrap();
    let act = "ask-name-server [2001:4860:4860::8888]:53";
    let mut question = [0; 64];
    let (_, arrived) = both(run(&sandbox, act, dir.path()), six.recv_from(&mut question)).await;
    assert_eq!(&question[..arrived.unwrap().0], b"question");
    let (said, _) = run(&sandbox, "datagram 8.8.8.8:443", dir.path()).await;
    assert_eq!(said, ["ConnectionRefused"]);
    sandbox.destroy().await;
}

#[tokio::test]
async fn a_port_inside_is_reached_with_a_socket_from_inside() {
    let dir = scratch();
    let sandbox = create(plan(dir.path(), gateway(GatewayPlan::default()))).await;
    let mut running = sandbox.exec(doing("serve", dir.path())).await.unwrap();
    let mut said = Vec::new();
    while lines(&said) != ["ready"] {
        match running.next().await {
            Some(Event::Stdout { data }) => said.extend(data),
            Some(Event::Exited(outcome)) => panic!("{outcome:?}"),
            _ => {}
        }
    }
    let socket = sandbox.socket_inside().await.unwrap();
    let socket = TcpSocket::from_std_stream(socket.into());
    let reading = async {
        let mut stream = socket.connect("127.0.0.1:8123".parse().unwrap()).await.unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).await.unwrap();
        told
    };
    let (told, (_, outcome, _)) = both(reading, finish(running)).await;
    assert_eq!((told.as_str(), outcome.exit_code), ("from inside", 0));
    sandbox.destroy().await;
    assert!(sandbox.socket_inside().await.is_err());
}
