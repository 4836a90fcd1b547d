//! Something else than HTTP inside the TLS of a host that is looked into.

use super::replay::Replay;
use super::upstream::connect_tls;
use crate::gateway::{Admitted, Upstream, Ward};
use crate::relay::relay_streams;
use crate::transparent;
use bytes::Bytes;
use rustls::ServerConfig;
use std::sync::Arc;
use stockade_policy::Target;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::client::TlsStream;

/// Whether what cannot be judged may pass. Not where requests have rules: anything could be called opaque.
pub(super) fn may_pass(ward: &Ward, target: &Target) -> bool {
    transparent::may_pass(ward, target).is_ok()
}

/// A client that can only speak something else: its server chooses what, then both are joined.
pub(super) async fn foreign(
    ward: &Arc<Ward>,
    client: Replay<TcpStream>,
    admitted: &Admitted,
    alpn: &[Vec<u8>],
    config: Arc<ServerConfig>,
) {
    let offered: Vec<&[u8]> = alpn.iter().map(Vec::as_slice).collect();
    let Some(upstream) = upstream(ward, admitted, &offered).await else { return };
    let mut config = ServerConfig::clone(&config);
    config.alpn_protocols = upstream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec).into_iter().collect();
    let Some(patience) = ward.termination().map(|termination| termination.patience()) else { return };
    let shaking = TlsAcceptor::from(Arc::new(config)).accept(client);
    if let Ok(Ok(client)) = tokio::time::timeout(patience, shaking).await {
        let _ = relay_streams(client, upstream, admitted, Bytes::new()).await;
    }
}

/// Joins a client, whose TLS was met already, with its server.
pub(super) async fn pass<S: AsyncRead + AsyncWrite + Unpin>(
    ward: &Arc<Ward>,
    client: S,
    admitted: &Admitted,
    first: Bytes,
) {
    if let Some(upstream) = upstream(ward, admitted, &[]).await {
        let _ = relay_streams(client, upstream, admitted, first).await;
    }
}

async fn upstream(ward: &Arc<Ward>, admitted: &Admitted, alpn: &[&[u8]]) -> Option<TlsStream<Upstream>> {
    admitted.meter().request().ok()?;
    let upstream = ward.dial(admitted).await.ok()?;
    match connect_tls(ward, upstream, &admitted.target, alpn).await {
        Ok(upstream) => Some(upstream),
        Err(_) => {
            admitted.failed();
            None
        }
    }
}
