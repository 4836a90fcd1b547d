//! Putting Claude Code's settings on top of the others.

use super::Draft;
use super::layer::Voice;
use crate::inputs::SettingsFile;
use crate::pattern::Reading;
use crate::rules::List;
use crate::settings::PathEntry;
use crate::settings::claude::{ClaudeFilesystem, ClaudeNetwork, ClaudeSandbox, ClaudeSettings};
use crate::settings::domain_entry::{DomainEntry, LimitedDomain};
use crate::settings::native::Settings;
use crate::settings::network::NetworkSettings;
use crate::{Layer, Switch};
use std::path::{Path, PathBuf};

/// Where the block stands in the file.
const BLOCK: &str = "sandbox.";

/// Keys that take something away, in the letters that count.
const DENIALS: [&str; 9] = [
    "sandbox",
    "permissions",
    "deny",
    "ask",
    "filesystem",
    "network",
    "denyRead",
    "denyWrite",
    "deniedDomains",
];

/// Whether a key without a meaning differs from one of those in the size of its letters alone.
fn is_misspelled(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    DENIALS.iter().any(|known| known.eq_ignore_ascii_case(last) && *known != last)
}

impl Draft {
    pub(super) fn apply_claude(
        &mut self,
        settings: ClaudeSettings,
        ignored: &[String],
        voice: Voice,
        file: &SettingsFile,
    ) {
        let name = file.path.display().to_string();
        let (misspelled, ignored): (Vec<&str>, Vec<&str>) =
            ignored.iter().map(String::as_str).partition(|key| is_misspelled(key));
        if !misspelled.is_empty() {
            let keys = misspelled.join(", ");
            self.warn(format!("{name}: {keys} is not how this is written, and holds nothing back"));
        }
        if !ignored.is_empty() {
            self.detail(format!("{name}: accepted without a meaning here: {}", ignored.join(", ")));
        }
        let root = self.claude_root(file);
        if let Some(sandbox) = settings.sandbox {
            let within = self.policy.book.source_within(file.layer, name.as_str(), BLOCK);
            self.apply_claude_sandbox(sandbox, voice.within(within), &root);
        }
        if let Some(permissions) = settings.permissions {
            self.apply_permissions(&permissions, voice, &root);
        }
    }

    /// What a path that begins nowhere is relative to: the project for its files, their own directory for others.
    fn claude_root(&self, file: &SettingsFile) -> PathBuf {
        let directory = file.path.parent().unwrap_or(Path::new("/"));
        let above = directory.parent().filter(|_| directory.ends_with(".claude"));
        let homes = [self.home_as_given.as_deref(), self.policy.home.as_deref()];
        match above {
            _ if file.layer == Layer::Managed => self.policy.cwd.clone(),
            Some(project) if !homes.contains(&Some(project)) => project.to_owned(),
            _ => directory.to_owned(),
        }
    }

    fn apply_claude_sandbox(&mut self, sandbox: ClaudeSandbox, voice: Voice, root: &Path) {
        self.add_claude_paths(&sandbox.filesystem, voice, root);
        self.apply_srt_violations(sandbox.ignore_violations, voice);
        let network = self.claude_network(sandbox.network, voice);
        let settings = Settings {
            enabled: sandbox.enabled,
            allow_unsandboxed_commands: sandbox.allow_unsandboxed_commands,
            excluded_commands: sandbox.excluded_commands,
            enabled_platforms: sandbox.enabled_platforms,
            fail_if_unavailable: sandbox.fail_if_unavailable,
            auto_allow_bash_if_sandboxed: sandbox.auto_allow_bash_if_sandboxed,
            network,
            ..Settings::default()
        };
        self.apply_native(settings, voice);
    }

