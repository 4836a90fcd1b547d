//! Real values in the place of stand-ins, in one request.

use super::answer::Answer;
use super::flow::{Body, BoxError, Fault, Flow, Source, Tally};
use crate::credentials::{Channel, RequestBody, Signing, Stray};
use crate::gateway::{Direction, refusal};
use bytes::Bytes;
use http::{StatusCode, header, request};
use http_body::Body as _;
use http_body_util::{BodyExt, Full, Limited};
use std::borrow::Cow;
use std::convert::Infallible;
use stockade_policy::{Cause, CredentialSource, GatewayPlan, HostPattern, NetRefusal, Switch};
use tokio::sync::OwnedSemaphorePermit;

/// Bodies up to this length are collected when their length may change. Longer ones go on in chunks.
const LONGEST_COLLECTED: u64 = 1 << 20;

/// Room for a body that is held whole.
type Room = Option<OwnedSemaphorePermit>;

/// Puts real values into the head, as far as they are for this target, and gives the body to send.
pub(super) async fn inject(
    channel: Channel,
    head: &mut request::Parts,
    body: Source,
    tally: Tally,
) -> Result<Body, Answer> {
    let Some(vault) = tally.ward.vault() else { return Ok(Flow::new(body, tally).boxed_unsync()) };
    let injected = vault.inject(&tally.admitted.target, channel, head).map_err(cannot_sign)?;
    for stray in &injected.strays {
        let refusal = strayed(stray, channel, tally.ward.judge().plan());
        tally.ward.refuse(refusal);
    }
    match injected.body {
        RequestBody::Untouched => Ok(Flow::new(body, tally).boxed_unsync()),
        RequestBody::Replaced(_) if body.is_end_stream() => Ok(Flow::new(body, tally).boxed_unsync()),
        RequestBody::Replaced(replacer) if has_short_length(&body) => {
            // A real value is hardly ever much longer than its stand-in.
            let room = tally.ward.room_for_body(length_or(&body, LONGEST_COLLECTED)).await;
            collected(Flow::new(body, tally).replacing(replacer), head, room).await
        }
        RequestBody::Replaced(replacer) => {
            head.headers.remove(header::CONTENT_LENGTH);
            Ok(Flow::new(body, tally).replacing(replacer).boxed_unsync())
        }
        RequestBody::Signed(signing) => signed(signing, head, body, tally).await,
    }
}

/// A body that is held whole, with the room it takes until it is sent.
fn held<B>(body: B, room: Room) -> Body
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let unfailing = move |no| {
        // Lives as long as the body.
        let _room = &room;
        match no {}
    };
    body.map_err(unfailing).boxed_unsync()
}

/// How long a body says it is, or the most that is taken of one that does not say.
fn length_or(body: &Source, most: u64) -> usize {
    let length = body.size_hint().exact().unwrap_or(most).min(most);
    usize::try_from(length).unwrap_or(usize::MAX)
}

fn has_short_length(body: &Source) -> bool {
    body.size_hint().exact().is_some_and(|length| length <= LONGEST_COLLECTED)
}

/// Collects the body to learn its new length: some servers take no request without one.
async fn collected(body: Flow, head: &mut request::Parts, room: Room) -> Result<Body, Answer> {
    let whole = body.collect().await.map_err(|error| not_collected(&error))?;
    let trailers = whole.trailers().cloned();
    let whole = whole.to_bytes();
    head.headers.insert(header::CONTENT_LENGTH, whole.len().into());
    let body = Full::new(whole).with_trailers(std::future::ready(trailers.map(Ok)));
    Ok(held(body, room))
}

