//! Real values on their way out.

use super::aws::{CannotSign, Signing};
use super::needles::{After, Found};
use super::place::Place;
use super::replace::{LARGEST_HEAD_GROWTH, Replacer, Work};
use super::stray::{Stray, Why};
use super::vault::{Store, Vault};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use http::header::{HOST, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use stockade_policy::Target;
use zeroize::Zeroizing;

/// What a request travels in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// TLS whose other end has proved who it is.
    Tls,
    /// Nothing.
    Plain,
}

/// What was done to the head of a request, and what has to be done with its body.
#[derive(Debug)]
pub(crate) struct Injected {
    /// What has to be done with the body.
    pub(crate) body: RequestBody,
    /// Stand-ins that stayed what they are.
    pub(crate) strays: Vec<Stray>,
}

/// What has to be done with the body of a request.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// Sent as it is.
    Untouched,
    /// Sent through this. Its length may change.
    Replaced(Replacer),
    /// Collected first: the signature in the head covers it.
    Signed(Signing),
}

impl Vault {
    /// Replaces the stand-ins in the head of a request by the values they stand for, as far as those are for
    /// the host it goes to. Every request is judged by its own host, however it came about.
    ///
    /// What is told about a request afterwards must be taken from it before: the head now holds secrets.
    pub(crate) fn inject(
        &self,
        to: &Target,
        channel: Channel,
        head: &mut Parts,
    ) -> Result<Injected, CannotSign> {
        let store = &self.store;
        let permits = if is_for(head, to) {
            store.permits(to, channel)
        } else {
            vec![Err(Why::OtherHost); store.entries.len()]
        };
        let signing = match Signing::wanted(store, &permits, head) {
            // Its host will not take it, and gets nothing with it.
            Err(error) if error.passes(&self.unsignable) => {
                return Ok(Injected { body: RequestBody::Untouched, strays: Vec::new() });
            }
            wanted => wanted?,
        };
        let mut pass = Pass { store, permits, to, budget: LARGEST_HEAD_GROWTH, strays: Vec::new() };
        pass.headers(head);
        pass.target(head);
        let Pass { permits, strays, .. } = pass;
        let body = match signing {
            // The signature covers the body as it is.
            Some(signing) => signing.in_head(head)?,
            None => match Place::of_body(&head.headers) {
                Some(place) if permits.contains(&Ok(())) => {
                    RequestBody::Replaced(Replacer::new(store.clone(), permits, place))
                }
                _ => RequestBody::Untouched,
            },
        };
        Ok(Injected { body, strays })
    }
}

/// Whether the request itself names the host it is sent to. A server that serves several would hand it, and
/// the secret in it, to another one.
fn is_for(head: &Parts, to: &Target) -> bool {
    let hosts = head.headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    let authority = head.uri.authority().map(|authority| authority.as_str().as_bytes());
    hosts
        .chain(authority)
        .all(|named| Target::parse(named, Some(to.port)).is_ok_and(|named| named.host == to.host))
}

/// One pass over the head of a request.
struct Pass<'a> {
    store: &'a Store,
    permits: Vec<Result<(), Why>>,
    to: &'a Target,
    budget: usize,
    strays: Vec<Stray>,
}

impl Pass<'_> {
    fn headers(&mut self, head: &mut Parts) {
        for (name, value) in &mut head.headers {
            // Where a request goes never depends on a secret.
            if name == HOST {
                continue;
            }
            let bytes = value.as_bytes();
            let written = match basic(bytes) {
                Some(login) => self.replaced(&login, Place::Verbatim).map(|(login, numbers)| {
                    (Zeroizing::new(format!("Basic {}", STANDARD.encode(&*login)).into_bytes()), numbers)
                }),
                None => self.replaced(bytes, Place::Verbatim),
            };
            let Some((written, numbers)) = written else { continue };
            match HeaderValue::from_bytes(&written) {
                Ok(mut new) => {
                    // Not to be indexed by HTTP/2, nor printed.
                    new.set_sensitive(true);
                    *value = new;
                }
                Err(_) => numbers.into_iter().for_each(|number| self.stray(number, Why::Unfit)),
            }
        }
    }

    fn target(&mut self, head: &mut Parts) {
        let Some(old) = head.uri.path_and_query() else { return };
        let path = self.replaced(old.path().as_bytes(), Place::Path);
        let query = old.query().and_then(|query| self.replaced(query.as_bytes(), Place::Query));
        if path.is_none() && query.is_none() {
            return;
        }
        let mut numbers = Vec::new();
        let mut whole = Zeroizing::new(Vec::new());
        let mut write = |new: Option<(Zeroizing<Vec<u8>>, Vec<usize>)>, old: &str| match new {
            Some((new, mut replaced)) => {
                whole.extend_from_slice(&new);
                numbers.append(&mut replaced);
            }
            None => whole.extend_from_slice(old.as_bytes()),
        };
        write(path, old.path());
        if let Some(old) = old.query() {
            write(None, "?");
            write(query, old);
        }
        let mut uri = head.uri.clone().into_parts();
        uri.path_and_query = PathAndQuery::try_from(whole.as_slice()).ok();
        let new = uri.path_and_query.is_some().then(|| http::Uri::from_parts(uri).ok()).flatten();
        match new {
            Some(uri) => head.uri = uri,
            None => numbers.into_iter().for_each(|number| self.stray(number, Why::Unfit)),
        }
    }

    /// The text with what may be replaced replaced, and by which values; nothing when none was.
    fn replaced(&mut self, text: &[u8], place: Place) -> Option<(Zeroizing<Vec<u8>>, Vec<usize>)> {
        if self.store.needles.find(text, 0, After::Nothing) == Found::Nothing {
            return None;
        }
        let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
        let work = Work { store: self.store, permits: &self.permits, place };
        let done = work.run(text, After::Nothing, &mut self.budget, &mut out);
        done.strays.into_iter().for_each(|(number, why)| self.stray(number, why));
        (!done.replaced.is_empty()).then_some((out, done.replaced))
    }

    fn stray(&mut self, number: usize, why: Why) {
        let name = self.store.entries[number].entry.name.clone();
        let stray = Stray { name, to: self.to.clone(), why };
        if !self.strays.contains(&stray) {
            self.strays.push(stray);
        }
    }
}

/// The `user:password` of a Basic login.
fn basic(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    STANDARD_PAD_INDIFFERENT.decode(rest.trim_ascii()).ok().map(Zeroizing::new)
}
