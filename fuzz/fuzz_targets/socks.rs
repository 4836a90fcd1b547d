//! Any bytes as the messages of a SOCKS client.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| stockade_net::fuzzing::socks(bytes));
