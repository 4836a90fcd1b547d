//! Starting one command: the last steps before exec.
//!
//! Runs in a process of its own that still shares the first process's memory, which is suspended until
//! exec. Each step is one nobody inside can undo.

use crate::linux::script::{LandlockStep, Script};
use crate::linux::sys::{self, Exec, Ruleset, landlock_rights as rights};
use crate::linux::wire::Stage;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, fstatfs};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, Rlimit, setrlimit, setsid};

/// Everything a command is started from.
pub(super) struct Start<'a> {
    pub(super) script: &'a Script,
    pub(super) exec: &'a Exec,
    /// 0, 1, 2, then the named ones. Nothing stands for the sandbox's own /dev/null: the host's would be
    /// a file of the host's in the command's hands.
    pub(super) descriptors: &'a [Option<OwnedFd>],
    /// The rules of commands without files of their own; absent where this one has some.
    pub(super) common: Option<&'a Ruleset>,
    /// The inner end of the private terminal.
    pub(super) terminal: Option<BorrowedFd<'a>>,
    /// Where it went wrong; memory the first process reads afterwards.
    pub(super) failure: Option<(Stage, Errno)>,
}

/// The number inside of the descriptor at an index.
fn number(exec: &Exec, index: usize) -> i32 {
    const STDIO: usize = 3;
    if index < STDIO { index as i32 } else { exec.descriptors().get(index - STDIO).map_or(-1, |n| *n as i32) }
}

/// Becomes the command, or notes why not and ends.
pub(super) fn become_command(start: &mut Start<'_>) -> ! {
    if let Err(failure) = prepare(start) {
        start.failure = Some(failure);
        sys::exit_now(127);
    }
    start.failure = Some((Stage::Program, start.exec.exec()));
    sys::exit_now(127)
}

fn prepare(start: &Start<'_>) -> Result<(), (Stage, Errno)> {
    let at = |stage: Stage| move |errno: Errno| (stage, errno);
    setsid().map_err(at(Stage::Session))?;
    if let Some(terminal) = start.terminal {
        rustix::process::ioctl_tiocsctty(terminal).map_err(at(Stage::Terminal))?;
    }
    sys::chdir_past_broker(start.exec.working_directory(), start.script.cookie)
        .map_err(at(Stage::Directory))?;
    let own = match start.common {
        None => own_rules(start).map_err(at(Stage::Landlock))?,
        Some(_) => None,
    };
    // After the ruleset, which needs descriptors of its own; it keeps a number above all of these.
    let walls = place_descriptors(start, start.common.or(own.as_ref())).map_err(at(Stage::Descriptors))?;
    limit(start.script).map_err(at(Stage::Limits))?;
    if let Some(walls) = walls {
        walls.restrict_self().map_err(at(Stage::Landlock))?;
    }
    sys::unblock_signals();
    Ok(())
}

/// Puts every descriptor where the command expects it. All are lifted above the highest number first, so
/// that no target overwrites a source.
fn place_descriptors(start: &Start<'_>, walls: Option<&Ruleset>) -> Result<Option<Ruleset>, Errno> {
    let count = start.descriptors.len();
    let highest = (0..count).map(|index| number(start.exec, index)).max().unwrap_or(2).max(2);
    let walls = walls.map(|walls| walls.lift(highest + 1)).transpose()?;
    let mut lifted = [const { None }; crate::linux::wire::MAX_DESCRIPTORS + 3];
    for (slot, from) in lifted.iter_mut().zip(start.descriptors) {
        *slot = Some(match from {
            Some(from) => fcntl_dupfd_cloexec(from, highest + 1)?,
            None => {
                let flags = OFlags::RDWR | OFlags::CLOEXEC;
                let null = sys::open_past_broker(c"/dev/null", flags, start.script.cookie)?;
                fcntl_dupfd_cloexec(null, highest + 1)?
            }
        });
    }
    sys::close_on_exec_from(0)?;
    for (index, from) in lifted.iter().enumerate() {
        if let Some(from) = from {
            sys::place_descriptor(from.as_fd(), number(start.exec, index))?;
        }
    }
    // Dropped by exec; dropping them here would only cost calls.
    std::mem::forget(lifted);
    Ok(walls)
}

fn limit(script: &Script) -> Result<(), Errno> {
    if let Some(bytes) = script.limits.max_file_size {
        lower(Resource::Fsize, bytes)?;
    }
    if let Some(count) = script.limits.max_file_descriptors {
        lower(Resource::Nofile, count)?;
    }
    Ok(())
}

/// Sets a limit for good, or leaves a lower one.
pub(super) fn lower(resource: Resource, value: u64) -> Result<(), Errno> {
    let value = rustix::process::getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
}

/// The rules of commands that bring no files of their own; nothing where Landlock is not in use.
pub(super) fn common_rules(script: &Script) -> Result<Option<Ruleset>, Errno> {
    if script.landlock_handled == 0 {
        return Ok(None);
    }
    let ruleset = Ruleset::new(script.landlock_handled)?;
    for LandlockStep { path, access } in &script.landlock {
        match sys::open_past_broker(path, OFlags::PATH | OFlags::CLOEXEC, script.cookie) {
            Ok(place) => ruleset.allow(place, *access)?,
            // Below somebody else's closed directory, as with root's HOME that is another's. Commands are who we
            // are and can go there as little; and a rule that is left out opens nothing.
            Err(Errno::ACCESS) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(ruleset))
}

/// The same, and what this command's own descriptors may be reopened for.
fn own_rules(start: &Start<'_>) -> Result<Option<Ruleset>, Errno> {
    let Some(ruleset) = common_rules(start.script)? else { return Ok(None) };
    for descriptor in start.descriptors.iter().flatten() {
        let access = reopening(descriptor)? & start.script.landlock_handled;
        if access != 0 {
            match ruleset.allow(descriptor, access) {
                // What has no place in any tree is beyond Landlock: it can be reopened only as what it is.
                Ok(()) | Err(Errno::BADFD) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Some(ruleset))
}

/// What a file the caller handed over may be reopened for through /dev/stdin and the like: what it is
/// open for, no more. A descriptor that only appends is not reopened, that would allow overwriting. Pipes
/// without a name are beyond Landlock.
pub(super) fn reopening(descriptor: &OwnedFd) -> Result<u64, Errno> {
    const PIPES: u32 = 0x5049_5045;
    let reopenable = match FileType::from_raw_mode(fstat(descriptor)?.st_mode) {
        FileType::RegularFile | FileType::CharacterDevice => true,
        FileType::Fifo => fstatfs(descriptor)?.f_type as u32 != PIPES,
        _ => false,
    };
    let flags = fcntl_getfl(descriptor)?;
    if !reopenable || flags.contains(OFlags::APPEND) {
        return Ok(0);
    }
    Ok(match flags & OFlags::RWMODE {
        OFlags::RDONLY => rights::READ_FILE,
        OFlags::WRONLY => rights::WRITE_FILE | rights::TRUNCATE,
        _ => rights::READ_FILE | rights::WRITE_FILE | rights::TRUNCATE,
    })
}
