//! The common way of every TCP stream that was let in: transparent, CONNECT and SOCKS.

use super::answered::first_answer;
use super::first::{Banner, Spoken, TIME, listen};
use super::opaque::may_pass;
use super::watch::watch;
use crate::gateway::{Admitted, Ward, refusal, reset};
use crate::http::HiddenRequest;
use crate::relay::{Socket, relay_after, relay_answered};
use crate::{http, tls};
use bytes::Bytes;
use std::sync::Arc;
use stockade_policy::{Allowance, Cause, Host, NetJudge, NetRefusal, Protocol, Ruling, Target};

/// Carries a stream that was let in. `first` was read from the client already.
///
/// The target is reached first, unless [`Ward::dial_ahead`] has done so, and what a server says first is
/// never held up. What the *client* says first is looked at before the server gets any of it: TLS must name
/// the host that was judged, requests are judged one by one, and TLS is looked into where the plan wants it.
/// The connection that was made goes to whoever serves the requests: nothing has been sent on it.
///
/// A ClientHello without a name is let through to a host that was judged by name, as long as nothing has to
/// be known about its requests: many database clients send none, and a server cannot be led elsewhere by it.
pub(crate) async fn carry(ward: Arc<Ward>, client: Socket, admitted: Admitted, first: Bytes) {
    let Ok(upstream) = ward.dial(&admitted).await else { return reset(client) };
    // Where TLS is looked into, its first message belongs to the handshake.
    let looks = ward.termination().filter(|termination| termination.wants(&admitted.target));
    let hello = looks.map_or(TIME, |termination| termination.patience());
    let heard = tokio::select! {
        heard = listen(&client, &upstream, first, hello) => heard,
        () = admitted.closed() => return reset(client),
    };
    let Ok((spoken, first)) = heard else { return reset(client) };
    match decide(&ward, &admitted, &spoken) {
        Ok(Way::Relay) => {
            if let Err(reached) = admitted.meter().request() {
                admitted.limited(&reached.refusal);
                return reset(client);
            }
            // On the heap: they are over before long, and what relays would be as big as they are.
            let answer = Box::pin(first_answer(&ward, &client, &upstream, &admitted));
            // How it ended is in the record.
            let _ = match spoken {
                // A server that was not asked for TLS answers that as HTTP, too.
                Spoken::Tls(_) => relay_answered(answer, &client, &upstream, &admitted, first).await,
                _ => {
                    let judge = |spoken: &Spoken| in_time(&ward, &admitted, spoken);
                    let said = (first, hidden(&spoken));
                    let beginning = Box::pin(watch(&client, &upstream, &admitted, said, judge));
                    relay_after(beginning, answer, &client, &upstream, &admitted).await
                }
            };
        }
        Ok(Way::Http) => {
            admitted.keep(upstream);
            // On the heap: a connection that only relays should not be as big as one that speaks HTTP.
            Box::pin(http::serve_plain(ward, client, admitted, first)).await;
        }
        Ok(Way::Terminate) => {
            admitted.keep(upstream);
            Box::pin(tls::terminate(ward, client, admitted, first)).await;
        }
        Err(refusal) => {
            // Whoever ends without a word has tried nothing.
            if spoken != Spoken::Nothing {
                admitted.refuse(*refusal);
            }
            reset(client);
        }
    }
}

/// What looks for a request behind other words: nothing where the server has shown that it takes none.
fn hidden(spoken: &Spoken) -> HiddenRequest {
    match spoken {
        Spoken::ServerFirst(Banner::Ssh | Banner::Other) => HiddenRequest::unsought(),
        _ => HiddenRequest::default(),
    }
}

/// What is done with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Relay,
    Http,
    Terminate,
}

fn decide(ward: &Ward, admitted: &Admitted, spoken: &Spoken) -> Result<Way, Box<NetRefusal>> {
    let target = &admitted.target;
    match spoken {
        Spoken::Tls(sni) => {
            admitted.names(agreed(&ward.judge(), target, sni.as_ref())?.as_ref());
            judged(admitted, Protocol::Https)?;
            if ward.termination().is_some_and(|termination| termination.wants(target)) {
                return Ok(Way::Terminate);
            }
        }
        Spoken::Misnamed(name) => {
            let reason = format!("the TLS client asks for {name:?}, which is not one host's name");
            return Err(Box::new(refusal(target, Cause::Mismatch, reason, None)));
        }
        Spoken::Http => {
            judged(admitted, Protocol::Http)?;
            return Ok(Way::Http);
        }
        Spoken::ServerFirst(Banner::Ssh) => judged(admitted, Protocol::Ssh)?,
        Spoken::Git => judged(admitted, Protocol::Git)?,
        Spoken::ServerFirst(Banner::Other | Banner::Http) | Spoken::Other | Spoken::Nothing => {
            judged(admitted, Protocol::Tcp)?;
        }
        Spoken::Unfinished => {
            let reason = "it began like TLS or HTTP and did not go on".to_owned();
            return Err(Box::new(refusal(target, Cause::Grammar, reason, None)));
        }
    }
    may_pass(&ward.judge(), target)?;
    let (target, spoken) = (target.clone(), spoken.clone());
    admitted.passes_unseen(move |judge| {
        let named = match &spoken {
            Spoken::Tls(sni) => agreed(judge, &target, sni.as_ref()).map(drop),
            _ => Ok(()),
        };
        named.is_ok() && may_pass(judge, &target).is_ok()
    });
    Ok(Way::Relay)
}

/// What turns out after the stream was carried on can be let through or not, and no longer be looked into.
fn in_time(ward: &Ward, admitted: &Admitted, spoken: &Spoken) -> Result<(), Box<NetRefusal>> {
    // What was judged as the server's kind stays that, as long as the client does not say otherwise.
    if matches!(spoken, Spoken::Other) {
        return Ok(());
    }
    match decide(ward, admitted, spoken)? {
        Way::Relay => Ok(()),
        Way::Http | Way::Terminate => {
            let reason = "it turned out to be HTTP or TLS when it was too late to look into it".to_owned();
            Err(Box::new(refusal(&admitted.target, Cause::Protocol, reason, None)))
        }
    }
}

/// Judges again, now that it is known what is spoken.
fn judged(admitted: &Admitted, spoken: Protocol) -> Result<(), Box<NetRefusal>> {
    admitted.speaks(spoken);
    match admitted.judge().connect(&admitted.target, Some(spoken)) {
        Ruling::Allowed(_) => Ok(()),
        Ruling::Refused(refusal) => Err(refusal),
    }
}

/// The name in a ClientHello must be the one that was judged; beside an address, one that may be reached. Gives
/// what allows that.
fn agreed(
    judge: &NetJudge,
    target: &Target,
    sni: Option<&Host>,
) -> Result<Option<Allowance>, Box<NetRefusal>> {
    let Some(sni) = sni.filter(|sni| **sni != target.host) else { return Ok(None) };
    let named = Target { host: sni.clone(), port: target.port };
    // Rules about the requests of that host cannot be kept on a way around its name.
    if matches!(target.host, Host::Address(_))
        && let Ruling::Allowed(allowance) = judge.connect(&named, Some(Protocol::Https))
        && may_pass(judge, &named).is_ok()
    {
        return Ok(Some(allowance));
    }
    let reason = format!("the TLS client asks for {sni} and not for {}", target.host);
    Err(Box::new(refusal(target, Cause::Mismatch, reason, None)))
}
