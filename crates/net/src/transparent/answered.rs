//! Servers that answer as HTTP what was not taken for a request.

use super::first::PIECE;
use crate::gateway::{Admitted, Direction, Upstream, Ward, refusal};
use crate::http::{Hidden, StatusLine};
use crate::relay::{Duplex, Socket, write};
use std::io;
use stockade_policy::Cause;

/// Passes on a server's first bytes, where it may have been sent a secret: should it turn out that it speaks
/// HTTP after all, what it says would have to be covered, and that cannot be done any more.
///
/// Nothing is passed on as long as it may be the beginning of an answer, whether or not anybody has asked: servers
/// complain about clients that say nothing, too, and may put anything into that. Other words do not wait.
pub(super) async fn first_answer(
    ward: &Ward,
    client: &Socket,
    upstream: &Upstream,
    admitted: &Admitted,
) -> io::Result<()> {
    if !ward.vault().is_some_and(|vault| vault.may_know(&admitted.target)) {
        return Ok(());
    }
    let mut status = StatusLine::default();
    let mut held = Vec::new();
    loop {
        upstream.readable().await?;
        let said = match read(upstream) {
            Ok(said) => said,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let found = status.look(&said);
        if found == Hidden::Request {
            return Err(answered_as_http(admitted));
        }
        held.extend_from_slice(&said);
        // Whoever carries on finds the end as well.
        if found == Hidden::Nothing || said.is_empty() {
            admitted.meter().take(held.len(), Direction::Received).await?;
            return write(client, &held).await;
        }
    }
}

/// Reads what is there. Not into what is kept: a connection may wait for long, and there may be thousands.
fn read(upstream: &Upstream) -> io::Result<Vec<u8>> {
    let mut piece = [0; PIECE];
    let read = Duplex::try_read(upstream, &mut piece)?;
    Ok(piece[..read].to_vec())
}

/// Refuses a stream that was not taken for HTTP.
pub(crate) fn answered_as_http(admitted: &Admitted) -> io::Error {
    let reason = match admitted.meter().totals() {
        (0, _) => "the server speaks HTTP before anybody has asked, and secrets could not be covered in it",
        _ => "what was said is not HTTP, the answer is, and secrets could not be covered in it",
    };
    let denied = admitted.refuse(refusal(&admitted.target, Cause::Protocol, reason.to_owned(), None));
    io::Error::new(io::ErrorKind::PermissionDenied, denied.refusal.reason)
}
