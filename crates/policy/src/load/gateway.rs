//! Putting a layer's wishes about the gateway's work on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::Switch;
use crate::domain::{self, DomainPattern};
use crate::pattern::{Pattern, Reading};
use crate::policy::Manner;
use crate::rules::List;
use crate::settings::network::{NetworkSettings, ParentProxy, TlsTerminate};
use crate::settings::{PathEntry, SettingsError, nearest};
use crate::{DomainRule, Host, HostPattern, ProxyPorts, Target};
use ipnet::IpNet;
use std::path::PathBuf;

/// What can become of a request that can be read in two ways.
const AMBIGUOUS: [&str; 3] = ["allow", "deny", "reject"];

impl Draft {
    pub(super) fn apply_gateway(&mut self, settings: &NetworkSettings, voice: Voice) {
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
            ("network.proxies", settings.proxies.is_some()),
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
            if let Some(proxies) = settings.proxies {
                self.policy.network.proxies = if proxies { Switch::Allowed } else { Switch::Refused };
            }
        }
        let mitm = settings.mitm_proxy.iter().flat_map(|proxy| &proxy.domains);
        self.check_domains(mitm, "network.mitmProxy.domains", voice);
        if let Some(tls) = &settings.tls_terminate {
            self.check_tls(tls, voice);
        }
        self.check_answers(settings, voice);
        self.apply_strictness(settings, voice);
    }

    fn check_domains<'a>(&mut self, domains: impl Iterator<Item = &'a String>, key: &str, voice: Voice) {
        for (index, text) in domains.enumerate() {
            if let Err(error) = DomainPattern::parse_denied(text) {
                self.wrong(voice, &format!("{key}[{index}]"), error.to_string(), error.hint());
            }
        }
    }

    fn check_tls(&mut self, tls: &TlsTerminate, voice: Voice) {
        self.check_domains(tls.exclude_domains.iter(), "network.tlsTerminate.excludeDomains", voice);
        self.check_domains(tls.hosts.iter(), "network.tlsTerminate.hosts", voice);
        if tls.ca_cert_path.is_some() != tls.ca_key_path.is_some() {
            let reason = "caCertPath and caKeyPath belong together";
            self.wrong(voice, "network.tlsTerminate", reason, "give both, or neither for a fresh one");
        }
        for (key, zero, hint) in [
            ("maxTunnels", tls.max_tunnels == Some(0), "leave it out for as many as are needed"),
            ("handshakeTimeoutMs", tls.handshake_timeout_ms == Some(0), "leave it out for the usual time"),
        ] {
            if zero {
                self.wrong(voice, &format!("network.tlsTerminate.{key}"), "must be more than 0", hint);
            }
        }
        if let Some(key) = tls.ca_key_path.as_ref().filter(|key| !key.is_empty()) {
            // Whoever reads it can pretend to be every host.
            let literal = PathEntry::Literal(key.clone());
            self.add_entry(
                voice,
                List::Seal,
                ("network.tlsTerminate.caKeyPath", 0),
                &literal,
                Reading::SrtDeny,
            );
        }
    }

    /// What could be written down, and would do nothing.
    fn check_answers(&mut self, settings: &NetworkSettings, voice: Voice) {
        for (index, name) in settings.strip_response_headers.iter().flatten().enumerate() {
            if !is_header_name(name) {
                let key = format!("network.stripResponseHeaders[{index}]");
                let hint = "letters, digits and hyphens, such as set-cookie";
                self.wrong(voice, &key, format!("{name:?} is not the name of a header"), hint);
            }
        }
        if let Some(wish) =
            settings.ambiguous_request_target.as_ref().filter(|wish| !AMBIGUOUS.contains(&wish.as_str()))
        {
            let hint = match nearest(wish, AMBIGUOUS) {
                Some(meant) => format!("did you mean {meant}? known: {}", AMBIGUOUS.join(", ")),
                None => format!("known: {}", AMBIGUOUS.join(", ")),
            };
            self.wrong(voice, "network.ambiguousRequestTarget", format!("{wish:?} is not understood"), hint);
        }
        let direct = settings.parent_proxy.iter().filter_map(|proxy| proxy.no_proxy.as_ref());
        for entry in direct.flat_map(|list| list.split([',', ' '])).filter(|entry| !entry.is_empty()) {
            if !is_exception(entry) {
                let reason = format!("{entry:?} is neither a host, nor an address, nor a network");
                let hint = "write example.org, .example.org, 10.0.0.0/8 or *, with commas between";
                self.wrong(voice, "network.parentProxy.noProxy", reason, hint);
            }
        }
    }

    /// What may be made stricter by everybody, and looser by some.
    fn apply_strictness(&mut self, settings: &NetworkSettings, voice: Voice) {
        let loose = voice.may_loosen();
        for (key, wish) in [
            ("network.refuseOpaqueTunnels", settings.refuse_opaque_tunnels),
            ("network.requireHostMatch", settings.require_host_match),
        ] {
            match wish {
                Some(false) if !loose => self.ignore(voice, key, "false"),
                Some(_) if key == "network.requireHostMatch" => {
                    self.policy.network.gateway.require_host_match = wish;
                }
                Some(_) => self.policy.network.gateway.refuse_opaque_tunnels = wish,
                None => {}
            }
        }
        match &settings.ambiguous_request_target {
            Some(wish) if wish == "allow" && !loose => {
                self.ignore(voice, "network.ambiguousRequestTarget", wish);
            }
            Some(wish) => self.policy.network.gateway.ambiguous_request_target = Some(wish.clone()),
            None => {}
        }
        let headers = &mut self.policy.network.gateway.strip_response_headers;
        headers.extend(settings.strip_response_headers.iter().flatten().cloned());
    }

    /// What depends on every layer: paths as the host has them, and the proxy the caller uses itself.
    pub(super) fn finish_network(&mut self) {
        if let Some(mut mitm) = self.policy.network.gateway.mitm_proxy.take() {
            mitm.socket_path = self.host_path(&mitm.socket_path);
            self.policy.network.gateway.mitm_proxy = Some(mitm);
        }
        if let Some(mut tls) = self.policy.network.gateway.tls_terminate.take() {
            tls.ca_cert_path = tls.ca_cert_path.map(|path| self.host_path(&path));
            tls.ca_key_path = tls.ca_key_path.map(|path| self.host_path(&path));
            tls.extra_ca_cert_paths =
                tls.extra_ca_cert_paths.iter().map(|path| self.host_path(path)).collect();
            self.policy.network.gateway.tls_terminate = Some(tls);
        }
        self.check_exclusions();
        self.settle_secret_ports();
        self.warn_about_ports();
        self.warn_about_loopback();
        self.check_forwarded_ports();
        // Whoever needs a proxy to get out has said so in the usual variables.
        if self.policy.network.gateway.parent_proxy.is_none() {
            let named = |names: [&str; 2]| {
                let value = names.iter().find_map(|name| self.variable(name)?.to_str())?;
                (!value.is_empty()).then(|| value.to_owned())
            };
            let proxy = ParentProxy {
                http: named(["HTTP_PROXY", "http_proxy"]),
                https: named(["HTTPS_PROXY", "https_proxy"]),
                no_proxy: named(["NO_PROXY", "no_proxy"]),
            };
            if proxy.http.is_some() || proxy.https.is_some() {
                self.policy.network.gateway.parent_proxy = Some(proxy);
            }
        }
    }

    /// Proxies inside are what leads to the ones on these ports.
    fn warn_about_ports(&mut self) {
        let network = &self.policy.network;
        if self.policy.manner == Manner::Srt || network.proxies == Switch::Allowed {
            return;
        }
        let ports = [
            ("network.httpProxyPort", network.gateway.http_proxy_port),
            ("network.socksProxyPort", network.gateway.socks_proxy_port),
        ];
        for (key, _) in ports.into_iter().filter(|(_, port)| port.is_some()) {
            self.warn(format!(
                "{key} has no effect: nothing leads there without proxies inside; add \"proxies\": true to network"
            ));
        }
    }

    /// Only srt's proxies take `localhost` for this machine; for everything else it is the sandbox.
    fn warn_about_loopback(&mut self) {
        let network = &self.policy.network;
        if self.policy.manner == Manner::Srt {
            return;
        }
        let is_loopback = |rule: &&DomainRule| match &rule.pattern.host {
            HostPattern::Name(name) => name == "localhost" || domain::is_below(name, "localhost"),
            HostPattern::Address(address) => address.to_canonical().is_loopback(),
            HostPattern::Below(_) | HostPattern::Any => false,
        };
        let rules = network.allowed.iter().filter(is_loopback);
        let told: Vec<String> = rules
            .map(|rule| {
                let port = rule.pattern.port.map_or("PORT".to_owned(), |port| port.to_string());
                format!(
                    "{} does not lead to this machine: loopback inside is the sandbox's own; pass --forward-port {port} \
                     to reach a port of this machine's",
                    rule.rule
                )
            })
            .collect();
        told.into_iter().for_each(|text| self.warn(text));
    }

    /// Where our own proxies listen nothing else can.
    fn check_forwarded_ports(&mut self) {
        let network = &self.policy.network;
        if self.policy.manner == Manner::Native && network.proxies == Switch::Refused {
            return;
        }
        for (inside, kind) in [(ProxyPorts::INSIDE.http, "HTTP"), (ProxyPorts::INSIDE.socks, "SOCKS")] {
            if let Some(port) = network.forward.iter().find(|port| port.inside == inside) {
                self.errors.push(SettingsError::Invalid {
                    source_name: "forwardPorts (--forward-port)".to_owned(),
                    key: "network.forwardPorts".to_owned(),
                    reason: format!(
                        "port {inside} inside is where the {kind} proxy listens that network.proxies asks for"
                    ),
                    hint: format!("choose another port inside, such as 1{inside}:{}", port.host),
                });
            }
        }
    }

    /// Rules about requests, and secrets, for a host whose TLS is passed through would do nothing.
    fn check_exclusions(&mut self) {
        let network = &self.policy.network;
        let tls = network.gateway.tls_terminate.as_ref().filter(|_| self.policy.manner == Manner::Native);
        let excluded = tls.iter().flat_map(|tls| &tls.exclude_domains);
        let excluded: Vec<_> = excluded.filter_map(|text| DomainPattern::parse_denied(text).ok()).collect();
        let ruled = network.requests.iter().map(|rule| (&rule.pattern, &rule.rule));
        let secrets = network.credentials.iter();
        let secret = secrets.flat_map(|secret| secret.inject_hosts.iter().map(|host| (host, &secret.rule)));
        for (pattern, rule) in ruled.chain(secret) {
            if excluded.iter().any(|excluded| excluded.covers(pattern)) {
                self.errors.push(SettingsError::Invalid {
                    source_name: rule.origin.source.clone(),
                    key: rule.origin.key.clone(),
                    reason: format!("requests to {pattern} cannot be seen: its TLS is passed through"),
                    hint: "remove it from network.tlsTerminate.excludeDomains".to_owned(),
                });
            }
        }
    }

    /// A path of the host as written in settings, absolute.
    fn host_path(&self, text: &str) -> String {
        self.literal_path(text).map_or_else(|| text.to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// The same, if it is a path at all.
    pub(super) fn literal_path(&self, text: &str) -> Option<PathBuf> {
        let literal = PathEntry::Literal(text.to_owned());
        match self.patterns(&literal, Reading::Allow).ok()?.into_iter().next() {
            Some(Pattern::Literal(path)) => Some(path),
            _ => None,
        }
    }
}

/// A token, as HTTP calls it.
fn is_header_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// What goes past a proxy: a name with everything below it, an address, a network, or everything.
fn is_exception(text: &str) -> bool {
    let bare = text.strip_prefix("*.").or_else(|| text.strip_prefix('.')).unwrap_or(text);
    text == "*"
        || text.parse::<IpNet>().is_ok()
        || Host::parse(bare.as_bytes()).is_ok()
        || Target::parse(bare.as_bytes(), None).is_ok()
}

fn take<T>(ours: &mut Option<T>, theirs: Option<T>) {
    if theirs.is_some() {
        *ours = theirs;
    }
}
