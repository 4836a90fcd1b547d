//! How far and how fast: ports, protocols, limits, and ports that lead in and out.

use super::Draft;
use super::layer::Voice;
use super::native::merge;
use crate::policy::Manner;
use crate::settings::domain_entry::{FreePort, LimitedDomain, PortEntry};
use crate::settings::network::NetworkSettings;
use crate::{ForwardPort, NetLimits, Publish};

/// Where a list of ports has nothing left; no connection has this port.
const NO_PORT: u16 = 0;
/// Where the sandbox's own resolver answers.
const NAME_PORT: u16 = 53;

impl Draft {
    pub(super) fn limit_reach(&mut self, settings: &NetworkSettings, voice: Voice) {
        let zero_port = settings.ports.iter().flatten().position(|port| *port == 0);
        if let Some(index) = zero_port {
            let key = format!("network.ports[{index}]");
            self.wrong(voice, &key, "0 is not a port", "write a number from 1 to 65535");
        }
        let limits = NetLimits {
            connections_per_second: settings.connections_per_second,
            requests_per_minute: settings.max_requests_per_minute,
            bytes_per_second: settings.bytes_per_second,
            total_bytes: settings.total_bytes,
            max_request_bytes: settings.max_request_bytes,
            max_response_bytes: settings.max_response_bytes,
        };
        self.check_limits(&limits, ["network.maxRequestsPerMinute", "network."], voice);
        let tighten = !voice.may_loosen();
        let network = &mut self.policy.network;
        let ours = &mut network.limits;
        merge(&mut ours.connections_per_second, limits.connections_per_second, tighten);
        merge(&mut ours.requests_per_minute, limits.requests_per_minute, tighten);
        merge(&mut ours.bytes_per_second, limits.bytes_per_second, tighten);
        merge(&mut ours.total_bytes, limits.total_bytes, tighten);
        merge(&mut ours.max_request_bytes, limits.max_request_bytes, tighten);
        merge(&mut ours.max_response_bytes, limits.max_response_bytes, tighten);
        if narrow(&mut network.ports, settings.ports.as_deref(), tighten) == Left::Nothing {
            network.ports = vec![NO_PORT];
        }
        if narrow(&mut network.protocols, settings.protocols.as_deref(), tighten) == Left::Nothing {
            // An empty list would mean every protocol.
            let reason = "no protocol is left that every layer of settings allows".to_owned();
            self.deny_domain("*", Some(reason), voice, "network.protocols");
        }
    }

    /// The limits of one domain.
    pub(super) fn limits_of(&mut self, entry: &LimitedDomain, voice: Voice, key: &str) -> NetLimits {
        let limits = NetLimits {
            connections_per_second: entry.connections_per_second,
            requests_per_minute: entry.requests_per_minute,
            bytes_per_second: entry.bytes_per_second,
            total_bytes: entry.total_bytes,
            ..NetLimits::default()
        };
        self.check_limits(&limits, [&format!("{key}.requestsPerMinute"), &format!("{key}.")], voice);
        limits
    }

    fn check_limits(&mut self, limits: &NetLimits, [requests, base]: [&str; 2], voice: Voice) {
        let zero = [
            (requests.to_owned(), limits.requests_per_minute == Some(0)),
            (format!("{base}connectionsPerSecond"), limits.connections_per_second == Some(0)),
            (format!("{base}bytesPerSecond"), limits.bytes_per_second == Some(0)),
            (format!("{base}totalBytes"), limits.total_bytes == Some(0)),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            let hint = "leave it out for no limit, or allow no domains";
            self.wrong(voice, &key, "must be more than 0", hint);
        }
    }

    /// Ports that lead in and out, from settings.
    pub(super) fn add_ports(&mut self, settings: &NetworkSettings, voice: Voice) {
        let lists =
            [("network.publish", &settings.publish), ("network.forwardPorts", &settings.forward_ports)];
        for (list, entries) in lists {
            for (index, entry) in entries.iter().enumerate() {
                let key = format!("{list}[{index}]");
                if self.policy.manner == Manner::Srt {
                    self.detail(format!("{key} has no meaning in srt's settings"));
                } else if !voice.may_loosen() {
                    self.ignore(voice, &key, &entry.0);
                } else if list == "network.publish" {
                    self.publish(entry, voice, &key);
                } else {
                    self.forward(entry, voice, &key);
                }
            }
        }
    }

    /// A port inside for the host; an empty key is a flag.
    pub(super) fn publish(&mut self, entry: &PortEntry, voice: Voice, key: &str) {
        let Some((host, inside)) = entry.pair(FreePort::Understood) else {
            return self.no_ports(entry, voice, key, "write 8080, or 8080:80 with this machine's port first");
        };
        let taken = |known: &Publish| host != 0 && known.host == host && known.inside != inside;
        if self.policy.network.publish.iter().any(taken) {
            let reason = format!("port {host} of this machine is published twice");
            return self.wrong(voice, key, reason, "choose another port of this machine");
        }
        let pair = Publish { host, inside };
        if !self.policy.network.publish.contains(&pair) {
            self.policy.network.publish.push(pair);
        }
    }

    /// A port of the host for the inside; an empty key is a flag.
    pub(super) fn forward(&mut self, entry: &PortEntry, voice: Voice, key: &str) {
        let Some((inside, host)) = entry.pair(FreePort::Refused) else {
            return self.no_ports(entry, voice, key, "write 5432, or 15432:5432 with the port inside first");
        };
        if inside == NAME_PORT {
            let reason = format!("port {inside} inside is where the sandbox's own resolver answers");
            return self.wrong(voice, key, reason, "choose another port inside, such as 1053:53");
        }
        let taken = |known: &ForwardPort| known.inside == inside && known.host != host;
        if self.policy.network.forward.iter().any(taken) {
            let reason = format!("port {inside} inside leads to two ports");
            return self.wrong(voice, key, reason, "choose another port inside");
        }
        let pair = ForwardPort { inside, host };
        if !self.policy.network.forward.contains(&pair) {
            self.policy.network.forward.push(pair);
        }
    }

    fn no_ports(&mut self, entry: &PortEntry, voice: Voice, key: &str, hint: &str) {
        self.wrong(voice, key, format!("{:?} is neither a port nor two of them", entry.0), hint);
    }
}

/// What a layer that may only tighten has left of a list.
#[derive(PartialEq, Eq)]
enum Left {
    Something,
    Nothing,
}

/// The later list, or what both have in common where a layer may only tighten.
fn narrow<T: PartialEq + Copy>(ours: &mut Vec<T>, theirs: Option<&[T]>, tighten: bool) -> Left {
    match theirs {
        Some(theirs) if tighten && !ours.is_empty() && !theirs.is_empty() => {
            ours.retain(|value| theirs.contains(value));
            return if ours.is_empty() { Left::Nothing } else { Left::Something };
        }
        // An empty list means every one, which is no tightening.
        Some([]) if tighten => {}
        Some(theirs) => *ours = theirs.to_vec(),
        None => {}
    }
    Left::Something
}
