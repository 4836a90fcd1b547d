//! Opening files on behalf of the caller.

use super::act::{Answer, Handed};
use super::call::PathArgument;
use super::deeds::Deed;
use super::process::{Broker, Changes};
use super::resolve::{Led, Place, plain};
use super::standing::MOVED;
use super::trial::{REFUSED, Trial};
use crate::linux::sys::Held;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, fcntl_getfl, fcntl_setfl, fstat, openat2, readlinkat,
    statat,
};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{Check, Judgement, Naming, Refusal, RootView, Switch, ViolationKind};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// How often the other end of a pipe is looked for.
const LOOKS_FOR_A_READER: Duration = Duration::from_millis(2);
/// Bits openat ignores and openat2 refuses.
const KNOWN_FLAGS: u32 = 0o37777703 | OFlags::TMPFILE.bits() | OFlags::LARGEFILE.bits();

/// Files of /proc through which a process says something about itself, and nothing about others.
const OWN_FILES: [&str; 3] = ["comm", "oom_score_adj", "coredump_filter"];

/// What an open wants.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) flags: OFlags,
    pub(super) mode: Mode,
}

impl Wish {
    fn new(flags: i32, mode: u32) -> Self {
        let flags = OFlags::from_bits_retain(flags as u32 & KNOWN_FLAGS);
        let makes = flags.intersects(OFlags::CREATE) || flags.contains(OFlags::TMPFILE);
        let mode = if makes { Mode::from_raw_mode(mode & 0o7777) } else { Mode::empty() };
        Self { flags, mode }
    }

    fn changes(&self) -> bool {
        let writes = self.flags & OFlags::RWMODE != OFlags::RDONLY;
        writes || self.flags.intersects(OFlags::CREATE | OFlags::TRUNC) || self.is_unnamed()
    }

    fn is_unnamed(&self) -> bool {
        self.flags.contains(OFlags::TMPFILE)
    }

    /// A new file, by a program that writes and closes it itself: `cp`, or one whose descriptor no other program
    /// gets. A shell's redirection would be neither.
    fn makes_for_itself(&self, kind: ViolationKind) -> bool {
        kind == ViolationKind::Create && self.flags.intersects(OFlags::CLOEXEC | OFlags::EXCL)
    }

    /// Nothing may stand there yet.
    fn is_new(&self) -> bool {
        self.flags.contains(OFlags::CREATE | OFlags::EXCL)
    }

    pub(super) fn follows(&self) -> bool {
        !self.flags.contains(OFlags::NOFOLLOW) && !self.is_new()
    }
}

