//! Ports that cross the wall on request: published from inside, forwarded from the host, and those of proxies
//! that take our place.

use super::accept::reset;
use super::admit::refusal;
use super::admitted::{Admitted, Wanted};
use super::ward::Ward;
use crate::dial::Upstream;
use crate::relay::relay;
use crate::{Inward, Via};
use bytes::Bytes;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, Host, Layer, Origin, Publish, RuleRef, Target};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Both ends are on this machine.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Leads one connection from the host's loopback to a port inside.
pub(super) async fn serve_published(
    ward: Arc<Ward>,
    client: TcpStream,
    inward: Arc<dyn Inward>,
    Publish { host, inside }: Publish,
) {
    let reached = timeout(CONNECT_TIME, connect_inside(&*inward, inside)).await;
    let rule = flag("--publish", host, inside);
    carry(&ward, client, Via::Publish, inside, rule, reached.unwrap_or_else(|_| Err(timed_out()))).await;
}

/// Leads one connection from inside to a port of the host's loopback.
pub(super) async fn serve_forwarded(ward: Arc<Ward>, client: TcpStream, port: u16) {
    // The door stays when another plan takes the port away.
    if !ward.judge().plan().forward.iter().any(|forward| forward.host == port) {
        let reason = "the port is no longer forwarded".to_owned();
        let refusal = refusal(&loopback(port), Cause::NotListed, reason, None);
        ward.denied(&Wanted { target: loopback(port), via: Via::Forward, spoken: None }, refusal);
        return reset(client);
    }
    let inside = client.local_addr().map_or(port, |door| door.port());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let reached = timeout(CONNECT_TIME, TcpStream::connect(address)).await;
    let rule = flag("--forward-port", inside, port);
    carry(&ward, client, Via::Forward, port, rule, reached.unwrap_or_else(|_| Err(timed_out()))).await;
}

/// Leads one client of a proxy of ours to the proxy on the host that takes its place, with rules of its own.
pub(crate) async fn serve_elsewhere(ward: Arc<Ward>, client: TcpStream, via: Via, port: u16, setting: &str) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let judge = ward.judge();
    let reached = timeout(CONNECT_TIME, TcpStream::connect(address)).await;
    let reached = reached.unwrap_or_else(|_| Err(timed_out()));
    let origin = Origin { layer: Layer::User, source: setting.to_owned(), key: setting.to_owned() };
    let rule = RuleRef { text: format!("{setting}: {port}"), origin };
    let admitted = ward.admit_port(Wanted { target: loopback(port), via, spoken: None }, rule);
    admitted.judged_by(&judge);
    join(client, admitted, reached).await;
}

async fn connect_inside(inward: &dyn Inward, port: u16) -> io::Result<TcpStream> {
    let socket = std::net::TcpStream::from(inward.socket().await?);
    socket.set_nonblocking(true)?;
    TcpSocket::from_std_stream(socket).connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

async fn carry(
    ward: &Arc<Ward>,
    client: TcpStream,
    via: Via,
    port: u16,
    rule: RuleRef,
    reached: io::Result<TcpStream>,
) {
    let admitted = ward.admit_port(Wanted { target: loopback(port), via, spoken: None }, rule);
    join(client, admitted, reached).await;
}

/// The option that leads one port to another, as it is written.
fn flag(option: &str, from: u16, to: u16) -> RuleRef {
    let origin = Origin { layer: Layer::Flag, source: option.to_owned(), key: String::new() };
    let text = if from == to { format!("{option} {to}") } else { format!("{option} {from}:{to}") };
    RuleRef { text, origin }
}

async fn join(client: TcpStream, admitted: Admitted, reached: io::Result<TcpStream>) {
    match reached {
        Ok(stream) => {
            // Whoever is to know of a crowd has been told.
            let Ok(place) = admitted.place().await else { return reset(client) };
            let _ = stream.set_nodelay(true);
            admitted.reached(stream.peer_addr().ok());
            let upstream = Upstream::from(stream).holding(place);
            // How it ended is in the record; nobody else is there to be told.
            let _ = relay(client, upstream, &admitted, Bytes::new()).await;
        }
        Err(_) => {
            admitted.failed();
            reset(client);
        }
    }
}

pub(super) fn loopback(port: u16) -> Target {
    Target { host: Host::Address(Ipv4Addr::LOCALHOST.into()), port }
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}
