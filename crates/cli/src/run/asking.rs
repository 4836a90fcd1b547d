//! Who is asked during a run, and what must not stand in the way.

use super::events::EventsPlace;
use crate::args::AskTarget;
use crate::ask::{DescriptorAsker, Stage, TtyAsker, open_terminal};
use crate::descriptor::{Wanted, check};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::termios::isatty;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use stockade::Builder;

/// Who is asked.
pub(super) enum Asking {
    Nobody,
    Terminal(Stage),
    Descriptors(Box<DescriptorAsker>),
}

/// Nobody can be asked like that; nothing was run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error(
        "--ask tty needs a terminal to ask on, and there is none ({0}); nothing was run\nhint: --ask fd:N asks a program instead"
    )]
    NoTerminal(io::Error),
    #[error(
        "{what} is a terminal, where it could paint over a question; nothing was run\nhint: leave it out with --ask tty, or send it to a file"
    )]
    Overpainted { what: String },
    #[error("descriptor {number} cannot be asked on: {source}; nothing was run")]
    Unusable { number: i32, source: io::Error },
    #[error(
        "descriptor {number} is the same as {other}, which is not for questions alone; nothing was run\nhint: give --ask a descriptor of its own"
    )]
    Shared { number: i32, other: String },
}

/// Further descriptors of the run.
pub(super) struct Others<'a> {
    pub(super) inherit: &'a [(OwnedFd, i32)],
    pub(super) events: Option<&'a EventsPlace>,
}

impl Asking {
    /// Looks whether the one who is to be asked is there. `claimed` are our copies of the descriptors.
    pub(super) fn prepare(
        target: AskTarget,
        claimed: Vec<OwnedFd>,
        others: &Others<'_>,
    ) -> Result<Self, AskError> {
        match target {
            AskTarget::Deny => Ok(Self::Nobody),
            AskTarget::Tty => {
                open_terminal().map_err(AskError::NoTerminal)?;
                match others.terminal() {
                    Some(what) => Err(AskError::Overpainted { what }),
                    None => Ok(Self::Terminal(Stage::default())),
                }
            }
            AskTarget::Descriptors { input, output } => {
                let mut claimed = claimed.into_iter();
                let (Some(from), Some(to)) = (claimed.next(), claimed.next()) else {
                    let source = io::ErrorKind::NotFound.into();
                    return Err(AskError::Unusable { number: input, source });
                };
                for (descriptor, number, wanted) in
                    [(&from, input, Wanted::Reading), (&to, output, Wanted::Writing)]
                {
                    check(descriptor, wanted).map_err(|source| AskError::Unusable { number, source })?;
                    if let Some(other) = others.same(descriptor) {
                        return Err(AskError::Shared { number, other });
                    }
                }
                let name = match input == output {
                    true => format!("descriptor {input}"),
                    false => format!("descriptors {input} and {output}"),
                };
                Ok(Self::Descriptors(Box::new(DescriptorAsker::new(name, from, to))))
            }
        }
    }

    /// The stage that questions are asked on, where that is the terminal.
    pub(super) fn stage(&self) -> Option<Stage> {
        match self {
            Self::Terminal(stage) => Some(stage.clone()),
            Self::Nobody | Self::Descriptors(_) => None,
        }
    }

    /// Gives the asker to a runtime.
    pub(super) fn give(self, builder: Builder) -> Builder {
        match self {
            Self::Nobody => builder,
            Self::Terminal(stage) => builder.asker(TtyAsker::new(stage)),
            Self::Descriptors(asker) => builder.asker(*asker),
        }
    }
}

