//! `--control-fd`: settings that arrive while the command runs.

use crate::voice::Voice;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use stockade::{Inlet, NetworkHandle, Policy};

/// Nobody writes settings this long; whoever does is stopped before the memory is gone.
const LONGEST_LINE: usize = 1 << 20;

/// Where lines come from, and who is told about them.
pub(super) struct Control {
    pub(super) number: i32,
    pub(super) voice: Voice,
    pub(super) policy: Arc<Policy>,
}

impl Control {
    /// Reads lines until the other side closes. A line's lists apply to the running command at once.
    pub(super) async fn follow(self, descriptor: OwnedFd, network: Option<NetworkHandle>) {
        let mut inlet = match Inlet::new(descriptor) {
            Ok(inlet) => inlet,
            Err(error) => {
                return self.voice.error(format!("control fd {} is not usable: {error}", self.number));
            }
        };
        let mut line = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = inlet.read(&mut buffer).await {
            for byte in &buffer[..count] {
                match byte {
                    b'\n' => self.apply(&std::mem::take(&mut line), network.as_ref()),
                    byte => line.push(*byte),
                }
            }
            if line.len() > LONGEST_LINE {
                return self.invalid("a line is longer than 1 MiB; no more are read");
            }
        }
        self.apply(&line, network.as_ref());
    }

    fn apply(&self, line: &[u8], network: Option<&NetworkHandle>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned());
        let plan = text.and_then(|text| self.policy.with_network(text).map_err(|errors| errors.to_string()));
        let done = plan.and_then(|plan| {
            network.map_or(Ok(()), |network| network.change(plan).map_err(|error| error.to_string()))
        });
        match done {
            Ok(()) => self.voice.detail(format!("control fd {}: the network lists are changed", self.number)),
            Err(error) => self.invalid(&error),
        }
    }

    fn invalid(&self, why: &str) {
        self.voice.error(format!("Invalid config on control fd {}: {why}", self.number));
    }
}
