//! The strict reader of request heads.

use crate::http::head::{BadRequest, Framing, Head, LONGEST_HEAD, MOST_HEADERS, Upgrade, without_upgrade};

fn parse(text: &str) -> Result<Option<Head>, BadRequest> {
    Head::parse(text.as_bytes())
}

#[test]
fn ordinary_heads_are_read() {
    let text = "POST /x?y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\nX: y z\r\n\r\nbody";
    let head = parse(text).unwrap().unwrap();
    assert_eq!((head.method.as_str(), head.target.as_str()), ("POST", "/x?y"));
    assert_eq!((head.host.as_deref(), head.framing), (Some(&b"a.test"[..]), Framing::Length(12)));
    assert_eq!(&text[head.length..], "body");
    for length in 0..text.len() - 4 {
        assert_eq!(parse(&text[..length]), Ok(None), "{:?}", &text[..length]);
    }
    let chunked = parse("GET / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n").unwrap().unwrap();
    assert_eq!(chunked.framing, Framing::Chunked);
}

#[test]
fn whatever_can_be_read_in_two_ways_is_refused() {
    let with = |lines: &str| format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n");
    for (text, wrong) in [
        (with("Content-Length: 1\r\nTransfer-Encoding: chunked"), BadRequest::Framing),
        (with("Transfer-Encoding: chunked\r\nContent-Length: 1"), BadRequest::Framing),
        (with("Content-Length: 1\r\nContent-Length: 2"), BadRequest::Length),
        (with("Content-Length: 1\r\nContent-Length: 1"), BadRequest::Length),
        (with("Content-Length: 1, 1"), BadRequest::Length),
        (with("Content-Length: +1"), BadRequest::Length),
        (with("Content-Length: 0x1"), BadRequest::Length),
        (with("Content-Length: -1"), BadRequest::Length),
        (with("Content-Length: 99999999999999999999"), BadRequest::Length),
        (with("Content-Length:"), BadRequest::Length),
        (with("Transfer-Encoding: gzip, chunked"), BadRequest::Encoding),
        (with("Transfer-Encoding: identity"), BadRequest::Encoding),
        (with("Transfer-Encoding: xchunked"), BadRequest::Encoding),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), BadRequest::Encoding),
        (with("Transfer-Encoding : chunked"), BadRequest::Space),
        (with("Host: a.test\r\nHost: a.test"), BadRequest::Host),
        (with("X: a\r\n folded"), BadRequest::Space),
        (with("X: a\r\n\tfolded"), BadRequest::Space),
        (with("X: a\nY: b"), BadRequest::LineEnd),
        (with("X: a\rY: b"), BadRequest::LineEnd),
        (with("X: a\r\r\nY: b"), BadRequest::LineEnd),
        (with(": a"), BadRequest::Space),
        (with("no colon"), BadRequest::Space),
        (with("X: a\0b"), BadRequest::Grammar),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(), BadRequest::Encoding),
        ("GET / HTTP/2.0\r\n\r\n".into(), BadRequest::Version),
        ("GET / HTTP/1.2\r\n\r\n".into(), BadRequest::Version),
        ("GET /\r\n\r\n".into(), BadRequest::Grammar),
        ("GET  / HTTP/1.1\r\n\r\n".into(), BadRequest::Grammar),
        ("GET / HTTP/1.1 \r\n\r\n".into(), BadRequest::Grammar),
        ("GET / x HTTP/1.1\r\n\r\n".into(), BadRequest::Grammar),
        ("\r\nGET / HTTP/1.1\r\n\r\n".into(), BadRequest::Grammar),
        (" GET / HTTP/1.1\r\n\r\n".into(), BadRequest::Space),
        ("GET / HTTP/1.1\n\n".into(), BadRequest::LineEnd),
    ] {
        match parse(&text) {
            Err(found) if found == wrong || wrong == BadRequest::Grammar => {}
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn heads_have_an_end() {
    let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(LONGEST_HEAD));
    assert_eq!(parse(&long), Err(BadRequest::TooLong));
    assert_eq!(parse(&(long + "\r\n\r\n")), Err(BadRequest::TooLong));
    let many = |number| format!("GET / HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(number));
    assert!(parse(&many(MOST_HEADERS)).is_ok());
    assert_eq!(parse(&many(MOST_HEADERS + 1)), Err(BadRequest::TooMany));
}

#[test]
fn wishes_for_other_kinds_of_http_are_dropped() {
    let text = "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade, HTTP2-Settings\r\n\
                Upgrade: h2c\r\nHTTP2-Settings: AAA\r\nX: upgrade\r\n\r\n";
    assert_eq!(parse(text).unwrap().unwrap().upgrade, Upgrade::Http);
    let kept = "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nX: upgrade\r\n\r\n";
    assert_eq!(String::from_utf8(without_upgrade(text.as_bytes())).unwrap(), kept);
    let upgrade =
        |value| parse(&format!("GET / HTTP/1.1\r\nUpgrade: {value}\r\n\r\n")).unwrap().unwrap().upgrade;
    assert_eq!(upgrade("websocket"), Upgrade::Opaque);
    assert_eq!(upgrade("websocket, h2c"), Upgrade::Http);
    assert_eq!(upgrade("HTTP/2.0"), Upgrade::Http);
    assert_eq!(parse("GET / HTTP/1.1\r\n\r\n").unwrap().unwrap().upgrade, Upgrade::None);
}
