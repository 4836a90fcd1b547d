//! Servers that answer as HTTP what was not taken for a request.

use super::first::PIECE;
use crate::gateway::{Admitted, Direction, Upstream, Ward, refusal};
use crate::http::{Hidden, StatusLine};
use crate::relay::{Duplex, Socket, write};
use std::io;
use stockade_policy::Cause;

/// Passes on a server's first bytes, where it may have been sent a secret: should it turn out that it speaks
/// HTTP after all, what it says would have to be covered, and that cannot be done any more.
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
    loop {
        upstream.readable().await?;
        let said = match read(upstream) {
            // Whoever carries on finds the end as well.
            Ok(said) if said.is_empty() => return Ok(()),
            Ok(said) => said,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let found = status.look(&said);
        // Servers complain about clients that say nothing, too.
        if found == Hidden::Request && admitted.meter().totals().0 > 0 {
            return Err(answered_as_http(admitted));
        }
        admitted.meter().take(said.len(), Direction::Received).await?;
        write(client, &said).await?;
        if found != Hidden::NotYet {
            return Ok(());
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
    let reason =
        "what was said is not HTTP, the answer is, and secrets could not be covered in it".to_owned();
    let denied = admitted.refuse(refusal(&admitted.target, Cause::Protocol, reason, None));
    io::Error::new(io::ErrorKind::PermissionDenied, denied.refusal.reason)
}
