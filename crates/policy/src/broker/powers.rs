//! Unix sockets that hand out more than their name says.

use crate::data;
use crate::pattern::Glob;
use std::path::Path;
use std::sync::OnceLock;

/// One kind of powerful socket.
#[derive(Debug)]
pub(crate) struct Power {
    globs: Vec<Glob>,
    /// What whoever reaches it gets: `control of ...`.
    pub(crate) gives: String,
}

/// What a socket gives away, if it is a known one.
pub(crate) fn of(path: &Path) -> Option<&'static Power> {
    static POWERS: OnceLock<Vec<Power>> = OnceLock::new();
    let powers = POWERS.get_or_init(read);
    let names: Vec<&[u8]> = super::table::names(path).collect();
    // Whatever lies in a directory of such sockets is one.
    let hits = |glob: &Glob| (1..=names.len()).any(|end| glob.matches(names[..end].iter().copied()));
    powers.iter().find(|power| power.globs.iter().any(hits))
}

fn read() -> Vec<Power> {
    let entries = data::unix_sockets().entries.into_iter();
    entries
        .map(|entry| Power {
            globs: entry.paths.iter().map(|path| Glob::relative(path)).collect(),
            gives: entry.gives.to_owned(),
        })
        .collect()
}
