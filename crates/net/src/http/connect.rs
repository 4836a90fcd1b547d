//! CONNECT, answered by hand: a tunnel is what most clients want of a proxy, and it is up sooner without the
//! server library.

use super::agree::spelled;
use super::answer::Answer;
use super::farewell::farewell;
use super::head::{BadRequest, Framing, Head, said};
use super::lines::not_dialled;
use super::requests::{NoHead, Requests};
use crate::Via;
use crate::gateway::{Admitted, Wanted, Ward};
use crate::relay::{Socket, write};
use crate::transparent::carry;
use bytes::Bytes;
use std::sync::Arc;
use stockade_policy::Target;

/// How such a request begins.
pub(super) const METHOD: &[u8] = b"CONNECT ";
const REACHED: &[u8] = b"HTTP/1.1 200 Connection Established\r\n\r\n";

/// Serves a client that has begun to ask for a tunnel. The target is reached before it is said that it was.
pub(super) async fn serve_connect(ward: Arc<Ward>, client: Socket, first: &[u8]) {
    if let Some((admitted, first)) = begin(&ward, &client, first).await {
        carry(ward, client, admitted, first).await;
    }
}

/// Reads and answers the request. What is left of it while a tunnel lasts is what the client said already.
async fn begin(ward: &Arc<Ward>, client: &Socket, first: &[u8]) -> Option<(Admitted, Bytes)> {
    let mut requests = Requests::new(client, ward.room(), first);
    let reached = match requests.head().await {
        Ok(Some(head)) => match asked(&head) {
            Ok(target) => reach(ward, wanted(target)).await.map(|admitted| (head, admitted)),
            Err(wrong) => Err(unread(ward, head.target.as_bytes(), Via::Connect, wrong)),
        },
        Err(NoHead::Bad(wrong)) => Err(unread(ward, said(&requests.held), Via::Connect, wrong)),
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

fn asked(head: &Head) -> Result<Target, BadRequest> {
    if head.framing != Framing::Length(0) {
        return Err(BadRequest::Body);
    }
    target(&head.target, head.host.as_deref())
}

/// Where a tunnel is to lead. A Host beside the target must say the same.
pub(super) fn target(asked: &str, host: Option<&[u8]>) -> Result<Target, BadRequest> {
    let target = Target::parse(asked.as_bytes(), None);
    let target = target.map_err(|error| spelled(&error, BadRequest::Target))?;
    if let Some(host) = host {
        let named = Target::parse(host, Some(target.port));
        let named = named.map_err(|error| spelled(&error, BadRequest::Host))?;
        if named != target {
            return Err(BadRequest::Differ);
        }
    }
    Ok(target)
}

/// What whoever asks for a tunnel wants.
pub(super) fn wanted(target: Target) -> Wanted {
    Wanted { target, via: Via::Connect, spoken: None }
}

/// The answer to a request at the proxy that names no place, or two, or could be read in two ways. What it says
/// instead is told: it may be an attempt to reach what the rules refuse under another spelling.
pub(super) fn unread(ward: &Ward, asked: &[u8], via: Via, wrong: BadRequest) -> Answer {
    if wrong != BadRequest::TooSlow {
        ward.denied_unread(asked, via, wrong.to_string());
    }
    Answer::bad(wrong)
}

/// Lets a tunnel in and reaches its target.
pub(super) async fn reach(ward: &Arc<Ward>, wanted: Wanted) -> Result<Admitted, Answer> {
    let admitted = ward.admit(wanted).await;
    let admitted = admitted.map_err(|denied| Answer::refused(&denied.refusal))?;
    ward.dial_ahead(&admitted).await.map_err(|error| not_dialled(&error))?;
    Ok(admitted)
}
