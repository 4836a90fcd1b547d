//! Denied files that have other names besides.

use super::NAMED_IN_NOTICE;
use crate::{FileKind, Files, Mount, MountKind, Notice, NoticeWeight};

/// Which hidden files can still be read under names nobody knows: a mask covers one name, not the file.
pub(super) fn notice(mounts: &[Mount], files: &dyn Files) -> Option<Notice> {
    let hides = |mount: &&Mount| match &mount.kind {
        MountKind::Mask { identity, .. } => identity.kind == FileKind::File,
        MountKind::Content { .. } => mount.rule.is_some(),
        _ => false,
    };
    let hidden = mounts.iter().filter(hides).map(|mount| &mount.path);
    let linked: Vec<String> =
        hidden.filter(|path| files.names(path) > 1).map(|path| path.display().to_string()).collect();
    let named = linked.iter().take(NAMED_IN_NOTICE).cloned().collect::<Vec<_>>().join(", ");
    let more = match linked.len().saturating_sub(NAMED_IN_NOTICE) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!linked.is_empty()).then(|| Notice {
        text: format!(
            "hidden, but readable under the other names that hard links gave it: {named}{more}; remove those links, or \
             deny where they lie"
        ),
        weight: NoticeWeight::Warning,
    })
}
