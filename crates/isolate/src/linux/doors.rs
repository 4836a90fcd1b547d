//! The listening sockets of a sandbox's network: which there are, and their way to whoever serves them.

use super::lookup::NAME_PORT;
use super::sys::Carries;
use super::undelivered::Undelivered;
use super::wire::MAX_DOORS;
use crate::{DoorSocket, DoorSocketKind};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stockade_policy::GatewayPlan;
use tokio::sync::oneshot;

/// Where the kernel leads connections to anywhere. Nobody inside may listen there.
pub(crate) const TRANSPARENT_PORT: u16 = 1;

/// One socket the first process makes.
pub(crate) struct DoorStep {
    /// What comes in there; nothing where the launcher itself listens.
    pub(crate) kind: Option<DoorSocketKind>,
    pub(crate) address: SocketAddr,
    pub(crate) carries: Carries,
}

/// The sockets a plan needs, each for IPv4 and IPv6.
pub(crate) fn steps(plan: &GatewayPlan) -> Vec<DoorStep> {
    let everywhere = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let mut steps = Vec::new();
    let mut add = |kind, addresses: [IpAddr; 2], port, carries| {
        steps.extend(addresses.map(|address| DoorStep {
            kind,
            address: SocketAddr::new(address, port),
            carries,
        }));
    };
    add(Some(DoorSocketKind::Transparent), everywhere, TRANSPARENT_PORT, Carries::Streams);
    add(Some(DoorSocketKind::DnsUdp), everywhere, NAME_PORT, Carries::Datagrams);
    add(Some(DoorSocketKind::DnsTcp), everywhere, NAME_PORT, Carries::Streams);
    if let Some(proxies) = plan.proxies {
        add(Some(DoorSocketKind::Http), loopback, proxies.http, Carries::Streams);
        add(Some(DoorSocketKind::Socks), loopback, proxies.socks, Carries::Streams);
    }
    for port in &plan.forward {
        add(Some(DoorSocketKind::Forward(port.host)), loopback, port.inside, Carries::Streams);
    }
    add(None, everywhere, 0, Carries::Refusals);
    steps
}

/// Where there is no network: only the kernel's words about lookups, so that it is known what was asked for.
pub(crate) fn lookups() -> Vec<DoorStep> {
    let address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    vec![DoorStep { kind: None, address, carries: Carries::Refusals }]
}

/// The launcher's end: what has come from inside and is waited for.
#[derive(Default)]
pub(crate) struct Arrivals {
    doors: Mutex<Vec<DoorSocket>>,
    /// Connections over IPv6 are led to the gateway as well.
    six: AtomicBool,
    /// Where the kernel tells of datagrams that went nowhere.
    pub(crate) undelivered: Undelivered,
    awaited: Mutex<Awaited>,
}

/// Sockets somebody waits for.
#[derive(Default)]
struct Awaited {
    last: u32,
    waiting: HashMap<u32, oneshot::Sender<io::Result<OwnedFd>>>,
    closed: bool,
}

impl Arrivals {
    /// Takes in listening sockets; `numbers` are those of a report.
    pub(crate) fn take_in(&self, steps: &[DoorStep], numbers: [u16; MAX_DOORS], sockets: Vec<OwnedFd>) {
        let numbers = numbers.into_iter().filter(|number| *number != 0);
        let named = numbers.filter_map(|number| steps.get(usize::from(number) - 1));
        for (step, socket) in named.zip(sockets) {
            let Some(kind) = step.kind else {
                self.undelivered.take_in(socket);
                continue;
            };
            if kind == DoorSocketKind::Transparent && step.address.is_ipv6() {
                self.six.store(true, Ordering::Relaxed);
            }
            self.doors().push(DoorSocket { kind, socket });
        }
    }

    /// Gives them away.
    pub(crate) fn give_away(&self) -> Vec<DoorSocket> {
        std::mem::take(&mut *self.doors())
    }

    /// What the gateway stands on, in words.
    pub(crate) fn detail(&self) -> &'static str {
        if self.six.load(Ordering::Relaxed) {
            "nft redirect, IPv4 and IPv6"
        } else {
            "nft redirect, IPv4 only"
        }
    }

    /// The number of a socket that is to be asked for, and its way here. Nothing when none will come any more.
    pub(crate) fn expect(&self) -> Option<(u32, oneshot::Receiver<io::Result<OwnedFd>>)> {
        let mut awaited = self.awaited();
        if awaited.closed {
            return None;
        }
        awaited.last = awaited.last.wrapping_add(1);
        let (sender, receiver) = oneshot::channel();
        let id = awaited.last;
        awaited.waiting.insert(id, sender);
        Some((id, receiver))
    }

    /// A socket that was asked for.
    pub(crate) fn arrived(&self, id: u32, errno: i32, socket: Option<OwnedFd>) {
        let waiting = self.awaited().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let socket = socket.ok_or_else(|| io::Error::from_raw_os_error(errno));
            // Whoever asked may have given up.
            let _ = waiting.send(socket);
        }
    }

    /// Nothing comes any more.
    pub(crate) fn close(&self) {
        let mut awaited = self.awaited();
        awaited.closed = true;
        awaited.waiting.clear();
    }

    fn doors(&self) -> MutexGuard<'_, Vec<DoorSocket>> {
        // Entries are added and removed whole, whatever became of who held the lock.
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
