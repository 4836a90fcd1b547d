//! What a request asks for, and whether it agrees with where its connection leads.

use super::answer::Answer;
use super::head::BadRequest;
use super::wishes::Wishes;
use crate::gateway::{Admitted, Ward, refusal};
use crate::transparent::rule_about_requests;
use std::sync::Arc;
use stockade_policy::{
    Allowance, Cause, Host, HostError, NetJudge, NetRefusal, Protocol, Ruling, Switch, Target,
};

/// What a request asks for, once its target and its Host agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) host: Host,
    /// Where the request names one.
    pub(super) port: Option<u16>,
    /// Without scheme, host and query.
    pub(super) path: String,
    pub(super) form: Form,
}

/// In which form the target was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `/path`, or `*`.
    Origin,
    /// `http://host/path`.
    Http,
    /// `https://host/path`.
    Https,
}

impl Asked {
    /// Where a request without TLS is for, if one goes by what it says alone.
    pub(super) fn target(&self) -> Target {
        Target { host: self.host.clone(), port: self.port.unwrap_or(80) }
    }
}

/// Reads the target of a request (anything but CONNECT) and its Host header.
pub(super) fn asked(target: &str, host: Option<&[u8]>) -> Result<Asked, BadRequest> {
    let host = host.filter(|host| !host.is_empty()).ok_or(BadRequest::Host)?;
    if target.contains('#') {
        return Err(BadRequest::Target);
    }
    let (form, rest) = match target.split_once("://") {
        _ if target.starts_with('/') || target == "*" => (Form::Origin, target),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Form::Http, rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Form::Https, rest),
        _ => return Err(BadRequest::Target),
    };
    let (host, port) = authority(host).map_err(|error| spelled(&error, BadRequest::Host))?;
    let path = match form {
        Form::Origin => rest,
        Form::Http | Form::Https => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let named = authority(&rest.as_bytes()[..end]);
            let named = named.map_err(|error| spelled(&error, BadRequest::Target))?;
            let default = if form == Form::Https { 443 } else { 80 };
            if (&named.0, named.1.unwrap_or(default)) != (&host, port.unwrap_or(default)) {
                return Err(BadRequest::Differ);
            }
            if rest[end..].starts_with('/') { &rest[end..] } else { "/" }
        }
    };
    let end = path.find('?').unwrap_or(path.len());
    Ok(Asked { host, port, path: path[..end].to_owned(), form })
}

fn authority(text: &[u8]) -> Result<(Host, Option<u16>), HostError> {
    // No port is 0, so a name without a port shows as one with it.
    match Target::parse(text, None) {
        Ok(target) => Ok((target.host, Some(target.port))),
        Err(error @ HostError::Disguised(_)) => Err(error),
        Err(_) => Host::parse(text).map(|host| (host, None)),
    }
}

/// What is wrong with a request for such a host: how it is written, or something else.
pub(super) fn spelled(error: &HostError, otherwise: BadRequest) -> BadRequest {
    match error {
        HostError::Disguised(_) => BadRequest::Spelling,
        _ => otherwise,
    }
}

/// The answer to something on a connection that was let in that cannot be read as a request, once it is told.
pub(super) fn bad(admitted: &Admitted, wrong: BadRequest) -> Answer {
    if wrong != BadRequest::TooSlow {
        admitted.refuse(refusal(&admitted.target, Cause::Grammar, wrong.to_string(), None));
    }
    Answer::bad(wrong)
}

/// Judges one request on a connection that was let in; a refusal is told before this returns.
pub(super) async fn judged(
    ward: &Arc<Ward>,
    admitted: &Admitted,
    asked: &Asked,
    method: &str,
) -> Result<(), Answer> {
    let named = check_host(&ward.judge(), &admitted.target, asked, method);
    let named = named.map_err(|refusal| Answer::refused(&ward.refuse(*refusal).refusal))?;
    admitted.names(named.as_ref());
    let judged = ward.judge_request(admitted, method, &asked.path).await;
    judged.map_err(|denied| Answer::refused(&denied.refusal))
}

/// Whether a request that was let through could be begun under another judge, for whoever keeps it.
pub(super) fn still(
    to: &Target,
    asked: &Asked,
    method: &str,
    wishes: Wishes,
) -> impl Fn(&NetJudge) -> bool + Send + Sync + use<> {
    let (to, asked, method) = (to.clone(), asked.clone(), method.to_owned());
    move |judge| {
        check_host(judge, &to, &asked, &method).is_ok()
            && matches!(judge.request(&to, &method, &asked.path), Ruling::Allowed(_))
            && wishes.refused(judge, &to).is_ok()
    }
}

