//! A server inside TLS that answers as HTTP what was not taken for a request.

use crate::gateway::{Admitted, Ward};
use crate::http::{Hidden, StatusLine};
use crate::transparent::answered_as_http;
use std::io;

/// A stream that fails if its first words are an answer of HTTP, where that might hold a secret.
pub(super) struct Answered<'a, S> {
    stream: S,
    admitted: &'a Admitted,
    /// The first words, as long as they could be one.
    status: Option<StatusLine>,
}

impl<'a, S> Answered<'a, S> {
    pub(super) fn new(stream: S, ward: &Ward, admitted: &'a Admitted) -> Self {
        let knows = ward.vault().is_some_and(|vault| vault.may_know(&admitted.target));
        Self { stream, admitted, status: knows.then(StatusLine::default) }
    }

    fn look(&mut self, said: &[u8]) -> io::Result<()> {
        match self.status.as_mut().map(|status| status.look(said)) {
            // Whether or not anybody has asked: servers complain about clients that say nothing, too.
            Some(Hidden::Request) => Err(answered_as_http(self.admitted)),
            Some(Hidden::NotYet) | None => Ok(()),
            Some(Hidden::Nothing) => {
                self.status = None;
                Ok(())
            }
        }
    }
}

crate::through::look_through!(stream for Answered<'_, S>);
