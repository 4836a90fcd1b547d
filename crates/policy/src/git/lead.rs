//! Where a configuration that is there sends git.

use super::config::check_size;
use super::parse::{Entry, parse};
use super::program::{command_of, words};
use super::refusal::{GitRefusal, shown};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file or directory that git reads settings or takes programs from, or works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    /// The key as git writes it, fit for a terminal.
    pub(crate) key: String,
    /// As it is written there.
    pub(crate) path: PathBuf,
    pub(crate) kind: LeadKind,
}

/// What git does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadKind {
    /// Reads it as a part of the configuration. Relative paths begin at the file that names it.
    Include,
    /// Takes hooks or attributes from it. Relative paths begin at the work tree.
    Use,
    /// Reads and writes files there. Relative paths begin at the git directory.
    WorkIn,
    /// Runs it, or hands it to what it runs. Relative paths begin at the work tree.
    Run,
    /// The same, if there is a file of that name.
    RunIfThere,
}

/// All that a configuration names.
///
/// # Errors
///
/// What keeps the text from being read as git reads it.
pub(crate) fn git_config_leads(text: &[u8]) -> Result<Vec<Lead>, GitRefusal> {
    check_size(text)?;
    Ok(parse(text)?.iter().flat_map(leads).collect())
}

fn leads(entry: &Entry) -> Vec<Lead> {
    let (Some(parts), Some(value)) = (entry.parts(), entry.value.as_deref()) else { return Vec::new() };
    let key = || shown(&entry.name);
    let kind = match (parts.section, parts.subsection, parts.key) {
        (b"include", None, b"path") | (b"includeif", Some(_), b"path") => LeadKind::Include,
        (b"core", None, b"hookspath" | b"attributesfile") => LeadKind::Use,
        (b"core", None, b"worktree") => LeadKind::WorkIn,
        _ => {
            let words = command_of(&parts, value).map(words).unwrap_or_default();
            return words.into_iter().map(|(path, kind)| Lead { key: key(), path, kind }).collect();
        }
    };
    // Newer versions of git take a path that need not be there.
    let optional = value.strip_prefix(b":(optional)").filter(|_| kind != LeadKind::WorkIn);
    let value = optional.unwrap_or(value);
    let path = Path::new(OsStr::from_bytes(value)).to_owned();
    if value.is_empty() { Vec::new() } else { vec![Lead { key: key(), path, kind }] }
}
