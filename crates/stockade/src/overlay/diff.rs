//! Changes as text: a unified diff as other tools read it.

use super::change::{Change, ChangeKind, Entry, EntryKind, quoted};
use super::error::OverlayError;
use super::lines::{Step, split, steps};
use super::tree::Tree;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Larger files are not compared line by line.
const LARGEST: u64 = 1 << 20;
/// Where a NUL byte is looked for, which no text has.
const LOOKED_AT: usize = 8000;
/// Lines shown around a change.
const AROUND: usize = 3;

/// Lines of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

/// What can be said about the lines of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// How many there are.
    Counted(Counted),
    /// Why they were not counted.
    Unshown(Unshown),
}

/// Why content is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshown {
    /// It is no text.
    Binary,
    /// It is too large to be compared line by line.
    TooLarge,
    /// The workspace's file cannot be read.
    Unreadable,
    /// It is a pipe, a socket or a device.
    Special,
}

impl Unshown {
    /// In plain words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too large to compare",
            Self::Unreadable => "not readable",
            Self::Special => "not a file",
        }
    }
}

/// One side of a change.
enum Side {
    Nothing,
    Text(Vec<u8>),
    Unshown(Unshown),
}

/// Writes one change.
pub(super) fn write(
    change: &Change,
    host: &Tree,
    upper: &Tree,
    out: &mut dyn Write,
) -> Result<(), OverlayError> {
    let (old, new) = sides(change, host, upper);
    let (before, after) = (change.before.map(|entry| (entry, &old)), change.after.map(|entry| (entry, &new)));
    let written = match change.kind() {
        // Other tools know no change of kind.
        ChangeKind::Replaced => {
            show(&change.path, before, None, out).and_then(|()| show(&change.path, None, after, out))
        }
        _ => show(&change.path, before, after, out),
    };
    written.map_err(OverlayError::io("show the change to", &change.path))
}

/// Counts the lines of one change.
pub(super) fn count(change: &Change, host: &Tree, upper: &Tree) -> Result<Lines, OverlayError> {
    let (old, new) = sides(change, host, upper);
    let (old, new) = match (old.text(), new.text()) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(unshown), _) | (_, Err(unshown)) => return Ok(Lines::Unshown(unshown)),
    };
    let mut counted = Counted::default();
    for step in steps(&split(old), &split(new)) {
        match step {
            Step::Keep => {}
            Step::Remove => counted.removed += 1,
            Step::Add => counted.added += 1,
        }
    }
    Ok(Lines::Counted(counted))
}

impl Side {
    fn text(&self) -> Result<&[u8], Unshown> {
        match self {
            Self::Nothing => Ok(b""),
            Self::Text(text) => Ok(text),
            Self::Unshown(unshown) => Err(*unshown),
        }
    }
}

fn sides(change: &Change, host: &Tree, upper: &Tree) -> (Side, Side) {
    (side(change.before, host, &change.path), side(change.after, upper, &change.path))
}

fn side(entry: Option<Entry>, tree: &Tree, path: &Path) -> Side {
    let Some(entry) = entry else { return Side::Nothing };
    let text = match entry.kind {
        EntryKind::Directory => return Side::Nothing,
        EntryKind::Pipe | EntryKind::Socket | EntryKind::Device => return Side::Unshown(Unshown::Special),
        EntryKind::File if entry.size > LARGEST => return Side::Unshown(Unshown::TooLarge),
        EntryKind::Symlink => {
            tree.target(path).map(|target| target.into_os_string().into_vec()).map_err(io::Error::from)
        }
        EntryKind::File => tree.file(path).map_err(io::Error::from).and_then(|file| {
            let mut text = Vec::new();
            file.take(LARGEST).read_to_end(&mut text).map(|_| text)
        }),
    };
    match text {
        Err(_) => Side::Unshown(Unshown::Unreadable),
        Ok(text) if text.iter().take(LOOKED_AT).any(|byte| *byte == 0) => Side::Unshown(Unshown::Binary),
        Ok(text) => Side::Text(text),
    }
}

/// What there is on one side of a change, and its content.
type Present<'s> = Option<(Entry, &'s Side)>;

