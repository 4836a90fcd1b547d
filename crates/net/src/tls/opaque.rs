//! Something else than HTTP inside the TLS of a host that is looked into.

use super::answered::Answered;
use super::terminate::{SILENCE, glance};
use super::upstream::connect_tls;
use super::watched::Watched;
use crate::gateway::{Admitted, Upstream, Ward};
use crate::http::{HiddenRequest, Likeness};
use crate::relay::{BreakOff, Socket, relay_streams};
use crate::replay::Replay;
use crate::transparent;
use bytes::{Bytes, BytesMut};
use rustls::ServerConfig;
use std::sync::Arc;
use stockade_policy::Target;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::client::TlsStream;

/// Whether what cannot be judged may pass. Not where requests have rules: anything could be called opaque.
pub(super) fn may_pass(ward: &Ward, target: &Target) -> bool {
    transparent::may_pass(&ward.judge(), target).is_ok()
}

/// A client that can only speak something else: its server chooses what, then both are joined.
pub(super) async fn foreign(
    ward: &Arc<Ward>,
    client: Replay<Socket>,
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
        let Ok(client) = Watched::new(client, admitted, &Bytes::new(), HiddenRequest::default()) else {
            return;
        };
        let upstream = Answered::new(upstream, ward, admitted);
        let _ = relay_streams(client, upstream, admitted, None, Bytes::new()).await;
    }
}

/// Joins a client, whose TLS was met already, with its server.
pub(super) async fn pass<S: AsyncRead + AsyncWrite + BreakOff + Unpin>(
    ward: &Arc<Ward>,
    client: S,
    admitted: &Admitted,
    first: Bytes,
) {
    if let Some(upstream) = upstream(ward, admitted, &[]).await {
        let Ok(client) = Watched::new(client, admitted, &first, HiddenRequest::default()) else { return };
        let upstream = Answered::new(upstream, ward, admitted);
        let _ = relay_streams(client, upstream, admitted, None, first).await;
    }
}

/// Joins a client that has said nothing so far with its server, unless it comes out with a request before the
/// server has said or heard anything: then it is given back, with what it has said.
pub(super) async fn await_first_word<S: AsyncRead + AsyncWrite + BreakOff + Unpin>(
    ward: &Arc<Ward>,
    mut client: S,
    admitted: &Admitted,
) -> Option<(S, Bytes)> {
    let mut upstream = upstream(ward, admitted, &[]).await?;
    let (mut first, mut greeting) = (BytesMut::new(), BytesMut::new());
    tokio::select! {
        biased;
        () = admitted.closed() => return None,
        read = upstream.read_buf(&mut greeting) => drop(read.ok()?),
        read = client.read_buf(&mut first) => {
            read.ok()?;
            let glance = glance(&mut client, &mut first);
            if let Ok(Ok(Likeness::Yes)) = tokio::time::timeout(SILENCE, glance).await {
                admitted.passes_seen();
                return Some((client, first.freeze()));
            }
        }
    }
    let first = first.freeze();
    let client = Watched::new(client, admitted, &first, HiddenRequest::after(&greeting)).ok()?;
    let upstream = Answered::new(Replay::new(greeting.freeze(), upstream), ward, admitted);
    let _ = relay_streams(client, upstream, admitted, None, first).await;
    None
}

async fn upstream(ward: &Arc<Ward>, admitted: &Admitted, alpn: &[&[u8]]) -> Option<TlsStream<Upstream>> {
    let target = admitted.target.clone();
    admitted.passes_unseen(move |judge| transparent::may_pass(judge, &target).is_ok());
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
