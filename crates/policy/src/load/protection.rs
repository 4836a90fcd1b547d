//! Which groups of mandatory protection are switched on.

use super::Draft;
use super::layer::Voice;
use crate::settings::native::{OnOff, ProtectionSettings};

/// One switch for each group; everything starts switched on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switches {
    pub(super) git: OnOff,
    pub(super) shell: OnOff,
    pub(super) ide: OnOff,
    pub(super) agent: OnOff,
    /// srt's `allowGitConfig`.
    pub(super) git_config: OnOff,
}

impl Default for Switches {
    fn default() -> Self {
        Self { git: OnOff::On, shell: OnOff::On, ide: OnOff::On, agent: OnOff::On, git_config: OnOff::On }
    }
}

impl Draft {
    pub(super) fn apply_protection(&mut self, settings: &ProtectionSettings, voice: Voice) {
        let mut switches = self.protection;
        for (key, wish, switch) in [
            ("filesystem.protection.git", settings.git, &mut switches.git),
            ("filesystem.protection.shell", settings.shell, &mut switches.shell),
            ("filesystem.protection.ide", settings.ide, &mut switches.ide),
            ("filesystem.protection.agent", settings.agent, &mut switches.agent),
        ] {
            match wish {
                Some(OnOff::Off) if voice.layer == crate::Layer::Project => self.ignore(voice, key, "off"),
                Some(wish) => *switch = wish,
                None => {}
            }
        }
        self.protection = switches;
    }
}
