//! What must hold for the messages of a SOCKS client, whatever they are.

use super::message::{self, Address, Step};
use std::fmt::Debug;

/// Reads any bytes as each message of both versions.
pub fn socks(bytes: &[u8]) {
    check(bytes, message::greeting);
    check(bytes, message::password);
    check(bytes, message::four);
    // A request of a kind nobody knows has no length of its own.
    if !matches!(message::five(bytes), Step::Done(request, _) if request.address == Address::Unknown) {
        check(bytes, message::five);
    }
}

fn check<T: Debug + PartialEq>(bytes: &[u8], read: fn(&[u8]) -> Step<T>) {
    let Step::Done(found, length) = read(bytes) else { return };
    assert!(length <= bytes.len());
    assert_eq!(read(&bytes[..length]), Step::Done(found, length), "what follows changes the message");
    assert_eq!(read(&bytes[..length - 1]), Step::NeedMore, "the last byte is not needed");
}
