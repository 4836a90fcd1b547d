//! The files of the log as they stand at one moment.

use super::AuditError;
use super::head::{Found, Locked};
use super::line::LONGEST_LINE;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `audit.jsonl.3`.
pub(super) fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

/// The numbers of the full files there are, in no order.
pub(super) fn numbers(path: &Path) -> io::Result<Vec<u32>> {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else { return Ok(Vec::new()) };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?.file_name();
        let number = entry.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"."));
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
        // `+1` and `01` are numbers too, but not how we write them.
        found.extend(number.filter(|number| numbered(path, *number).file_name() == Some(&entry)));
    }
    Ok(found)
}

/// The log at one moment: writers may go on and rotate, this stays as it was.
pub(super) struct Snapshot {
    pub(super) head: Found,
    /// Oldest first.
    pub(super) files: Vec<Lines>,
}

/// A file, line by line.
pub(super) struct Lines {
    pub(super) path: PathBuf,
    reader: BufReader<Take<File>>,
    /// The number of the line that was read last, from 1.
    pub(super) number: u64,
}

/// A line, or what stands in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// The file ends before the line does.
    Unfinished(Vec<u8>),
    /// Longer than any line of ours.
    TooLong,
}

impl Snapshot {
    pub(super) fn take(path: &Path, head: &Path) -> Result<Self, AuditError> {
        let locked = match Locked::peek(head)? {
            // Nobody is kept out. A first writer may begin right now, and its head must not be missed.
            None => {
                let seen = Self::look(path, None)?;
                match Locked::peek(head)? {
                    None => return Ok(seen),
                    locked => locked,
                }
            }
            locked => locked,
        };
        Self::look(path, locked.as_ref())
    }

    fn look(path: &Path, locked: Option<&Locked>) -> Result<Self, AuditError> {
        let found = locked.map_or(Ok(Found::Nothing), Locked::read)?;
        let mut numbers =
            numbers(path).map_err(|source| AuditError::Read { path: path.to_owned(), source })?;
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        let mut files = Vec::new();
        for number in numbers {
            files.extend(Lines::open(numbered(path, number))?);
        }
        files.extend(Lines::open(path.to_owned())?);
        Ok(Self { head: found, files })
    }
}

impl Lines {
    /// `None` where there is no such file.
    fn open(path: PathBuf) -> Result<Option<Self>, AuditError> {
        let open = || -> io::Result<_> {
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&path)?;
            let size = file.metadata()?.len();
            Ok(BufReader::with_capacity(1 << 16, file.take(size)))
        };
        match open() {
            Ok(reader) => Ok(Some(Self { path, reader, number: 0 })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(AuditError::Open { path, source }),
        }
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Line>, AuditError> {
        let mut line = Vec::new();
        let longest = LONGEST_LINE as u64;
        (&mut self.reader)
            .take(longest)
            .read_until(b'\n', &mut line)
            .map_err(|source| AuditError::Read { path: self.path.clone(), source })?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(match line.pop_if(|end| *end == b'\n') {
            Some(_) => Line::Whole(line),
            None if line.len() as u64 == longest => Line::TooLong,
            None => Line::Unfinished(line),
        }))
    }
}
