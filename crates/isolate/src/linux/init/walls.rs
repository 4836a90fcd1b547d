//! Building the mounts.
//!
//! The new mount namespace starts as a copy of the host's. In a `Host` view the copy itself is made
//! read-only and the plan's mounts are laid over it; a `Listed` view is an empty tree into which the
//! plan's mounts are brought, and which then takes the root's place. Every host path is opened without
//! following symbolic links and must be the file the policy looked at: no path is trusted twice.

use super::overlay::{self, Mounted, Parts};
use super::staging::{PLACE, Staging, attach, clone_of, new_tmpfs, place};
use super::{Built, During, Failure, contents, devices};
use crate::linux::script::{MountStep, Root, Script, Source, StepKind, Target};
use crate::linux::sys::{Attributes, set_attributes};
use crate::linux::wire::Step;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, UnmountFlags, mount_bind, unmount};
use std::ffi::CStr;
use stockade_policy::{FileKind, Identity, MaskLook, Switch};

/// Builds all mounts. `mapped` returns once user ids are mapped: before that no file can be made.
pub(super) fn build(
    script: &Script,
    trees: &mut [Option<OwnedFd>],
    mapped: impl FnOnce() -> Result<(), Errno>,
) -> Built<Option<OwnedFd>> {
    let cut_off = Attributes { set: 0, private: true, recursive: true };
    set_attributes(CWD, c"/", cut_off).during(Step::Root)?;
    let host = openat(CWD, c"/", PLACE, Mode::empty()).during(Step::Root)?;
    let mut mapped = Some(mapped);
    let mut take = || take_trees(script, trees, &host).and_then(|()| Parts::take(&script.steps, &host));
    let parts = match take() {
        // Until ids are mapped root has no rights over others' closed directories: whether it has them must not
        // depend on who is faster.
        Err(Failure { errno: Errno::ACCESS, .. }) => {
            if let Some(mapped) = mapped.take() {
                mapped().during(Step::Root)?;
            }
            take()?
        }
        taken => taken?,
    };
    let unmasked =
        if script.asking == Switch::Allowed { Some(unmasked(&host).during(Step::Root)?) } else { None };
    let devices = devices::host_devices(&host).during(Step::Device)?;
    if let Root::Host(set) = script.root {
        set_attributes(CWD, c"/", Attributes { set, private: false, recursive: true }).during(Step::Root)?;
    }
    if let Some(mapped) = mapped {
        mapped().during(Step::Root)?;
    }
    let callers_umask = rustix::process::umask(Mode::empty());
    // The kernel gives a fresh /proc only while one that shows everything is still in sight.
    let proc = devices::new_proc().during(Step::Proc)?;
    let staging = Staging::lay(&devices).during(Step::Staging)?;
    let root = match script.root {
        Root::Host(_) => host,
        Root::Listed => listed_root(&staging).during(Step::Root)?,
    };
    let mask_device = fstat(&staging.top).during(Step::Staging)?.st_dev;
    let mut builder = Builder {
        staging: &staging,
        root: &root,
        holes: 0,
        contents: 0,
        mask_device,
        beside: None,
        overlay: None,
    };
    let (last, steps) =
        script.steps.split_last().ok_or(Failure { step: Step::Root, index: 0, errno: Errno::INVAL })?;
    for (index, step) in steps.iter().enumerate() {
        if let (Some(parts), StepKind::Overlay { attributes, .. }) = (&parts, &step.kind) {
            let mounted = parts.mount(&staging, *attributes).during_mount(Step::Overlay, index)?;
            mounted.take_trees(steps, trees, parts.index)?;
            builder.overlay = Some((&step.path, mounted));
        }
        builder.lay(step, trees[index].take(), index)?;
    }
    staging.freeze()?;
    let covers = devices::Covers::take(&staging).during(Step::Cover)?;
    let place = builder.target(last, steps.len(), FileKind::Directory)?;
    attach(&proc, place).during(Step::Proc)?;
    if matches!(script.root, Root::Listed) {
        pivot(&root).during(Step::Pivot)?;
    }
    covers.lay(script.caller).during(Step::Cover)?;
    rustix::process::umask(callers_umask);
    rustix::process::chdir(c"/").during(Step::Root)?;
    Ok(unmasked)
}

/// The host's files without masks, nowhere to be seen and not to be changed: what somebody allows to be read
/// is opened there. A file of the host's own mount could have its mode and times changed by who may read it.
fn unmasked(host: &OwnedFd) -> Result<OwnedFd, Errno> {
    let tree = clone_of(host)?;
    let set = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    set_attributes(&tree, c"", Attributes { set: set.bits().into(), private: false, recursive: true })?;
    Ok(tree)
}

