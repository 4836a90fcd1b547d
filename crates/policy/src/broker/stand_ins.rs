//! Files that commands see stand-ins of.
//!
//! The stand-in is laid over the file by a mount, which goes with the old file when the host saves a new one
//! under its name. From then on only the name tells that there is a secret.

use super::judge::Judge;
use super::judgement::{Naming, Refusal};
use super::plan::StandInRule;
use super::refusal::protected;
use crate::{MountKind, Plan};
use std::path::Path;

impl Judge {
    /// What has to be found under this name if it is to be read: a stand-in, laid over the file, and never
    /// anything of the file's own device. And why it is refused otherwise.
    pub fn must_be_stand_in(&self, path: &Path) -> Option<(&StandInRule, Refusal)> {
        let rule = self.stand_ins.iter().find(|rule| rule.path == path)?;
        let reason = "it was saved anew since the start, and commands may only see a stand-in";
        Some((rule, protected(Some(rule.rule.clone()), reason)))
    }

    /// Why a path may not be changed or moved: a secret stands there, or below it. Under another name nobody
    /// would know it for one.
    pub(super) fn leads_to_stand_in(&self, path: &Path) -> Option<Refusal> {
        let rule = self.stand_ins.iter().find(|rule| rule.path.starts_with(path))?;
        Some(kept(rule))
    }

    /// Why a name may not come to be: the host would save the secret elsewhere, through a link.
    pub(super) fn keeps_stand_in(&self, path: &Path, naming: Naming) -> Option<Refusal> {
        let link = matches!(naming, Naming::Symlink | Naming::SymlinkBeside);
        let rule =
            self.stand_ins.iter().find(|rule| rule.path == path || (link && rule.path.starts_with(path)))?;
        Some(kept(rule))
    }
}

/// Those of the rules that something is laid for: a file that is shown as it is has no stand-in.
pub(super) fn laid(plan: &Plan) -> Vec<StandInRule> {
    let is_laid = |rule: &&StandInRule| {
        let mut mounts = plan.mounts.iter();
        mounts.any(|mount| mount.path == rule.path && matches!(mount.kind, MountKind::Content { .. }))
    };
    plan.broker.iter().flat_map(|broker| &broker.stand_ins).filter(is_laid).cloned().collect()
}

fn kept(rule: &StandInRule) -> Refusal {
    protected(Some(rule.rule.clone()), "a secret that commands see a stand-in of stays where it is")
}
