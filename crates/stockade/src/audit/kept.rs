//! The files of the log between two lines of one process: opening them again would cost more than the line.

use super::head::Found;
use super::line::Link;
use super::tail::{Last, Tail};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// What one line leaves open for the next. Whoever uses it has it alone: a lock on a file that others hold open
/// with us does not keep them out.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) head: Opened,
    pub(super) log: Opened,
    /// How long the log was then, and its last line.
    end: (u64, Link),
    process: u32,
}

/// An open file, and what it looked like.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    look: Look,
}

/// Device, inode, mode, owner and group: who could not open it any more should not write it either.
type Look = (u64, u64, u32, u32, u32);

impl Kept {
    pub(super) fn new(head: Opened, log: Opened, end: (u64, Link)) -> Self {
        Self { head, log, end, process: std::process::id() }
    }

    /// How the log ends, where nobody wrote since: what a line was changed into that is as long as it was, a
    /// later look at the whole chain finds.
    pub(super) fn tail(&self, size: u64, found: Found) -> Option<Tail> {
        let (end, last) = self.end;
        let is_ours = size == end && matches!(found, Found::Head(head) if head.last == last);
        is_ours.then_some(Tail { last: Last::Line(last), unfinished: None })
    }

    /// Whether they are this process's own. A copy of the process that made them shares its locks.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Opened {
    pub(super) fn new(file: File, seen: &Metadata) -> Self {
        Self { file: Arc::new(file), look: look(seen) }
    }

    /// What stands at this path, if it is still this file.
    pub(super) fn stands_at(&self, path: &Path) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(path) {
            Ok(seen) => Ok((look(&seen) == self.look).then_some(seen)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn look(seen: &Metadata) -> Look {
    (seen.dev(), seen.ino(), seen.mode(), seen.uid(), seen.gid())
}
