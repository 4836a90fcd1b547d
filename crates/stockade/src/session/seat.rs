//! The place of whoever speaks to the shell.

use super::shell::Shell;

/// One command at a time holds it.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// Absent after its end; the next command starts another.
    pub(super) shell: Option<Shell>,
    /// It has run something since it was asked for its state.
    pub(super) unasked: bool,
    /// Why it is absent, where nobody has been told yet.
    pub(super) untold: Option<String>,
}
