//! Around a run whose changes are held back.

use super::{Refusal, store};
use crate::voice::Voice;
use std::path::Path;
use stockade::{Builder, Change, ChangeKind, Overlay};

/// An overlay for one run; none where none was asked for.
pub(crate) struct Held(Option<Overlay>);

impl Held {
    /// Makes an overlay for this directory, or takes the one of this name up again.
    pub(crate) fn begin(asked: Option<Option<&str>>, directory: &Path) -> Result<Self, Refusal> {
        Ok(Self(match asked {
            None => None,
            Some(None) => Some(store().create(directory, None)?),
            Some(Some(name)) => Some(store().named(directory, name)?),
        }))
    }

    /// Tells a runtime about it.
    pub(crate) fn give(&self, builder: Builder) -> Builder {
        match &self.0 {
            Some(overlay) => builder.overlay(overlay),
            None => builder,
        }
    }

    /// Says what is held back. An overlay that holds nothing goes.
    pub(crate) fn end(self, voice: Voice) {
        let Some(overlay) = self.0 else { return };
        match overlay.discard_if_empty() {
            Ok(None) => voice.detail("no changes were held back"),
            Ok(Some(overlay)) => match overlay.changes() {
                Ok(changes) => say(voice, &overlay, &changes),
                Err(error) => voice.warning(error),
            },
            Err(error) => voice.warning(error),
        }
    }
}

fn say(voice: Voice, overlay: &Overlay, changes: &[Change]) {
    let count = |kind: ChangeKind| changes.iter().filter(|change| change.kind() == kind).count();
    let parts = [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted, ChangeKind::Replaced]
        .map(|kind| (count(kind), kind.name()));
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    let (parts, label) = (parts.collect::<Vec<_>>().join(", "), overlay.label());
    voice.closing(format!("changes are held back in overlay {label}: {parts}"));
    voice.closing(format!("hint: stockade diff {label}, stockade apply {label}, stockade discard {label}"));
}
