//! How much heads are on the way to a server and back, counted like every other byte.
//!
//! Whoever may send a thousand bytes may not send more in the names and values of headers. Lines that the HTTP
//! library adds by itself are not among them, nor is what HTTP/2 spares by packing.

use super::answer::Answer;
use crate::gateway::{Admitted, Direction, Exchange};
use http::{HeaderMap, Request, Response, Version};
use hyper::ext::ReasonPhrase;

/// What stands between and around the parts of one header line.
const LINE: usize = ": \r\n".len();
/// The first line of a request, without its method and target, and the empty line after the last.
const AROUND_REQUEST: usize = "  HTTP/1.1\r\n\r\n".len();
/// The same of an answer, without its words.
const AROUND_ANSWER: usize = "HTTP/1.1 200 \r\n\r\n".len();
/// What HTTP/2 has in place of the first lines.
const PSEUDO_REQUEST: usize = ":method:scheme:authority:path".len();
const PSEUDO_ANSWER: usize = ":status200".len();

/// Bytes of the head of a request, in the form in which it goes out.
pub(super) fn of_request<B>(request: &Request<B>) -> usize {
    let (method, uri) = (request.method().as_str().len(), request.uri());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let scheme = uri.scheme_str().map_or(0, str::len);
    let around = match request.version() {
        Version::HTTP_2 => PSEUDO_REQUEST,
        _ if scheme > 0 => AROUND_REQUEST + "://".len(),
        _ => AROUND_REQUEST,
    };
    method + scheme + authority + path + around + of_fields(request.headers(), request.version())
}

/// Bytes of the head of an answer, as it came.
pub(super) fn of_answer<B>(answer: &Response<B>) -> usize {
    let around = match answer.version() {
        Version::HTTP_2 => PSEUDO_ANSWER,
        _ => {
            let words = answer.extensions().get::<ReasonPhrase>().map(|words| words.as_bytes().len());
            let usual = || answer.status().canonical_reason().map_or(0, str::len);
            AROUND_ANSWER + words.unwrap_or_else(usual)
        }
    };
    around + of_fields(answer.headers(), answer.version())
}

/// Bytes of headers or trailers.
pub(super) fn of_fields(fields: &HeaderMap, version: Version) -> usize {
    let around = if version == Version::HTTP_2 { 0 } else { LINE };
    fields.iter().map(|(name, value)| name.as_str().len() + value.len() + around).sum()
}

/// Counts a head that is about to be passed on; waits as long as the rate demands. Where it does not fit into
/// what may be sent and received altogether there is an answer instead.
pub(super) async fn count_head(
    admitted: &Admitted,
    exchange: &Exchange,
    size: usize,
    direction: Direction,
) -> Result<(), Answer> {
    let counted = admitted.meter().take(size, direction).await;
    counted.map_err(|reached| Answer::refused(&reached.refusal))?;
    exchange.count(size, direction);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{of_answer, of_request};
    use http::{Request, Response, Version};

    #[test]
    fn heads_of_the_first_version_are_as_long_as_they_are_written() {
        let request = Request::builder().method("POST").uri("/a?b").header("Host", "a.test").header("x", "");
        let written = "POST /a?b HTTP/1.1\r\nHost: a.test\r\nx: \r\n\r\n";
        assert_eq!(of_request(&request.body(()).unwrap()), written.len());
        let forwarded = Request::builder().uri("http://a.test:81/a").header("Host", "a.test:81");
        let written = "GET http://a.test:81/a HTTP/1.1\r\nHost: a.test:81\r\n\r\n";
        assert_eq!(of_request(&forwarded.body(()).unwrap()), written.len());
        let answer = Response::builder().status(404).header("x", "1").header("x", "2");
        let written = "HTTP/1.1 404 Not Found\r\nx: 1\r\nx: 2\r\n\r\n";
        assert_eq!(of_answer(&answer.body(()).unwrap()), written.len());
    }

    #[test]
    fn heads_of_the_second_version_are_their_names_and_values() {
        let request = Request::builder().version(Version::HTTP_2).uri("https://a.test/a").header("x", "12");
        let said = ":methodGET:schemehttps:authoritya.test:path/ax12";
        assert_eq!(of_request(&request.body(()).unwrap()), said.len());
        let answer = Response::builder().version(Version::HTTP_2).header("x", "12");
        assert_eq!(of_answer(&answer.body(()).unwrap()), ":status200x12".len());
    }
}