impl Trial<'_> {
    pub(super) fn open(self, path: PathArgument, flags: i32, mode: u32) -> Result<Answer, Errno> {
        let wish = Wish::new(flags, mode);
        // It only names a place, whatever else the flags say; and no such descriptor can be handed over.
        if wish.flags.contains(OFlags::PATH) {
            return self.name_only(path, wish);
        }
        if !wish.changes() {
            return self.read(path, wish);
        }
        let broker = self.caller.broker;
        // Before anything is resolved: what is judged must still be where it was when the act is done.
        let mut changes = broker.changes();
        let text = self.caller.path(path.address)?;
        let base = self.caller.base(path, text.to_bytes())?;
        let mut led = self.caller.enter(base, text.to_bytes())?;
        self.caller.wear_mask()?;
        for _ in 0..MOST_LINKS {
            let place = match led {
                Led::To(place) => place,
                Led::IntoProc(rest) => return self.open_in_proc(&rest, wish),
            };
            if place.path.as_os_str() == "/dev" && place.name.to_bytes() == b"tty" {
                return self.open_terminal(wish);
            }
            // A link on the last step is only known by trying.
            if wish.follows()
                && let Ok(target) = readlinkat(&place.directory, plain(&place.name), Vec::with_capacity(64))
            {
                led = self.caller.follow(place, target.to_bytes())?;
                continue;
            }
            return self.open_at(place, wish, &mut changes);
        }
        Err(Errno::LOOP)
    }

    fn open_at(mut self, place: Place, wish: Wish, changes: &mut Changes) -> Result<Answer, Errno> {
        let full = place.full();
        let judge = &self.caller.broker.judge;
        let exists = || statat(&place.directory, plain(&place.name), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let (kind, judgement) = if wish.is_unnamed() {
            (ViolationKind::Create, Judgement::Free)
        } else if wish.flags.contains(OFlags::CREATE) {
            let named = judge.name(&full, Naming::File);
            // Before the look: what is there might be gone, and made anew, when it is opened.
            if let Judgement::Check(Check::BareRepository, refusal) = &named
                && let Err(answer) = self.lock_repository(ViolationKind::Create, &place, refusal)
            {
                return Ok(answer);
            }
            match named {
                Judgement::Free => (ViolationKind::Create, Judgement::Free),
                // Nothing is opened, let alone written.
                _ if wish.is_new() && exists() => return Err(Errno::EXIST),
                _ if exists() => (ViolationKind::Write, judge.change(&full)),
                judgement => (ViolationKind::Create, judgement),
            }
        } else {
            (ViolationKind::Write, judge.change(&full))
        };
        match self.hear(kind, &full, judgement) {
            Err(answer) => return Ok(answer),
            Ok(None) => {}
            Ok(Some((Check::BareRepository, refusal))) => {
                if let Err(answer) = self.judge_repository(kind, &place, refusal) {
                    return Ok(answer);
                }
            }
            // Others write git's files by accident or with intent, and should hear about it at once. What makes
            // new ones and keeps them for itself is git in another shape: a library in cargo, in an editor.
            Ok(Some((_, refusal))) if !self.caller.is_git() && !wish.makes_for_itself(kind) => {
                if let Err(answer) = self.refuse(kind, &full, refusal, REFUSED) {
                    return Ok(answer);
                }
            }
            Ok(Some((check, refusal))) => {
                return self.open_deferred(place, check, refusal, wish, changes);
            }
        }
        self.caller.has_room()?;
        let deed = |mask: u32| Deed::Open {
            path: full.as_path().into(),
            flags: wish.flags.bits(),
            mode: wish.mode.bits() & !mask,
        };
        let patience = (self.caller.broker, *self.caller.held);
        // Whoever holds a file open can read it, for whatever it was opened.
        let is_hidden = self.asks() && self.hidden(&full).is_some();
        let subjects = || {
            let stands = statat(rustix::fs::CWD, &full, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            let mut subjects = vec![(if stands { ViolationKind::Write } else { kind }, full.clone())];
            if is_hidden && stands {
                subjects.push((ViolationKind::Read, full.clone()));
            }
            subjects
        };
        Ok(self.finish(subjects, Some(&deed), || match open_without_waiting(&place, wish) {
            Err(Errno::NXIO) => wait_for_reader(patience, place, wish),
            other => other.map(|file| handed(file, wish)),
        }))
    }

    /// An open for reading: looked at and left to the walls, which decide alike.
    fn read(mut self, path: PathArgument, wish: Wish) -> Result<Answer, Errno> {
        let follow = if wish.follows() { super::call::Follow::Yes } else { super::call::Follow::No };
        let place = match self.caller.lead_to_read(path, follow) {
            Ok(Led::To(place)) => place,
            // A name that cannot be read is not judged, and whoever cannot be looked into gets nothing.
            Err(errno @ (MOVED | Errno::FAULT | Errno::ACCESS)) => return Err(errno),
            // The kernel gives the right error, and knows who /proc/self is.
            _ => return Ok(Answer::GoOn),
        };
        let full = place.full();
        let judge = &self.caller.broker.judge;
        let stand_in = judge.must_be_stand_in(&full).map(|(rule, refusal)| (rule.device, refusal));
        let Some(mut refusal) = self.hidden(&full) else {
            return match stand_in {
                Some((device, refusal)) => self.open_stand_in(&place, wish, device, refusal),
                None => Ok(Answer::GoOn),
            };
        };
        // Where only what is listed can be seen, the rest is not there; nobody refused it.
        if refusal.rule.is_none() && self.caller.broker.plan.root == RootView::Listed {
            return Ok(Answer::GoOn);
        }
        // What is not there is not refused. The kernel would look again, and it might be there by then.
        let kind = kind_of(&place);
        if kind == Err(Errno::NOENT) {
            return Err(Errno::NOENT);
        }
        // A directory in the caller's hands would show everything below it.
        if kind == Ok(FileType::Directory) {
            refusal.grantable = Switch::Refused;
        }
        if let Err(answer) = self.refuse(ViolationKind::Read, &full, refusal, Errno::ACCESS) {
            return Ok(answer);
        }
        self.open_unmasked(&full, wish)
    }

    /// Opens what somebody allowed to be read.
    fn open_unmasked(&self, path: &Path, wish: Wish) -> Result<Answer, Errno> {
        let broker = self.caller.broker;
        // What is hidden in an overlay could not be changed there: it is the host's.
        let is_there = broker.is_the_hosts(path) || broker.is_overlaid(path);
        let tree = broker.unmasked.as_ref().filter(|_| is_there).ok_or(Errno::ACCESS)?;
        let below = path.strip_prefix("/").map_err(|_| Errno::ACCESS)?;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
        let there = openat2(tree, below, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
        if FileType::from_raw_mode(fstat(&there)?.st_mode) != FileType::RegularFile {
            return Err(Errno::ACCESS);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let name = there.as_raw_fd().to_string();
        let file = rustix::fs::openat(&broker.own_descriptors, name, flags, Mode::empty())?;
        Ok(handed(file, wish))
    }

    /// Why a path may not be read, if it may not.
    pub(super) fn hidden(&self, path: &Path) -> Option<Refusal> {
        let judge = &self.caller.broker.judge;
        match judge.read(path) {
            Judgement::Refused(refusal) => Some(refusal),
            _ => judge.why_not(path, ViolationKind::Read),
        }
    }

    /// The caller's own terminal: `/dev/tty` would be ours.
    fn open_terminal(self, wish: Wish) -> Result<Answer, Errno> {
        let terminal = self.caller.terminal().ok_or(Errno::NXIO)?;
        self.caller.still_there()?;
        let flags = (wish.flags - OFlags::CREATE - OFlags::EXCL) | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat2(rustix::fs::CWD, terminal, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        Ok(handed(file, wish))
    }

    /// One of the files about itself that a process may write.
    fn open_own(self, name: &str, wish: Wish) -> Result<Answer, Errno> {
        let path = format!("{}/{name}", self.caller.held.thread);
        let flags = (wish.flags & OFlags::RWMODE) | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.caller.broker.proc, path, flags, Mode::empty())?;
        self.caller.still_there()?;
        Ok(handed(file, wish))
    }

    /// `/dev/stdout`, `/proc/self/fd/N`: opened anew for what it is open for, and nothing else in /proc.
    fn open_in_proc(self, rest: &[u8], wish: Wish) -> Result<Answer, Errno> {
        if let Some(name) = OWN_FILES.into_iter().find(|name| rest == [b"self/", name.as_bytes()].concat()) {
            return self.open_own(name, wish);
        }
        let number = own_descriptor(rest).ok_or(Errno::ACCESS)?;
        let original = self.caller.descriptor(number)?;
        let open_for = fcntl_getfl(&original)?;
        if open_for.contains(OFlags::PATH) {
            return Err(Errno::ACCESS);
        }
        let reads = |flags: OFlags| flags & OFlags::RWMODE != OFlags::WRONLY;
        let writes = |flags: OFlags| flags & OFlags::RWMODE != OFlags::RDONLY;
        let cuts = wish.flags.contains(OFlags::TRUNC) && !writes(open_for);
        if cuts || (reads(wish.flags) && !reads(open_for)) || (writes(wish.flags) && !writes(open_for)) {
            return Err(Errno::ACCESS);
        }
        let mut flags = (wish.flags - OFlags::CREATE - OFlags::EXCL - OFlags::NOFOLLOW)
            | OFlags::NOCTTY
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        // Who may only add must not overwrite.
        if open_for.contains(OFlags::APPEND) {
            flags = (flags - OFlags::TRUNC) | OFlags::APPEND;
        }
        let name = original.as_raw_fd().to_string();
        let file = rustix::fs::openat(&self.caller.broker.own_descriptors, name, flags, Mode::empty())?;
        settle(&file, wish)?;
        Ok(handed(file, wish))
    }
}

/// Opens what stands at a place, following nothing and waiting for nobody.
pub(super) fn open_without_waiting(place: &Place, wish: Wish) -> Result<OwnedFd, Errno> {
    // What is made anew is a plain file: nothing there could make us wait.
    let waiting = if wish.is_new() { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = wish.flags | waiting | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(&place.directory, &place.name, flags, wish.mode, resolve)?;
    settle(&file, wish)?;
    Ok(file)
}

/// Lets later reads and writes wait, if the caller did not ask otherwise.
fn settle(file: &OwnedFd, wish: Wish) -> Result<(), Errno> {
    if wish.is_new() || wish.flags.contains(OFlags::NONBLOCK) {
        return Ok(());
    }
    fcntl_setfl(file, fcntl_getfl(file)? - OFlags::NONBLOCK)
}

pub(super) fn handed(descriptor: OwnedFd, wish: Wish) -> Answer {
    let close_on_exec = wish.flags.contains(OFlags::CLOEXEC);
    Answer::Descriptor(Handed { descriptor, close_on_exec, at: None })
}

/// A pipe nobody reads yet: looked at again and again, in a thread of its own, as long as the caller
/// wants to wait.
fn wait_for_reader((broker, held): (&Arc<Broker>, Held), place: Place, wish: Wish) -> Result<Answer, Errno> {
    let is_pipe = statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo);
    if !is_pipe || wish.flags.contains(OFlags::NONBLOCK) {
        return Err(Errno::NXIO);
    }
    broker.aside(move |broker| {
        let mut pause = LOOKS_FOR_A_READER;
        let answer = loop {
            let began = Instant::now();
            if !broker.listener.still_waits(held.id) {
                return;
            }
            match open_without_waiting(&place, wish) {
                Err(Errno::NXIO) => std::thread::sleep(pause),
                Ok(file) => break handed(file, wish),
                Err(errno) => break Answer::Refused(errno),
            }
            pause = (pause + began.elapsed() / 16).min(Duration::from_millis(50));
        };
        answer.give(broker, &held);
    })?;
    Ok(Answer::Later)
}

/// The number in `self/fd/N`.
pub(super) fn own_descriptor(rest: &[u8]) -> Option<i32> {
    let rest = std::str::from_utf8(rest).ok()?;
    let number = rest.strip_prefix("self/fd/").or_else(|| rest.strip_prefix("thread-self/fd/"))?;
    number.parse().ok().filter(|number| *number >= 0)
}

/// Whether what stands there can be looked at.
pub(super) fn kind_of(place: &Place) -> Result<FileType, Errno> {
    let found = statat(&place.directory, plain(&place.name), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}

/// Reads a regular file whole, if it is not larger than this.
pub(super) fn read_whole(place: &Place, most: u64) -> Result<Vec<u8>, Errno> {
    use std::io::Read;
    let flags = OFlags::RDONLY | super::resolve::LOOK;
    let file =
        openat2(&place.directory, plain(&place.name), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut content = Vec::new();
    let read = std::fs::File::from(file).take(most + 1).read_to_end(&mut content);
    match read {
        Ok(length) if length as u64 <= most => Ok(content),
        Ok(_) => Err(Errno::FBIG),
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}
