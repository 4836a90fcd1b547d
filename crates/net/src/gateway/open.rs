//! Opening, changing and closing a gateway.

use super::accept::accept;
use super::admitted::Wanted;
use super::error::GatewayError;
use super::places::Places;
use super::publish::{loopback, serve_forwarded, serve_published};
use super::reserve::Reserved;
use super::statistics::Statistics;
use super::ward::Ward;
use crate::credentials::Vault;
use crate::tls::Termination;
use crate::{Door, DoorKind, Inward, Via, Witness, dns, http, socks, transparent};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stockade_policy::{GatewayPlan, Host, Publish, Target};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// How often it is looked whether connections have ended.
const A_MOMENT: Duration = Duration::from_millis(1);
/// Without a byte for so long, nothing is on its way any more.
const STALLED: Duration = Duration::from_secs(1);
/// As long as last words may take.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// What a gateway is made of.
pub struct GatewayOptions {
    /// What it lets through.
    pub plan: Arc<GatewayPlan>,
    /// The sandbox's listening sockets.
    pub doors: Vec<Door>,
    /// The ports to publish on, where they were taken beforehand.
    pub reserved: Reserved,
    /// The way into the sandbox's network; needed where ports are published.
    pub inward: Option<Arc<dyn Inward>>,
    /// Whoever is told what happens, and asked what may.
    pub witness: Arc<dyn Witness>,
    /// Looking into TLS.
    pub termination: Option<Arc<Termination>>,
    /// The secrets the sandbox sees stand-ins of.
    pub vault: Option<Arc<Vault>>,
}

/// The gateway of one sandbox. Dropping it ends every connection.
pub struct Gateway {
    pub(crate) ward: Arc<Ward>,
    places: Arc<Places>,
    inward: Option<Arc<dyn Inward>>,
    published: Mutex<Vec<Published>>,
}

/// A published port. Dropping it stops the listening.
struct Published {
    wanted: Publish,
    /// The port of the host that was to be had.
    host: u16,
    _listening: oneshot::Sender<()>,
}

/// A port that is about to be published.
struct Listening {
    wanted: Publish,
    host: u16,
    listener: TcpListener,
    inward: Arc<dyn Inward>,
}

impl Gateway {
    /// Serves the doors from now on, on the runtime this is called from.
    pub fn open(options: GatewayOptions) -> Result<Self, GatewayError> {
        tokio::runtime::Handle::try_current().map_err(|_| GatewayError::NoRuntime)?;
        let GatewayOptions { plan, doors, mut reserved, inward, witness, termination, vault } = options;
        let ward = Ward::new(Arc::clone(&plan), witness, termination, vault)?;
        let gateway = Self { ward, places: Places::for_clients(), inward, published: Mutex::default() };
        // Every door is tried before the first is served; what is spawned ends with `gateway` on an error.
        for Door { kind, socket } in doors {
            gateway.serve(kind, socket).map_err(|source| GatewayError::Door { kind, source })?;
        }
        let new = gateway.listen(&[], &plan.publish, &mut reserved)?;
        gateway.published_ports().extend(new.into_iter().map(|new| gateway.serve_port(new)));
        Ok(gateway)
    }

    /// Puts another plan in place. Connections that it refuses are closed.
    ///
    /// After an error nothing has changed: neither the rules nor the published ports.
    pub fn change(&self, plan: Arc<GatewayPlan>) -> Result<(), GatewayError> {
        // Locked to the end: of two plans at once, one is second in everything.
        let mut published = self.published_ports();
        let wanted = plan.publish.clone();
        let new = self.listen(&published, &wanted, &mut Reserved::default())?;
        self.ward.change(plan)?;
        published.retain(|port| wanted.contains(&port.wanted));
        published.extend(new.into_iter().map(|new| self.serve_port(new)));
        Ok(())
    }

    /// Waits until what programs said before they ended has been passed on, then ends every connection. For
    /// when the sandbox is gone: nobody inside can say more.
    pub async fn close(&self) {
        let (begin, mut since, mut moved) = (Instant::now(), Instant::now(), self.ward.moved());
        while self.ward.registry.is_busy() && since.elapsed() < STALLED && begin.elapsed() < LAST_WORDS {
            tokio::time::sleep(A_MOMENT).await;
            if self.ward.moved() != moved {
                (since, moved) = (Instant::now(), self.ward.moved());
            }
        }
        self.ward.end();
        // Each task has still to see it, and to tell its record.
        let told = Instant::now();
        while self.ward.registry.len() > 0 && told.elapsed() < STALLED {
            tokio::time::sleep(A_MOMENT).await;
        }
    }

    /// What was used so far.
    pub fn statistics(&self) -> Statistics {
        self.ward.statistics()
    }

