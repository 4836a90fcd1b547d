//! Putting a layer's network rules on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::domain::DomainPattern;
use crate::inputs::Shape;
use crate::network::{DomainRule, SocketRule};
use crate::pattern::{self, Pattern, Reading, Surroundings};
use crate::settings::PathEntry;
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
                _ => network.local_binding = switch,
            }
        }
        match settings.strict_allowlist {
            Some(true) => self.policy.network.asking = Switch::Refused,
            Some(false) if loose => self.policy.network.asking = Switch::Allowed,
            Some(false) => self.ignore(voice, "network.strictAllowlist", "false"),
            None => {}
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
        self.apply_gateway(settings, voice);
    }

    fn add_domains(&mut self, settings: &NetworkSettings, voice: Voice) {
        for (index, text) in settings.allowed_domains.iter().flatten().enumerate() {
            let key = format!("network.allowedDomains[{index}]");
            match DomainPattern::parse_allowed(text) {
                Err(error) => self.wrong(voice, &key, error.to_string(), error.hint()),
                Ok(_) if !voice.may_loosen() => self.ignore(voice, &key, text),
                Ok(pattern) => {
                    let rule = self.domain_rule("allowedDomains", text, voice, key);
                    self.policy.network.allowed.push(DomainRule { pattern, reason: None, limits: NetLimits::default(), rule });
                }
            }
        }
        let mut reasons_used = 0;
        for (index, text) in settings.denied_domains.iter().flatten().enumerate() {
            let key = format!("network.deniedDomains[{index}]");
            match DomainPattern::parse_denied(text) {
                Err(error) => self.wrong(voice, &key, error.to_string(), error.hint()),
                Ok(pattern) => {
                    let reason = settings.denied_domain_reasons.get(text).cloned();
                    reasons_used += usize::from(reason.is_some());
                    let rule = self.domain_rule("deniedDomains", text, voice, key);
                    self.policy.network.denied.push(DomainRule { pattern, reason, limits: NetLimits::default(), rule });
                }
            }
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

    /// A unix socket, or a directory of them; an empty key is a flag.
    pub(super) fn add_socket(&mut self, text: &str, voice: Voice, key: &str) {
        let reading = match self.policy.shape {
            Shape::Native => Reading::Allow,
            Shape::Srt => Reading::SrtAllow,
        };
        let parsed = {
            let variable = |name: &str| self.variable(name);
            let around = Surroundings {
                cwd: &self.policy.cwd,
                home: self.home_as_given.as_deref(),
                variable: &variable,
            };
            pattern::parse(&PathEntry::Pattern(text.to_owned()), reading, &around)
        };
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

    fn domain_rule(&self, list: &str, text: &str, voice: Voice, key: String) -> RuleRef {
        RuleRef { text: format!("{list} {text}"), origin: self.policy.book.origin(voice.source, key) }
    }

    fn limit_reach(&mut self, settings: &NetworkSettings, voice: Voice) {
        let tighten = !voice.may_loosen();
        let zero_port = settings.ports.iter().flatten().position(|port| *port == 0);
        if let Some(index) = zero_port {
            self.wrong(
                voice,
                &format!("network.ports[{index}]"),
                "0 is not a port",
                "write a number from 1 to 65535",
            );
        }
        if settings.max_requests_per_minute == Some(0) {
            let hint = "leave it out for no limit, or allow no domains";
            self.wrong(voice, "network.maxRequestsPerMinute", "must be more than 0", hint);
        }
        let network = &mut self.policy.network;
        narrow(&mut network.ports, settings.ports.as_deref(), tighten);
        narrow(&mut network.protocols, settings.protocols.as_deref(), tighten);
        least(&mut network.max_requests_per_minute, settings.max_requests_per_minute, tighten);
        least(&mut network.max_request_bytes, settings.max_request_bytes, tighten);
        least(&mut network.max_response_bytes, settings.max_response_bytes, tighten);
    }

    fn apply_gateway(&mut self, settings: &NetworkSettings, voice: Voice) {
        for (key, port) in [
            ("network.httpProxyPort", settings.http_proxy_port),
            ("network.socksProxyPort", settings.socks_proxy_port),
        ] {
            if port == Some(0) {
                self.wrong(voice, key, "0 is not a port", "write a number from 1 to 65535");
            }
        }
        let routes = [
            ("network.httpProxyPort", settings.http_proxy_port.is_some()),
            ("network.socksProxyPort", settings.socks_proxy_port.is_some()),
            ("network.mitmProxy", settings.mitm_proxy.is_some()),
            ("network.parentProxy", settings.parent_proxy.is_some()),
            ("network.tlsTerminate", settings.tls_terminate.is_some()),
        ];
        if !voice.may_loosen() {
            for (key, _) in routes.into_iter().filter(|(_, given)| *given) {
                self.ignore(voice, key, "");
            }
        } else {
            let gateway = &mut self.policy.network.gateway;
            take(&mut gateway.http_proxy_port, settings.http_proxy_port);
            take(&mut gateway.socks_proxy_port, settings.socks_proxy_port);
            take(&mut gateway.mitm_proxy, settings.mitm_proxy.clone());
            take(&mut gateway.parent_proxy, settings.parent_proxy.clone());
            take(&mut gateway.tls_terminate, settings.tls_terminate.clone());
        }
        for (index, text) in settings.mitm_proxy.iter().flat_map(|proxy| &proxy.domains).enumerate() {
            if let Err(error) = DomainPattern::parse_denied(text) {
                self.wrong(
                    voice,
                    &format!("network.mitmProxy.domains[{index}]"),
                    error.to_string(),
                    error.hint(),
                );
            }
        }
        for (index, text) in settings.tls_terminate.iter().flat_map(|tls| &tls.exclude_domains).enumerate() {
            if let Err(error) = DomainPattern::parse_denied(text) {
                self.wrong(
                    voice,
                    &format!("network.tlsTerminate.excludeDomains[{index}]"),
                    error.to_string(),
                    error.hint(),
                );
            }
        }
        if let Some(tls) = &settings.tls_terminate
            && tls.ca_cert_path.is_some() != tls.ca_key_path.is_some()
        {
            let reason = "caCertPath and caKeyPath belong together";
            self.wrong(voice, "network.tlsTerminate", reason, "give both, or neither for a fresh one");
        }
        let gateway = &mut self.policy.network.gateway;
        gateway.strip_response_headers.extend(settings.strip_response_headers.iter().flatten().cloned());
        take(&mut gateway.refuse_opaque_tunnels, settings.refuse_opaque_tunnels);
        take(&mut gateway.require_host_match, settings.require_host_match);
        take(&mut gateway.ambiguous_request_target, settings.ambiguous_request_target.clone());
    }
}

/// The later list, or what both have in common where a layer may only tighten.
fn narrow<T: PartialEq + Copy>(ours: &mut Vec<T>, theirs: Option<&[T]>, tighten: bool) {
    match theirs {
        Some(theirs) if tighten && !ours.is_empty() => ours.retain(|value| theirs.contains(value)),
        Some(theirs) => *ours = theirs.to_vec(),
        None => {}
    }
}

fn least<T: PartialOrd + Copy>(ours: &mut Option<T>, theirs: Option<T>, tighten: bool) {
    if let Some(theirs) = theirs
        && !(tighten && ours.is_some_and(|ours| ours < theirs))
    {
        *ours = Some(theirs);
    }
}

fn take<T>(ours: &mut Option<T>, theirs: Option<T>) {
    if theirs.is_some() {
        *ours = theirs;
    }
}
