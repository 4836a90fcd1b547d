//! Putting a layer's network rules on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::domain::{DomainError, DomainPattern};
use crate::inputs::Flags;
use crate::network::{DomainRule, SocketRule};
use crate::pattern::{Pattern, Reading};
use crate::policy::Manner;
use crate::settings::PathEntry;
use crate::settings::domain_entry::{LimitedDomain, PortEntry};
use crate::settings::network::NetworkSettings;
use crate::{NetLimits, RuleRef, Switch};
use ipnet::IpNet;
use std::net::IpAddr;

impl Draft {
    pub(super) fn apply_network(&mut self, settings: &NetworkSettings, voice: Voice) {
        self.add_domains(settings, voice);
        let loose = voice.may_loosen();
        for (key, wish) in [
            ("network.allowPublicHosts", settings.allow_public_hosts),
            ("network.allowAllUnixSockets", settings.allow_all_unix_sockets),
            ("network.allowLocalBinding", settings.allow_local_binding),
            ("network.allowPrivateAddresses", settings.allow_private_addresses),
        ] {
            let switch = match wish {
                Some(true) if !loose => {
                    self.ignore(voice, key, "true");
                    continue;
                }
                Some(true) => Switch::Allowed,
                Some(false) => Switch::Refused,
                None => continue,
            };
            let network = &mut self.policy.network;
            match key {
                "network.allowPublicHosts" => network.public_hosts = switch,
                "network.allowAllUnixSockets" => network.all_unix_sockets = switch,
                "network.allowLocalBinding" => network.local_binding = switch,
                _ => network.private_addresses = switch,
            }
        }
        if let Some(strict) = settings.strict_allowlist {
            self.set_strict(strict, voice);
        }
        self.limit_reach(settings, voice);
        for (index, path) in settings.allow_unix_sockets.iter().enumerate() {
            let key = format!("network.allowUnixSockets[{index}]");
            if loose {
                self.add_socket(path, voice, &key);
            } else {
                self.ignore(voice, &key, path);
            }
        }
        self.add_denied_addresses(settings, voice);
        self.add_requests(&settings.requests, voice);
        self.add_ports(settings, voice);
        self.apply_gateway(settings, voice);
    }

    pub(super) fn set_strict(&mut self, strict: bool, voice: Voice) {
        match strict {
            true => self.policy.network.asking = Switch::Refused,
            false if voice.may_loosen() => self.policy.network.asking = Switch::Allowed,
            false => self.ignore(voice, "network.strictAllowlist", "false"),
        }
    }

