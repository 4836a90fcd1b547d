//! Appending.

use super::head::{Found, Head, Locked};
use super::kept::{Kept, Opened};
use super::line::{self, Link};
use super::tail::{self, Last, Tail};
use super::{AuditError, AuditEvent, Flaw, Lost, Rotation, files, rotation};
use crate::private;
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the log in the state directory.
const FILE: &str = "audit.jsonl";

/// The name of its head.
const HEAD: &str = "audit.head";

/// Refusals of one sandbox that get a line, more than a run tells one by one. A command that is refused a
/// million times must not push everything else out of the log; the rest is counted when it ends.
const REFUSALS: u64 = 2000;

/// The log of one state directory.
///
/// Copies share what they have counted and what they hold open between two lines.
#[derive(Clone, Debug)]
pub struct AuditLog {
    pub(super) path: PathBuf,
    pub(super) head: PathBuf,
    pub(super) rotation: Rotation,
    durability: Durability,
    refusals: Arc<Mutex<HashMap<String, u64>>>,
    kept: Arc<Mutex<Option<Kept>>>,
    /// Lines that could not be written, and the head could not be told.
    unwritten: Arc<AtomicU64>,
}

/// What an acknowledged line survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of every process, however sudden.
    #[default]
    Process,
    /// A loss of power too. Every line then waits for the disk.
    Power,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is the line of this number.
    Line(u64),
    /// Its sandbox had too many refusals: it is counted, and the line of its end will say how many.
    Counted,
}

impl AuditLog {
    /// The log in a state directory. Nothing is opened or made yet.
    pub fn new(state: &Path) -> Self {
        Self {
            path: state.join(FILE),
            head: state.join(HEAD),
            rotation: Rotation::default(),
            durability: Durability::default(),
            refusals: Arc::default(),
            kept: Arc::default(),
            unwritten: Arc::default(),
        }
    }

    /// Other sizes than usual.
    pub fn rotation(mut self, rotation: Rotation) -> Self {
        self.rotation = rotation;
        self
    }

    /// What lines should survive.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The file that is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line. When this returns, the line is in the file.
    pub fn append(&self, event: &AuditEvent) -> Result<Appended, AuditError> {
        match event {
            AuditEvent::Refusal { violation } => {
                let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
                let count = refusals.entry(violation.sandbox.clone()).or_default();
                *count += 1;
                if *count > REFUSALS {
                    return Ok(Appended::Counted);
                }
                drop(refusals);
                self.write(event)
            }
            AuditEvent::End { sandbox, exit, exit_code, duration_ms, unlisted } => {
                let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
                let count = refusals.remove(sandbox).unwrap_or_default();
                drop(refusals);
                self.write(&AuditEvent::End {
                    sandbox: sandbox.clone(),
                    exit: *exit,
                    exit_code: *exit_code,
                    duration_ms: *duration_ms,
                    unlisted: unlisted + count.saturating_sub(REFUSALS),
                })
            }
            event => self.write(event),
        }
        .map(Appended::Line)
    }

    fn write(&self, event: &AuditEvent) -> Result<u64, AuditError> {
        // Who finds them in use opens its own. What went wrong once is opened anew.
        let mut slot = self.kept.try_lock().ok();
        let kept = slot.as_mut().and_then(|slot| slot.take()).filter(Kept::is_ours);
        let locked = self.lock(kept.as_ref()).inspect_err(|_| self.count_unwritten(None))?;
        self.write_locked(event, &locked, kept.as_ref(), slot)
            .inspect_err(|_| self.count_unwritten(Some(&locked)))
    }

