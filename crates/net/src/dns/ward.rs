//! The gateway as the resolver sees it.

use super::names::Names;
use super::resolve::{Existence, Surroundings};
use super::sys;
use crate::BoxFuture;
use crate::dial::Route;
use crate::gateway::Ward;
use std::io;
use std::sync::Arc;
use stockade_policy::{Host, NetJudge, NetRefusal, Target};

/// Ports that proxies are told apart by. Which one is wanted is not known yet.
const WEB: [u16; 2] = [443, 80];

impl Surroundings for Ward {
    fn judge(&self) -> Arc<NetJudge> {
        self.judge()
    }

    fn names(&self) -> &Names {
        self.names()
    }

    fn refuse(&self, refusal: NetRefusal) {
        self.count_refused_name(&refusal.subject);
        self.refuse(refusal);
    }

    fn exists<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Existence>> {
        Box::pin(async move {
            let Host::Name(name) = host else { return Ok(Existence::Unknown) };
            // A proxy that leads out of this network may know names that nobody knows in here.
            if WEB.iter().any(|port| self.routes().to(&target(host, *port)) != Route::Direct) {
                return Ok(Existence::Real);
            }
            match self.addresses_of(name).await {
                Ok(found) if found.is_empty() => Ok(Existence::Unknown),
                Ok(_) => Ok(Existence::Real),
                Err(error) if sys::is_no_such_name(&error) => Ok(Existence::Unknown),
                Err(error) => Err(error),
            }
        })
    }
}

fn target(host: &Host, port: u16) -> Target {
    Target { host: host.clone(), port }
}