    /// The name that an address inside stands for, where it stands for one.
    pub fn name_of(&self, address: IpAddr) -> Option<String> {
        self.ward.names().host_of(address).map(|host| host.to_string())
    }

    /// Counts something toward this host that was refused before it came to a door.
    pub fn turned_away(&self, host: &str) {
        // One spelling for an address, whoever tells of it.
        match host.parse::<IpAddr>() {
            Ok(address) => self.ward.count_refused_name(&Host::from(address).to_string()),
            Err(_) => self.ward.count_refused_name(host),
        }
    }

    /// The published ports, with the ports of the host's loopback they were given.
    pub fn published(&self) -> Vec<Publish> {
        let published = self.published_ports();
        published.iter().map(|port| Publish { host: port.host, inside: port.wanted.inside }).collect()
    }

    fn serve(&self, kind: DoorKind, socket: OwnedFd) -> io::Result<()> {
        let ward = Arc::clone(&self.ward);
        let places = Arc::clone(&self.places);
        if kind == DoorKind::DnsUdp {
            self.ward.spawn(dns::serve_udp(ward, socket));
            return Ok(());
        }
        let listener = listener(socket)?;
        match kind {
            DoorKind::Transparent => {
                let door = |ward: &Ward, client: &TcpStream| Wanted {
                    target: transparent::destination(ward, client).unwrap_or_else(|| door_of(client)),
                    via: Via::Transparent,
                    spoken: None,
                };
                self.ward.spawn(accept(ward, listener, places, door, transparent::serve));
            }
            DoorKind::DnsTcp => {
                self.ward.spawn(accept(ward, listener, places, at_door(Via::Transparent), dns::serve_stream));
            }
            DoorKind::Http => {
                self.ward.spawn(accept(ward, listener, places, at_door(Via::HttpProxy), http::serve_proxy));
            }
            DoorKind::Socks => {
                self.ward.spawn(accept(ward, listener, places, at_door(Via::Socks), socks::serve_socks));
            }
            DoorKind::Forward(port) => {
                let serve = move |ward, client| serve_forwarded(ward, client, port);
                self.ward.spawn(accept(ward, listener, places, at_port(Via::Forward, port), serve));
            }
            DoorKind::DnsUdp => {}
        }
        Ok(())
    }

    /// Listens on those of the wanted ports that are not published yet. Nobody is served there so far.
    fn listen(
        &self,
        published: &[Published],
        wanted: &[Publish],
        reserved: &mut Reserved,
    ) -> Result<Vec<Listening>, GatewayError> {
        let mut new: Vec<Listening> = Vec::new();
        for port in wanted {
            let known = published.iter().map(|port| port.wanted).chain(new.iter().map(|new| new.wanted));
            if known.into_iter().any(|known| known == *port) {
                continue;
            }
            let inward = Arc::clone(self.inward.as_ref().ok_or(GatewayError::NoWayIn)?);
            let taken = reserved.listener(*port)?;
            let unusable = |source| GatewayError::Publish { host: port.host, inside: port.inside, source };
            let host = taken.local_addr().map_err(unusable)?.port();
            let listener = TcpListener::from_std(taken).map_err(unusable)?;
            new.push(Listening { wanted: *port, host, listener, inward });
        }
        Ok(new)
    }

    /// Serves a port from now on.
    fn serve_port(&self, new: Listening) -> Published {
        let Listening { wanted, host, listener, inward } = new;
        let serve = move |ward, client| serve_published(ward, client, Arc::clone(&inward), wanted);
        let (ward, places) = (Arc::clone(&self.ward), Arc::clone(&self.places));
        let accepting = accept(ward, listener, places, at_port(Via::Publish, wanted.inside), serve);
        let (sender, gone) = oneshot::channel();
        self.ward.spawn(async move {
            tokio::select! {
                () = accepting => {}
                _ = gone => {}
            }
        });
        Published { wanted, host, _listening: sender }
    }

    fn published_ports(&self) -> MutexGuard<'_, Vec<Published>> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.ward.end();
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gateway").field("ward", &self.ward).finish_non_exhaustive()
    }
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("GatewayOptions").field("doors", &self.doors).finish_non_exhaustive()
    }
}

/// What a client of a proxy wants is not known before it is served: the proxy's own address.
fn at_door(via: Via) -> impl Fn(&Ward, &TcpStream) -> Wanted {
    move |_, client| Wanted { target: door_of(client), via, spoken: None }
}

fn at_port(via: Via, port: u16) -> impl Fn(&Ward, &TcpStream) -> Wanted {
    move |_, _| Wanted { target: loopback(port), via, spoken: None }
}

/// The address at which a client came in.
pub(crate) fn door_of(client: &TcpStream) -> Target {
    match client.local_addr() {
        Ok(address) => Target { host: Host::from(address.ip().to_canonical()), port: address.port() },
        Err(_) => loopback(0),
    }
}

fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
