//! CONNECT, answered by hand: a tunnel is what most clients want of a proxy, and it is up sooner without the
//! server library.

use super::answer::Answer;
use super::farewell::farewell;
use super::head::{BadRequest, Framing, Head};
use super::lines::not_dialled;
use super::requests::{NoHead, Requests};
use crate::Via;
use crate::gateway::{Admitted, Wanted, Ward};
use crate::relay::write;
use crate::transparent::carry;
use bytes::Bytes;
use std::sync::Arc;
use stockade_policy::Target;
use tokio::net::TcpStream;

/// How such a request begins.
pub(super) const METHOD: &[u8] = b"CONNECT ";
const REACHED: &[u8] = b"HTTP/1.1 200 Connection Established\r\n\r\n";

/// Serves a client that has begun to ask for a tunnel. The target is reached before it is said that it was.
pub(super) async fn serve_connect(ward: Arc<Ward>, client: TcpStream, first: &[u8]) {
    if let Some((admitted, first)) = begin(&ward, &client, first).await {
        carry(ward, client, admitted, first).await;
    }
}

/// Reads and answers the request. What is left of it while a tunnel lasts is what the client said already.
async fn begin(ward: &Arc<Ward>, client: &TcpStream, first: &[u8]) -> Option<(Admitted, Bytes)> {
    let mut requests = Requests::new(client, first);
    let reached = match requests.head().await {
        Ok(Some(head)) => reach(ward, &head).await.map(|admitted| (head, admitted)),
        Err(NoHead::Bad(wrong)) => Err(Answer::bad(wrong)),
        Ok(None) | Err(NoHead::Gone) => return None,
    };
    let (head, admitted) = match reached {
        Ok(reached) => reached,
        Err(answer) => {
            farewell(client, &answer.bytes()).await;
            return None;
        }
    };
    // A copy, so that an idle tunnel does not keep the buffer.
    let early = Bytes::copy_from_slice(requests.held.get(head.length..).unwrap_or_default());
    write(client, REACHED).await.ok()?;
    Some((admitted, early))
}

async fn reach(ward: &Arc<Ward>, head: &Head) -> Result<Admitted, Answer> {
    if head.framing != Framing::Length(0) {
        return Err(Answer::bad(BadRequest::Framing));
    }
    let target = Target::parse(head.target.as_bytes(), None);
    let target = target.map_err(|_| Answer::bad(BadRequest::Target))?;
    if let Some(host) = &head.host {
        let named = Target::parse(host, Some(target.port)).map_err(|_| Answer::bad(BadRequest::Host))?;
        if named != target {
            return Err(Answer::bad(BadRequest::Differ));
        }
    }
    let admitted = ward.admit(Wanted { target, via: Via::Connect, spoken: None }).await;
    let admitted = admitted.map_err(|denied| Answer::refused(&denied.refusal))?;
    ward.dial_ahead(&admitted).await.map_err(|error| not_dialled(&error))?;
    Ok(admitted)
}
