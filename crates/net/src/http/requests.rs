//! Reading requests from a client whose bytes go on unchanged.

use super::guard::HEAD_TIME;
use super::head::{BadRequest, Head, may_be_whole};
use crate::gateway::Room;
use crate::relay::{Duplex, Socket};
use bytes::BytesMut;
use std::io;
use tokio::time::{Instant, timeout_at};

const PIECE: usize = 8 * 1024;

/// The requests of one client.
pub(super) struct Requests<'a> {
    client: &'a Socket,
    room: Room,
    /// What was read and not passed on.
    pub(super) held: BytesMut,
}

/// Why there is no next request.
pub(super) enum NoHead {
    Bad(BadRequest),
    Gone,
}

impl<'a> Requests<'a> {
    pub(super) fn new(client: &'a Socket, room: Room, first: &[u8]) -> Self {
        Self { client, room, held: BytesMut::from(first) }
    }

    /// The next head, whose bytes are the first of those held; nothing when the client has ended.
    pub(super) async fn head(&mut self) -> Result<Option<Head>, NoHead> {
        if self.held.is_empty() {
            // An idle connection holds no buffer.
            self.held = BytesMut::new();
            if self.read().await.map_err(|_| NoHead::Gone)? == 0 {
                return Ok(None);
            }
        }
        let deadline = Instant::now() + HEAD_TIME;
        let mut looked = 0;
        loop {
            if may_be_whole(&self.held, std::mem::replace(&mut looked, self.held.len()))
                && let Some(head) = Head::parse(&self.held).map_err(NoHead::Bad)?
            {
                self.room.leave();
                return Ok(Some(head));
            }
            self.room.hold(self.held.len()).map_err(|_| NoHead::Bad(BadRequest::Crowded))?;
            match timeout_at(deadline, self.read()).await {
                Ok(Ok(1..)) => {}
                Ok(_) => return Err(NoHead::Gone),
                Err(_) => return Err(NoHead::Bad(BadRequest::TooSlow)),
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        loop {
            self.client.readable().await?;
            self.held.reserve(PIECE);
            match self.client.try_read_into(&mut self.held) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}