    /// Notes that a line is missing, where whoever writes or checks the log next finds it.
    fn count_unwritten(&self, locked: Option<&Locked>) {
        let told = locked.is_some_and(|locked| match locked.read() {
            Ok(Found::Head(head)) => {
                locked.write(&Head { unwritten: head.unwritten.saturating_add(1), ..head }).is_ok()
            }
            _ => false,
        });
        if !told {
            self.unwritten.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn write_locked(
        &self,
        event: &AuditEvent,
        locked: &Locked,
        kept: Option<&Kept>,
        mut slot: Option<MutexGuard<'_, Option<Kept>>>,
    ) -> Result<u64, AuditError> {
        let (mut log, mut size) = self.current(kept)?;
        let found = locked.read()?;
        let mut tail = match kept.and_then(|kept| kept.tail(size, found)) {
            Some(tail) => tail,
            None => self.tail(&log.file, size)?,
        };
        if size > 0 && tail.unfinished.is_some() && was_killed(&tail, found) {
            size = size.saturating_sub(tail.unfinished.take().map_or(0, |half| half.bytes));
            log.file.set_len(size).map_err(|source| self.failed(source))?;
        }
        let untold = self.unwritten.load(Ordering::Relaxed);
        let Continuation { mut head, gap } = continuation(&tail, found, untold);
        if found == Found::Nothing && gap.is_none() {
            // Before the first line, so that killed after it the head lags instead of missing.
            locked.write(&head)?;
        }

        let mut text = Vec::new();
        if tail.unfinished.is_some() && size > 0 {
            text.push(b'\n');
        }
        let time = private::now();
        let mut last = head.last;
        let mut add = |event: &AuditEvent, last: Link| {
            line::write(event, time, last, &mut text).map_err(|error| self.failed(error.into()))
        };
        // A gap is told where it is, in the file it is in.
        let may_rotate = gap.is_none();
        if let Some(gap) = gap {
            last = add(&gap.event, Link { seq: gap.seq - 1, hash: last.hash })?;
        }
        last = add(event, last)?;

        if may_rotate && size > 0 && size + text.len() as u64 > self.rotation.bytes {
            locked.write(&head)?;
            rotation::rotate(&self.path, self.rotation.keep, locked, &mut head)?;
            (log, size) = (self.open()?.0, 0);
        }
        append_whole(&log.file, &text, size).map_err(|source| self.failed(source))?;
        (head.last, head.unwritten) = (last, 0);
        if self.durability == Durability::Power {
            log.file.sync_data().map_err(|source| self.failed(source))?;
        }
        locked.write(&head)?;
        self.unwritten.fetch_sub(untold, Ordering::Relaxed);
        if self.durability == Durability::Power {
            locked.synchronise()?;
        }
        if let Some(slot) = &mut slot {
            let end = size + text.len() as u64;
            **slot = Some(Kept::new(locked.opened(), log, (end, last)));
        }
        Ok(last.seq)
    }

    fn lock(&self, kept: Option<&Kept>) -> Result<Locked, AuditError> {
        if let Some(kept) = kept
            && let Some(locked) = Locked::again(&kept.head, &self.head)?
        {
            return Ok(locked);
        }
        match Locked::take(&self.head) {
            Err(AuditError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let directory = self.path.parent().unwrap_or(Path::new("/"));
                private::directory(directory)
                    .map_err(|source| AuditError::Make { path: directory.to_owned(), source })?;
                Locked::take(&self.head)
            }
            locked => locked,
        }
    }

    /// The file that is written, and its size.
    fn current(&self, kept: Option<&Kept>) -> Result<(Opened, u64), AuditError> {
        if let Some(kept) = kept
            && let Some(seen) = kept.log.stands_at(&self.path).map_err(|source| self.unreadable(source))?
        {
            return Ok((kept.log.clone(), seen.len()));
        }
        self.open()
    }

    fn open(&self) -> Result<(Opened, u64), AuditError> {
        let wrong = |source| AuditError::Open { path: self.path.clone(), source };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&self.path)
            .map_err(wrong)?;
        let seen = file.metadata().map_err(|source| self.unreadable(source))?;
        if !seen.is_file() {
            return Err(wrong(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        Ok((Opened::new(file, &seen), seen.len()))
    }

    /// How the log ends: in an empty file, as the one before it does.
    fn tail(&self, file: &File, size: u64) -> Result<Tail, AuditError> {
        let unreadable = |source| self.unreadable(source);
        if size > 0 {
            return tail::read(file, size).map_err(unreadable);
        }
        match File::open(files::numbered(&self.path, 1)) {
            Ok(before) => {
                let size = before.metadata().map_err(unreadable)?.len();
                tail::read(&before, size).map_err(unreadable)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Tail { last: Last::Nothing, unfinished: None })
            }
            Err(source) => Err(unreadable(source)),
        }
    }

    fn failed(&self, source: io::Error) -> AuditError {
        AuditError::Write { path: self.path.clone(), source }
    }

    fn unreadable(&self, source: io::Error) -> AuditError {
        AuditError::Read { path: self.path.clone(), source }
    }
}

/// One call for the whole text. What did not fit is taken back, so that the log ends with a whole line.
fn append_whole(mut file: &File, text: &[u8], size: u64) -> io::Result<()> {
    let result = match file.write(text) {
        Ok(count) if count == text.len() => return Ok(()),
        Ok(_) => Err(io::Error::from(io::ErrorKind::StorageFull)),
        Err(error) => Err(error),
    };
    // Where this fails the next writer finds an unfinished line and says so.
    let _ = file.set_len(size);
    result
}

/// Where the chain goes on, and what is wrong there.
struct Continuation {
    /// The head as it should be before the next line.
    head: Head,
    gap: Option<Gap>,
}

struct Gap {
    /// The number its line gets.
    seq: u64,
    event: AuditEvent,
}

/// Whether half a line at the end is that of a writer who was killed in the middle of it: everything anybody
/// was told is written stands before it. (The kernel ends a write of a process that is killed between two
/// pages.)
fn was_killed(tail: &Tail, found: Found) -> bool {
    match (&tail.last, found) {
        (Last::Line(link), Found::Head(head)) => {
            head.last.seq < link.seq || (head.last.seq, head.last.hash) == (link.seq, link.hash)
        }
        (Last::Nothing, Found::Head(head)) => head.last.seq == 0,
        _ => false,
    }
}

/// Compares the end of the log with its head.
fn continuation(tail: &Tail, found: Found, untold: u64) -> Continuation {
    let known = match found {
        Found::Head(head) => Some(head),
        Found::Nothing | Found::Unreadable => None,
    };
    let first = known.map_or(1, |head| head.first);
    let last = match tail.last {
        Last::Line(link) => link,
        Last::Nothing => Link::NONE,
        Last::Unreadable => known.map_or(Link::NONE, |head| head.last),
    };
    let unwritten = known.map_or(0, |head| head.unwritten).saturating_add(untold);
    let mut notes = Vec::new();
    let mut lost = None;
    let words;
    if unwritten > 0 {
        words = Flaw::Unwritten { count: unwritten }.to_string();
        notes.push(words.as_str());
    }
    if tail.unfinished.is_some() {
        notes.push("the last line was never finished");
    }
    if tail.last == Last::Unreadable {
        notes.push("the last line could not be read");
    }
    match known {
        Some(head) if head.last.seq > last.seq => {
            lost = Some(Lost { from: last.seq + 1, to: head.last.seq });
            notes.push("lines at the end are gone");
        }
        Some(head) if head.last.seq == last.seq && head.last.hash != last.hash => {
            notes.push("the last line is not the one that was written");
        }
        // Whoever wrote the last line was killed before the head.
        Some(_) => {}
        None if found == Found::Unreadable => notes.push("audit.head could not be read"),
        None if tail.last != Last::Nothing => notes.push("audit.head was gone"),
        None => {}
    }
    let gap = (!notes.is_empty()).then(|| Gap {
        seq: last.seq.max(lost.map_or(0, |lost| lost.to)) + 1,
        event: AuditEvent::Gap {
            unfinished: tail.unfinished.clone(),
            lost,
            unwritten,
            note: notes.join("; "),
        },
    });
    let unwritten = known.map_or(0, |head| head.unwritten);
    Continuation { head: Head { first, last, unwritten }, gap }
}
