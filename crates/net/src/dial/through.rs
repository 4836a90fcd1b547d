//! Reaching a target through another proxy.

use super::direct::{DialError, unreachable};
use super::upstream::Upstream;
use crate::gateway::{Admitted, Ward};
use crate::http::{ParentProxyAddress, tunnel_over, tunnel_through};
use std::io;
use std::path::Path;
use std::time::Duration;
use stockade_policy::{Host, Switch};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a proxy has to make a tunnel: it looks up and connects itself.
const TIME: Duration = Duration::from_secs(60);

impl Ward {
    /// Through the proxy behind a socket, which the settings name for this very host.
    pub(super) async fn dial_socket(
        &self,
        admitted: &Admitted,
        socket: &Path,
    ) -> Result<Upstream, DialError> {
        let tunnel = async {
            let mut stream = UnixStream::connect(socket).await?;
            tunnel_over(&mut stream, &admitted.target, None).await?;
            Ok(Upstream::from(stream))
        };
        in_time(tunnel).await.map_err(|error| unreachable(admitted, error))
    }

    /// Through the proxy that leads out of this network.
    ///
    /// The proxy looks the name up itself, in its own network: which address it dials cannot be seen from
    /// here. Rules about addresses are kept as far as they can be: an address that was written literally is
    /// judged; and where the plan refuses addresses (private ones, or listed networks) the name is looked up
    /// here as well, must exist and must lead to nothing that is refused. Whoever wants less looked at allows
    /// private addresses; whoever wants more lists the host in `noProxy`.
    pub(super) async fn dial_parent(
        &self,
        admitted: &Admitted,
        proxy: &ParentProxyAddress,
    ) -> Result<Upstream, DialError> {
        match &admitted.target.host {
            Host::Address(address) => {
                self.judged(admitted, &[*address])?;
            }
            Host::Name(name) => {
                let judge = self.judge();
                let plan = judge.plan();
                if plan.private_addresses == Switch::Refused || !plan.denied_addresses.is_empty() {
                    let addresses = self.looked_up(admitted, name).await?;
                    self.judged(admitted, &addresses)?;
                }
            }
        }
        let tunnel = in_time(tunnel_through(proxy, &admitted.target)).await;
        tunnel.map(Upstream::from).map_err(|error| unreachable(admitted, error))
    }
}

async fn in_time<T>(tunnel: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(TIME, tunnel).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
