//! How the network's judge, which is not part of a sandbox, tells what happened in it.

use crate::BoxFuture;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use stockade_policy::{GatewayPlan, Reply, RuleRef, ViolationKind};

/// What a refusal is about: a flood of one must not hide the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Concern {
    /// What may be reached, and everything else.
    #[default]
    Reach,
    /// A secret, or what stands for it.
    Secret,
    /// Addresses that a name must not lead to.
    Address,
    /// Names that must agree.
    Agreement,
}

/// Something about the network that was, or would be, refused.
#[derive(Clone, Debug, PartialEq)]
pub struct NetNote {
    /// What was tried.
    pub kind: ViolationKind,
    /// What it is about.
    pub concern: Concern,
    /// `host:port`, a name, a request.
    pub subject: String,
    /// Why not, in one sentence.
    pub reason: String,
    /// The rule that decided, where one did.
    pub rule: Option<RuleRef>,
    /// The option that would have allowed it.
    pub suggestion: Option<String>,
    /// The inner end of the connection, by which its process is found: the address it comes from.
    pub peer: Option<SocketAddr>,
    /// Where the process inside connected to. Less exact than `peer`: the last one that did is taken.
    pub destination: Option<SocketAddr>,
}

/// A process inside that made a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetProcess {
    /// As the sandbox numbers it.
    pub pid: u32,
    /// Its program, where that is known.
    pub program: Option<String>,
}

/// Whoever passes on what a [`Teller`] is told: a provider's part.
pub trait Ear: Send + Sync {
    /// Something was refused.
    fn refused(&self, note: NetNote);
    /// Somebody is to be asked.
    fn ask(&self, note: NetNote) -> BoxFuture<'static, Reply>;
    /// The rules changed.
    fn changed(&self, plan: Arc<GatewayPlan>);
    /// Who connected from this inner address, where that is known by now.
    fn process(&self, peer: SocketAddr) -> Option<NetProcess>;
}

/// A handle through which violations of and questions about the network become part of the commands'
/// events and outcomes. It does not keep the sandbox alive.
#[derive(Clone, Default)]
pub struct Teller(Option<Arc<dyn Ear>>);

impl Teller {
    /// A handle that tells this one.
    pub fn new(ear: Arc<dyn Ear>) -> Self {
        Self(Some(ear))
    }

    /// Records a violation, with the process that is behind it where that can be found. What is told before
    /// a command ends is in its outcome.
    pub fn refused(&self, note: NetNote) {
        if let Some(ear) = &self.0 {
            ear.refused(note);
        }
    }

    /// Asks whether it may be done after all, and waits. A no is recorded as a violation; without anybody to
    /// ask, and when the sandbox ends, it is a no.
    pub async fn ask(&self, note: NetNote) -> Reply {
        match &self.0 {
            Some(ear) => ear.ask(note).await,
            None => Reply::Deny,
        }
    }

    /// The network is judged by other rules from now on.
    pub fn changed(&self, plan: Arc<GatewayPlan>) {
        if let Some(ear) = &self.0 {
            ear.changed(plan);
        }
    }
}

impl Teller {
    /// Who connected from this inner address, where that is known by now.
    pub fn process(&self, peer: SocketAddr) -> Option<NetProcess> {
        self.0.as_ref()?.process(peer)
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Teller" } else { "Teller(nobody)" })
    }
}
