//! Requests out of TLS that was looked into.

use super::guard::Guard;
use super::lines::Speech;
use super::road::{Kind, Road};
use super::server::{serve_first_and_more, serve_second};
use crate::gateway::{Admitted, Ward};
use crate::relay::BreakOff;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves the decrypted side of a TLS connection; `alpn` is what was agreed on with the client.
pub(crate) async fn serve_terminated<S>(ward: Arc<Ward>, client: S, admitted: Admitted, alpn: Option<Vec<u8>>)
where
    S: AsyncRead + AsyncWrite + BreakOff + Unpin + Send + 'static,
{
    let wanted = admitted.wanted();
    let kind = Kind::Admitted(Arc::new(admitted));
    if alpn.as_deref() == Some(b"h2") {
        let road = Road::new(&ward, kind, Speech::TlsTwo, None);
        return serve_second(&road, client, wanted).await;
    }
    let (guard, gate) = Guard::new(client, ward.room(), b"");
    let road = Road::new(&ward, kind, Speech::Tls, Some(gate));
    serve_first_and_more(&road, guard).await;
}