    fn add_claude_paths(&mut self, files: &ClaudeFilesystem, voice: Voice, root: &Path) {
        for (list, key, entries, reading) in [
            (List::AllowRead, "filesystem.allowRead", &files.allow_read, Reading::Allow),
            (List::AllowWrite, "filesystem.allowWrite", &files.allow_write, Reading::Allow),
            (List::DenyRead, "filesystem.denyRead", &files.deny_read, Reading::Deny),
            (List::DenyWrite, "filesystem.denyWrite", &files.deny_write, Reading::Deny),
        ] {
            for (index, entry) in entries.iter().enumerate() {
                let place = in_block(entry, root);
                self.add_written(voice, list, (key, index), entry.text(), &place, reading);
            }
        }
    }

    fn claude_network(&mut self, network: ClaudeNetwork, voice: Voice) -> NetworkSettings {
        let all_named = network.allow_managed_domains_only == Some(true);
        let mut allowed = network.allowed_domains;
        if all_named && voice.layer == Layer::Managed {
            for (index, text) in std::mem::take(&mut allowed).iter().enumerate() {
                self.name_domain(text, voice, &format!("network.allowedDomains[{index}]"));
            }
            self.managed_domains_only = Some(voice);
        } else if all_named {
            self.detail("allowManagedDomainsOnly has a meaning in managed settings only".to_owned());
        }
        // A proxy of the user's own is of use only to programs that are told of it.
        let own_proxy = network.http_proxy_port.is_some() || network.socks_proxy_port.is_some();
        let entry = |domain| DomainEntry(LimitedDomain { domain, ..LimitedDomain::default() });
        NetworkSettings {
            allowed_domains: Some(allowed.into_iter().map(entry).collect()),
            denied_domains: Some(network.denied_domains),
            allow_unix_sockets: network.allow_unix_sockets,
            allow_all_unix_sockets: network.allow_all_unix_sockets,
            allow_local_binding: network.allow_local_binding,
            http_proxy_port: network.http_proxy_port,
            socks_proxy_port: network.socks_proxy_port,
            proxies: own_proxy.then_some(true),
            ..NetworkSettings::default()
        }
    }

    /// Leaves only the hosts that managed settings name, where they say that those are all.
    pub(super) fn keep_managed_domains(&mut self) {
        let Some(voice) = self.managed_domains_only.take() else { return };
        let network = &mut self.policy.network;
        let before = network.allowed.len();
        network.allowed.retain(|rule| rule.rule.origin.layer == Layer::Managed);
        network.public_hosts = Switch::Refused;
        network.asking = Switch::Refused;
        let dropped = before - network.allowed.len();
        self.tell(voice);
        if dropped > 0 {
            let file = self.policy.book.source_name(voice.source);
            self.warn(format!(
                "{dropped} allowed hosts are ignored: {file} names every host that may be reached"
            ));
        }
    }
}

/// A path of the block: one slash or two for the root of the file system, anything else below the file's root.
fn in_block(entry: &PathEntry, root: &Path) -> PathEntry {
    let text = entry.text();
    let rest = text.strip_prefix("./").unwrap_or(text);
    match entry {
        _ if text.is_empty() || text.starts_with('~') => entry.clone(),
        PathEntry::Literal(_) if text.starts_with('/') => entry.clone(),
        PathEntry::Literal(_) => PathEntry::Literal(format!("{}/{rest}", root.display())),
        PathEntry::Pattern(_) => match text.strip_prefix("//") {
            Some(rest) => PathEntry::Pattern(format!("/{}", without_variables(rest))),
            None if text.starts_with('/') => PathEntry::Pattern(without_variables(text)),
            None => PathEntry::Pattern(below(root, rest)),
        },
    }
}

/// A pattern below a directory, in whose name no letter means anything.
pub(super) fn below(root: &Path, pattern: &str) -> String {
    let mut text = String::new();
    for letter in root.to_string_lossy().chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '$') {
            text.push('\\');
        }
        text.push(letter);
    }
    format!("{}/{}", text.trim_end_matches('/'), without_variables(pattern))
}

/// A dollar sign is a letter like any other in these files.
pub(super) fn without_variables(pattern: &str) -> String {
    pattern.replace('$', "\\$")
}
