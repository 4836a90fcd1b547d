//! Any bytes as a host and as a target: refused, or in the one form that names are compared in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use stockade_policy::{Host, Target};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(host) = Host::parse(bytes) {
        let text = host.to_string();
        assert_eq!(Host::parse(text.as_bytes()).as_ref(), Ok(&host), "{text:?} reads otherwise");
        match &host {
            Host::Name(name) => {
                let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
                assert!(name.bytes().all(plain) && name.len() <= 253, "{name:?}");
                assert!(name.split('.').all(|label| (1..=63).contains(&label.len())), "{name:?}");
                assert!(name.parse::<IpAddr>().is_err(), "{name:?} is an address");
            }
            Host::Address(address) => assert_eq!(*address, address.to_canonical()),
        }
    }
    for default in [None, Some(443)] {
        if let Ok(target) = Target::parse(bytes, default) {
            let text = target.to_string();
            assert_eq!(
                Target::parse(text.as_bytes(), None).as_ref(),
                Ok(&target),
                "{text:?} reads otherwise"
            );
            assert_ne!(target.port, 0);
        }
    }
});
