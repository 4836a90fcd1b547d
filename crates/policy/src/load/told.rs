//! Remembering who said each single value.
//!
//! Layers write over each other in many places. Looking at what has changed after each of them cannot forget
//! one; a value that a stronger layer repeats stays with whoever said it first.

use super::Draft;
use super::layer::Voice;
use crate::describe::DescribedValue;
use crate::settings::native::OnOff;
use crate::{Approval, Layer, Switch};
use serde::Serialize;
use serde_json::{Value, json};

impl Draft {
    /// What holds before anybody has spoken.
    pub(super) fn tell_defaults(&mut self) {
        let source = self.policy.book.source(Layer::BuiltIn, "default");
        self.tell(Voice::new(source, Layer::BuiltIn));
    }

    /// What this voice has changed.
    pub(super) fn tell(&mut self, voice: Voice) {
        let before = std::mem::take(&mut self.policy.told);
        let book = &self.policy.book;
        let now = self.values().into_iter().map(|(key, value)| {
            let known = before.iter().find(|told| told.key == key && told.value == value);
            let origin = match known {
                Some(told) => told.origin.clone(),
                // Nobody wrote a default down.
                None if voice.layer == Layer::BuiltIn => book.origin(voice.source, ""),
                None => book.origin(voice.source, &key),
            };
            DescribedValue { key, value, origin }
        });
        self.policy.told = now.collect();
    }

    /// What holds in the end. A value that was only spelled out stays with whoever said it; what nobody said
    /// was found around the caller, as proxies are.
    pub(super) fn tell_settled(&mut self) {
        let around = self.policy.book.source(Layer::BuiltIn, "the caller's environment");
        let before = std::mem::take(&mut self.policy.told);
        let book = &self.policy.book;
        let now = self.values().into_iter().map(|(key, value)| {
            let same = before.iter().find(|told| told.key == key && told.value == value);
            let known = same.or_else(|| before.iter().find(|told| told.key == key));
            let origin = known.map_or_else(|| book.origin(around, ""), |told| told.origin.clone());
            DescribedValue { key, value, origin }
        });
        self.policy.told = now.collect();
    }

    /// Every single value, and every entry of lists that keep no origin of their own.
    fn values(&self) -> Vec<(String, Value)> {
        let mut all = Values(Vec::new());
        let policy = &self.policy;
        all.add("enabled", self.bare_by_setting.is_none() && self.bare_by_preset.is_none());
        all.add("allowUnsandboxedCommands", policy.bare_wishes.is_some());
        all.add("failIfUnavailable", policy.commands.fallback.is_none());
        all.add("autoAllowBashIfSandboxed", policy.commands.behind_walls == Approval::NotNeeded);
        all.switch("allowNestedUserNamespaces", policy.nested_user_namespaces);
        all.add("provider", &policy.provider);
        all.maybe("engine", policy.engine.as_ref());
        all.add("requireLayers", policy.require_layers);
        all.add("audit", policy.audit);
        all.add("filesystem.readScope", policy.read_scope);
        all.add("filesystem.temporary", policy.temporary);
        all.add("filesystem.caches", policy.caches);
        for (group, switch) in [
            ("git", self.protection.git),
            ("shell", self.protection.shell),
            ("ide", self.protection.ide),
            ("agent", self.protection.agent),
        ] {
            let shown = if switch == OnOff::On { "on" } else { "off" };
            all.add(&format!("filesystem.protection.{group}"), shown);
        }
        self.network_values(&mut all);
        let environment = &policy.environment;
        all.add("environment.inherit", environment.inherit);
        all.each("environment.allow", &environment.allow);
        all.each("environment.deny", &environment.deny);
        all.each("environment.pass", &environment.pass);
        // Values may be secrets; their names are not.
        all.each("environment.set", environment.set.iter().map(|(name, _)| name));
        all.parts("limits", &policy.limits);
        all.each("violations.ignore", &policy.violations.ignore);
        all.add("violations.keepDays", policy.violations.keep_days);
        all.add("violations.keepRows", policy.violations.keep_rows);
        all.0
    }

    fn network_values(&self, all: &mut Values) {
        let network = &self.policy.network;
        all.switch("network.allowPublicHosts", network.public_hosts);
        all.switch("network.allowPrivateAddresses", network.private_addresses);
        all.switch("network.allowAllUnixSockets", network.all_unix_sockets);
        all.switch("network.allowLocalBinding", network.local_binding);
        all.add("network.strictAllowlist", network.asking == Switch::Refused);
        all.switch("network.proxies", network.proxies);
        all.each("network.ports", &network.ports);
        all.each("network.protocols", &network.protocols);
        all.each("network.deniedResolvedAddresses", &network.denied_addresses);
        all.each("network.publish", &network.publish);
        all.each("network.forwardPorts", &network.forward);
        all.parts("network", &network.limits);
        all.parts("network", &network.gateway);
    }
}

/// Keys and what they hold.
struct Values(Vec<(String, Value)>);

impl Values {
    fn add(&mut self, key: &str, value: impl Serialize) {
        self.0.push((key.to_owned(), json!(value)));
    }

    fn switch(&mut self, key: &str, switch: Switch) {
        self.add(key, switch == Switch::Allowed);
    }

    fn maybe(&mut self, key: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    fn each<T: Serialize>(&mut self, key: &str, entries: impl IntoIterator<Item = T>) {
        for entry in entries {
            self.add(key, entry);
        }
    }

    /// The fields of an object that hold something.
    fn parts(&mut self, key: &str, object: &impl Serialize) {
        let Value::Object(fields) = json!(object) else { return };
        let says = |value: &Value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty));
        for (name, value) in fields.into_iter().filter(|(_, value)| says(value)) {
            self.0.push((format!("{key}.{name}"), value));
        }
    }
}
