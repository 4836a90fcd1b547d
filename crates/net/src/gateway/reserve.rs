//! Ports of the host, taken before anything runs that would be published on them.

use super::GatewayError;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use stockade_policy::Publish;

/// Ports of the host's loopback that nobody else can take any more.
#[derive(Debug, Default)]
pub struct Reserved(Vec<(Publish, TcpListener)>);

impl Reserved {
    /// Takes the ports that a plan publishes.
    pub fn take(wanted: &[Publish]) -> Result<Self, GatewayError> {
        wanted.iter().map(|port| Ok((*port, listen(*port)?))).collect::<Result<_, _>>().map(Self)
    }

    /// The listener for a port: the one that was taken, or a new one.
    pub(super) fn listener(&mut self, port: Publish) -> Result<TcpListener, GatewayError> {
        match self.0.iter().position(|(known, _)| *known == port) {
            Some(at) => Ok(self.0.swap_remove(at).1),
            None => listen(port),
        }
    }
}

fn listen(port: Publish) -> Result<TcpListener, GatewayError> {
    let made = TcpListener::bind((Ipv4Addr::LOCALHOST, port.host)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    made.map_err(|source: io::Error| GatewayError::Publish { host: port.host, inside: port.inside, source })
}