/// Whether a request belongs on a connection that was admitted for `to`.
///
/// Behind a literal address may be any number of hosts, and its rule is about none of them: beside the address
/// itself a request may name only a host that may be reached by its own name, without rules about its requests.
/// A Host without a port means the connection's. Gives what allows a host that is named instead.
fn check_host(
    judge: &NetJudge,
    to: &Target,
    asked: &Asked,
    method: &str,
) -> Result<Option<Allowance>, Box<NetRefusal>> {
    let same_port = asked.port.is_none_or(|port| port == to.port);
    if asked.host == to.host && same_port {
        return Ok(None);
    }
    let called = Target { host: asked.host.clone(), port: to.port };
    let allowance = match judge.connect(&called, Some(Protocol::Http)) {
        Ruling::Allowed(allowance) => Some(allowance),
        Ruling::Refused(_) => None,
    };
    if judge.plan().host_mismatch == Switch::Allowed {
        return Ok(allowance);
    }
    if matches!(to.host, Host::Address(_))
        && allowance.is_some()
        && same_port
        && rule_about_requests(judge.plan(), &called).is_none()
    {
        return Ok(allowance);
    }
    let named = match asked.port {
        Some(port) => format!("{}:{port}", asked.host),
        None => asked.host.to_string(),
    };
    let reason = format!("the request names {named} as its host on a connection to {to}");
    let mut refusal = refusal(to, Cause::Mismatch, reason, None);
    refusal.subject = format!("{method} {named}{}", asked.path);
    Err(Box::new(refusal))
}

#[cfg(test)]
mod tests {
    use super::{Asked, BadRequest, Form, asked, check_host};
    use crate::gateway::testing::rule;
    use std::sync::Arc;
    use stockade_policy::{Cause, GatewayPlan, Host, NetJudge, Switch, Target};

    fn read(target: &str, host: &str) -> Result<Asked, BadRequest> {
        asked(target, Some(host.as_bytes()))
    }

    #[test]
    fn targets_are_read() {
        let path = |target| read(target, "a.test").map(|asked| asked.path);
        assert_eq!(path("/x?y"), Ok("/x".into()));
        assert_eq!(path("*"), Ok("*".into()));
        assert_eq!(path("http://a.test"), Ok("/".into()));
        assert_eq!(path("http://a.test?y"), Ok("/".into()));
        assert_eq!(path("HTTP://A.test:80/x/y?z"), Ok("/x/y".into()));
        assert_eq!(read("https://a.test/", "a.test:443").map(|asked| asked.form), Ok(Form::Https));
        assert_eq!(read("/", "[2001:db8::1]:8080").map(|asked| asked.port), Ok(Some(8080)));
    }

    #[test]
    fn odd_targets_are_refused() {
        for target in [
            "/x#y",
            "/x?y#z",
            "http://a.test#/x",
            "x",
            "",
            "ftp://a.test/",
            "http:///x",
            "http://user@a.test/",
            "http://a.test:x/",
            "a.test:80",
        ] {
            assert_eq!(read(target, "a.test"), Err(BadRequest::Target), "{target:?}");
        }
        for target in ["http://b.test/", "http://a.test:81/", "http://a.test.b.test/"] {
            assert_eq!(read(target, "a.test"), Err(BadRequest::Differ), "{target:?}");
        }
        for host in ["", "a.test, b.test", "a.test\0", "a.test/", "user@a.test", "a.test:", "a.test:0"] {
            assert_eq!(read("/", host), Err(BadRequest::Host), "{host:?}");
        }
        assert_eq!(asked("/", None), Err(BadRequest::Host));
        for host in ["0x7f.1", "127.1:80", "3405803789", "3405803789:80"] {
            assert_eq!(read("/", host), Err(BadRequest::Spelling), "{host:?}");
            let absolute = read(&format!("http://{host}/"), host);
            assert_eq!(absolute, Err(BadRequest::Spelling), "{host:?}");
        }
    }

    #[test]
    fn hosts_must_agree() {
        let plan = GatewayPlan::default();
        let to = |text: &str| Target::parse(text.as_bytes(), None).unwrap();
        let check = |plan: &GatewayPlan, text, host| {
            check_host(&NetJudge::new(Arc::new(plan.clone())), &to(text), &read("/", host).unwrap(), "GET")
                .map(drop)
                .map_err(|no| no.cause)
        };
        assert_eq!(check(&plan, "a.test:80", "A.test."), Ok(()));
        assert_eq!(check(&plan, "a.test:8080", "a.test:8080"), Ok(()));
        assert_eq!(check(&plan, "a.test:8080", "a.test"), Ok(()));
        assert_eq!(check(&plan, "a.test:80", "b.test"), Err(Cause::Mismatch));
        assert_eq!(check(&plan, "a.test:80", "a.test:81"), Err(Cause::Mismatch));
        assert_eq!(check(&plan, "192.0.2.1:80", "192.0.2.1"), Ok(()));
        assert_eq!(check(&plan, "192.0.2.1:80", "192.0.2.1:81"), Err(Cause::Mismatch));
        assert_eq!(check(&plan, "192.0.2.1:80", "b.test"), Err(Cause::Mismatch));
        let listing = GatewayPlan { allowed: vec![rule("b.test:80")], ..GatewayPlan::default() };
        assert_eq!(check(&listing, "192.0.2.1:80", "b.test"), Ok(()));
        assert_eq!(check(&listing, "192.0.2.1:81", "b.test"), Err(Cause::Mismatch));
        assert_eq!(check(&listing, "192.0.2.1:80", "b.test:81"), Err(Cause::Mismatch));
        let denying = GatewayPlan { denied: vec![rule("b.test:80")], ..listing };
        assert_eq!(check(&denying, "192.0.2.1:80", "b.test"), Err(Cause::Mismatch));
        let open = GatewayPlan { host_mismatch: Switch::Allowed, ..GatewayPlan::default() };
        assert_eq!(check(&open, "a.test:80", "b.test"), Ok(()));
        assert_eq!(read("/", "a.test").map(|asked| asked.host), Ok(Host::Name("a.test".into())));
    }
}
