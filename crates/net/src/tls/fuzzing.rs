//! What must hold for the first bytes of a client, whatever they are.

use super::hello::{Hello, sniff};

/// Reads any bytes as a ClientHello.
pub fn client_hello(bytes: &[u8]) {
    let whole = sniff(bytes);
    if let Hello::Client { sni: Some(host), .. } = &whole {
        let text = host.to_string();
        assert_eq!(
            stockade_policy::Host::parse(text.as_bytes()).as_ref(),
            Ok(host),
            "{text:?} reads otherwise"
        );
    }
    // What has been decided stays decided when more comes.
    if whole != Hello::NeedMore {
        let longer = [bytes, &[0x16; 9]].concat();
        assert_eq!(sniff(&longer), whole);
    }
    // Half of a hello may become one.
    if matches!(whole, Hello::Client { .. }) {
        let half = sniff(&bytes[..bytes.len() / 2]);
        assert!(half == Hello::NeedMore || half == whole, "{half:?}");
    }
}
