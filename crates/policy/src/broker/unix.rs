//! Who may be talked to over unix sockets.

use super::judge::Judge;
use super::judgement::{Judgement, Refusal};
use super::{powers, refusal};
use crate::survey::holds;
use crate::{MountKind, Switch, UnixRule, UnixSockets};
use std::path::Path;

/// The part of a private /dev that can be written.
const SHARED_MEMORY: &str = "/dev/shm";

impl Judge {
    /// Whether a unix socket at this path may be reached.
    pub fn unix(&self, path: &Path) -> Judgement {
        self.unix_any(&[path])
    }

    /// Whether a unix socket that goes by all these names may be reached: the path it was reached by, and
    /// the one its listener bound it to.
    pub fn unix_any(&self, paths: &[&Path]) -> Judgement {
        if self.plan.syscalls.unix_sockets == UnixSockets::All {
            return Judgement::Free;
        }
        // A link or a listed directory must not bring in what nobody listed by its own name.
        let powerful =
            paths.iter().find_map(|path| Some((*path, powers::of(path).filter(|_| !self.is_named(path))?)));
        if let Some((path, power)) = powerful.filter(|(path, _)| !self.is_private(path)) {
            return Judgement::Refused(Refusal {
                rule: None,
                reason: format!("it gives {}, so it has to be listed by its own name", power.gives),
                suggestion: Some(refusal::option("--allow-unix", path)),
                grantable: Switch::Allowed,
            });
        }
        if paths.iter().any(|path| self.is_private(path) || self.is_listed(path)) {
            return Judgement::Free;
        }
        Judgement::Refused(Refusal {
            rule: None,
            reason: "no allowUnixSockets rule covers it".to_owned(),
            suggestion: paths.first().map(|path| refusal::option("--allow-unix", path)),
            grantable: Switch::Allowed,
        })
    }

    fn unix_rules(&self) -> &[UnixRule] {
        self.plan.broker.as_ref().map(|broker| broker.unix.as_slice()).unwrap_or_default()
    }

    fn is_named(&self, path: &Path) -> bool {
        self.unix_rules().iter().any(|rule| rule.path == path)
    }

    fn is_listed(&self, path: &Path) -> bool {
        self.unix_rules().iter().any(|rule| holds(&rule.path, path))
    }

    /// Whether the path lies on a file system that nobody outside the sandbox can reach.
    fn is_private(&self, path: &Path) -> bool {
        let mount = self.plan.mounts.iter().rev().find(|mount| holds(&mount.path, path));
        match mount.map(|mount| &mount.kind) {
            Some(MountKind::Tmpfs { .. }) => true,
            Some(MountKind::Dev) => holds(Path::new(SHARED_MEMORY), path),
            _ => false,
        }
    }
}
