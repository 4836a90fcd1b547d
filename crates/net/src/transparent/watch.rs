//! The first words of a client that had not said enough when its stream had to be carried on.

use super::first::{LONGEST, PIECE, Spoken, TIME, is_hello_begun, recognised};
use crate::gateway::{Admitted, Direction, Upstream};
use crate::relay::{Duplex, Socket, write};
use bytes::{Bytes, BytesMut};
use std::io;
use stockade_policy::NetRefusal;
use tokio::time::{Instant, timeout_at};

/// Passes on what the client says until it is sure that it is nothing that has to be judged.
///
/// Every word is looked at before it goes on. A ClientHello goes on as a whole or not at all; the beginning of
/// a request may go on, but never as far as it could be known by whom it is to be answered. `judge` says
/// whether something that turned out late may pass.
pub(super) async fn watch(
    client: &Socket,
    upstream: &Upstream,
    admitted: &Admitted,
    first: Bytes,
    judge: impl Fn(&Spoken) -> Result<(), Box<NetRefusal>>,
) -> io::Result<()> {
    let mut heard = BytesMut::from(first);
    let mut passed = 0;
    let mut begun = None;
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
            admitted.meter().take(heard.len() - passed, Direction::Sent).await?;
            write(upstream, &heard[passed..]).await?;
            passed = heard.len();
        }
        if spoken.is_some() {
            return Ok(());
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
