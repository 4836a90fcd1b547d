//! A layer of changes over a directory of the host's.
//!
//! The layer is found by short names of our own, whatever the host's paths look like: the directory below is the
//! working directory at that moment, and the layer is attached to the staging while the kernel takes hold of
//! it. The kernel keeps private clones of both.

use super::staging::{PLACE, Staging, attach, clone_of, place};
use super::walls::{expect, kind, same};
use super::{Built, During};
use crate::linux::script::{MountStep, Source, StepKind};
use crate::linux::sys::{Attributes, set_attributes};
use crate::linux::wire::Step;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, unmount,
};
use std::ffi::CStr;
use stockade_policy::Identity;

/// Where the layer is attached for a moment.
const LAYER: &CStr = c"/proc/o";
const CHANGES: &CStr = c"/proc/o/upper";
const SCRATCH: &CStr = c"/proc/o/work";

/// What an overlay is made of, taken while the host's files are as the host has them.
pub(super) struct Parts {
    /// Which step it is.
    pub(super) index: usize,
    /// The host's directory, below everything that is laid.
    below: OwnedFd,
    /// The layer's directory, still writable.
    layer: OwnedFd,
}

impl Parts {
    /// Finds the parts of a script's overlay, if it has one.
    pub(super) fn take(steps: &[MountStep], host: &OwnedFd) -> Built<Option<Self>> {
        for (index, step) in steps.iter().enumerate() {
            let StepKind::Overlay { identity, directory, .. } = &step.kind else { continue };
            let below = place(host, &step.path).during_mount(Step::Open, index)?;
            expect(&below, identity, index)?;
            let layer = place(host, directory).and_then(|found| clone_of(&found));
            return Ok(Some(Self { index, below, layer: layer.during_mount(Step::Overlay, index)? }));
        }
        Ok(None)
    }

    /// Mounts the overlay, not yet anywhere.
    pub(super) fn mount(&self, staging: &Staging, attributes: u64) -> Result<Mounted, Errno> {
        mkdirat(&staging.top, c"o", Mode::from_raw_mode(0o700))?;
        attach(&self.layer, openat(CWD, LAYER, PLACE, Mode::empty())?)?;
        rustix::process::fchdir(&self.below)?;
        let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&context, c"lowerdir", c".")?;
        fsconfig_set_string(&context, c"upperdir", CHANGES)?;
        fsconfig_set_string(&context, c"workdir", SCRATCH)?;
        // Every file in the layer is whole and stands where it is seen.
        for (option, value) in [(c"index", c"off"), (c"metacopy", c"off")] {
            fsconfig_set_string(&context, option, value)?;
        }
        fsconfig_set_flag(&context, c"userxattr")?;
        fsconfig_create(&context)?;
        let flags = u32::try_from(attributes).map_err(|_| Errno::INVAL)?;
        let top = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::from_bits_retain(flags))?;
        let changes = openat(CWD, CHANGES, PLACE, Mode::empty())?;
        unmount(LAYER, UnmountFlags::DETACH)?;
        Ok(Mounted { top, below: rustix::io::fcntl_dupfd_cloexec(&self.below, 0)?, changes })
    }
}

/// An overlay that is mounted.
pub(super) struct Mounted {
    /// What is seen.
    pub(super) top: OwnedFd,
    below: OwnedFd,
    changes: OwnedFd,
}

impl Mounted {
    /// Takes what is to be bound from the overlay, before anything lies on it.
    pub(super) fn take_trees(
        &self,
        steps: &[MountStep],
        trees: &mut [Option<OwnedFd>],
        overlay: usize,
    ) -> Built {
        for (index, (step, tree)) in steps.iter().zip(trees).enumerate().skip(overlay + 1) {
            let StepKind::Bind { identity, attributes, source: Source::Overlay } = &step.kind else {
                continue;
            };
            let name = below(&steps[overlay].path, &step.path).during_mount(Step::Overlaid, index)?;
            self.expect(name, identity, index)?;
            let taken = place(&self.top, name).and_then(|found| clone_of(&found));
            let taken = taken.during_mount(Step::Bind, index)?;
            let attributes = Attributes { set: *attributes, private: false, recursive: true };
            set_attributes(&taken, c"", attributes).during_mount(Step::Bind, index)?;
            *tree = Some(taken);
        }
        Ok(())
    }

    /// That the policy looked at the file of this name: the host's, or the one an earlier run left in the
    /// layer. What the overlay shows has numbers of its own, so that only its kind can be told.
    pub(super) fn expect(&self, name: &CStr, identity: &Identity, index: usize) -> Built {
        let is = |base: &OwnedFd| {
            place(base, name).and_then(|found| fstat(&found)).is_ok_and(|found| same(&found, identity))
        };
        if !is(&self.below) && !is(&self.changes) {
            return Err(Errno::STALE).during_mount(Step::Changed, index);
        }
        let found = place(&self.top, name).and_then(|found| fstat(&found));
        let found = found.during_mount(Step::Overlaid, index)?;
        if kind(&found) == identity.kind {
            Ok(())
        } else {
            Err(Errno::STALE).during_mount(Step::Overlaid, index)
        }
    }
}

/// The part of a path below another.
pub(super) fn below<'p>(above: &CStr, path: &'p CStr) -> Result<&'p CStr, Errno> {
    let rest = path.to_bytes_with_nul().strip_prefix(above.to_bytes());
    let rest = rest.and_then(|rest| rest.strip_prefix(b"/")).ok_or(Errno::INVAL)?;
    CStr::from_bytes_with_nul(rest).map_err(|_| Errno::INVAL)
}
