//! Putting a file in srt's shape on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::Switch;
use crate::pattern::Reading;
use crate::rules::List;
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
        self.require_srt_parts(&settings, voice);
        if let Some(network) = &settings.network {
            self.apply_network(network, voice);
        }
        if let Some(filesystem) = &settings.filesystem {
            self.apply_srt_files(filesystem, voice);
        }
        match settings.allow_nested_user_namespaces {
            Some(true) if voice.may_loosen() => self.policy.nested_user_namespaces = Switch::Allowed,
            Some(true) => self.ignore(voice, "allowNestedUserNamespaces", "true"),
            _ => {}
        }
        if let Some(git) = settings.git {
            if voice.may_loosen() {
                let directories = git.safe_directories.into_iter().map(|path| ("safe.directory", path));
                self.policy.environment.git_settings.extend(directories);
            } else {
                self.ignore(voice, "git.safeDirectories", "");
            }
        }
        self.apply_srt_violations(settings.ignore_violations, voice);
        self.credentials.extend(settings.credentials.map(|credentials| (credentials, voice)));
    }

    /// Says which required parts are missing.
    pub(super) fn require_srt_parts(&mut self, settings: &SrtSettings, voice: Voice) {
        match &settings.network {
            None => self.required(voice, "network", "an object with allowedDomains and deniedDomains"),
            Some(network) => {
                for (key, given) in [
                    ("network.allowedDomains", network.allowed_domains.is_some()),
                    ("network.deniedDomains", network.denied_domains.is_some()),
                ] {
                    if !given {
                        self.required(voice, key, "a list of domains, [] for none");
                    }
                }
            }
        }
        let Some(files) = &settings.filesystem else {
            return self.required(voice, "filesystem", "an object with denyRead, allowWrite and denyWrite");
        };
        for (key, given) in [
            ("filesystem.denyRead", files.deny_read.is_some()),
            ("filesystem.allowWrite", files.allow_write.is_some()),
            ("filesystem.denyWrite", files.deny_write.is_some()),
        ] {
            if !given {
                self.required(voice, key, "a list of paths, [] for none");
            }
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
            self.add_list(voice, list, key, entries.as_deref().unwrap_or_default(), reading);
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
}
