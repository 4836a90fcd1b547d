//! What no rule can give: the sandbox has a /dev and a /proc of its own.

use super::Survey;
use crate::{FileKind, Notice, NoticeWeight, RuleRef};
use std::path::{Component, Path};

/// What a private /dev has, whatever the rules say.
const OWN_DEVICES: [&str; 12] =
    ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd", "stdin", "stdout", "stderr"];

/// What a path means that lies in one of the sandbox's own places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ungiven {
    /// A device that the sandbox has, too.
    OwnDevice,
    /// Another device of the host's.
    Device,
    /// Something in /proc that is not about a process of the host's.
    OwnProc,
    /// A process of the host's.
    Process,
}

impl Ungiven {
    /// What a path means; nothing where it is a file or directory like any other.
    pub(crate) fn of(path: &Path, kind: FileKind) -> Option<Self> {
        let mut parts = path.components();
        if parts.next() != Some(Component::RootDir) {
            return None;
        }
        let mut name = || parts.next().and_then(|part| part.as_os_str().to_str());
        match (name(), name()) {
            (Some("dev"), Some(first)) if OWN_DEVICES.contains(&first) => Some(Self::OwnDevice),
            (Some("dev"), Some(first)) if first != "shm" && kind == FileKind::File => Some(Self::Device),
            (Some("proc"), Some(first)) if first.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(Self::Process)
            }
            (Some("proc"), Some(_)) => Some(Self::OwnProc),
            _ => None,
        }
    }

    /// Why it cannot be given, where it is not there anyway.
    pub(crate) fn reason(self) -> Option<&'static str> {
        match self {
            Self::OwnDevice | Self::OwnProc => None,
            Self::Device => Some("devices of the host cannot be opened inside, whatever is mounted there"),
            Self::Process => {
                Some("the sandbox has a /proc of its own, and processes of the host are not in it")
            }
        }
    }
}

impl Survey {
    /// A rule that refuses what the sandbox has of its own would be thought to hold.
    pub(super) fn warn_about_own(&mut self, path: &Path, kind: FileKind, rule: impl FnOnce() -> RuleRef) {
        if matches!(Ungiven::of(path, kind), Some(Ungiven::OwnDevice | Ungiven::OwnProc)) {
            let text = format!("{} has no effect: the sandbox has a /dev and a /proc of its own", rule());
            self.notices.push(Notice { text, weight: NoticeWeight::Warning });
        }
    }

    /// Whether a rule that gives something names what no rule can give. A mount of it would only break the start.
    pub(super) fn is_ungiven(
        &mut self,
        written: &Path,
        real: &Path,
        kind: FileKind,
        rule: impl FnOnce() -> RuleRef,
    ) -> bool {
        let Some(ungiven) = Ungiven::of(written, kind).or_else(|| Ungiven::of(real, kind)) else {
            return false;
        };
        if let Some(reason) = ungiven.reason() {
            let text = format!("{} has no effect: {reason}", rule());
            self.notices.push(Notice { text, weight: NoticeWeight::Warning });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_sandboxs_own() {
        let of = |path: &str| Ungiven::of(Path::new(path), FileKind::File);
        for (path, expected) in [
            ("/dev/null", Some(Ungiven::OwnDevice)),
            ("/dev/fd/3", Some(Ungiven::OwnDevice)),
            ("/dev/kvm", Some(Ungiven::Device)),
            ("/dev/shm/x", None),
            ("/dev", None),
            ("/proc", None),
            ("/proc/17/environ", Some(Ungiven::Process)),
            ("/proc/cpuinfo", Some(Ungiven::OwnProc)),
            ("/home/dev/null", None),
            ("dev/null", None),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
        assert_eq!(Ungiven::of(Path::new("/dev/dri"), FileKind::Directory), None);
    }
}