/// Clones everything of the host's that is to be bound in, while it is still as the host has it.
fn take_trees(script: &Script, trees: &mut [Option<OwnedFd>], host: &OwnedFd) -> Built {
    for (index, (step, tree)) in script.steps.iter().zip(trees).enumerate() {
        let (identity, attributes, from) = match &step.kind {
            StepKind::Bind { identity, attributes, source: Source::Host } => {
                (identity, attributes, &step.path)
            }
            StepKind::Channel { identity, attributes, source } => (identity, attributes, source),
            _ => continue,
        };
        let source = place(host, from).during_mount(Step::Open, index)?;
        expect(&source, identity, index)?;
        let taken = clone_of(&source).during_mount(Step::Bind, index)?;
        let attributes = Attributes { set: *attributes, private: false, recursive: true };
        set_attributes(&taken, c"", attributes).during_mount(Step::Bind, index)?;
        *tree = Some(taken);
    }
    Ok(())
}

struct Builder<'a> {
    staging: &'a Staging,
    root: &'a OwnedFd,
    /// How many masks with holes there are so far.
    holes: u32,
    /// How many files of our own there are so far.
    contents: u32,
    /// The device number of everything masked.
    mask_device: u64,
    /// The directory the last mask was laid in, which is also the working directory: masks come in crowds.
    beside: Option<(&'a CStr, OwnedFd)>,
    /// The overlay, where it lies and what it shows.
    overlay: Option<(&'a CStr, Mounted)>,
}

impl<'a> Builder<'a> {
    fn lay(&mut self, step: &'a MountStep, tree: Option<OwnedFd>, index: usize) -> Built {
        if !matches!(step.kind, StepKind::Mask { .. }) {
            self.beside = None;
        }
        match &step.kind {
            StepKind::Bind { identity, .. } => {
                let tree = tree.ok_or(Errno::BADF).during_mount(Step::Bind, index)?;
                self.bind(step, &tree, index, identity)
            }
            StepKind::Channel { .. } => {
                let tree = tree.ok_or(Errno::BADF).during_mount(Step::Bind, index)?;
                attach(&tree, self.target(step, index, FileKind::Directory)?).during_mount(Step::Bind, index)
            }
            StepKind::Mask { identity, look } => self.mask(step, index, identity, *look),
            StepKind::Overlay { .. } => {
                let target = self.target(step, index, FileKind::Directory)?;
                let (_, mounted) =
                    self.overlay.as_ref().ok_or(Errno::BADF).during_mount(Step::Overlay, index)?;
                attach(&mounted.top, target).during_mount(Step::Overlay, index)
            }
            StepKind::Tmpfs { mode, size } => {
                let mounted = new_tmpfs(mode, size.as_deref()).during_mount(Step::Tmpfs, index)?;
                let target = self.target(step, index, FileKind::Directory)?;
                attach(&mounted, target).during_mount(Step::Tmpfs, index)
            }
            StepKind::Dev => {
                let target = self.target(step, index, FileKind::Directory)?;
                devices::lay(self.staging, target).during_mount(Step::Device, index)
            }
            StepKind::Symlink { target } => {
                self.make_parents(step, index)?;
                symlinkat(target, self.root, &step.path).during_mount(Step::Directory, index)
            }
            StepKind::Content { data, mode } => {
                let target = self.target(step, index, FileKind::File)?;
                let mut name = Digits::new();
                let name = name.path(c"c", self.contents);
                self.contents += 1;
                contents::lay(self.staging, name, (data, *mode), target).during_mount(Step::Content, index)
            }
            StepKind::Proc => Ok(()),
        }
    }

    /// Brings a file or directory of the host in, as it was checked.
    fn bind(&self, step: &MountStep, tree: &OwnedFd, index: usize, identity: &Identity) -> Built {
        let target = self.target(step, index, identity.kind)?;
        if step.target == Target::Host {
            expect(&target, identity, index)?;
        }
        attach(tree, target).during_mount(Step::Bind, index)
    }

    /// Hides a file or directory.
    ///
    /// With `mount` on a bare name instead of descriptors, a third of the cost, which counts when there
    /// are thousands. `mount` follows a symbolic link that somebody puts there meanwhile; a mask laid
    /// elsewhere gives nothing away, and that the name itself is masked is checked afterwards.
    fn mask(&mut self, step: &'a MountStep, index: usize, identity: &Identity, look: MaskLook) -> Built {
        if step.target == Target::Ours {
            drop(self.target(step, index, identity.kind)?);
        }
        let parent = match self.beside.take() {
            Some((path, parent)) if path == step.parent.as_c_str() => parent,
            _ => {
                let parent = place(self.root, &step.parent).during_mount(Step::Open, index)?;
                rustix::process::fchdir(&parent).during_mount(Step::Mask, index)?;
                parent
            }
        };
        let look_at = |step_failed| {
            statat(&parent, &step.name, AtFlags::SYMLINK_NOFOLLOW).during_mount(step_failed, index)
        };
        match step.target {
            Target::Host if !same(&look_at(Step::Open)?, identity) => {
                return Err(Errno::STALE).during_mount(Step::Changed, index);
            }
            Target::Overlay => self.expect_overlaid(step, identity, index)?,
            Target::Host | Target::Ours => {}
        }
        let mut hole = Digits::new();
        let source = match (identity.kind, look) {
            (FileKind::Directory, MaskLook::Unreadable) => c"/proc/d",
            (FileKind::Directory, MaskLook::Empty) => c"/proc/e",
            (FileKind::Directory, MaskLook::Holes) => {
                let path = hole.path(c"/proc/", self.holes);
                self.holes += 1;
                mkdirat(CWD, path, Mode::from_raw_mode(0o555)).during_mount(Step::Mask, index)?;
                path
            }
            (FileKind::File | FileKind::Symlink, _) => c"/proc/f",
        };
        mount_bind(source, &step.name).during_mount(Step::Mask, index)?;
        if look_at(Step::Mask)?.st_dev != self.mask_device {
            return Err(Errno::STALE).during_mount(Step::Changed, index);
        }
        // What was looked up before this mask was laid does not see it, should it be a directory above.
        if identity.kind != FileKind::Directory {
            self.beside = Some((&step.parent, parent));
        }
        Ok(())
    }

    /// That what the overlay shows at a step's path is what the policy looked at.
    fn expect_overlaid(&self, step: &MountStep, identity: &Identity, index: usize) -> Built {
        let (top, mounted) = self.overlay.as_ref().ok_or(Errno::BADF).during_mount(Step::Overlaid, index)?;
        let name = overlay::below(top, &step.path).during_mount(Step::Overlaid, index)?;
        mounted.expect(name, identity, index)
    }

    /// Where a step's mount goes; made first if it lies on files of our own.
    fn target(&self, step: &MountStep, index: usize, kind: FileKind) -> Built<OwnedFd> {
        if step.target == Target::Ours {
            self.make_parents(step, index)?;
            let made = if kind == FileKind::Directory {
                mkdirat(self.root, &step.path, Mode::from_raw_mode(0o755))
            } else {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                openat(self.root, &step.path, flags, Mode::empty()).map(drop)
            };
            exists(made).during_mount(Step::Directory, index)?;
        }
        place(self.root, &step.path).during_mount(Step::Open, index)
    }

    fn make_parents(&self, step: &MountStep, index: usize) -> Built {
        let mut buffer = [0_u8; libc::PATH_MAX as usize];
        let path = step.parent.to_bytes_with_nul();
        for end in (0..path.len()).filter(|at| *at > 0 && matches!(path[*at], b'/' | 0)) {
            let Some(part) = buffer.get_mut(..=end) else {
                return Err(Errno::NAMETOOLONG).during_mount(Step::Directory, index);
            };
            part[..end].copy_from_slice(&path[..end]);
            part[end] = 0;
            let part = CStr::from_bytes_with_nul(part).map_err(|_| Errno::INVAL);
            let part = part.during_mount(Step::Directory, index)?;
            exists(mkdirat(self.root, part, Mode::from_raw_mode(0o755)))
                .during_mount(Step::Directory, index)?;
        }
        Ok(())
    }
}

fn exists(made: Result<(), Errno>) -> Result<(), Errno> {
    if made == Err(Errno::EXIST) { Ok(()) } else { made }
}

pub(super) fn expect(place: &OwnedFd, identity: &Identity, index: usize) -> Built {
    let found = fstat(place).during_mount(Step::Open, index)?;
    if same(&found, identity) { Ok(()) } else { Err(Errno::STALE).during_mount(Step::Changed, index) }
}

pub(super) fn same(found: &rustix::fs::Stat, identity: &Identity) -> bool {
    found.st_dev == identity.dev && found.st_ino == identity.ino && kind(found) == identity.kind
}

pub(super) fn kind(found: &rustix::fs::Stat) -> FileKind {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::File,
    }
}

