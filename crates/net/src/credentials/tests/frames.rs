//! Real values that come back in the messages of a WebSocket.

use super::*;

/// Frames of a server, each with its first byte and its content.
fn frames(frames: &[(u8, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (first, content) in frames {
        bytes.push(*first);
        match content.len() {
            length @ 0..126 => bytes.push(u8::try_from(length).unwrap()),
            length => {
                bytes.push(126);
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        bytes.extend(content.as_bytes());
    }
    bytes
}

#[test]
fn messages_of_web_sockets_are_covered_however_they_are_cut() {
    let (vault, stand_in) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let scrubber = || FrameScrubber::new(vault.scrubber(&to("api.test:443")).unwrap());
    let cover = &stand_in[.."SECRET-VALUE".len()];
    let (long, covered) = ("x".repeat(300) + "SECRET-VALUE", "x".repeat(300) + cover);
    let said = frames(&[
        (0x81, "a SECRET-VALUE b"),
        (0x01, "a SECR"),
        (0x89, "ping SECRET-VALUE"),
        (0x00, ""),
        (0x00, "ET-VA"),
        (0x80, "LUE b SECRE"),
        (0x82, "T-VALUE"),
        (0x82, &long),
        (0x88, "bye"),
    ]);
    let expected = frames(&[
        (0x81, &format!("a {cover} b")),
        (0x01, &format!("a {}", &cover[..4])),
        (0x89, &format!("ping {cover}")),
        (0x00, ""),
        (0x00, &cover[4..9]),
        (0x80, &format!("{} b SECRE", &cover[9..])),
        // Another message: nobody reads both as one.
        (0x82, "T-VALUE"),
        (0x82, &covered),
        (0x88, "bye"),
    ]);
    for size in [1, 2, 3, 7, 50, said.len()] {
        let mut frames = scrubber();
        let mut heard: Vec<u8> = said.chunks(size).flat_map(|piece| frames.push(piece).unwrap()).collect();
        heard.extend(frames.finish());
        assert!(heard == expected, "{size}: {}", String::from_utf8_lossy(&heard));
    }
    // The end of a message does not wait for the next one.
    let mut frames = scrubber();
    let whole = frames.push(&self::frames(&[(0x81, "a SECR")])).unwrap();
    assert_eq!(&whole[2..], b"a SECR");
    // What is packed, masked or no frame at all.
    for first in [[0xc1, 0x01], [0x81, 0x81], [0x83, 0x01], [0x09, 0x01], [0x89, 0x7e]] {
        assert!(scrubber().push(&[&first[..], &[0, 1, 0]].concat()).is_err(), "{first:x?}");
    }
}

/// The last word of a message waits for the rest of it, the others do not.
#[test]
fn words_of_messages_wait_for_their_end() {
    let (vault, stand_in) = one("SECRET-VALUE", &["api.test"], Switch::Refused);
    let mut scrubber = FrameScrubber::new(vault.scrubber(&to("api.test:443")).unwrap());
    assert_eq!(&scrubber.push(&[0x01, 15]).unwrap()[..], [0x01, 15]);
    assert_eq!(&scrubber.push(b"a SECR").unwrap()[..], b"a ");
    assert_eq!(&scrubber.push(b"ET-VALUE ").unwrap()[..], format!("{} ", &stand_in[..12]).as_bytes());
    assert_eq!(&scrubber.push(&[0x80, 10]).unwrap()[..], [0x80, 10]);
    assert!(scrubber.push(b"SECRET").unwrap().is_empty());
    assert_eq!(&scrubber.push(b"-VAL").unwrap()[..], b"SECRET-VAL");
}
