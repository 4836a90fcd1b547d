//! Meeting a client's TLS in place of the server it wants.

use super::hello::{Hello, sniff};
use super::opaque;
use super::refusals;
use crate::gateway::{Admitted, Ward};
use crate::http::{self, Likeness, looks_like_http};
use crate::relay::{Duplex, Socket};
use crate::replay::Replay;
use bytes::{Bytes, BytesMut};
use rustls::ServerConfig;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Host, NetRefusal, Target};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Alerts as they are sent before there is a key: fatal, and what.
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];
const NO_APPLICATION_PROTOCOL: [u8; 7] = [21, 3, 3, 0, 2, 2, 120];

/// The first version of HTTP.
const FIRST: &[u8] = b"http/1.1";

/// How long a client that says nothing may be one that waits for the server to speak first.
pub(super) const SILENCE: Duration = Duration::from_millis(300);
/// As many decrypted bytes as it takes to tell HTTP from anything else.
const GLANCE: usize = 16 * 1024;

/// Does the handshake with a client in place of its target, then serves its requests.
///
/// `first` is what was read from the client already.
pub(crate) async fn terminate(ward: Arc<Ward>, mut client: Socket, admitted: Admitted, first: Bytes) {
    let Some(termination) = ward.termination() else { return };
    let patience = termination.patience();
    let deadline = Instant::now() + patience;
    let place = match termination.place() {
        Ok(place) => place,
        Err(most) => {
            admitted.refuse(refusals::too_many(&admitted.target, most));
            return last_words(&client, &ACCESS_DENIED);
        }
    };
    let Ok(Ok((hello, first))) = timeout_at(deadline, listen(&mut client, first)).await else { return };
    let alpn = match agreed(&admitted.target, hello) {
        Ok(alpn) => alpn,
        Err(refusal) => {
            admitted.refuse(*refusal);
            return last_words(&client, &UNRECOGNIZED_NAME);
        }
    };
    let Ok(config) = termination.server(&admitted.target.host) else {
        admitted.failed();
        return last_words(&client, &ACCESS_DENIED);
    };
    let config = match spoken(&alpn, &config.alpn_protocols) {
        // Whoever can do without HTTP/2 does where there is no place for another such client.
        Spoken::Ours if alpn.iter().any(|name| name == FIRST) && !ward.has_place_for_second() => {
            speaking(&config, FIRST.to_vec())
        }
        Spoken::Ours => config,
        Spoken::Old(name) => speaking(&config, name),
        Spoken::Foreign if opaque::may_pass(&ward, &admitted.target) => {
            return opaque::foreign(&ward, Replay::new(first, client), &admitted, &alpn, config).await;
        }
        Spoken::Foreign | Spoken::Unknown => {
            admitted.refuse(refusals::not_http(&admitted.target));
            return last_words(&client, &NO_APPLICATION_PROTOCOL);
        }
    };
    let shaking = TlsAcceptor::from(config).accept(Replay::new(first, client));
    let client = match timeout_at(deadline, shaking).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return mourn(&admitted, &error),
        Err(_) => return admitted.failed(),
    };
    match client.get_ref().1.alpn_protocol().map(<[u8]>::to_vec) {
        Some(chosen) => http::serve_terminated(ward, client, admitted, Some(chosen)).await,
        None => unannounced(ward, client, admitted, deadline).await,
    }
    drop(place);
}

/// The same for a client with which nothing but this is spoken.
fn speaking(config: &ServerConfig, name: Vec<u8>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::clone(config);
    config.alpn_protocols = vec![name];
    Arc::new(config)
}

/// What a client offers to speak, seen from here.
#[derive(Debug, PartialEq, Eq)]
enum Spoken {
    /// Nothing in particular, or among other things what is spoken here.
    Ours,
    /// HTTP/1 under a name of its own.
    Old(Vec<u8>),
    /// HTTP of a kind that is not spoken here. A server might speak it all the same, or any other kind.
    Unknown,
    /// Nothing that calls itself HTTP.
    Foreign,
}

fn spoken(offered: &[Vec<u8>], ours: &[Vec<u8>]) -> Spoken {
    let begins = |name: &[u8], with: &[u8]| {
        name.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if offered.is_empty() || offered.iter().any(|name| ours.contains(name)) {
        return Spoken::Ours;
    }
    if let Some(old) = offered.iter().find(|name| begins(name, b"http/1") || begins(name, b"http/0")) {
        return Spoken::Old(old.clone());
    }
    let is_http =
        |name: &Vec<u8>| [&b"http/"[..], b"h2", b"h3", b"spdy"].iter().any(|kind| begins(name, kind));
    if offered.iter().any(is_http) { Spoken::Unknown } else { Spoken::Foreign }
}

/// The client's hello, with every byte that was read for it.
async fn listen(client: &mut Socket, first: Bytes) -> io::Result<(Hello, Bytes)> {
    let mut heard = BytesMut::from(first);
    loop {
        match sniff(&heard) {
            Hello::NeedMore if client.read_buf(&mut heard).await? > 0 => {}
            Hello::NeedMore => return Err(io::ErrorKind::UnexpectedEof.into()),
            hello => return Ok((hello, heard.freeze())),
        }
    }
}

/// What the client can speak, if it wants the host that was let in and no other.
fn agreed(target: &Target, hello: Hello) -> Result<Vec<Vec<u8>>, Box<NetRefusal>> {
    let refused = |refusal| Err(Box::new(refusal));
    match (hello, &target.host) {
        (Hello::Client { sni: Some(name), alpn, .. }, host) if name == *host => Ok(alpn),
        (Hello::Client { sni: None, alpn, .. }, Host::Address(_)) => Ok(alpn),
        (Hello::Client { sni, .. }, _) => refused(refusals::other_name(target, sni.as_ref())),
        (Hello::BadName(shown), _) => refused(refusals::bad_name(target, &shown)),
        (Hello::NotTls | Hello::NeedMore | Hello::Broken, _) => refused(refusals::not_tls(target)),
    }
}

/// A handshake that came to nothing. That of a client that does not trust us is worth a word.
fn mourn(admitted: &Admitted, error: &io::Error) {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(alert)) if refusals::is_distrust(*alert) => {
            admitted.refuse(refusals::distrusted(&admitted.target));
        }
        _ => admitted.failed(),
    }
}

