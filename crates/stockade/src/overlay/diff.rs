//! Changes as text: a unified diff as other tools read it.

use super::change::{Change, Entry, EntryKind, quoted};
use super::error::OverlayError;
use super::lines::{Step, split, steps};
use super::tree::Tree;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Larger files are only said to differ.
const LARGEST: u64 = 4 << 20;
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

/// One side of a change.
enum Side {
    Nothing,
    Text(Vec<u8>),
    /// Not to be shown.
    Other,
}

/// Writes one change.
pub(super) fn write(
    change: &Change,
    host: &Tree,
    upper: &Tree,
    out: &mut dyn Write,
) -> Result<(), OverlayError> {
    let written = sides(change, host, upper).and_then(|(old, new)| show(change, &old, &new, out));
    written.map_err(OverlayError::io("show the change to", &change.path))
}

/// Counts the lines of one change.
pub(super) fn count(change: &Change, host: &Tree, upper: &Tree) -> Result<Option<Counted>, OverlayError> {
    let (old, new) = sides(change, host, upper).map_err(OverlayError::io("read", &change.path))?;
    let (Some(old), Some(new)) = (old.text(), new.text()) else { return Ok(None) };
    let mut counted = Counted::default();
    for step in steps(&split(old), &split(new)) {
        match step {
            Step::Keep => {}
            Step::Remove => counted.removed += 1,
            Step::Add => counted.added += 1,
        }
    }
    Ok(Some(counted))
}

impl Side {
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing => Some(b""),
            Self::Text(text) => Some(text),
            Self::Other => None,
        }
    }
}

fn sides(change: &Change, host: &Tree, upper: &Tree) -> io::Result<(Side, Side)> {
    Ok((side(change.before, host, &change.path)?, side(change.after, upper, &change.path)?))
}

fn side(entry: Option<Entry>, tree: &Tree, path: &Path) -> io::Result<Side> {
    let Some(entry) = entry else { return Ok(Side::Nothing) };
    Ok(match entry.kind {
        EntryKind::Directory => Side::Nothing,
        EntryKind::Symlink => Side::Text(tree.target(path)?.as_os_str().as_bytes().to_vec()),
        EntryKind::Pipe | EntryKind::Socket | EntryKind::Device => Side::Other,
        EntryKind::File if entry.size > LARGEST => Side::Other,
        EntryKind::File => {
            let mut text = Vec::new();
            match tree.file(path) {
                Ok(file) => file.take(LARGEST).read_to_end(&mut text)?,
                Err(_) => return Ok(Side::Other),
            };
            if text.iter().take(LOOKED_AT).any(|byte| *byte == 0) { Side::Other } else { Side::Text(text) }
        }
    })
}

fn show(change: &Change, old: &Side, new: &Side, out: &mut dyn Write) -> io::Result<()> {
    let (old_name, new_name) = (name("a", &change.path), name("b", &change.path));
    writeln!(out, "diff --git {old_name} {new_name}")?;
    match (change.before.map(mode), change.after.map(mode)) {
        (None, Some(new)) => writeln!(out, "new file mode {new}")?,
        (Some(old), None) => writeln!(out, "deleted file mode {old}")?,
        (Some(old), Some(new)) if old != new => writeln!(out, "old mode {old}\nnew mode {new}")?,
        _ => {}
    }
    let (Some(old_text), Some(new_text)) = (old.text(), new.text()) else {
        return writeln!(out, "Binary files {old_name} and {new_name} differ");
    };
    if old_text == new_text {
        return Ok(());
    }
    let side = |entry: Option<Entry>, name| if entry.is_some() { name } else { "/dev/null".to_owned() };
    writeln!(out, "--- {}\n+++ {}", side(change.before, old_name), side(change.after, new_name))?;
    hunks(&split(old_text), &split(new_text), out)
}

/// A name as it stands in a diff, in one pair of quotes with its prefix where it needs them.
fn name(prefix: &str, path: &Path) -> String {
    quoted(&Path::new(prefix).join(path))
}

fn mode(entry: Entry) -> String {
    let kind = match entry.kind {
        EntryKind::File => 0o100_000,
        EntryKind::Directory => 0o040_000,
        EntryKind::Symlink => return "120000".to_owned(),
        EntryKind::Pipe => 0o010_000,
        EntryKind::Socket => 0o140_000,
        EntryKind::Device => 0o020_000,
    };
    format!("{:06o}", kind | entry.mode)
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
