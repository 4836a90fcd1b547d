//! Heads on their way through: what belongs to one connection stays there.

use super::head::{Upgrade, upgrade_of};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Uri, Version, request, response};
use stockade_policy::Target;

/// Headers that speak about one connection.
const OF_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// How much memory the head of a request takes, about.
pub(super) fn weight<B>(request: &Request<B>) -> usize {
    /// Of a header, beside its letters.
    const EACH: usize = 128;
    let uri = request.uri();
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let host = uri.authority().map_or(0, |host| host.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + EACH);
    path + host + headers.sum::<usize>()
}

/// Whether anything may follow the head of a request.
pub(super) fn has_body<B: http_body::Body>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let says_so = headers.get_all(header::CONTENT_LENGTH).iter().any(|length| length != "0");
    says_so || headers.contains_key(header::TRANSFER_ENCODING) || !request.body().is_end_stream()
}

/// What a request wants to turn its connection into.
pub(super) fn wanted_upgrade(headers: &HeaderMap) -> Upgrade {
    let values = headers.get_all(header::UPGRADE).iter();
    let asked = values.fold(Upgrade::None, |asked, value| asked.and(upgrade_of(value.as_bytes())));
    let says_so = tokens(headers, &header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    if says_so { asked } else { Upgrade::None }
}

/// Makes the head of a request fit for another connection to `target`, in the form of HTTP/1.
pub(super) fn outward(head: &mut request::Parts, target: &Target, default_port: u16) {
    let upgrade = match wanted_upgrade(&head.headers) {
        Upgrade::Opaque => head.headers.get(header::UPGRADE).cloned(),
        Upgrade::Http | Upgrade::None => None,
    };
    let trailers = tokens(&head.headers, &header::TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    drop_connection_headers(&mut head.headers);
    // The gateway itself says whether it wants the body.
    head.headers.remove(header::EXPECT);
    head.headers.remove(header::TE);
    head.headers.remove(header::PROXY_AUTHORIZATION);
    let proxy: Vec<HeaderName> =
        head.headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned().collect();
    for name in proxy {
        head.headers.remove(name);
    }
    if trailers {
        head.headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if let Some(upgrade) = upgrade {
        head.headers.insert(header::UPGRADE, upgrade);
        head.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    join_cookies(&mut head.headers);
    if !head.headers.contains_key(header::HOST) {
        let authority = head.uri.authority().map(|authority| authority.as_str().to_owned());
        let authority = authority.unwrap_or_else(|| match target.port == default_port {
            true => target.host.to_string(),
            false => target.to_string(),
        });
        if let Ok(host) = HeaderValue::try_from(authority) {
            head.headers.insert(header::HOST, host);
        }
    }
    let path = head.uri.path_and_query().cloned();
    head.uri = path.map(Uri::from).unwrap_or_else(|| Uri::from_static("/"));
    head.version = Version::HTTP_11;
}

/// Puts a head made by [`outward`] into the form of HTTP/2. Nothing when it cannot be.
pub(super) fn second(head: &mut request::Parts, scheme: &'static str) -> Option<()> {
    let host = head.headers.remove(header::HOST)?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let uri = Uri::builder().scheme(scheme).authority(host.as_bytes()).path_and_query(path);
    head.uri = uri.build().ok()?;
    head.version = Version::HTTP_2;
    Some(())
}

/// Puts a head made by [`outward`] into the form in which a proxy is asked for it. Nothing when it cannot be.
///
/// Where the proxy is to go is what was judged, never what the request says.
pub(super) fn forwarded(
    head: &mut request::Parts,
    target: &Target,
    authorization: Option<&HeaderValue>,
) -> Option<()> {
    let authority = match target.port {
        80 => target.host.to_string(),
        _ => target.to_string(),
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let uri = Uri::builder().scheme("http").authority(authority).path_and_query(path);
    head.uri = uri.build().ok()?;
    if let Some(authorization) = authorization {
        head.headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
    }
    Some(())
}

/// Makes the head of an answer fit for the client's connection.
pub(super) fn inward(head: &mut response::Parts, strip: &[String]) {
    drop_connection_headers(&mut head.headers);
    for name in strip {
        head.headers.remove(name.as_str());
    }
    // Each side has its own.
    head.version = Version::HTTP_11;
}

/// Whether the body of an answer is packed for the way, which is not seen any more once it has arrived.
pub(super) fn is_packed(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::TRANSFER_ENCODING).iter().map(HeaderValue::as_bytes);
    let mut codings = codings.flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    codings.any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"chunked"))
}

fn drop_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        // Whoever names one of these would have it vanish from under the server.
        .filter(|name| {
            ![header::HOST, header::CONTENT_LENGTH, header::AUTHORIZATION, header::COOKIE].contains(name)
        })
        .collect();
    for name in OF_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
}

/// HTTP/2 may split cookies into several headers, HTTP/1 may not.
fn join_cookies(headers: &mut HeaderMap) {
    let mut cookies = headers.get_all(header::COOKIE).iter();
    if let (Some(first), Some(second)) = (cookies.next(), cookies.next()) {
        let all: Vec<&[u8]> = [first, second].into_iter().chain(cookies).map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
            headers.insert(header::COOKIE, joined);
        }
    }
}

