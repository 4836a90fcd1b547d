//! The first words of a client that had not said enough when its stream had to be carried on.

use super::first::{LONGEST, PIECE, Spoken, TIME, is_hello_begun, recognised};
use crate::gateway::{Admitted, Direction, Upstream};
use crate::http::{Hidden, HiddenRequest};
use crate::relay::{Duplex, Socket, write};
use bytes::{Bytes, BytesMut};
use std::io;
use stockade_policy::NetRefusal;
use tokio::time::{Instant, timeout_at};

/// Passes on what the client says until it is sure that it is nothing that has to be judged.
///
/// Every word is looked at before it goes on. A ClientHello goes on as a whole or not at all; the beginning of
/// a request may go on, but never as far as it could be known by whom it is to be answered. `judge` says
/// whether something that turned out late may pass. What is not TLS is watched further for a `request` behind
/// other words.
pub(super) async fn watch(
    client: &Socket,
    upstream: &Upstream,
    admitted: &Admitted,
    (first, mut request): (Bytes, HiddenRequest),
    judge: impl Fn(&Spoken) -> Result<(), Box<NetRefusal>>,
) -> io::Result<()> {
    let mut heard = BytesMut::from(first);
    let mut passed = 0;
    let mut begun = None;
    let mut found = Hidden::NotYet;
    loop {
        let spoken = match recognised(&heard) {
            None if heard.len() >= LONGEST => Some(Spoken::Unfinished),
            spoken => spoken,
        };
        if let Some(spoken) = &spoken {
            judge(spoken).map_err(|refusal| refused(admitted, *refusal))?;
        }
        let held = spoken.is_none() && is_hello_begun(&heard);
        if !held && passed < heard.len() {
            if !matches!(spoken, Some(Spoken::Tls(_))) {
                found = request.look(&heard[passed..]);
                no_request(found, admitted, &judge)?;
            }
            admitted.meter().take(heard.len() - passed, Direction::Sent).await?;
            write(upstream, &heard[passed..]).await?;
            passed = heard.len();
        }
        match spoken {
            None => {}
            Some(Spoken::Tls(_)) => return Ok(()),
            Some(_) if found == Hidden::Nothing => return Ok(()),
            Some(_) => {
                drop(heard);
                return watch_on(client, upstream, admitted, request, judge).await;
            }
        }
        let more = more(client, &mut heard);
        let read = match held {
            false => more.await?,
            true => {
                let until = *begun.get_or_insert_with(|| Instant::now() + TIME);
                match timeout_at(until, more).await {
                    Ok(read) => read?,
                    Err(_) => 0,
                }
            }
        };
        if read == 0 {
            // Half a ClientHello is one that nobody has read.
            return match held {
                false => Ok(()),
                true => judge(&Spoken::Unfinished).map_err(|refusal| refused(admitted, *refusal)),
            };
        }
    }
}

/// Passes on what follows, as long as a server might find a request in it.
async fn watch_on(
    client: &Socket,
    upstream: &Upstream,
    admitted: &Admitted,
    mut request: HiddenRequest,
    judge: impl Fn(&Spoken) -> Result<(), Box<NetRefusal>>,
) -> io::Result<()> {
    loop {
        let mut said = BytesMut::new();
        if more(client, &mut said).await? == 0 {
            return Ok(());
        }
        let found = request.look(&said);
        no_request(found, admitted, &judge)?;
        admitted.meter().take(said.len(), Direction::Sent).await?;
        write(upstream, &said).await?;
        if found == Hidden::Nothing {
            return Ok(());
        }
    }
}

fn no_request(
    found: Hidden,
    admitted: &Admitted,
    judge: impl Fn(&Spoken) -> Result<(), Box<NetRefusal>>,
) -> io::Result<()> {
    match found {
        Hidden::Request => judge(&Spoken::Http).map_err(|refusal| refused(admitted, *refusal)),
        Hidden::NotYet | Hidden::Nothing => Ok(()),
    }
}

fn refused(admitted: &Admitted, refusal: NetRefusal) -> io::Error {
    let reason = admitted.refuse(refusal).refusal.reason;
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

async fn more(client: &Socket, heard: &mut BytesMut) -> io::Result<usize> {
    loop {
        client.readable().await?;
        // Not in what is kept: a client may wait for long before it says anything.
        let mut piece = [0; PIECE];
        match Duplex::try_read(client, &mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            Ok(read) => {
                heard.extend_from_slice(&piece[..read]);
                return Ok(read);
            }
        }
    }
}
