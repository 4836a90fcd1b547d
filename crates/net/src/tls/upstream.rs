//! TLS toward servers, checked as any careful client checks.

use super::termination::Termination;
use super::words::{Remedy, distrust, failure};
use crate::gateway::{Upstream, Ward};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Host, Target};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Speaks TLS with `target` over a connection to it, which must prove that it is `target`.
pub(crate) async fn connect_tls(
    ward: &Ward,
    upstream: Upstream,
    target: &Target,
    alpn: &[&[u8]],
) -> io::Result<TlsStream<Upstream>> {
    match ward.termination() {
        Some(termination) => connect(termination, upstream, target, alpn).await,
        None => Err(io::Error::other("TLS is not looked into in this sandbox")),
    }
}

pub(super) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
    termination: &Termination,
    stream: S,
    target: &Target,
    alpn: &[&[u8]],
) -> io::Result<TlsStream<S>> {
    let config = termination.client(alpn).map_err(io::Error::other)?;
    match shake(config, named(target)?, stream, termination.patience()).await {
        Some(Ok(stream)) => Ok(stream),
        Some(Err(error)) => Err(explained(target, error)),
        None => {
            let text = format!("{target} did not finish the TLS handshake in {:?}", termination.patience());
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}

/// The name a server has to prove.
pub(super) fn named(target: &Target) -> io::Result<ServerName<'static>> {
    match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

/// The handshake; nothing where it takes too long.
pub(super) async fn shake<S: AsyncRead + AsyncWrite + Unpin>(
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    stream: S,
    patience: Duration,
) -> Option<io::Result<TlsStream<S>>> {
    tokio::time::timeout(patience, TlsConnector::from(config).connect(name, stream)).await.ok()
}

fn explained(target: &Target, error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match cause {
        Some(rustls::Error::InvalidCertificate(why)) => {
            let (why, remedy) = distrust(why);
            let hint = match remedy {
                Remedy::Authority => "; a private authority can be named in tlsTerminate.extraCaCertPaths",
                Remedy::Nothing => "",
            };
            format!("the certificate of {target} is not trusted: {why}{hint}")
        }
        _ => format!("no TLS with {target}: {}", failure(&error)),
    };
    io::Error::new(error.kind(), text)
}
