//! Reaching a target: one lookup, every answer judged, the judged address dialled.

mod direct;
mod lookup;
mod owner;
mod race;
mod route;
mod through;
mod upstream;

pub(crate) use direct::DialError;
pub(crate) use lookup::Lookups;
pub(crate) use owner::Owners;
pub(crate) use route::{Route, Routes};
pub(crate) use through::Forwarder;
pub(crate) use upstream::Upstream;

use std::net::IpAddr;
use stockade_policy::AddressOwner;

/// What dialling remembers for one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Dialler {
    lookups: Lookups,
    owners: Owners,
}

impl Dialler {
    /// Looks names up, once for everybody who asks at the same time.
    pub(crate) fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// Whose address it is; nobody can tell on an error.
    pub(crate) fn owner(&self, address: IpAddr) -> std::io::Result<AddressOwner> {
        self.owners.owner(address)
    }
}
