//! Work trees of submodules and files of remembered conflicts, whose places no link may take.
//!
//! The settings of a submodule say where its work tree is, and git reads and writes there without a look at what it
//! is. A link there, or on the way there, would lead git on the host anywhere. So settings may only name a directory
//! that is there, and no link comes into its place as long as they name it. Both sides hold a lock on the git
//! directory of the repository, because another sandbox has another broker.

use super::act::Answer;
use super::caller::PLACE;
use super::contents::LARGEST;
use super::opening::read_whole;
use super::resolve::{Place, plain};
use super::trial::{REFUSED, Trial};
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stockade_policy::{Check, Refusal, ViolationKind, git_config_worktree, git_module_owner};

/// More directories below `modules` than this are not looked through, and nothing that needs that is allowed.
const MOST_DIRECTORIES: usize = 2_000;

pub(super) const UNLINKED: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// What is about to get a name.
#[derive(Clone, Copy)]
pub(super) enum Arriving<'a> {
    Link,
    /// A directory that stands elsewhere until now.
    Directory(&'a Place),
}

impl Arriving<'_> {
    /// Whether a path would be, or lead through, a link once this has its name.
    pub(super) fn misleads(self, new: &Path, path: &Path) -> bool {
        match (path.strip_prefix(new), self) {
            (Err(_), _) => false,
            (Ok(_), Self::Link) => true,
            (Ok(rest), Self::Directory(what)) => leads_through_link(what, rest),
        }
    }
}

/// Through whose mounts a repository is looked for.
#[derive(Clone, Copy)]
pub(super) enum View {
    Sandbox,
    /// A private /tmp, or a root of which only a part is shown, hides repositories that git on the host finds.
    Host,
}

impl Trial<'_> {
    /// Refuses a link, or a directory with one in it, on the way to the work tree of a submodule or to a file whose
    /// conflict git remembers. Until this call is done no settings come to name another work tree.
    pub(super) fn judge_work_trees(&mut self, arriving: Arriving<'_>, new: &Place) -> Result<(), Answer> {
        let path = new.full();
        self.judge_named_trees(arriving, &path)?;
        // Above the workspace, too: other sandboxes may write there.
        let views = new.path.ancestors().flat_map(|above| [(View::Sandbox, above), (View::Host, above)]);
        let mut seen = Vec::new();
        for (view, above) in views {
            self.judge_conflicts(view, above, arriving, &path)?;
            let Some(git) = self.lock_git_directory(view, above, &path)? else { continue };
            let identity = fstat(&git.directory).map(|found| (found.st_dev, found.st_ino));
            if seen.contains(&identity) {
                continue;
            }
            seen.push(identity);
            let Ok(trees) = work_trees(&git) else {
                return self.refuse(ViolationKind::Create, &path, unknown(above), REFUSED);
            };
            for (git, tree) in trees {
                if arriving.misleads(&path, &tree) {
                    return self.refuse(ViolationKind::Create, &path, misleading(&tree), REFUSED);
                }
                // The tree need not have a `.git` by which it would have been found.
                let conflicts = self.conflicts(view, git, &tree);
                if conflicts.is_ok() || path.starts_with(&tree) || tree.starts_with(&path) {
                    self.judge_listed(conflicts, &tree, arriving, &path)?;
                }
            }
        }
        Ok(())
    }

    /// Settings are about to be checked: until this call is done no link comes into the place they name.
    pub(super) fn lock_settings(&mut self, check: Check, place: &Place) -> Result<(), Answer> {
        match git_module_owner(&place.path).filter(|_| check == Check::GitConfig) {
            Some(owner) => self.lock_git_directory(View::Sandbox, owner, &place.full()).map(drop),
            None => Ok(()),
        }
    }

    /// Locks the git directory of a work tree, if it has one of its own.
    fn lock_git_directory(
        &mut self,
        view: View,
        tree: &Path,
        wanted: &Path,
    ) -> Result<Option<Place>, Answer> {
        let path = tree.join(".git");
        let directory = match self.open_git(view, &path) {
            Ok(Some(directory)) => directory,
            Ok(None) | Err(Errno::NOTDIR) => return Ok(None),
            Err(_) => {
                return self.refuse(ViolationKind::Create, wanted, unknown(tree), REFUSED).map(|()| None);
            }
        };
        // A person may keep it elsewhere, behind a link.
        let path = match view {
            View::Sandbox => self.caller.path_of(&directory).unwrap_or(path),
            View::Host => path,
        };
        let git = Place { directory: Arc::new(directory), path, name: c"modules".into() };
        self.lock_repository(ViolationKind::Create, &git, &unknown(wanted))?;
        Ok(Some(git))
    }

    /// A git directory; nothing where there is none, or where it is closed to whoever runs as the caller does and
    /// somebody else's: none of them can have written to that. Their own a command may have closed for a moment.
    pub(super) fn open_git(&self, view: View, path: &Path) -> Result<Option<OwnedFd>, Errno> {
        let (flags, resolve) =
            (OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, ResolveFlags::NO_MAGICLINKS);
        match self.open_in(view, path, flags, resolve) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOENT) => Ok(None),
            // A file that leads to one.
            Err(Errno::NOTDIR) => Err(Errno::NOTDIR),
            Err(errno) => self.unless_strange(view, path, errno).map(|()| None),
        }
    }

    /// An error, unless it is about somebody else's file.
    pub(super) fn unless_strange(&self, view: View, path: &Path, errno: Errno) -> Result<(), Errno> {
        let named = self.open_in(view, path, OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::NO_MAGICLINKS)?;
        let is_own = fstat(&named)?.st_uid == rustix::process::geteuid().as_raw();
        if is_own { Err(errno) } else { Ok(()) }
    }

    pub(super) fn open_in(
        &self,
        view: View,
        path: &Path,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        match view {
            View::Sandbox => openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve),
            View::Host => {
                let within = resolve | ResolveFlags::IN_ROOT;
                openat2(&self.caller.broker.host, path, flags, Mode::empty(), within)
            }
        }
    }
}

