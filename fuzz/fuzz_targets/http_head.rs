//! Any bytes as an HTTP request: read in one way, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| stockade_net::fuzzing::http_head(bytes));
