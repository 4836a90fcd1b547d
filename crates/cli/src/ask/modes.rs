//! The terminal's modes while a question stands, and what is put back afterwards.

use crate::run::raw_is_wanted;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};
use std::io;
use std::os::fd::OwnedFd;

/// Modes of ours on a terminal. Dropping puts the earlier ones back.
pub(crate) struct Modes {
    terminal: OwnedFd,
    before: Termios,
    /// The command was being typed to.
    raw: bool,
}

impl Modes {
    /// Takes the terminal. What was typed so far is thrown away, and nothing typed is shown.
    pub(crate) fn deaf(terminal: OwnedFd) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let modes = Self { terminal, before, raw: raw_is_wanted() };
        modes.set(|local| local.remove(LocalModes::ICANON | LocalModes::ECHO))?;
        Ok(modes)
    }

    /// From here on a line that is typed counts. What was typed before does not.
    pub(crate) fn listen(&self) -> io::Result<()> {
        self.set(|local| local.insert(LocalModes::ICANON | LocalModes::ECHO))
    }

    fn set(&self, change: impl Fn(&mut LocalModes)) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.input_modes.insert(InputModes::ICRNL | InputModes::IXON);
        modes.input_modes.remove(InputModes::IGNCR | InputModes::INLCR | InputModes::ISTRIP);
        modes.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
        modes.control_modes.insert(ControlModes::CREAD);
        // Interrupting a question ends the run, as it would anywhere. Suspending would leave the terminal
        // to a shell that knows nothing of the question.
        modes.local_modes.insert(LocalModes::ISIG | LocalModes::ECHOE | LocalModes::ECHOK);
        modes.local_modes.remove(LocalModes::ECHONL | LocalModes::NOFLSH | LocalModes::TOSTOP);
        change(&mut modes.local_modes);
        modes.special_codes[SpecialCodeIndex::VSUSP] = 0;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        if modes.local_modes.contains(LocalModes::ICANON) {
            // In raw modes these two places may hold anything.
            modes.special_codes[SpecialCodeIndex::VEOF] = 4;
            modes.special_codes[SpecialCodeIndex::VEOL] = 0;
        }
        Ok(tcsetattr(&self.terminal, OptionalActions::Flush, &modes)?)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        // A run that ended meanwhile has already put the caller's own modes back.
        if self.raw && !raw_is_wanted() {
            return;
        }
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
