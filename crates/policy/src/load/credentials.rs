//! Secrets that are taken away or replaced, once every host is known.

use super::Draft;
use super::layer::Voice;
use crate::domain::DomainPattern;
use crate::environment::is_identifier;
use crate::pattern::Reading;
use crate::policy::Manner;
use crate::rules::{List, Place, Rule};
use crate::settings::PathEntry;
use crate::settings::check::Findings;
use crate::settings::credential_check::{Reach, Terminates};
use crate::settings::credentials::{
    AwsPair, Credential, CredentialMode, Credentials, Decode, SigV4, Unsigned,
};
use crate::{AwsPairPlan, CredentialPlan, CredentialSource, FileKind, Files, RuleRef, Switch, Unsignable};

impl Draft {
    /// What the layers said, weakest first.
    pub(super) fn apply_credentials(&mut self, files: &dyn Files) {
        for (credentials, voice) in std::mem::take(&mut self.credentials) {
            let mut found = Findings::of(self.policy.book.source_name(voice.source));
            credentials.check(&self.credential_reach(), &mut found);
            self.errors.append(&mut found.errors);
            for (index, entry) in credentials.env_vars.iter().enumerate() {
                self.add_secret_variable(entry, voice, &format!("credentials.envVars[{index}]"));
            }
            for (index, entry) in credentials.files.iter().enumerate() {
                self.add_secret_file(entry, voice, index, files);
            }
            self.add_signing(&credentials, voice);
        }
    }

    /// Where secrets can be sent to at all. Outside srt's shape the hosts that get one have their TLS looked
    /// into without being listed.
    fn credential_reach(&self) -> Reach {
        let network = &self.policy.network;
        let looks = self.policy.manner == Manner::Native || network.gateway.tls_terminate.is_some();
        Reach {
            allowed: network.allowed.iter().map(|rule| rule.pattern.clone()).collect(),
            public_hosts: network.public_hosts,
            terminates: if looks { Terminates::Yes } else { Terminates::No },
        }
    }

    fn add_secret_variable(&mut self, entry: &Credential, voice: Voice, key: &str) {
        let Some(name) = entry.name.as_ref().filter(|name| is_identifier(name)) else { return };
        match entry.mode {
            CredentialMode::Deny => self.policy.environment.deny.push(name.clone()),
            // Whoever wrote the project would choose who gets the secret.
            CredentialMode::Mask if !voice.may_loosen() => self.ignore(voice, key, name),
            CredentialMode::Mask => {
                if entry.extract.is_some() && entry.on_extract_no_match.is_none() {
                    self.warn(format!(
                        "{key} ({name}): should nothing in it be what is looked for, commands see it as it is; \
                         add \"onExtractNoMatch\": \"deny\" to keep it from them"
                    ));
                }
                self.policy.environment.stand_ins.push(name.clone());
                self.add_credential(entry, CredentialSource::Variable(name.clone()), name, voice, key);
            }
        }
    }

    fn add_secret_file(&mut self, entry: &Credential, voice: Voice, index: usize, files: &dyn Files) {
        let Some(text) = entry.path.as_ref().filter(|path| !path.is_empty()) else { return };
        let key = format!("credentials.files[{index}]");
        if entry.mode == CredentialMode::Mask && !voice.may_loosen() {
            return self.ignore(voice, &key, text);
        }
        let place = self.literal_path(text).and_then(|path| files.resolve(&path).ok());
        let is_file =
            |path: &&std::path::PathBuf| files.look(path).is_ok_and(|found| found.kind == FileKind::File);
        if let (CredentialMode::Mask, Some(path)) = (entry.mode, place.as_ref().filter(is_file)) {
            // The stand-in is laid over it; without this rule the default deny-read list would hide that, too.
            self.policy.book.add(Rule {
                list: List::AllowRead,
                place: Place::Literal(path.clone()),
                text: text.as_str().into(),
                source: voice.source,
                key: Some(("credentials.files", index)),
            });
            return self.add_credential(entry, CredentialSource::File(path.clone()), text, voice, &key);
        }
        if entry.mode == CredentialMode::Mask {
            self.detail(format!("{key} ({text}) is no file now; should it become one, it stays unreadable"));
        }
        let literal = PathEntry::Literal(text.clone());
        self.add_entry(voice, List::Seal, ("credentials.files", index), &literal, Reading::SrtDeny);
    }