/// A client that did not say what it will speak: what it says first tells.
async fn unannounced(
    ward: Arc<Ward>,
    mut client: TlsStream<Replay<Socket>>,
    admitted: Admitted,
    deadline: Instant,
) {
    let may_pass = opaque::may_pass(&ward, &admitted.target);
    let until = if may_pass { Instant::now() + SILENCE } else { deadline };
    let mut heard = BytesMut::new();
    let likeness = timeout_at(until, glance(&mut client, &mut heard)).await;
    let heard = heard.freeze();
    match likeness {
        Err(_) if may_pass && heard.is_empty() => {
            if let Some((client, heard)) = opaque::await_first_word(&ward, client, &admitted).await {
                http::serve_terminated(ward, Replay::new(heard, client), admitted, None).await;
            }
        }
        Ok(Ok(Likeness::No | Likeness::Hardly)) | Err(_) if may_pass => {
            opaque::pass(&ward, client, &admitted, heard).await;
        }
        Ok(Ok(Likeness::No | Likeness::Hardly)) => {
            admitted.refuse(refusals::not_http(&admitted.target));
        }
        Ok(Err(_)) => {}
        // The strict parser there has the last word, and its own patience.
        _ => http::serve_terminated(ward, Replay::new(heard, client), admitted, None).await,
    }
}

/// Reads until it is known whether it is HTTP, or the client has ended.
pub(super) async fn glance(
    client: &mut (impl AsyncRead + Unpin),
    heard: &mut BytesMut,
) -> io::Result<Likeness> {
    loop {
        match looks_like_http(heard) {
            Likeness::NeedMore if heard.len() < GLANCE && client.read_buf(heard).await? > 0 => {}
            likeness => return Ok(likeness),
        }
    }
}

/// Tells the client why before the connection ends, if it can be told without waiting.
fn last_words(client: &Socket, alert: &[u8]) {
    let _ = client.try_write(alert);
}

#[cfg(test)]
mod tests {
    use super::super::hello::Ech;
    use super::*;
    use stockade_policy::Cause;

    #[test]
    fn whatever_calls_itself_http_is_http() {
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        let ours = names(&["h2", "http/1.1"]);
        for (offered, expected) in [
            (&[][..], Spoken::Ours),
            (&["imap", "http/1.1"], Spoken::Ours),
            (&["imap", "http/1.0"], Spoken::Old(b"http/1.0".to_vec())),
            (&["HTTP/1.1"], Spoken::Old(b"HTTP/1.1".to_vec())),
            (&["h2-14"], Spoken::Unknown),
            (&["imap", "spdy/3.1"], Spoken::Unknown),
            (&["http/2"], Spoken::Unknown),
            (&["imap"], Spoken::Foreign),
        ] {
            assert_eq!(spoken(&names(offered), &ours), expected, "{offered:?}");
        }
    }

    #[test]
    fn only_the_host_that_was_let_in_is_met() {
        let name = |text: &str| Some(Host::parse(text.as_bytes()).unwrap());
        let wanting =
            |sni| Hello::Client { sni, alpn: vec![b"h2".to_vec()], ech: Ech::Absent, version: 0x0304 };
        let cause = |target: &str, hello| {
            let target = Target::parse(target.as_bytes(), Some(443)).unwrap();
            agreed(&target, hello).err().map(|refusal| refusal.cause)
        };
        for (target, hello, expected) in [
            ("a.test", wanting(name("a.test")), None),
            ("a.test", wanting(name("b.test")), Some(Cause::Mismatch)),
            ("a.test", wanting(name("192.0.2.1")), Some(Cause::Mismatch)),
            ("a.test", wanting(None), Some(Cause::Mismatch)),
            ("a.test", Hello::BadName("a.test b.test".into()), Some(Cause::Mismatch)),
            ("a.test", Hello::Broken, Some(Cause::Grammar)),
            ("a.test", Hello::NotTls, Some(Cause::Grammar)),
            ("192.0.2.1", wanting(None), None),
            ("192.0.2.1", wanting(name("192.0.2.1")), None),
            ("192.0.2.1", wanting(name("192.0.2.2")), Some(Cause::Mismatch)),
            ("192.0.2.1", wanting(name("a.test")), Some(Cause::Mismatch)),
        ] {
            assert_eq!(cause(target, hello.clone()), expected, "{target} {hello:?}");
        }
    }
}
