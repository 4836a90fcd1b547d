//! Any bytes as git's list of files: no panic, and no name that leads elsewhere.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Component;
use stockade_policy::{ObjectFormat, git_index_names};

fuzz_target!(|bytes: &[u8]| {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let _ = git_index_names(bytes, format, |name| {
            assert!(name.components().all(|part| matches!(part, Component::Normal(part) if part != ".git")));
        });
    }
});
