//! What is different.

use crate::asking::visible;
use std::borrow::Cow;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One difference between what a command left in an overlay and the workspace as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// What the workspace has there.
    pub before: Option<Entry>,
    /// What the overlay has there.
    pub after: Option<Entry>,
}

/// One file, directory or the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits, the special ones included.
    pub mode: u32,
    /// Bytes of a file.
    pub size: u64,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl EntryKind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content, target or mode is another.
    Modified,
    /// It is gone.
    Deleted,
    /// It became something of another kind.
    Replaced,
}

impl ChangeKind {
    /// One letter, as in other tools' lists.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Replaced => 'T',
        }
    }

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
        }
    }
}

impl Change {
    /// What happened.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(before), Some(after)) if before.kind == after.kind => ChangeKind::Modified,
            (Some(_), Some(_)) => ChangeKind::Replaced,
        }
    }
}

/// Which changes are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// Those at these paths, relative to the workspace, and below them.
    Paths(Vec<PathBuf>),
}

impl Selection {
    /// The changes that are meant, in their order. A directory that has to be made for one of them is meant, too.
    pub fn of(&self, changes: Vec<Change>) -> Vec<Change> {
        let Self::Paths(paths) = self else { return changes };
        let named = |change: &Change| paths.iter().any(|path| change.path.starts_with(path));
        let wanted = changes.iter().filter(|change| named(change)).map(|change| change.path.clone());
        let wanted: Vec<PathBuf> = wanted.collect();
        let leads = |change: &Change| {
            let made = change.kind() != ChangeKind::Modified
                && change.after.is_some_and(|after| after.kind == EntryKind::Directory);
            // What lies below a path comes right after it.
            let next = wanted.partition_point(|path| path <= &change.path);
            made && wanted.get(next).is_some_and(|path| path.starts_with(&change.path))
        };
        changes.into_iter().filter(|change| named(change) || leads(change)).collect()
    }
}

/// A path for people: as it is where that is plain, in quotes with escapes where it holds line breaks, escape
/// sequences or bytes that are no text. The workspace itself is a point.
pub fn quoted(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return ".".to_owned();
    }
    let is_plain = |text: &&str| !text.contains('"') && matches!(visible(text), Cow::Borrowed(_));
    if let Some(text) = path.to_str().filter(is_plain) {
        return text.to_owned();
    }
    let mut text = String::from("\"");
    for piece in bytes.utf8_chunks() {
        for letter in piece.valid().chars() {
            let mut bytes = [0; 4];
            let letter: &str = letter.encode_utf8(&mut bytes);
            match letter {
                "\n" => text.push_str("\\n"),
                "\t" => text.push_str("\\t"),
                "\"" | "\\" => text.extend(["\\", letter]),
                _ if matches!(visible(letter), Cow::Borrowed(_)) => text.push_str(letter),
                _ => octal(&mut text, letter.as_bytes()),
            }
        }
        octal(&mut text, piece.invalid());
    }
    text.push('"');
    text
}

fn octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn names_cannot_speak_for_themselves() {
        for (name, shown) in [
            (&b"src/main.rs"[..], "src/main.rs"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
            (b"a\nM b", "\"a\\nM b\""),
            (b"\x1b[2Jx", "\"\\033[2Jx\""),
            (b"\xff\"", "\"\\377\\\"\""),
            ("\u{202e}x".as_bytes(), "\"\\342\\200\\256x\""),
            (b"", "."),
        ] {
            assert_eq!(quoted(Path::new(OsStr::from_bytes(name))), shown);
        }
    }

    fn change(path: &str, before: Option<EntryKind>, after: Option<EntryKind>) -> Change {
        let entry = |kind| Entry { kind, mode: 0o644, size: 0 };
        Change { path: path.into(), before: before.map(entry), after: after.map(entry) }
    }

    #[test]
    fn a_selection_brings_the_directories_it_needs() {
        use EntryKind::{Directory, File};
        let changes = vec![
            change("a", None, Some(Directory)),
            change("a/b", Some(File), Some(Directory)),
            change("a/b/c", None, Some(File)),
            change("a/d", None, Some(File)),
            change("ab", Some(Directory), Some(Directory)),
            change("ab/x", None, Some(File)),
        ];
        let chosen = |paths: &[&str]| -> Vec<PathBuf> {
            let selection = Selection::Paths(paths.iter().map(PathBuf::from).collect());
            selection.of(changes.clone()).into_iter().map(|change| change.path).collect()
        };
        assert_eq!(chosen(&["a/b/c"]), ["a", "a/b", "a/b/c"].map(PathBuf::from));
        assert_eq!(chosen(&["a/d"]), ["a", "a/d"].map(PathBuf::from));
        assert_eq!(chosen(&["ab/x"]), ["ab/x"].map(PathBuf::from));
        assert_eq!(chosen(&["nothing"]), [] as [PathBuf; 0]);
        assert_eq!(Selection::All.of(changes.clone()), changes);
    }
}
