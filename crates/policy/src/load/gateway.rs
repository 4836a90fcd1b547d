//! Putting a layer's wishes about the gateway's work on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::Switch;
use crate::domain::DomainPattern;
use crate::inputs::Shape;
use crate::pattern::{self, Pattern, Reading, Surroundings};
use crate::rules::List;
use crate::settings::network::{NetworkSettings, ParentProxy, TlsTerminate};
use crate::settings::{PathEntry, SettingsError};
use std::path::PathBuf;

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

    /// Rules about requests, and secrets, for a host whose TLS is passed through would do nothing.
    fn check_exclusions(&mut self) {
        let network = &self.policy.network;
        let tls = network.gateway.tls_terminate.as_ref().filter(|_| self.policy.shape == Shape::Native);
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
        let variable = |name: &str| self.variable(name);
        let around =
            Surroundings { cwd: &self.policy.cwd, home: self.home_as_given.as_deref(), variable: &variable };
        let literal = PathEntry::Literal(text.to_owned());
        match pattern::parse(&literal, Reading::Allow, &around).ok()?.into_iter().next() {
            Some(Pattern::Literal(path)) => Some(path),
            _ => None,
        }
    }
}

fn take<T>(ours: &mut Option<T>, theirs: Option<T>) {
    if theirs.is_some() {
        *ours = theirs;
    }
}
