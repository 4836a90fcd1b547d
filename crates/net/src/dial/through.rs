//! Reaching a target through another proxy.

use super::direct::{DialError, unreachable};
use super::route::Route;
use super::upstream::Upstream;
use crate::Via;
use crate::dns::is_no_such_name;
use crate::gateway::{Admitted, Ward, refusal};
use crate::http::{ParentProxyAddress, Reached, tunnel_over};
use crate::relay::bridge;
use crate::tls;
use http::HeaderValue;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use stockade_policy::{Cause, Host, Ruling, Switch};
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
        socket: &PathBuf,
    ) -> Result<Upstream, DialError> {
        self.judge_led(admitted).await?;
        let place = admitted.place().await.map_err(DialError::Denied)?;
        let by = Route::Socket(socket).to_string();
        let proxy = in_time(UnixStream::connect(socket)).await;
        let proxy = proxy.map_err(|error| not_through(admitted, &by, &error))?;
        Ok(tunnel(admitted, proxy, &by, None).await?.holding(place))
    }

    /// Through the proxy that leads out of this network.
    pub(super) async fn dial_parent(
        &self,
        admitted: &Admitted,
        proxy: &ParentProxyAddress,
    ) -> Result<Upstream, DialError> {
        self.judge_led(admitted).await?;
        let place = admitted.place().await.map_err(DialError::Denied)?;
        let stream = self.reach_parent(admitted, proxy).await?;
        let by = Route::Parent(proxy).to_string();
        Ok(tunnel(admitted, stream, &by, proxy.authorization()).await?.holding(place))
    }

    /// A stream to the proxy itself.
    async fn reach_parent(
        &self,
        admitted: &Admitted,
        proxy: &ParentProxyAddress,
    ) -> Result<Upstream, DialError> {
        let failed = |error| not_through(admitted, &Route::Parent(proxy).to_string(), &error);
        let stream = in_time(proxy.connect()).await.map_err(failed)?;
        if proxy.reached == Reached::Plainly {
            return Ok(stream.into());
        }
        // Two descriptors more.
        let one = admitted.place().await.map_err(DialError::Denied)?;
        let other = admitted.place().await.map_err(DialError::Denied)?;
        let peer = stream.peer_addr().ok();
        let bridged = match tls::connect_proxy(self, stream, &proxy.at).await {
            Ok(stream) => bridge(stream, peer),
            Err(error) => Err(error),
        };
        let (bridged, joining) = bridged.map_err(|error| unreachable(admitted, error))?;
        self.spawn(async move {
            joining.await;
            drop((one, other));
        });
        Ok(bridged.into())
    }

    /// Reaches the proxy that requests to a target go through when they are not in TLS. Many proxies make
    /// tunnels to the port of HTTPS only.
    pub(crate) async fn dial_forwarder(&self, admitted: &Admitted) -> Result<Forwarder, DialError> {
        self.judge_forwarded(admitted).await?;
        // A tunnel that was made ahead of time has no use any more. It has counted, and this takes its place.
        if admitted.ready().is_none() {
            admitted.dials().map_err(DialError::Denied)?;
        }
        let place = admitted.place().await.map_err(DialError::Denied)?;
        let routes = self.routes();
        let reached = match routes.of_request(&admitted.target) {
            Route::Direct => Err(unreachable(admitted, io::Error::other("no proxy leads there any more"))),
            Route::Socket(socket) => match in_time(UnixStream::connect(socket)).await {
                Ok(proxy) => Ok((Upstream::from(proxy), None)),
                Err(error) => Err(not_through(admitted, &Route::Socket(socket).to_string(), &error)),
            },
            Route::Parent(proxy) => {
                self.reach_parent(admitted, proxy).await.map(|stream| (stream, proxy.authorization()))
            }
        };
        let (upstream, authorization) = reached.inspect_err(|error| {
            if matches!(error, DialError::Unreachable { .. }) {
                admitted.failed();
            }
        })?;
        admitted.reached(upstream.peer());
        let authorization = authorization.and_then(|value| HeaderValue::try_from(value).ok()).map(secret);
        Ok(Forwarder { upstream: upstream.holding(place), authorization })
    }

    /// Judges where a proxy would send a request to. It may look the name up anew for each.
    pub(crate) async fn judge_forwarded(&self, admitted: &Admitted) -> Result<(), DialError> {
        match self.routes().of_request(&admitted.target) {
            Route::Parent(_) | Route::Socket(_) => self.judge_led(admitted).await,
            Route::Direct => Ok(()),
        }
    }

    /// Judges where another proxy would go.
    ///
    /// The proxy looks the name up itself, perhaps in another network: which address it dials cannot be seen
    /// from here, and it may well be any of those the name has. So the name is looked up here too, and must
    /// lead to nothing that is refused, not even besides something that is allowed.
    ///
    /// A name that does not exist here leads nowhere from here: that is what such proxies are for, and it
    /// passes. Where it cannot be found out whether it exists, it passes only where the plan has no rule about
    /// addresses of its own (it allows private ones and lists no network). Whoever wants more looked at lists
    /// the host in `noProxy`.
    async fn judge_led(&self, admitted: &Admitted) -> Result<(), DialError> {
        let name = match &admitted.target.host {
            Host::Address(address) => return self.judge_all(admitted, &[*address]),
            Host::Name(name) => name,
        };
        let error = match self.addresses_of(name).await {
            Ok(addresses) => return self.judge_all(admitted, &addresses),
            Err(error) => error,
        };
        let judge = self.judge();
        let plan = judge.plan();
        let has_rules = plan.private_addresses == Switch::Refused || !plan.denied_addresses.is_empty();
        if has_rules && !is_no_such_name(&error) {
            let reason = format!("where it leads to cannot be judged: {error}");
            let refusal = refusal(&admitted.target, Cause::Address, reason, None);
            return Err(DialError::Denied(admitted.refuse(refusal)));
        }
        Ok(())
    }

    /// Refuses where a single one of these addresses is refused.
    fn judge_all(&self, admitted: &Admitted, addresses: &[IpAddr]) -> Result<(), DialError> {
        let judge = admitted.judge();
        for address in addresses {
            let owner = self.dialler().owner(*address).map_err(|error| unreachable(admitted, error))?;
            if let Ruling::Refused(refusal) = judge.address(&admitted.target, *address, owner) {
                return Err(DialError::Denied(admitted.refuse(*refusal)));
            }
        }
        Ok(())
    }
}

/// Asks the proxy at the other end of a stream for a tunnel.
async fn tunnel<S>(
    admitted: &Admitted,
    mut proxy: S,
    by: &str,
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
            Upstream::nowhere().map_err(|error| unreachable(admitted, error))
        }
        Err(error) => Err(not_through(admitted, by, &error)),
    }
}

/// The target was not reached, and this proxy is why.
fn not_through(admitted: &Admitted, proxy: &str, error: &io::Error) -> DialError {
    unreachable(admitted, io::Error::new(error.kind(), format!("through {proxy}: {error}")))
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
