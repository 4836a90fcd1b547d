//! One connection that the kernel led here.

use super::carry::carry;
use crate::Via;
use crate::dns::{self, Names};
use crate::gateway::{Wanted, Ward, refusal, reset};
use bytes::Bytes;
use rustix::net::sockopt::{ip_original_dst, ipv6_original_dst};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use stockade_policy::{Cause, Host, Target};
use tokio::net::TcpStream;

/// Name queries over TCP, whatever server they are meant for.
const DNS: u16 = 53;

/// Serves one connection that the kernel led here.
pub(crate) async fn serve(ward: Arc<Ward>, client: TcpStream) {
    let Some(destination) = original_destination(&client) else { return reset(client) };
    if destination.port() == DNS {
        // On the heap, as it is not what most connections are.
        return Box::pin(dns::serve_stream(ward, client)).await;
    }
    let Some(target) = wanted(&ward, destination) else {
        let target = Target { host: Host::from(destination.ip()), port: destination.port() };
        let reason = "no name stands for this address; it was not looked up in this sandbox".to_owned();
        let refusal = refusal(&target, Cause::NotListed, reason, None);
        ward.denied(&Wanted { target, via: Via::Transparent, spoken: None }, refusal);
        return reset(client);
    };
    match ward.admit(Wanted { target, via: Via::Transparent, spoken: None }).await {
        Ok(admitted) => carry(ward, client.into(), admitted, Bytes::new()).await,
        Err(_) => reset(client),
    }
}

/// Where a connection that is not served was to go.
pub(crate) fn destination(ward: &Ward, client: &TcpStream) -> Option<Target> {
    let to = original_destination(client)?;
    Some(wanted(ward, to).unwrap_or_else(|| Target { host: Host::from(to.ip()), port: to.port() }))
}

/// The name that an address of the pool stands for, or the address itself; nothing when it stands for none.
fn wanted(ward: &Ward, destination: SocketAddr) -> Option<Target> {
    let port = destination.port();
    let address = destination.ip();
    if !Names::is_pool(address) {
        return Some(Target { host: Host::from(address), port });
    }
    ward.names().host_of(address).map(|host| Target { host, port })
}

/// Where the program wanted to connect; nothing when it connected to the gateway itself.
fn original_destination(client: &TcpStream) -> Option<SocketAddr> {
    let local = client.local_addr().ok()?;
    let original = match local.ip().to_canonical() {
        IpAddr::V4(_) => ip_original_dst(client).map(SocketAddr::from),
        IpAddr::V6(_) => ipv6_original_dst(client).map(SocketAddr::from),
    };
    let original = original.ok()?;
    let destination = SocketAddr::new(original.ip().to_canonical(), original.port());
    let listener = SocketAddr::new(local.ip().to_canonical(), local.port());
    (destination != listener).then_some(destination)
}
