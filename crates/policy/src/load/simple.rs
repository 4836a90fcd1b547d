//! Putting a `sandbox.json` on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::pattern::Reading;
use crate::rules::List;
use crate::settings::PathEntry;
use crate::settings::native::Settings;
use crate::settings::simple::SimpleSettings;

impl Draft {
    pub(super) fn apply_simple(&mut self, settings: SimpleSettings, voice: Voice) {
        if settings.provider_options.is_some() {
            let file = self.policy.book.source_name(voice.source).to_owned();
            self.detail(format!("{file}: accepted without a meaning here: providerOptions"));
        }
        let paths = settings.policy.filesystem;
        for (index, path) in paths.whitelist.iter().enumerate() {
            let entry = PathEntry::Pattern(path.clone());
            let key = ("policy.filesystem.whitelist", index);
            self.add_entry(voice, List::AllowWrite, key, &entry, Reading::Allow);
        }
        for (index, path) in paths.blacklist.iter().enumerate() {
            let entry = PathEntry::Pattern(path.clone());
            let key = ("policy.filesystem.blacklist", index);
            self.add_entry(voice, List::DenyRead, key, &entry, Reading::Deny);
            self.add_entry(voice, List::DenyWrite, key, &entry, Reading::Deny);
        }
        if settings.policy.network.allow_network == Some(true) {
            let file = self.policy.book.source_name(voice.source).to_owned();
            self.warn(format!(
                "{file} policy.network.allowNetwork (true) is ignored: there is no network in sandbox.json; name \
                 hosts in network.allowedDomains of your own settings, or with --allow-domain"
            ));
        }
        let (enabled, provider) = (settings.enabled, settings.provider);
        self.apply_native(Settings { enabled, provider, ..Settings::default() }, voice);
    }
}