/// The git directories of the submodules of one, and where they have their work trees.
fn work_trees(git: &Place) -> Result<Vec<(Arc<OwnedFd>, PathBuf)>, Errno> {
    let mut trees = Vec::new();
    let mut pending = Vec::new();
    let mut parts = vec![PathBuf::from("modules")];
    // Submodules of linked work trees have theirs in another place.
    match openat2(&git.directory, c"worktrees", PLACE, Mode::empty(), UNLINKED) {
        Err(Errno::NOENT | Errno::NOTDIR) => {}
        linked => {
            let names = directories(&linked?)?;
            let names = names.iter().map(|name| OsStr::from_bytes(name.to_bytes()));
            parts.extend(names.map(|name| Path::new("worktrees").join(name).join("modules")));
        }
    }
    for part in parts {
        match openat2(&git.directory, &part, PLACE, Mode::empty(), UNLINKED) {
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            modules => pending.push((modules?, git.path.join(part))),
        }
    }
    let mut looked = 0;
    while let Some((directory, path)) = pending.pop() {
        looked += 1;
        if looked > MOST_DIRECTORIES {
            return Err(Errno::TOOBIG);
        }
        let mut place = Place { directory: Arc::new(directory), path, name: c"config".into() };
        for name in [c"config", c"config.worktree"] {
            place.name = name.into();
            match read_whole(&place, LARGEST) {
                Ok(settings) => {
                    let tree = git_config_worktree(&settings, &place.path);
                    trees.extend(tree.map(|tree| (Arc::clone(&place.directory), tree)));
                }
                Err(Errno::NOENT | Errno::ISDIR | Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
        // The name of a submodule may have slashes, and submodules have submodules.
        for name in directories(&place.directory)? {
            let below = openat2(&place.directory, name.as_c_str(), PLACE, Mode::empty(), UNLINKED)?;
            let path = place.path.join(OsStr::from_bytes(name.to_bytes()));
            pending.push((below, path));
        }
    }
    Ok(trees)
}

/// The directories in one, but for those of a git directory that hold no settings and may hold thousands.
fn directories(within: &OwnedFd) -> Result<Vec<std::ffi::CString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut found = Vec::new();
    let mut has_head = false;
    for entry in Dir::new(openat2(within, c".", flags, Mode::empty(), UNLINKED)?)? {
        let entry = entry?;
        let name = entry.file_name();
        has_head |= name.to_bytes() == b"HEAD";
        let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if may_be && !matches!(name.to_bytes(), b"." | b"..") {
            found.push(name.to_owned());
        }
    }
    if has_head {
        found.retain(|name| !matches!(name.to_bytes(), b"objects" | b"refs" | b"logs" | b"hooks" | b"info"));
    }
    Ok(found)
}

/// Whether the way to something below a directory is a link, or goes through one.
fn leads_through_link(top: &Place, below: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let Ok(top) = openat2(&top.directory, plain(&top.name), PLACE, Mode::empty(), UNLINKED) else {
        return true;
    };
    let found = match below.as_os_str().is_empty() {
        true => return false,
        false => openat2(&top, below, flags, Mode::empty(), UNLINKED | ResolveFlags::BENEATH),
    };
    !matches!(found, Ok(_) | Err(Errno::NOENT | Errno::NOTDIR))
}

fn misleading(tree: &Path) -> Refusal {
    let tree = tree.display();
    Refusal::flat(format!(
        "{tree} is the work tree of a submodule: git would follow a link there, wherever it leads"
    ))
}

fn unknown(repository: &Path) -> Refusal {
    Refusal::flat(format!("the submodules of {} cannot be looked at", repository.display()))
}