    fn add_credential(
        &mut self,
        entry: &Credential,
        source: CredentialSource,
        text: &str,
        voice: Voice,
        key: &str,
    ) {
        let hosts = match (&entry.inject_hosts, self.policy.manner) {
            (Some(hosts), _) => {
                hosts.iter().filter_map(|host| DomainPattern::parse_allowed(host).ok()).collect()
            }
            (None, Manner::Native) => Vec::new(),
            // srt's users mean every host they allow.
            (None, Manner::Srt) => {
                self.policy.network.allowed.iter().map(|rule| rule.pattern.clone()).collect()
            }
        };
        let jwt = entry.decode == Some(Decode::Jwt) || entry.mask_claims.is_some();
        let origin = self.policy.book.origin(voice.source, key);
        let plan = CredentialPlan {
            inject_hosts: hosts,
            extract: entry.extract.clone(),
            on_no_match: entry.on_extract_no_match.map(|choice| choice.shown().to_owned()),
            jwt_claims: jwt.then(|| entry.mask_claims.clone().unwrap_or_default()),
            mask_duplicates: if entry.mask_duplicates == Some(true) {
                Switch::Allowed
            } else {
                Switch::Refused
            },
            rule: RuleRef { text: format!("mask {text}"), origin },
            source,
        };
        let known = &mut self.policy.network.credentials;
        known.retain(|known| known.source != plan.source);
        known.push(plan);
    }

    /// Secrets go to the ports that are known for their hosts, once every layer has said whether that includes
    /// the one without TLS.
    pub(super) fn settle_secret_ports(&mut self) {
        let network = &mut self.policy.network;
        for secret in &mut network.credentials {
            let hosts = std::mem::take(&mut secret.inject_hosts).into_iter();
            secret.inject_hosts =
                hosts.flat_map(|host| on_usual_ports(host, network.plaintext_credentials)).collect();
        }
    }

    fn add_signing(&mut self, credentials: &Credentials, voice: Voice) {
        if !voice.may_loosen() {
            return;
        }
        let pair = |pair: &AwsPair| {
            Some(AwsPairPlan {
                access_key_id: pair.access_key_id.clone()?,
                secret_access_key: pair.secret_access_key.clone()?,
                session_token: pair.session_token.clone(),
            })
        };
        let network = &mut self.policy.network;
        network.aws_pairs.extend(credentials.aws_pairs.iter().filter_map(pair));
        let SigV4 { streaming, presigned, sigv4a } = credentials.sigv4.unwrap_or_default();
        let Unsignable { streaming: pieces, presigned: addresses, asymmetric } = &mut network.unsignable;
        for (wish, passes) in [(streaming, pieces), (presigned, addresses), (sigv4a, asymmetric)] {
            match wish {
                Some(Unsigned::Passthrough) => *passes = Switch::Allowed,
                Some(Unsigned::Deny) => *passes = Switch::Refused,
                None => {}
            }
        }
        match credentials.allow_plaintext_inject {
            Some(true) => network.plaintext_credentials = Switch::Allowed,
            Some(false) => network.plaintext_credentials = Switch::Refused,
            None => {}
        }
    }
}

/// Whoever names no port means the service that everybody knows under the name, not whatever else listens
/// there.
fn on_usual_ports(host: DomainPattern, plain: Switch) -> Vec<DomainPattern> {
    let ports: &[u16] = match (host.port, plain) {
        (Some(_), _) => return vec![host],
        (None, Switch::Allowed) => &[443, 80],
        (None, Switch::Refused) => &[443],
    };
    ports.iter().map(|port| DomainPattern { port: Some(*port), ..host.clone() }).collect()
}
