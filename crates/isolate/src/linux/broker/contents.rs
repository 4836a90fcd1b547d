//! Content that has to be checked before it gets a name: git's configuration and its pointers.
//!
//! What is checked is a copy nobody else can write to, and that copy gets the name.

use super::act::Answer;
use super::caller::PLACE;
use super::opening::{kind_of, read_whole};
use super::process::Broker;
use super::resolve::{Place, plain};
use super::trial::{REFUSED, Trial};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, linkat, openat2, renameat, statat,
    unlinkat, utimensat,
};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use stockade_policy::{
    BrokerPlan, Check, GitPlaces, GitRefusal, MountKind, ObjectFormat, Refusal, ViolationKind,
    check_git_config_change, check_git_pointer, check_git_state, check_worktree_commondir,
    check_worktree_pointer, git_config_with_relative_worktree, git_config_worktree, settled_git_index,
};

/// Larger files are neither configuration nor pointers.
pub(super) const LARGEST: u64 = 1024 * 1024;
/// The list of some millions of files.
const LARGEST_INDEX: u64 = 512 * LARGEST;

impl Broker {
    /// Whether content may stand under this name; in which form.
    pub(super) fn check<'c>(
        &self,
        check: Check,
        place: &Place,
        content: &'c [u8],
    ) -> Result<Cow<'c, [u8]>, GitRefusal> {
        let file = place.full();
        let places = GitPlaces {
            writable: self.plan.broker.as_ref().map(BrokerPlan::git_roots).unwrap_or_default(),
            private: self.private_places(),
            git_directory: place.path.clone(),
        };
        match check {
            Check::GitConfig => {
                let old = read_whole(place, LARGEST).unwrap_or_default();
                check_git_config_change(&old, content, &places)?;
                check_object_format(&old, content)?;
                let content = git_config_with_relative_worktree(content, &place.path)?;
                self.check_worktree(place, &old, &content)?;
                return Ok(content);
            }
            Check::GitPointer => check_git_pointer(content, &file, &places)?,
            Check::WorktreeCommonDir => check_worktree_commondir(content)?,
            Check::WorktreePointer => check_worktree_pointer(content, &file, &places)?,
            Check::GitIndex => {
                return settled_git_index(plain(&place.name).to_bytes(), content, object_format(place));
            }
            Check::GitState => check_git_state(plain(&place.name).to_bytes(), content)?,
            Check::BareRepository => {}
        }
        Ok(Cow::Borrowed(content))
    }

    /// The directory a configuration names as its worktree must be there and not be reached through a link: git on
    /// the host would write wherever the link leads. One that was named before may be gone; nothing but a
    /// directory comes back in its place.
    fn check_worktree(&self, place: &Place, old: &[u8], content: &[u8]) -> Result<(), GitRefusal> {
        let Some(tree) = git_config_worktree(content, &place.path) else { return Ok(()) };
        let is_known = git_config_worktree(old, &place.path).as_ref() == Some(&tree);
        let what = match openat2(rustix::fs::CWD, &tree, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Links may stand there already, and git would take up its conflicts through them.
            Ok(_) if !is_known && may_remember(place) => {
                "cannot become the work tree while git remembers conflicts (MERGE_RR)"
            }
            Ok(_) => return Ok(()),
            Err(Errno::NOENT) if is_known => return Ok(()),
            Err(Errno::NOENT | Errno::NOTDIR) => "is no directory",
            Err(_) => "is reached through a link",
        };
        let reason = format!("{} {what}", tree.display());
        Err(GitRefusal { key: "core.worktree".into(), line: 0, reason })
    }

    fn private_places(&self) -> Vec<std::path::PathBuf> {
        let private = |mount: &&stockade_policy::Mount| matches!(mount.kind, MountKind::Tmpfs { .. });
        self.plan.mounts.iter().filter(private).map(|mount| mount.path.clone()).collect()
    }
}

