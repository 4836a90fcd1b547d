//! Which files there are, and how a full one makes room.

use super::head::{Head, Locked};
use super::line::{self, LONGEST_LINE};
use super::{AuditError, files};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// When a file is full, and how many full ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes of one file.
    pub bytes: u64,
    /// Files besides the one that is written; at least one.
    pub keep: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { bytes: 16 << 20, keep: 8 }
    }
}

/// Puts the full file behind the others. The head must already know its last line: killed anywhere in here,
/// the next writer finds either the full file or none, and the order of the others is that of their numbers
/// even with one missing.
pub(super) fn rotate(path: &Path, keep: u32, locked: &Locked, head: &mut Head) -> Result<(), AuditError> {
    let wrong = |source| AuditError::Rotate { path: path.to_owned(), source };
    let keep = keep.max(1);
    let mut numbers = files::numbers(path).map_err(wrong)?;
    numbers.sort_unstable();
    let dropped = numbers.partition_point(|number| *number < keep);
    if dropped < numbers.len() {
        let oldest = match numbers[..dropped].last() {
            Some(number) => files::numbered(path, *number),
            None => path.to_owned(),
        };
        // First said, then done: a file older than the head asks for is no flaw, one that is missing is.
        if let Some(first) = first_line(&oldest).map_err(wrong)? {
            head.first = first;
            locked.write(head)?;
        }
        for number in &numbers[dropped..] {
            fs::remove_file(files::numbered(path, *number)).map_err(wrong)?;
        }
    }
    for number in numbers[..dropped].iter().rev() {
        fs::rename(files::numbered(path, *number), files::numbered(path, *number + 1)).map_err(wrong)?;
    }
    fs::rename(path, files::numbered(path, 1)).map_err(wrong)
}

fn first_line(path: &Path) -> io::Result<Option<u64>> {
    let mut first = Vec::new();
    BufReader::new(File::open(path)?).take(LONGEST_LINE as u64).read_until(b'\n', &mut first)?;
    Ok(line::read(first.strip_suffix(b"\n").unwrap_or(&first)).map(|parts| parts.link.seq))
}
