//! Putting a file in srt's shape on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::Switch;
use crate::environment::is_identifier;
use crate::pattern::Reading;
use crate::rules::List;
use crate::settings::PathEntry;
use crate::settings::check::Findings;
use crate::settings::credentials::{CredentialMode, Credentials, Terminates};
use crate::settings::native::OnOff;
use crate::settings::srt::{SrtFilesystem, SrtSettings};

impl Draft {
    pub(super) fn apply_srt(&mut self, settings: SrtSettings, ignored: &[String], voice: Voice) {
        let meaningless = settings.without_meaning();
        if !ignored.is_empty() || !meaningless.is_empty() {
            let file = self.policy.book.source_name(voice.source).to_owned();
            let keys: Vec<&str> = ignored.iter().map(String::as_str).chain(meaningless).collect();
            self.detail(format!("{file}: accepted without a meaning here: {}", keys.join(", ")));
        }
        match &settings.network {
            None => self.required(voice, "network", "an object with allowedDomains and deniedDomains"),
            Some(network) => {
                for (key, list) in [
                    ("network.allowedDomains", &network.allowed_domains),
                    ("network.deniedDomains", &network.denied_domains),
                ] {
                    if list.is_none() {
                        self.required(voice, key, "a list of domains, [] for none");
                    }
                }
                self.apply_network(network, voice);
            }
        }
        match &settings.filesystem {
            None => self.required(voice, "filesystem", "an object with denyRead, allowWrite and denyWrite"),
            Some(filesystem) => self.apply_srt_files(filesystem, voice),
        }
        match settings.allow_nested_user_namespaces {
            Some(true) if voice.may_loosen() => self.policy.nested_user_namespaces = Switch::Allowed,
            Some(true) => self.ignore(voice, "allowNestedUserNamespaces", "true"),
            _ => {}
        }
        if let Some(git) = settings.git {
            if voice.may_loosen() {
                self.policy.environment.safe_directories.extend(git.safe_directories);
            } else {
                self.ignore(voice, "git.safeDirectories", "");
            }
        }
        self.apply_srt_violations(settings.ignore_violations, voice);
        if let Some(credentials) = &settings.credentials {
            self.apply_credentials(credentials, voice);
        }
    }

    fn required(&mut self, voice: Voice, key: &str, what: &str) {
        self.wrong(voice, key, "is required and missing", format!("add {what}"));
    }

    fn apply_srt_files(&mut self, settings: &SrtFilesystem, voice: Voice) {
        let lists = [
            (List::DenyRead, "filesystem.denyRead", &settings.deny_read, Reading::SrtDeny),
            (List::AllowWrite, "filesystem.allowWrite", &settings.allow_write, Reading::SrtAllow),
            (List::DenyWrite, "filesystem.denyWrite", &settings.deny_write, Reading::SrtDeny),
        ];
        for (list, key, entries, reading) in lists {
            match entries {
                Some(entries) => self.add_list(voice, list, key, entries, reading),
                None => self.required(voice, key, "a list of paths, [] for none"),
            }
        }
        self.add_list(
            voice,
            List::AllowRead,
            "filesystem.allowRead",
            &settings.allow_read,
            Reading::SrtAllow,
        );
        match settings.disabled {
            Some(true) if voice.may_loosen() => self.policy.file_rules = Switch::Refused,
            Some(true) => self.ignore(voice, "filesystem.disabled", "true"),
            _ => {}
        }
        match settings.allow_git_config {
            Some(true) if voice.may_loosen() => self.protection.git_config = OnOff::Off,
            Some(true) => self.ignore(voice, "filesystem.allowGitConfig", "true"),
            _ => {}
        }
    }

    fn apply_credentials(&mut self, credentials: &Credentials, voice: Voice) {
        let mut found = Findings::of(self.policy.book.source_name(voice.source));
        let terminates = if self.policy.network.gateway.tls_terminate.is_some() {
            Terminates::Yes
        } else {
            Terminates::No
        };
        let allowed: Vec<_> = self.policy.network.allowed.iter().map(|rule| rule.pattern.clone()).collect();
        credentials.check(&allowed, terminates, &mut found);
        self.errors.append(&mut found.errors);
        for entry in &credentials.env_vars {
            let Some(name) = entry.name.as_ref().filter(|name| is_identifier(name)) else { continue };
            match entry.mode {
                CredentialMode::Deny => self.policy.environment.deny.push(name.clone()),
                CredentialMode::Mask => self.policy.environment.stand_ins.push(name.clone()),
            }
        }
        for (index, entry) in credentials.files.iter().enumerate() {
            let Some(path) = entry.path.as_ref().filter(|path| !path.is_empty()) else { continue };
            if entry.mode == CredentialMode::Mask {
                self.warn(format!(
                    "credentials.files[{index}] ({path}): a stand-in for a file needs the network gateway; the file is unreadable instead"
                ));
            }
            let literal = PathEntry::Literal(path.clone());
            self.add_entry(voice, List::Seal, ("credentials.files", index), &literal, Reading::SrtDeny);
        }
    }
}
