//! One layer's voice, and what it may say.

use super::Draft;
use crate::Layer;
use crate::inputs::{SettingsFile, Trust};
use crate::pattern::{Pattern, Reading};
use crate::policy::WorkspaceGrant;
use crate::rules::{List, Rule, SourceId};
use crate::settings::{PathEntry, SettingsError};

/// Who is speaking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice {
    pub(super) source: SourceId,
    pub(super) layer: Layer,
    trust: Trust,
}

impl Voice {
    pub(super) fn new(source: SourceId, layer: Layer) -> Self {
        Self { source, layer, trust: Trust::Untrusted }
    }

    /// The voice of a settings file.
    pub(super) fn of_file(source: SourceId, file: &SettingsFile) -> Self {
        Self { source, layer: file.layer, trust: file.trust }
    }

    /// The same voice in another part of its file.
    pub(super) fn within(self, source: SourceId) -> Self {
        Self { source, ..self }
    }

    /// Project and managed settings may take away, never give; a project's may where its user trusts it.
    pub(super) fn may_loosen(self) -> bool {
        match self.layer {
            Layer::Project => self.trust == Trust::Trusted,
            Layer::Managed => false,
            _ => true,
        }
    }

    /// Walls are taken down by nobody but the user.
    pub(super) fn may_take_down(self) -> bool {
        !matches!(self.layer, Layer::Project | Layer::Managed)
    }
}

impl Draft {
    /// Says that a value was not heard.
    pub(super) fn ignore(&mut self, voice: Voice, key: &str, value: &str) {
        let why = match (voice.layer, voice.trust) {
            (Layer::Managed, _) => "managed settings may only tighten",
            (_, Trust::Trusted) => {
                "no project may say that, trusted or not; put it in your own settings if you want it"
            }
            _ => "project settings may only tighten; put it in your own settings if you want it",
        };
        let file = self.policy.book.source_name(voice.source);
        let key = self.policy.book.key(voice.source, key);
        let value = if value.is_empty() { String::new() } else { format!(" ({value})") };
        self.warn(format!("{file} {key}{value} is ignored: {why}"));
    }

    /// Something wrong with a value of this layer.
    pub(super) fn wrong(
        &mut self,
        voice: Voice,
        key: &str,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let source = self.policy.book.source_name(voice.source).to_owned();
        let (reason, hint) = (reason.into(), hint.into());
        self.errors.push(if key.is_empty() {
            SettingsError::Flag { flag: source, reason, hint }
        } else {
            let key = self.policy.book.key(voice.source, key);
            SettingsError::Invalid { source_name: source, key, reason, hint }
        });
    }

    /// Adds a whole list; an empty key is a flag.
    pub(super) fn add_list(
        &mut self,
        voice: Voice,
        list: List,
        key: &'static str,
        entries: &[PathEntry],
        reading: Reading,
    ) {
        for (index, entry) in entries.iter().enumerate() {
            self.add_entry(voice, list, (key, index), entry, reading);
        }
    }

    /// Adds one entry of a list.
    pub(super) fn add_entry(
        &mut self,
        voice: Voice,
        list: List,
        (key, index): (&'static str, usize),
        entry: &PathEntry,
        reading: Reading,
    ) {
        self.add_written(voice, list, (key, index), entry.text(), entry, reading);
    }

    /// Adds one entry that the file spells in another way.
    pub(super) fn add_written(
        &mut self,
        voice: Voice,
        list: List,
        (key, index): (&'static str, usize),
        written: &str,
        entry: &PathEntry,
        reading: Reading,
    ) {
        let full_key = || if key.is_empty() { String::new() } else { format!("{key}[{index}]") };
        let gives = matches!(list, List::AllowRead | List::AllowWrite | List::AllowExecute);
        if gives && !voice.may_loosen() {
            return self.ignore(voice, &full_key(), written);
        }
        let list = if list == List::DenyRead && voice.layer == Layer::Managed { List::Seal } else { list };
        let parsed = self.patterns(entry, reading);
        let patterns = match parsed {
            Ok(patterns) => patterns,
            Err(error) => {
                return self.wrong(voice, &full_key(), format!("{written:?}: {error}"), error.hint());
            }
        };
        for pattern in patterns {
            if list == List::AllowWrite && self.is_refused_workspace(&pattern, entry.text()) {
                self.warn_about_workspace();
                continue;
            }
            self.policy.book.add(Rule {
                list,
                place: pattern.into(),
                text: written.into(),
                source: voice.source,
                key: (!key.is_empty()).then_some((key, index)),
            });
        }
    }

    /// Whether this is the working directory under a name that follows it around, and it may not be written.
    fn is_refused_workspace(&self, pattern: &Pattern, text: &str) -> bool {
        let follows =
            !text.starts_with(['/', '~']) && !text.starts_with("$HOME") && !text.starts_with("${HOME}");
        self.policy.workspace_grant == WorkspaceGrant::Refused
            && follows
            && matches!(pattern, Pattern::Literal(path) if *path == self.policy.cwd || *path == self.policy.workspace)
    }
}