impl Others<'_> {
    /// What of these goes to a terminal behind our back.
    fn terminal(&self) -> Option<String> {
        let inherited = self.inherit.iter().find(|(descriptor, _)| isatty(descriptor));
        let named = inherited.map(|(_, number)| format!("descriptor {number}"));
        named.or_else(|| match self.events? {
            EventsPlace::Descriptor(descriptor, number) => {
                isatty(descriptor).then(|| format!("descriptor {number}"))
            }
            EventsPlace::File(path) => is_terminal(path).then(|| path.display().to_string()),
        })
    }

    /// Which of the descriptors that the command or the events get is this very one.
    fn same(&self, descriptor: &OwnedFd) -> Option<String> {
        let wanted = identity(descriptor)?;
        let standard = [
            ("the standard input", identity(io::stdin())),
            ("the standard output", identity(io::stdout())),
            ("the standard error", identity(io::stderr())),
        ];
        if let Some((name, _)) = standard.iter().find(|(_, identity)| *identity == Some(wanted)) {
            return Some((*name).to_owned());
        }
        let events = match self.events {
            Some(EventsPlace::Descriptor(descriptor, number)) => Some((descriptor, *number)),
            _ => None,
        };
        let inherited = self.inherit.iter().map(|(descriptor, number)| (descriptor, *number));
        inherited
            .chain(events)
            .find(|(descriptor, _)| identity(descriptor) == Some(wanted))
            .map(|(_, number)| format!("descriptor {number}"))
    }
}

/// Copies of a descriptor, and separate openings of one thing, are the same.
fn identity(descriptor: impl AsFd) -> Option<(u64, u64)> {
    let seen = rustix::fs::fstat(descriptor).ok()?;
    Some((seen.st_dev, seen.st_ino))
}

fn is_terminal(path: &Path) -> bool {
    let device = rustix::fs::stat(path)
        .is_ok_and(|seen| FileType::from_raw_mode(seen.st_mode) == FileType::CharacterDevice);
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    device && rustix::fs::open(path, flags, Mode::empty()).is_ok_and(isatty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, openpt};
    use std::os::unix::net::UnixStream;

    fn pair() -> (OwnedFd, OwnedFd) {
        let (one, other) = UnixStream::pair().unwrap();
        (one.into(), other.into())
    }

    fn prepare(
        from: &OwnedFd,
        inherit: &[(OwnedFd, i32)],
        events: Option<&EventsPlace>,
    ) -> Result<(), AskError> {
        let claimed = vec![from.try_clone().unwrap(), from.try_clone().unwrap()];
        let target = AskTarget::Descriptors { input: 9, output: 9 };
        Asking::prepare(target, claimed, &Others { inherit, events }).map(drop)
    }

    #[test]
    fn a_descriptor_for_questions_is_for_nothing_else() {
        let (one, other) = pair();
        assert!(prepare(&one, &[], None).is_ok());
        assert!(prepare(&one, &[(other.try_clone().unwrap(), 4)], None).is_ok());
        // The command could answer itself.
        let given = prepare(&one, &[(one.try_clone().unwrap(), 4)], None).unwrap_err();
        assert!(given.to_string().contains("descriptor 4"), "{given}");
        let events = EventsPlace::Descriptor(one.try_clone().unwrap(), 5);
        assert!(prepare(&one, &[], Some(&events)).is_err());
        let input = io::stdin().as_fd().try_clone_to_owned().unwrap();
        let given = prepare(&input, &[], None).unwrap_err();
        assert!(given.to_string().contains("the standard"), "{given}");
    }

    #[test]
    fn both_directions_are_needed() {
        let (reading, writing) = rustix::pipe::pipe().unwrap();
        assert!(prepare(&reading, &[], None).is_err());
        let claimed = vec![reading, writing];
        let target = AskTarget::Descriptors { input: 8, output: 9 };
        let others = Others { inherit: &[], events: None };
        assert!(Asking::prepare(target, claimed, &others).is_ok());
    }

    #[test]
    fn what_paints_on_a_terminal_is_found() {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let others = Others { inherit: &[(terminal.try_clone().unwrap(), 6)], events: None };
        assert_eq!(others.terminal().as_deref(), Some("descriptor 6"));
        let events = EventsPlace::Descriptor(terminal, 7);
        let others = Others { inherit: &[(pair().0, 6)], events: Some(&events) };
        assert_eq!(others.terminal().as_deref(), Some("descriptor 7"));
        for harmless in ["/dev/null", "/nonexistent", "/etc/hostname"] {
            assert!(!is_terminal(Path::new(harmless)), "{harmless}");
        }
    }
}
