//! What must hold for the head of a request, whatever it is.

use super::agree::asked;
use super::body::BodyScan;
use super::head::{Framing, Head, without_upgrade};
use super::likeness::{Likeness, looks_like_http};

/// Reads any bytes as a request.
pub fn http_head(bytes: &[u8]) {
    let likeness = looks_like_http(bytes);
    let Ok(Some(head)) = Head::parse(bytes) else { return };
    assert!(head.length <= bytes.len());
    assert_eq!(likeness, Likeness::Yes, "what is read as a request is taken for one");
    let (text, rest) = bytes.split_at(head.length);
    assert_eq!(Head::parse(text).as_ref(), Ok(&Some(head.clone())), "what follows changes the head");
    assert_eq!(Head::parse(&text[..head.length - 1]), Ok(None), "the last byte is not needed");
    assert!(!head.target.bytes().any(|byte| byte <= b' ' || byte == 0x7f), "{:?}", head.target);
    if let Ok(asked) = asked(&head.target, head.host.as_deref()) {
        assert!(!asked.path.contains(['?', '#']));
    }
    // Without the wish it is the same request.
    let plain = Head::parse(&without_upgrade(text)).ok().flatten().map(|plain| (plain.method, plain.target));
    assert_eq!(plain, Some((head.method, head.target)));
    follow(head.framing, rest);
}

/// The end of a body is where it is, however the bytes come.
fn follow(framing: Framing, bytes: &[u8]) {
    let mut scan = BodyScan::new(framing);
    let whole = scan.follow(bytes);
    let mut single = BodyScan::new(framing);
    let mut taken = 0;
    for byte in bytes {
        match single.follow(&[*byte]) {
            Ok(0) => break,
            Ok(count) => taken += count,
            Err(error) => return assert_eq!(whole, Err(error)),
        }
    }
    assert_eq!(whole, Ok(taken));
    assert_eq!(scan.is_done(), single.is_done());
}
