//! Any bytes as the first a TLS client says.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| stockade_net::fuzzing::client_hello(bytes));
