//! Putting a layer's rules about requests before those of weaker ones.

use super::Draft;
use super::layer::Voice;
use crate::domain::DomainPattern;
use crate::settings::network::RequestSettings;
use crate::{RequestRule, Switch, gateway};

impl Draft {
    /// The first rule that fits decides, so stronger layers come first, and what may only tighten before all:
    /// its refusals hold whatever else allows.
    pub(super) fn add_requests(&mut self, settings: &[RequestSettings], voice: Voice) {
        let mut rules = Vec::new();
        for (index, entry) in settings.iter().enumerate() {
            let key = format!("network.requests[{index}]");
            let Some(rule) = self.request_rule(entry, voice, &key) else { continue };
            if rule.verdict == Switch::Allowed && !voice.may_loosen() {
                self.ignore(voice, &key, &entry.host);
            } else {
                rules.push(rule);
            }
        }
        let at = if voice.may_loosen() { self.tight_requests } else { 0 };
        if !voice.may_loosen() {
            self.tight_requests += rules.len();
        }
        self.policy.network.requests.splice(at..at, rules);
    }

    fn request_rule(&mut self, entry: &RequestSettings, voice: Voice, key: &str) -> Option<RequestRule> {
        let before = self.errors.len();
        let pattern = DomainPattern::parse_denied(&entry.host)
            .inspect_err(|error| self.wrong(voice, &format!("{key}.host"), error.to_string(), error.hint()));
        for (index, method) in entry.methods.iter().enumerate() {
            if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-') {
                let key = format!("{key}.methods[{index}]");
                self.wrong(
                    voice,
                    &key,
                    format!("{method:?} is not a method"),
                    "write GET, POST and the like",
                );
            }
        }
        for (index, path) in entry.paths.iter().enumerate() {
            if gateway::is_ambiguous_path(path) {
                let reason = format!("{path:?} is not a path that can be read in one way only");
                let hint = "begin with /, without a query, //, . and .. segments or an encoded / or .";
                self.wrong(voice, &format!("{key}.paths[{index}]"), reason, hint);
            }
        }
        let (pattern, true) = (pattern.ok()?, before == self.errors.len()) else { return None };
        let verdict = if entry.allow { Switch::Allowed } else { Switch::Refused };
        let word = if entry.allow { "allow" } else { "refuse" };
        let shown = [word, &entry.methods.join(" "), &entry.host, &entry.paths.join(" ")]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        Some(RequestRule {
            pattern,
            methods: entry.methods.iter().map(|method| method.to_ascii_uppercase()).collect(),
            paths: entry.paths.clone(),
            verdict,
            rule: self.domain_rule("requests", &shown, voice, key),
        })
    }
}
