//! The rules about whole commands, merged.

use super::deny::DenyRule;
use super::pattern::CommandPattern;
use crate::{Approval, RuleRef};
use std::path::PathBuf;

/// What the settings say about whole commands.
#[derive(Clone, Debug)]
pub(crate) struct CommandRules {
    /// The system this is, in the words of settings.
    pub(crate) platform: &'static str,
    /// Commands that run without walls.
    pub(crate) excluded: Vec<Excluded>,
    /// Commands that do not run.
    pub(crate) deny: Vec<DenyRule>,
    /// The setting that wants walls on other systems only.
    pub(crate) elsewhere: Option<RuleRef>,
    /// The setting that lets commands run where walls cannot be built.
    pub(crate) fallback: Option<RuleRef>,
    /// Whether a person is asked about a command behind walls.
    pub(crate) behind_walls: Approval,
    /// Variables that change what a program runs, `*` at the end for several.
    pub(crate) variables: Vec<String>,
    /// Programs that change the shell itself or run text.
    pub(crate) never: Vec<String>,
    /// What commands behind walls may write, without links.
    pub(crate) roots: Vec<PathBuf>,
}

/// Commands that run without walls.
#[derive(Clone, Debug)]
pub(crate) struct Excluded {
    pub(crate) pattern: CommandPattern,
    pub(crate) rule: RuleRef,
}

impl CommandRules {
    /// What holds on this system before anybody has spoken.
    pub(crate) fn new(platform: &'static str) -> Self {
        Self {
            platform,
            excluded: Vec::new(),
            deny: Vec::new(),
            elsewhere: None,
            fallback: None,
            // The walls are there so that nobody has to be asked.
            behind_walls: Approval::NotNeeded,
            variables: Vec::new(),
            never: Vec::new(),
            roots: Vec::new(),
        }
    }

    /// Whether any rule depends on what a text says.
    pub(crate) fn look_at_text(&self) -> bool {
        !self.excluded.is_empty() || !self.deny.is_empty()
    }
}
