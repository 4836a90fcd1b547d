//! Judging connections, addresses and requests.

use super::host::{Host, Target};
use super::plan::GatewayPlan;
use super::ruling::{AddressOwner, Cause, NetRefusal, Ruling};
use crate::settings::Protocol;
use crate::{Switch, ViolationKind};
use std::net::IpAddr;
use std::sync::Arc;

/// Judges by a plan.
#[derive(Clone, Debug)]
pub struct NetJudge {
    plan: Arc<GatewayPlan>,
}

impl NetJudge {
    /// A judge for this plan.
    pub fn new(plan: Arc<GatewayPlan>) -> Self {
        Self { plan }
    }

    /// The plan.
    pub fn plan(&self) -> &GatewayPlan {
        &self.plan
    }

    /// Whether a name may be looked up: some port of it may be reached.
    pub fn name(&self, host: &Host) -> Ruling {
        let _ = host;
        self.refused(ViolationKind::Resolve, host.to_string(), Cause::NotListed)
    }

    /// Whether a connection may be made. `spoken` is what is known about its protocol.
    pub fn connect(&self, to: &Target, spoken: Option<Protocol>) -> Ruling {
        let _ = spoken;
        self.refused(ViolationKind::Connect, to.to_string(), Cause::NotListed)
    }

    /// Whether an allowed target may lead to this address. 
    pub fn address(&self, to: &Target, address: IpAddr, owner: AddressOwner) -> Ruling {
        let _ = (address, owner);
        self.refused(ViolationKind::Connect, to.to_string(), Cause::Address)
    }

    /// Whether one request may be sent to an allowed target. The path is without its query.
    pub fn request(&self, to: &Target, method: &str, path: &str) -> Ruling {
        let _ = (method, path);
        self.refused(ViolationKind::Connect, to.to_string(), Cause::Request)
    }

    fn refused(&self, kind: ViolationKind, subject: String, cause: Cause) -> Ruling {
        Ruling::Refused(Box::new(NetRefusal {
            kind,
            subject,
            cause,
            reason: String::new(),
            told: None,
            rule: None,
            suggestion: None,
            askable: Switch::Refused,
        }))
    }
}
