//! What a command's descriptors are connected to.

use std::os::fd::OwnedFd;
use stockade_isolate::Stdio;

/// Descriptors 0, 1, 2 and those the caller names. No other one crosses the wall.
#[derive(Debug)]
pub struct Wiring {
    /// Descriptors 0, 1 and 2.
    pub stdio: [Stdio; 3],
    /// Further descriptors: ours, and the number inside.
    pub descriptors: Vec<(OwnedFd, i32)>,
}

impl Wiring {
    /// No input; output arrives as events.
    pub fn captured() -> Self {
        Self { stdio: [Stdio::Null, Stdio::Piped, Stdio::Piped], descriptors: Vec::new() }
    }

    /// The caller's own descriptors.
    pub fn descriptors(input: OwnedFd, output: OwnedFd, error: OwnedFd) -> Self {
        Self { stdio: [input, output, error].map(Stdio::Descriptor), descriptors: Vec::new() }
    }
}
