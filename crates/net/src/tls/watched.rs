//! A client inside TLS that had not said enough when its stream had to be carried on.

use super::refusals;
use crate::gateway::Admitted;
use crate::http::{Hidden, HiddenRequest, Likeness, looks_like_http};
use bytes::{Bytes, BytesMut};
use std::io;

/// A stream that fails as soon as its first words turn out to be a request.
pub(super) struct Watched<'a, S> {
    stream: S,
    admitted: &'a Admitted,
    /// The first words, as long as they could be a request.
    heard: Option<BytesMut>,
    /// What looks for one behind other words, as long as there may be one.
    hidden: Option<HiddenRequest>,
}

impl<'a, S> Watched<'a, S> {
    /// Watches a client that has said `first` already, which does not begin like a request. Refuses one behind it.
    /// `hidden` looks for one among other words.
    pub(super) fn new(
        stream: S,
        admitted: &'a Admitted,
        first: &Bytes,
        hidden: HiddenRequest,
    ) -> io::Result<Self> {
        let is_open = matches!(looks_like_http(first), Likeness::NeedMore | Likeness::Hardly);
        let heard = is_open.then(|| BytesMut::from(&first[..]));
        let mut watched = Self { stream, admitted, heard, hidden: Some(hidden) };
        watched.look_behind(first)?;
        Ok(watched)
    }

    fn look(&mut self, said: &[u8]) -> io::Result<()> {
        self.look_behind(said)?;
        let Some(heard) = &mut self.heard else { return Ok(()) };
        heard.extend_from_slice(said);
        match looks_like_http(heard) {
            Likeness::NeedMore | Likeness::Hardly => Ok(()),
            Likeness::No => {
                self.heard = None;
                Ok(())
            }
            Likeness::Yes => Err(self.refused()),
        }
    }

    fn look_behind(&mut self, said: &[u8]) -> io::Result<()> {
        match self.hidden.as_mut().map(|hidden| hidden.look(said)) {
            Some(Hidden::Request) => Err(self.refused()),
            Some(Hidden::Nothing) => {
                self.hidden = None;
                Ok(())
            }
            Some(Hidden::NotYet) | None => Ok(()),
        }
    }

    fn refused(&self) -> io::Error {
        let denied = self.admitted.refuse(refusals::late_http(&self.admitted.target));
        io::Error::new(io::ErrorKind::PermissionDenied, denied.refusal.reason)
    }
}

crate::through::look_through!(stream for Watched<'_, S>);