/// An empty tree, attached inside the staging so that mounts can be laid on it.
fn listed_root(staging: &Staging) -> Result<OwnedFd, Errno> {
    mkdirat(&staging.top, c"r", Mode::from_raw_mode(0o755))?;
    let tree = new_tmpfs(c"755", None)?;
    attach(&tree, openat(&staging.top, c"r", PLACE, Mode::empty())?)?;
    openat(CWD, c"/proc/r", PLACE, Mode::empty())
}

/// Makes `root` the root and lets go of the host's tree.
fn pivot(root: &OwnedFd) -> Result<(), Errno> {
    set_attributes(
        root,
        c"",
        Attributes { set: MountAttrFlags::MOUNT_ATTR_RDONLY.bits().into(), private: false, recursive: false },
    )?;
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)
}

/// Writes a path with a number at its end, without allocating.
struct Digits([u8; 32]);

impl Digits {
    fn new() -> Self {
        Self([0; 32])
    }

    fn path(&mut self, prefix: &CStr, number: u32) -> &CStr {
        let prefix = prefix.to_bytes();
        let mut digits = [0_u8; 10];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0[..prefix.len()].copy_from_slice(prefix);
        self.0[prefix.len()..prefix.len() + digits.len() - at].copy_from_slice(&digits[at..]);
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}