fn tokens<'a>(headers: &'a HeaderMap, name: &'a HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{forwarded, inward, is_packed, outward, second, wanted_upgrade};
    use crate::http::head::Upgrade;
    use http::{Request, Response, request, response};
    use stockade_policy::Target;

    fn head(uri: &str, headers: &[(&str, &str)]) -> request::Parts {
        let request = Request::builder().uri(uri);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn names(head: &request::Parts) -> Vec<&str> {
        let mut names: Vec<&str> = head.headers.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    fn target(text: &str) -> Target {
        Target::parse(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn requests_lose_what_belongs_to_their_connection() {
        let mut head = head(
            "http://a.test:81/x?y",
            &[
                ("host", "a.test:81"),
                ("connection", "x-hop, close, host"),
                ("x-hop", "1"),
                ("x-kept", "1"),
                ("proxy-authorization", "Basic secret"),
                ("proxy-anything", "1"),
                ("keep-alive", "1"),
                ("te", "gzip, trailers"),
                ("upgrade", "h2c"),
            ],
        );
        outward(&mut head, &target("a.test:81"), 80);
        assert_eq!(names(&head), ["host", "te", "x-kept"]);
        assert_eq!(head.headers["te"], "trailers");
        assert_eq!(head.uri, "/x?y");
    }

    #[test]
    fn upgrades_stay() {
        let mut head = head("/", &[("host", "a"), ("connection", "Upgrade"), ("upgrade", "websocket")]);
        outward(&mut head, &target("a:80"), 80);
        assert_eq!(names(&head), ["connection", "host", "upgrade"]);
        assert_eq!(wanted_upgrade(&head.headers), Upgrade::Opaque);
    }

    #[test]
    fn the_second_version_goes_both_ways() {
        let mut head = head("https://a.test/x", &[("cookie", "a=1"), ("cookie", "b=2")]);
        outward(&mut head, &target("a.test:443"), 443);
        assert_eq!(
            (head.headers["host"].as_bytes(), &head.headers["cookie"]),
            (&b"a.test"[..], &"a=1; b=2".parse().unwrap())
        );
        second(&mut head, "https").unwrap();
        assert_eq!(head.uri, "https://a.test/x");
        assert!(!head.headers.contains_key("host"));
    }

    #[test]
    fn proxies_are_asked_for_what_was_judged() {
        for (to, uri) in [
            ("a.test:80", "http://a.test/x?y"),
            ("a.test:443", "http://a.test:443/x?y"),
            ("[2001:db8::1]:80", "http://[2001:db8::1]/x?y"),
            ("[2001:db8::1]:81", "http://[2001:db8::1]:81/x?y"),
        ] {
            let mut head = head("/x?y", &[("host", "as-it-was.test")]);
            forwarded(&mut head, &target(to), Some(&"Basic x".parse().unwrap())).unwrap();
            assert_eq!(head.uri, uri);
            assert_eq!(head.headers["proxy-authorization"], "Basic x");
            assert_eq!(head.headers["host"], "as-it-was.test");
        }
    }

    #[test]
    fn answers_lose_what_is_to_be_stripped() {
        let response =
            Response::builder().header("set-cookie", "a").header("connection", "close").header("x", "1");
        let mut head: response::Parts = response.body(()).unwrap().into_parts().0;
        inward(&mut head, &["Set-Cookie".into(), "bad name".into()]);
        assert_eq!(head.headers.keys().map(http::HeaderName::as_str).collect::<Vec<_>>(), ["x"]);
    }
    #[test]
    fn packing_is_seen_among_other_codings() {
        for (values, packed) in [
            (&["chunked"][..], false),
            (&["Chunked, "], false),
            (&["gzip, chunked"], true),
            (&["gzip", "chunked"], true),
            (&["chunked", "x"], true),
            (&[], false),
        ] {
            let response = Response::builder();
            let response =
                values.iter().fold(response, |head, value| head.header("transfer-encoding", *value));
            assert_eq!(is_packed(response.body(()).unwrap().headers()), packed, "{values:?}");
        }
    }
}
