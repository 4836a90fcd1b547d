//! Dialling a target that was let in.

use super::lookup::Listing;
use super::race::race;
use super::route::Route;
use super::upstream::Upstream;
use crate::gateway::{Admitted, Denied, Ward};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use stockade_policy::{Host, NetRefusal, Ruling, Target};

/// Why a target was not reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// What the name leads to may not be reached; whoever is to know has been told.
    #[error("{} is refused: {}", .0.refusal.subject, .0.refusal.reason)]
    Denied(Denied),
    /// Nobody answers there.
    #[error("cannot reach {target}: {source}")]
    Unreachable {
        /// The target.
        target: Target,
        /// What went wrong.
        source: io::Error,
    },
}

impl Ward {
    /// Reaches a target that was let in: the connection made ahead, or a new one.
    pub(crate) async fn dial(self: &Arc<Self>, admitted: &Admitted) -> Result<Upstream, DialError> {
        if let Some(ready) = admitted.ready() {
            return Ok(ready);
        }
        admitted.dials().map_err(DialError::Denied)?;
        let target = &admitted.target;
        let judge = self.judge();
        let routes = self.routes();
        let reached = match routes.to(target) {
            Route::Direct => self.dial_directly(admitted).await,
            Route::Socket(socket) => self.dial_socket(admitted, socket).await,
            Route::Parent(proxy) => self.dial_parent(admitted, proxy).await,
        };
        match &reached {
            Ok(upstream) if matches!(routes.to(target), Route::Direct) => {
                admitted.reached_target(upstream.peer());
                admitted.judged_by(&judge);
            }
            Ok(upstream) => admitted.reached(upstream.peer()),
            Err(DialError::Unreachable { .. }) => admitted.failed(),
            Err(DialError::Denied(_)) => {}
        }
        reached
    }

    /// Reaches the target now and keeps the connection for whoever dials next.
    ///
    /// For proxies, which have to say whether it worked before the first byte is carried.
    pub(crate) async fn dial_ahead(self: &Arc<Self>, admitted: &Admitted) -> Result<(), DialError> {
        let upstream = self.dial(admitted).await?;
        admitted.keep(upstream);
        Ok(())
    }

    async fn dial_directly(&self, admitted: &Admitted) -> Result<Upstream, DialError> {
        let addresses = match &admitted.target.host {
            Host::Address(address) => [*address].as_slice().into(),
            Host::Name(name) => self.looked_up(admitted, name).await?,
        };
        let allowed = self.judged(admitted, &addresses)?;
        let place = admitted.place().await.map_err(DialError::Denied)?;
        let reached = race(&allowed, admitted.target.port, place).await;
        let (stream, place) = reached.map_err(|error| unreachable(admitted, error))?;
        Ok(Upstream::from(stream).holding(place))
    }

    /// The addresses of a name that may be looked up.
    pub(crate) async fn addresses_of(&self, name: &str) -> io::Result<Arc<[IpAddr]>> {
        let listing = match self.judge().lists(&Host::Name(name.to_owned())) {
            true => Listing::Named,
            false => Listing::Among,
        };
        self.dialler().lookups().addresses(name, listing).await
    }

    async fn looked_up(&self, admitted: &Admitted, name: &str) -> Result<Arc<[IpAddr]>, DialError> {
        let looked = self.addresses_of(name).await;
        looked.map_err(|error| unreachable(admitted, error))
    }

    /// Those of these addresses that the target may lead to; a refusal when there are none.
    fn judged(&self, admitted: &Admitted, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, DialError> {
        let judge = admitted.judge();
        let mut allowed = Vec::with_capacity(addresses.len());
        let mut refused: Option<Box<NetRefusal>> = None;
        for address in addresses {
            let owner = self.dialler().owner(*address).map_err(|error| unreachable(admitted, error))?;
            match judge.address(&admitted.target, *address, owner) {
                Ruling::Allowed(_) => allowed.push(*address),
                Ruling::Refused(refusal) => refused = Some(refusal),
            }
        }
        match refused {
            Some(refusal) if allowed.is_empty() => Err(DialError::Denied(admitted.refuse(*refusal))),
            None if allowed.is_empty() => {
                let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                Err(unreachable(admitted, error))
            }
            _ => Ok(allowed),
        }
    }
}

pub(super) fn unreachable(admitted: &Admitted, source: io::Error) -> DialError {
    DialError::Unreachable { target: admitted.target.clone(), source }
}