/// Shows one change. What has no place in a patch is said in a line that other tools skip.
fn show(path: &Path, before: Present<'_>, after: Present<'_>, out: &mut dyn Write) -> io::Result<()> {
    let remark = |out: &mut dyn Write, more: &str| {
        writeln!(out, "# {}: {}{more}", quoted(path), happened(before, after))
    };
    let (old_text, new_text) = match (text(before), text(after)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(unshown), _) | (_, Err(unshown)) => {
            return remark(out, &format!(", not shown: {}", unshown.name()));
        }
    };
    let (old_mode, new_mode) = match (before.map(mode), after.map(mode)) {
        (Some(None), _) | (_, Some(None)) => return remark(out, ""),
        (old, new) => (old.flatten(), new.flatten()),
    };
    let permissions = |side: Present<'_>| side.map(|(entry, _)| entry.mode);
    if old_mode == new_mode && permissions(before) != permissions(after) {
        remark(out, "")?;
    }
    if old_mode == new_mode && old_text == new_text {
        return Ok(());
    }
    let (old_name, new_name) = (name("a", path), name("b", path));
    writeln!(out, "diff --git {old_name} {new_name}")?;
    match (old_mode, new_mode) {
        (None, Some(new)) => writeln!(out, "new file mode {new}")?,
        (Some(old), None) => writeln!(out, "deleted file mode {old}")?,
        (Some(old), Some(new)) if old != new => writeln!(out, "old mode {old}\nnew mode {new}")?,
        _ => {}
    }
    if old_text == new_text {
        return Ok(());
    }
    let side = |side: Present<'_>, name| if side.is_some() { name } else { "/dev/null".to_owned() };
    writeln!(out, "--- {}\n+++ {}", side(before, old_name), side(after, new_name))?;
    hunks(&split(old_text), &split(new_text), out)
}

fn text(side: Present<'_>) -> Result<&[u8], Unshown> {
    side.map_or(Ok(b""), |(_, side)| side.text())
}

/// What happened, in a few words.
fn happened(before: Present<'_>, after: Present<'_>) -> String {
    let kind = |entry: Entry| entry.kind.name();
    match (before, after) {
        (None, None) => String::new(),
        (None, Some((new, _))) => format!("new {}, mode {:o}, {} bytes", kind(new), new.mode, new.size),
        (Some((old, _)), None) => format!("deleted {}, {} bytes", kind(old), old.size),
        (Some((old, _)), Some((new, _))) => format!(
            "{}, mode {:o} to {:o}, {} to {} bytes",
            kind(new),
            old.mode,
            new.mode,
            old.size,
            new.size
        ),
    }
}

/// A name as it stands in a diff, in one pair of quotes with its prefix where it needs them.
fn name(prefix: &str, path: &Path) -> String {
    quoted(&Path::new(prefix).join(path))
}

/// The mode git knows something by; it knows no others.
fn mode((entry, _): (Entry, &Side)) -> Option<&'static str> {
    match entry.kind {
        EntryKind::File if entry.mode & 0o100 != 0 => Some("100755"),
        EntryKind::File => Some("100644"),
        EntryKind::Symlink => Some("120000"),
        EntryKind::Directory | EntryKind::Pipe | EntryKind::Socket | EntryKind::Device => None,
    }
}

/// Writes pieces that differ, with a few lines around them.
fn hunks(old: &[&[u8]], new: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
    let steps = steps(old, new);
    let differs: Vec<usize> = (0..steps.len()).filter(|at| steps[*at] != Step::Keep).collect();
    let pieces = differs.chunk_by(|left, right| right - left <= 2 * AROUND + 1);
    // Lines of both texts before the step that is looked at.
    let (mut at, mut in_old, mut in_new) = (0, 0, 0);
    for piece in pieces {
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else { continue };
        let start = first.saturating_sub(AROUND);
        let end = (last + AROUND + 1).min(steps.len());
        // Nothing but kept lines lies between two pieces.
        in_old += start - at;
        in_new += start - at;
        let olds = steps[start..end].iter().filter(|step| **step != Step::Add).count();
        let news = steps[start..end].iter().filter(|step| **step != Step::Remove).count();
        writeln!(out, "@@ -{} +{} @@", range(in_old, olds), range(in_new, news))?;
        for step in &steps[start..end] {
            let (sign, text) = match step {
                Step::Keep => (b' ', old[in_old]),
                Step::Remove => (b'-', old[in_old]),
                Step::Add => (b'+', new[in_new]),
            };
            in_old += usize::from(*step != Step::Add);
            in_new += usize::from(*step != Step::Remove);
            out.write_all(&[sign])?;
            out.write_all(text)?;
            if !text.ends_with(b"\n") {
                out.write_all(b"\n\\ No newline at end of file\n")?;
            }
        }
        at = end;
    }
    Ok(())
}

/// Where a piece begins, and how many lines it has. An empty one stands behind the line before it.
fn range(before: usize, count: usize) -> String {
    match count {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{count}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        hunks(&split(old.as_bytes()), &split(new.as_bytes()), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pieces_have_lines_around_them() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("\n3\n", "\nthree\n").replace("18\n", "");
        assert_eq!(
            text(&old, &new),
            "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
        );
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        assert_eq!(text("", "a"), "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
        assert_eq!(text("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
    }
}
