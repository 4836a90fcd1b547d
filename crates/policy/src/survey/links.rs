//! Links on the way to a file.
//!
//! A rule that reaches a file through links protects nothing the next time if one of them can be replaced
//! in between: every link of the way is part of what the rule protects.

use crate::{FileKind, Files, Identity};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST: usize = 40;

/// A link itself.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Its directory without links, and its name.
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
}

/// Every link that following a path leads over, in order; also when it leads nowhere in the end.
pub(crate) fn links_on(files: &dyn Files, path: &Path) -> Vec<Link> {
    let mut links = Vec::new();
    let mut real = PathBuf::from("/");
    let mut rest = parts(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&part);
        match files.look(&here) {
            Ok(identity) if identity.kind == FileKind::Symlink && links.len() < MOST => {
                let Ok(target) = files.follow(&here) else { break };
                links.push(Link { path: here, identity });
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            Ok(identity) if identity.kind != FileKind::Symlink => real = here,
            _ => break,
        }
    }
    links
}

/// The parts still to go, the next one last.
fn parts(path: &Path) -> Vec<OsString> {
    let meant = |part: &Component| matches!(part, Component::Normal(_) | Component::ParentDir);
    let mut parts: Vec<_> = path.components().filter(meant).map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}