/// Collects the body, which the signature covers.
async fn signed(
    signing: Signing,
    head: &mut request::Parts,
    body: Source,
    tally: Tally,
) -> Result<Body, Answer> {
    let most = tally.left.map_or(Signing::LONGEST_BODY, |left| usize::try_from(left).unwrap_or(usize::MAX));
    let most = most.min(Signing::LONGEST_BODY);
    let room = tally.ward.room_for_body(length_or(&body, most as u64)).await;
    let whole = Limited::new(body, most).collect().await;
    let whole: Bytes = whole.map_err(|error| too_long(&error.to_string()))?.to_bytes();
    tally.exchange.count(whole.len(), Direction::Sent);
    let taken = tally.admitted.meter().take(whole.len(), Direction::Sent).await;
    taken.map_err(|reached| Answer::refused(&reached.refusal))?;
    signing.sign(&whole, head).map_err(cannot_sign)?;
    Ok(held(Full::new(whole), room))
}

fn cannot_sign(error: impl std::fmt::Display) -> Answer {
    Answer::plain(StatusCode::FORBIDDEN, "credential-not-usable", error.to_string())
}

fn not_collected(error: &BoxError) -> Answer {
    match Fault::of(&**error) {
        Some(Fault::Cut(cut)) => cut.answer(),
        Some(Fault::Bad(_) | Fault::Short) | None => {
            let text = format!("the body of the request did not arrive: {error}");
            Answer::plain(StatusCode::BAD_REQUEST, "bad-request", text)
        }
    }
}

fn too_long(why: &str) -> Answer {
    let text = format!("the body of the request could not be collected for its signature: {why}");
    Answer::plain(StatusCode::PAYLOAD_TOO_LARGE, "too-long", text)
}

/// A stand-in that stays one is harmless, but somebody should know where it was sent.
fn strayed(stray: &Stray, channel: Channel, plan: &GatewayPlan) -> NetRefusal {
    let Stray { name, to, .. } = stray;
    let ports: Vec<Option<u16>> = plan
        .credentials
        .iter()
        .filter(|secret| is_of(name, &secret.source))
        .flat_map(|secret| &secret.inject_hosts)
        .filter(|pattern| pattern.host != HostPattern::Any && to.host.fits(&pattern.host))
        .map(|pattern| pattern.port)
        .collect();
    let is_listed = ports.iter().any(|port| port.is_none_or(|port| port == to.port));
    let plaintext = channel == Channel::Plain && plan.plaintext_credentials == Switch::Refused;
    let reason = match (is_listed, ports.iter().flatten().next()) {
        // The host is listed, and what is wrong is the port.
        (false, Some(_)) if plaintext && to.port == 80 => {
            format!("the stand-in of {name} was sent to {to} outside TLS, where it is not replaced")
        }
        (false, Some(_)) => format!(
            "the stand-in of {name} was sent to {to}, and its injectHosts list {} for {} only; an entry \
             without a port means {}",
            to.host,
            in_words(ports.iter().flatten()),
            match plan.plaintext_credentials {
                Switch::Refused => "443",
                Switch::Allowed => "443 and 80",
            },
        ),
        _ => stray.to_string(),
    };
    let suggestion = match ports.is_empty() {
        false if plaintext && (is_listed || to.port == 80) => {
            Some("\"credentials\": {\"allowPlaintextInject\": true}".to_owned())
        }
        false if !is_listed => Some(format!("list {to} in its injectHosts")),
        _ => None,
    };
    NetRefusal { suggestion, ..refusal(to, Cause::StandIn, reason, None) }
}

/// Ports as people list them, each once.
fn in_words<'a>(ports: impl Iterator<Item = &'a u16>) -> String {
    let mut words: Vec<String> = Vec::new();
    for port in ports.map(u16::to_string) {
        if !words.contains(&port) {
            words.push(port);
        }
    }
    match words.split_last() {
        Some((last, [])) => format!("port {last}"),
        Some((last, others)) => format!("ports {} and {last}", others.join(", ")),
        None => "no port".to_owned(),
    }
}

/// Whether a secret of this name comes from there; a claim of a token has its own name behind it.
fn is_of(name: &str, source: &CredentialSource) -> bool {
    let known = match source {
        CredentialSource::Variable(variable) => Cow::Borrowed(variable.as_str()),
        CredentialSource::File(path) => path.to_string_lossy(),
    };
    name.strip_prefix(&*known).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}
