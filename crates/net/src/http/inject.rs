//! Real values in the place of stand-ins, in one request.

use super::answer::Answer;
use super::flow::{Body, Flow, Tally};
use crate::credentials::{Channel, RequestBody, Signing, Stray};
use crate::gateway::{Direction, refusal};
use bytes::Bytes;
use http::{StatusCode, header, request};
use http_body::Body as _;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use stockade_policy::{Cause, NetRefusal};

/// Puts real values into the head, as far as they are for this target, and gives the body to send.
pub(super) async fn inject(
    channel: Channel,
    head: &mut request::Parts,
    body: Incoming,
    tally: Tally,
) -> Result<Body, Answer> {
    let Some(vault) = tally.ward.vault() else { return Ok(Flow::new(body, tally).boxed_unsync()) };
    let injected = vault.inject(&tally.admitted.target, channel, head).map_err(cannot_sign)?;
    for stray in &injected.strays {
        tally.ward.refuse(strayed(stray));
    }
    match injected.body {
        RequestBody::Untouched => Ok(Flow::new(body, tally).boxed_unsync()),
        RequestBody::Replaced(_) if body.is_end_stream() => Ok(Flow::new(body, tally).boxed_unsync()),
        RequestBody::Replaced(replacer) => {
            head.headers.remove(header::CONTENT_LENGTH);
            Ok(Flow::new(body, tally).replacing(replacer).boxed_unsync())
        }
        RequestBody::Signed(signing) => signed(signing, head, body, tally).await,
    }
}

/// Collects the body, which the signature covers.
async fn signed(
    signing: Signing,
    head: &mut request::Parts,
    body: Incoming,
    tally: Tally,
) -> Result<Body, Answer> {
    let most = tally.left.map_or(Signing::LONGEST_BODY, |left| usize::try_from(left).unwrap_or(usize::MAX));
    let whole = Limited::new(body, most.min(Signing::LONGEST_BODY)).collect().await;
    let whole: Bytes = whole.map_err(|error| too_long(&error.to_string()))?.to_bytes();
    tally.exchange.count(whole.len(), Direction::Sent);
    let taken = tally.admitted.meter().take(whole.len(), Direction::Sent).await;
    taken.map_err(|reached| Answer::refused(&reached.refusal))?;
    signing.sign(&whole, head).map_err(cannot_sign)?;
    Ok(Full::new(whole).map_err(|no| match no {}).boxed_unsync())
}

fn cannot_sign(error: impl std::fmt::Display) -> Answer {
    Answer::plain(StatusCode::FORBIDDEN, "credential-not-usable", error.to_string())
}

fn too_long(why: &str) -> Answer {
    let text = format!("the body of the request could not be collected for its signature: {why}");
    Answer::plain(StatusCode::PAYLOAD_TOO_LARGE, "too-long", text)
}

/// A stand-in that stays one is harmless, but somebody should know where it was sent.
fn strayed(stray: &Stray) -> NetRefusal {
    refusal(&stray.to, Cause::Denied, stray.to_string(), None)
}
