//! Reaching a target through another proxy.

use super::direct::{DialError, unreachable};
use super::route::Route;
use super::upstream::Upstream;
use crate::Via;
use crate::gateway::{Admitted, Ward};
use crate::http::{ParentProxyAddress, tunnel_over};
use http::HeaderValue;
use std::io;
use std::path::Path;
use std::time::Duration;
use stockade_policy::{Host, Switch};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a proxy has to make a tunnel: it looks up and connects itself.
const TIME: Duration = Duration::from_secs(60);
/// Where requests without TLS are expected.
const HTTP: u16 = 80;

/// A stream to a proxy that is asked for requests, not for a tunnel.
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// The stream.
    pub(crate) upstream: Upstream,
    /// What every request has to carry for the proxy.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Ward {
    /// Through the proxy behind a socket, which the settings name for this very host.
    pub(super) async fn dial_socket(
        &self,
        admitted: &Admitted,
        socket: &Path,
    ) -> Result<Upstream, DialError> {
        let proxy = in_time(UnixStream::connect(socket)).await;
        tunnel(admitted, proxy.map_err(|error| unreachable(admitted, error))?, None).await
    }

    /// Through the proxy that leads out of this network.
    pub(super) async fn dial_parent(
        &self,
        admitted: &Admitted,
        proxy: &ParentProxyAddress,
    ) -> Result<Upstream, DialError> {
        self.judge_led(admitted).await?;
        let stream = in_time(proxy.connect()).await.map_err(|error| unreachable(admitted, error))?;
        tunnel(admitted, stream, proxy.authorization()).await
    }

    /// Reaches the proxy that requests to a target go through when they are not in TLS. Many proxies make
    /// tunnels to the port of HTTPS only.
    pub(crate) async fn dial_forwarder(&self, admitted: &Admitted) -> Result<Forwarder, DialError> {
        self.judge_forwarded(admitted).await?;
        let routes = self.routes();
        let reached = match routes.of_request(&admitted.target) {
            Route::Direct => Err(io::Error::other("no proxy leads there any more")),
            Route::Socket(socket) => {
                in_time(UnixStream::connect(socket)).await.map(|proxy| (proxy.into(), None))
            }
            Route::Parent(proxy) => {
                in_time(proxy.connect()).await.map(|stream| (stream.into(), proxy.authorization()))
            }
        };
        // A tunnel that was made ahead of time has no use any more.
        drop(admitted.ready());
        let (upstream, authorization): (Upstream, _) = reached.map_err(|error| {
            admitted.failed();
            unreachable(admitted, error)
        })?;
        admitted.reached(upstream.peer());
        let authorization = authorization.and_then(|value| HeaderValue::try_from(value).ok()).map(secret);
        Ok(Forwarder { upstream, authorization })
    }

    /// Judges where a proxy would send a request to. It may look the name up anew for each.
    pub(crate) async fn judge_forwarded(&self, admitted: &Admitted) -> Result<(), DialError> {
        match self.routes().of_request(&admitted.target) {
            Route::Parent(_) => self.judge_led(admitted).await,
            Route::Direct | Route::Socket(_) => Ok(()),
        }
    }

    /// Judges where the proxy that leads out of this network would go.
    ///
    /// The proxy looks the name up itself, in its own network: which address it dials cannot be seen from
    /// here. Rules about addresses are kept as far as they can be: an address that was written literally is
    /// judged; and where the plan refuses addresses (private ones, or listed networks) the name is looked up
    /// here as well, must exist and must lead to nothing that is refused. Whoever wants less looked at allows
    /// private addresses; whoever wants more lists the host in `noProxy`.
    async fn judge_led(&self, admitted: &Admitted) -> Result<(), DialError> {
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
        Ok(())
    }
}

/// Asks the proxy at the other end of a stream for a tunnel.
async fn tunnel<S>(
    admitted: &Admitted,
    mut proxy: S,
    authorization: Option<&str>,
) -> Result<Upstream, DialError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    Upstream: From<S>,
{
    match in_time(tunnel_over(&mut proxy, &admitted.target, authorization)).await {
        Ok(()) => Ok(proxy.into()),
        // Requests need no tunnel, and what the client will say is not known. Anything else fails then.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && may_be_request(admitted) => {
            Upstream::ended().map_err(|error| unreachable(admitted, error))
        }
        Err(error) => Err(unreachable(admitted, error)),
    }
}

/// Whether a stream, of which nothing was heard, may well consist of requests.
fn may_be_request(admitted: &Admitted) -> bool {
    admitted.target.port == HTTP && admitted.via != Via::HttpProxy
}

fn secret(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

async fn in_time<T>(reaching: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(TIME, reaching).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
