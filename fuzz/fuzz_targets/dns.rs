//! Any bytes as a message to the stub resolver: nothing or a well-formed answer, and nothing leaves the machine.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| stockade_net::fuzzing::dns(bytes));