    pub(super) fn add_denied_addresses(&mut self, settings: &NetworkSettings, voice: Voice) {
        for (index, text) in settings.denied_resolved_addresses.iter().enumerate() {
            match text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)) {
                Ok(network) => self.policy.network.denied_addresses.push(network),
                Err(_) => self.wrong(
                    voice,
                    &format!("network.deniedResolvedAddresses[{index}]"),
                    format!("{text:?} is neither an address nor a network"),
                    "write 10.0.0.0/8, 192.0.2.7 or fc00::/7",
                ),
            }
        }
    }

    pub(super) fn add_domains(&mut self, settings: &NetworkSettings, voice: Voice) {
        for (index, entry) in settings.allowed_domains.iter().flatten().enumerate() {
            self.allow_domain(&entry.0, voice, &format!("network.allowedDomains[{index}]"));
        }
        let mut reasons_used = 0;
        for (index, text) in settings.denied_domains.iter().flatten().enumerate() {
            let reason = settings.denied_domain_reasons.get(text);
            reasons_used += usize::from(reason.is_some());
            self.deny_domain(text, reason.cloned(), voice, &format!("network.deniedDomains[{index}]"));
        }
        if reasons_used < settings.denied_domain_reasons.len() {
            let known = |name: &&String| settings.denied_domains.iter().flatten().any(|text| text == *name);
            let unused: Vec<&str> = settings
                .denied_domain_reasons
                .keys()
                .filter(|name| !known(name))
                .map(String::as_str)
                .collect();
            self.detail(format!(
                "reasons for domains that are not denied are never shown: {}",
                unused.join(", ")
            ));
        }
    }

    /// Options of the command line about the network.
    pub(super) fn apply_network_flags(&mut self, flags: &Flags) {
        for text in &flags.allow_domains {
            let voice = self.flag("--allow-domain");
            self.allow_domain(&LimitedDomain { domain: text.clone(), ..LimitedDomain::default() }, voice, "");
        }
        for text in &flags.deny_domains {
            let voice = self.flag("--deny-domain");
            self.deny_domain(text, None, voice, "");
        }
        for text in &flags.publish {
            let voice = self.flag("--publish");
            self.publish(&PortEntry(text.clone()), voice, "");
        }
        for text in &flags.forward_ports {
            let voice = self.flag("--forward-port");
            self.forward(&PortEntry(text.clone()), voice, "");
        }
        self.policy.network.live = flags.live_network;
    }

    /// A host that may be reached; an empty key is a flag.
    pub(super) fn allow_domain(&mut self, entry: &LimitedDomain, voice: Voice, key: &str) {
        let text = &entry.domain;
        match self.allowed_host(text) {
            Err(error) => self.wrong(voice, key, error.to_string(), error.hint()),
            Ok(_) if !voice.may_loosen() => self.ignore(voice, key, text),
            Ok(pattern) => {
                let rule = self.domain_rule("allowedDomains", text, voice, key);
                let limits = self.limits_of(entry, voice, key);
                self.policy.network.allowed.push(DomainRule { pattern, reason: None, limits, rule });
            }
        }
    }

    /// A host that may be reached because the organisation names every one that may.
    pub(super) fn name_domain(&mut self, text: &str, voice: Voice, key: &str) {
        match self.allowed_host(text) {
            Err(error) => self.wrong(voice, key, error.to_string(), error.hint()),
            Ok(pattern) => {
                let rule = self.domain_rule("allowedDomains", text, voice, key);
                let limits = NetLimits::default();
                self.policy.network.allowed.push(DomainRule { pattern, reason: None, limits, rule });
            }
        }
    }

    /// An entry of an allow list, as the settings in use understand it.
    fn allowed_host(&self, text: &str) -> Result<DomainPattern, DomainError> {
        match self.policy.manner {
            Manner::Native => DomainPattern::parse_reachable(text),
            Manner::Srt => DomainPattern::parse_allowed(text),
        }
    }

    /// A host that must not be reached; an empty key is a flag.
    pub(super) fn deny_domain(&mut self, text: &str, reason: Option<String>, voice: Voice, key: &str) {
        match DomainPattern::parse_denied(text) {
            Err(error) => self.wrong(voice, key, error.to_string(), error.hint()),
            Ok(pattern) => {
                let rule = self.domain_rule("deniedDomains", text, voice, key);
                let limits = NetLimits::default();
                self.policy.network.denied.push(DomainRule { pattern, reason, limits, rule });
            }
        }
    }

    /// A unix socket, or a directory of them; an empty key is a flag.
    pub(super) fn add_socket(&mut self, text: &str, voice: Voice, key: &str) {
        let reading = match self.policy.manner {
            Manner::Native => Reading::Allow,
            Manner::Srt => Reading::SrtAllow,
        };
        let parsed = self.patterns(&PathEntry::Pattern(text.to_owned()), reading);
        match parsed.as_deref() {
            Ok([Pattern::Literal(path)]) => {
                let origin = self.policy.book.origin(voice.source, key);
                let rule = RuleRef { text: format!("allowUnixSockets {text}"), origin };
                self.policy.network.unix_sockets.push(SocketRule { path: path.clone(), rule });
            }
            Ok(_) => {
                let hint = "name the socket, or the directory it lies in";
                self.wrong(voice, key, format!("{text:?}: sockets are named, not matched"), hint);
            }
            Err(error) => self.wrong(voice, key, format!("{text:?}: {error}"), error.hint()),
        }
    }

    pub(super) fn domain_rule(&self, list: &str, text: &str, voice: Voice, key: &str) -> RuleRef {
        RuleRef { text: format!("{list} {text}"), origin: self.policy.book.origin(voice.source, key) }
    }
}