impl Trial<'_> {
    /// A file that is renamed to a name whose content is checked.
    pub(super) fn install_moved(
        mut self,
        check: Check,
        refusal: Refusal,
        old: &Place,
        new: &Place,
    ) -> Result<Answer, Errno> {
        if kind_of(old)? != FileType::RegularFile {
            return Err(REFUSED);
        }
        let content = read_whole(old, if check == Check::GitIndex { LARGEST_INDEX } else { LARGEST })?;
        if let Err(answer) = self.lock_settings(check, new) {
            return Ok(answer);
        }
        let content = match self.caller.broker.check(check, new, &content) {
            Ok(content) => content,
            Err(why) => return Ok(self.refuse_content(new, refusal, &why)),
        };
        self.caller.wear_mask()?;
        let found = statat(&old.directory, plain(&old.name), AtFlags::SYMLINK_NOFOLLOW)?;
        let same_directory = old.path == new.path;
        let by = if same_directory { plain(&old.name) } else { lock_name(&new.name) };
        let mode = Mode::from_raw_mode(found.st_mode & 0o777);
        let installed =
            install(self.caller.broker, new, &by, &content, mode, same_directory).and_then(|()| {
                // Git sees by the time of its index which files may have changed since.
                let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
                let times = Timestamps {
                    last_access: time(found.st_atime as _, found.st_atime_nsec),
                    last_modification: time(found.st_mtime as _, found.st_mtime_nsec),
                };
                utimensat(&new.directory, plain(&new.name), &times, AtFlags::SYMLINK_NOFOLLOW)
            });
        match installed {
            Ok(()) if !same_directory => unlinkat(&old.directory, plain(&old.name), AtFlags::empty())?,
            other => other?,
        }
        Ok(Answer::DONE)
    }

    /// Says what is wrong with some content.
    pub(super) fn refuse_content(&mut self, place: &Place, refusal: Refusal, why: &GitRefusal) -> Answer {
        let refusal = Refusal { reason: why.to_string(), ..refusal };
        match self.refuse(ViolationKind::Write, &place.full(), refusal, REFUSED) {
            Err(answer) => answer,
            Ok(()) => Answer::Refused(REFUSED),
        }
    }
}

/// Whether the git directory that a file lies in has a list of conflicts with anything in it, or gets one.
fn may_remember(settings: &Place) -> bool {
    let (directory, path) = (Arc::clone(&settings.directory), settings.path.clone());
    let list = Place { directory, path, name: c"MERGE_RR".into() };
    let is_empty = match read_whole(&list, LARGEST) {
        Ok(list) => list.is_empty(),
        Err(errno) => errno == Errno::NOENT,
    };
    let lock = statat(&settings.directory, c"MERGE_RR.lock", AtFlags::SYMLINK_NOFOLLOW);
    !is_empty || !matches!(lock, Err(Errno::NOENT))
}

/// The digests of the repository whose list of files lies here.
fn object_format(place: &Place) -> ObjectFormat {
    let is_linked = place.path.parent().is_some_and(|above| above.ends_with("worktrees"));
    let path = if is_linked { c"../../config" } else { c"config" };
    let config =
        Place { directory: Arc::clone(&place.directory), path: place.path.clone(), name: path.into() };
    ObjectFormat::of_config(&read_whole(&config, LARGEST).unwrap_or_default())
}

/// A list of files that is harmless with digests of one length is another one with those of another, and two sandboxes
/// could take turns. So a repository keeps those it has.
fn check_object_format(old: &[u8], new: &[u8]) -> Result<(), GitRefusal> {
    if ObjectFormat::of_config(old) == ObjectFormat::of_config(new) {
        return Ok(());
    }
    let reason = "lists of files mean something else with other digests".to_owned();
    Err(GitRefusal { key: "extensions.objectFormat".into(), line: 0, reason })
}

/// Puts content under a name, in a file nobody has open. `by` is a name beside it through which it comes,
/// so that nothing half-written ever stands under the name itself; the file that may be there already is
/// the caller's own, and goes first.
pub(super) fn install(
    broker: &Broker,
    place: &Place,
    by: &CStr,
    content: &[u8],
    mode: Mode,
    replaces_by: bool,
) -> Result<(), Errno> {
    let copy = private_copy(broker, place, by, content, mode, replaces_by)?;
    drop(copy);
    renameat(&place.directory, by, &place.directory, plain(&place.name)).inspect_err(|_| {
        // Nothing of ours stays behind.
        let _ = unlinkat(&place.directory, by, AtFlags::empty());
    })
}

fn private_copy(
    broker: &Broker,
    place: &Place,
    by: &CStr,
    content: &[u8],
    mode: Mode,
    replaces_by: bool,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let unnamed = openat2(&place.directory, c".", flags, mode, ResolveFlags::empty());
    if let Ok(file) = unnamed {
        let file = write(file, content)?;
        if replaces_by {
            unlinkat(&place.directory, by, AtFlags::empty())?;
        }
        let name = CString::new(file.as_raw_fd().to_string()).map_err(|_| Errno::INVAL)?;
        linkat(&broker.own_descriptors, name, &place.directory, by, AtFlags::SYMLINK_FOLLOW)?;
        return Ok(file);
    }
    // A file system without unnamed files.
    if replaces_by {
        unlinkat(&place.directory, by, AtFlags::empty())?;
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat2(&place.directory, by, flags, mode, ResolveFlags::NO_SYMLINKS)?;
    write(file, content)
}

fn write(file: OwnedFd, content: &[u8]) -> Result<OwnedFd, Errno> {
    let mut file = std::fs::File::from(file);
    file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(file.into())
}

/// The name git itself locks a file with: whoever holds it is waited for.
pub(super) fn lock_name(name: &CStr) -> CString {
    let name = [plain(name).to_bytes(), b".lock"].concat();
    CString::new(name).unwrap_or_default()
}
