//! TLS toward servers, checked as any careful client checks.

use super::termination::Termination;
use crate::gateway::{Upstream, Ward};
use rustls_pki_types::ServerName;
use std::io;
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
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
        Host::Address(address) => ServerName::IpAddress((*address).into()),
    };
    let shaking = TlsConnector::from(config).connect(name, stream);
    match tokio::time::timeout(termination.patience(), shaking).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(explained(target, error)),
        Err(_) => {
            let text = format!("{target} did not finish the TLS handshake in {:?}", termination.patience());
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}

fn explained(target: &Target, error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match cause {
        Some(rustls::Error::InvalidCertificate(why)) => format!(
            "the certificate of {target} is not trusted ({why}); a private authority can be named in \
             tlsTerminate.extraCaCertPaths"
        ),
        _ => format!("no TLS with {target}: {error}"),
    };
    io::Error::new(error.kind(), text)
}
