//! What a request asks for beside its method and its path: rules about requests see nothing of it.

use super::agree::Asked;
use super::answer::Answer;
use super::head::{Upgrade, upgrade_of};
use crate::gateway::{Admitted, Ward, refusal};
use crate::transparent::rule_about_requests;
use http::{HeaderMap, Request, StatusCode, header};
use stockade_policy::{Cause, NetJudge, NetRefusal, RuleRef, Target};

/// Headers in which some servers look for the method or the path that is really meant.
const OTHER_REQUEST: [&str; 5] =
    ["X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"];
/// Methods whose answer is the request itself.
const ECHOING: [&str; 2] = ["TRACE", "TRACK"];

/// What the headers of a request ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    /// The header that asks for another method or path.
    other_request: Option<&'static str>,
    /// Whether the connection is to become something whose content nobody knows.
    other_protocol: bool,
}

impl Wishes {
    /// Those of all these headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut wishes = Self::default();
        for (name, value) in headers {
            wishes.add(name.as_str(), value.as_bytes());
        }
        wishes
    }

    /// Those of one header more.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        if let Some(known) = OTHER_REQUEST.iter().find(|known| is_same(known, name)) {
            self.other_request = Some(known);
        }
        if name.eq_ignore_ascii_case(header::UPGRADE.as_str()) && upgrade_of(value) == Upgrade::Opaque {
            let mut protocols = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            self.other_protocol |= !protocols.all(|protocol| protocol.eq_ignore_ascii_case(b"websocket"));
        }
    }

    /// Refuses them where they would lead around the rules about requests.
    pub(super) fn judged(
        self,
        ward: &Ward,
        admitted: &Admitted,
        asked: &Asked,
        method: &str,
    ) -> Result<(), Answer> {
        match self.refused(&ward.judge(), &admitted.target) {
            Ok(()) => Ok(()),
            Err((reason, rule)) => {
                let refusal = about(admitted, asked, method, reason, Some(rule));
                Err(Answer::refused(&ward.refuse(refusal).refusal))
            }
        }
    }

    /// Why they are refused, and because of which rule, where they are.
    pub(super) fn refused(self, judge: &NetJudge, target: &Target) -> Result<(), (String, RuleRef)> {
        let reason = match self {
            Self { other_request: Some(name), .. } => {
                format!("{name} can ask for another request than was judged")
            }
            Self { other_protocol: true, .. } => {
                "only `websocket` may follow requests that have rules".to_owned()
            }
            _ => return Ok(()),
        };
        rule_about_requests(judge.plan(), target).map_or(Ok(()), |rule| Err((reason, rule)))
    }
}

/// Refuses a method that would show the client what was put into its request.
pub(super) fn refuse_echo(
    ward: &Ward,
    admitted: &Admitted,
    asked: &Asked,
    method: &str,
) -> Result<(), Answer> {
    if !ECHOING.iter().any(|echoing| echoing.eq_ignore_ascii_case(method)) {
        return Ok(());
    }
    let reason = format!("{method} would show what the gateway puts into requests");
    let denied = ward.refuse(about(admitted, asked, method, reason, None));
    Err(Answer::plain(StatusCode::METHOD_NOT_ALLOWED, "blocked-by-allowlist", denied.refusal.reason))
}

/// Makes sure that the answers of a host that is sent a secret can still be read after a request to speak
/// something else: only the messages of a WebSocket can, and only when they are not packed.
pub(super) fn plain_web_socket<B>(
    ward: &Ward,
    admitted: &Admitted,
    asked: &Asked,
    request: &mut Request<B>,
) -> Result<(), Answer> {
    request.headers_mut().remove(header::SEC_WEBSOCKET_EXTENSIONS);
    let mut values = request.headers().get_all(header::UPGRADE).iter();
    if values.all(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket")) {
        return Ok(());
    }
    let reason = "only `websocket` may follow requests to a host that is sent a secret".to_owned();
    let refusal = about(admitted, asked, request.method().as_str(), reason, None);
    Err(Answer::refused(&ward.refuse(refusal).refusal))
}

fn about(
    admitted: &Admitted,
    asked: &Asked,
    method: &str,
    reason: String,
    rule: Option<RuleRef>,
) -> NetRefusal {
    let target = &admitted.target;
    let subject = format!("{method} {target}{}", asked.path);
    NetRefusal { subject, ..refusal(target, Cause::Request, reason, rule) }
}

/// Some servers cannot tell `-` from `_`.
fn is_same(known: &str, name: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    known.bytes().map(plain).eq(name.bytes().map(plain))
}

#[cfg(test)]
mod tests {
    use super::Wishes;

    #[test]
    fn wishes_are_seen() {
        let of = |name: &str, value: &str| {
            let mut wishes = Wishes::default();
            wishes.add(name, value.as_bytes());
            (wishes.other_request.is_some(), wishes.other_protocol)
        };
        assert_eq!(of("x-original-url", "/admin"), (true, false));
        assert_eq!(of("X_HTTP_Method_Override", "DELETE"), (true, false));
        assert_eq!(of("X-Method", "DELETE"), (false, false));
        assert_eq!(of("Upgrade", "WebSocket"), (false, false));
        assert_eq!(of("Upgrade", "h2c"), (false, false));
        assert_eq!(of("upgrade", "websocket, shell"), (false, true));
        assert_eq!(of("upgrade", "tcp"), (false, true));
    }
}
