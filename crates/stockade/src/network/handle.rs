//! The gateway of a running command.

use super::NetworkError;
use super::equip::Equipment;
use super::witness::{Attending, Reporter};
use crate::backlog::Listener;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use stockade_isolate::{BoxFuture, DoorSocketKind, Sandbox, Teller};
use stockade_net::{Door, DoorKind, Gateway, GatewayOptions, Inward, Witness};
use stockade_policy::{Event, GatewayPlan, HostStatistics, NetworkStatistics, Publish};

/// Hosts in a report; the rest is in the sums.
const LISTED: usize = 20;

/// The gateway beside a command. Ends with it.
#[derive(Debug)]
pub(crate) struct Opened {
    handle: NetworkHandle,
    records: Listener,
    plan: GatewayPlan,
}

/// A way to the network of a running command.
#[derive(Clone, Debug)]
pub struct NetworkHandle {
    gateway: Arc<Gateway>,
    teller: Teller,
}

impl NetworkHandle {
    /// Judges by other rules from now on. Connections they refuse are closed. After an error the rules are
    /// those from before.
    pub fn change(&self, plan: Arc<GatewayPlan>) -> Result<(), NetworkError> {
        self.gateway.change(Arc::clone(&plan))?;
        self.teller.changed(plan);
        Ok(())
    }

    /// Ends every connection, once what was said before has been passed on. May be dropped and called again.
    pub(crate) async fn finish(&self) {
        self.gateway.close().await;
    }

    /// The ports of the sandbox that can be reached on this machine's loopback.
    pub fn published(&self) -> Vec<Publish> {
        self.gateway.published()
    }

    /// What went through so far.
    pub fn statistics(&self) -> NetworkStatistics {
        let counted = self.gateway.statistics();
        let mut hosts: Vec<HostStatistics> = counted
            .hosts
            .into_iter()
            .map(|(host, counts)| HostStatistics {
                host,
                connections: counts.connections,
                requests: counts.requests,
                refused: counts.refused,
                sent: counts.sent,
                received: counts.received,
            })
            .collect();
        hosts.sort_by_key(|host| std::cmp::Reverse((host.sent + host.received, host.refused)));
        hosts.truncate(LISTED);
        NetworkStatistics {
            connections: counted.total.connections,
            requests: counted.total.requests,
            refused: counted.total.refused,
            sent: counted.total.sent,
            received: counted.total.received,
            hosts,
        }
    }
}

impl Opened {
    /// A way to it.
    pub(crate) fn handle(&self) -> &NetworkHandle {
        &self.handle
    }

    /// The plan it was opened with, and a way to it.
    pub(crate) fn doorway(&self) -> (GatewayPlan, NetworkHandle) {
        (self.plan.clone(), self.handle.clone())
    }

    /// The next record. Never ends; may be dropped and called again.
    pub(crate) async fn next(&mut self) -> Event {
        self.records.next().await
    }

    /// The sums, and the records nobody has read.
    pub(crate) fn into_sums(mut self) -> (NetworkStatistics, VecDeque<Event>) {
        let last = std::iter::from_fn(|| self.records.take()).collect();
        (self.handle.statistics(), last)
    }
}

/// Opens the gateway of a sandbox whose plan has one.
pub(crate) fn open(
    equipment: Equipment,
    sandbox: &Arc<dyn Sandbox>,
    name: &str,
    kind: &'static str,
) -> Result<Option<Opened>, NetworkError> {
    let Some(plan) = equipment.plan.network.gateway() else { return Ok(None) };
    let doors: Vec<Door> = sandbox
        .doors()
        .into_iter()
        .map(|door| Door { kind: door_kind(door.kind), socket: door.socket })
        .collect();
    if doors.is_empty() {
        return Err(NetworkError::NoDoors { kind });
    }
    let teller = sandbox.teller();
    let (reporter, records) = Reporter::new(teller.clone(), name);
    let reporter = Arc::new(reporter);
    let gateway = Arc::new(Gateway::open(GatewayOptions {
        plan: Arc::new(plan.clone()),
        doors,
        reserved: equipment.reserved,
        inward: Some(Arc::new(Inside(Arc::downgrade(sandbox)))),
        witness: Arc::clone(&reporter) as Arc<dyn Witness>,
        termination: equipment.termination.clone(),
        vault: equipment.vault.clone(),
    })?);
    sandbox.attend(Arc::new(Attending { gateway: Arc::downgrade(&gateway), reporter }));
    let handle = NetworkHandle { gateway, teller };
    Ok(Some(Opened { handle, records, plan: plan.clone() }))
}

fn door_kind(kind: DoorSocketKind) -> DoorKind {
    match kind {
        DoorSocketKind::Transparent => DoorKind::Transparent,
        DoorSocketKind::DnsUdp => DoorKind::DnsUdp,
        DoorSocketKind::DnsTcp => DoorKind::DnsTcp,
        DoorSocketKind::Http => DoorKind::Http,
        DoorSocketKind::Socks => DoorKind::Socks,
        DoorSocketKind::Forward(port) => DoorKind::Forward(port),
    }
}

/// Makes sockets inside. Does not keep the sandbox alive.
struct Inside(Weak<dyn Sandbox>);

impl Inward for Inside {
    fn socket(&self) -> BoxFuture<'_, io::Result<OwnedFd>> {
        Box::pin(async {
            match self.0.upgrade() {
                Some(sandbox) => sandbox.socket_inside().await,
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        })
    }
}
