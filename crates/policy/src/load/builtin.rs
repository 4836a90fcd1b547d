//! Rules that stand whatever the settings say.

use super::Draft;
use super::layer::Voice;
use crate::pattern::{Glob, Pattern, PatternError, Reading};
use crate::policy::Manner;
use crate::rules::{List, Place, Rule, SourceId};
use crate::settings::PathEntry;
use crate::settings::native::{Caches, OnOff, ReadScope, Temporary};
use crate::{FileKind, Files, Layer, Switch, data, presets};
use std::path::{Path, PathBuf};

/// A directory srt's users expect to be writable when it is there.
const SRT_TEMPORARY: &str = "/tmp/claude";

impl Draft {
    pub(super) fn add_builtin(&mut self, files: &dyn Files) {
        self.add_own();
        self.add_private(files);
        if self.policy.manner == Manner::Native && self.policy.preset != presets::UNRESTRICTED {
            self.add_deny_read();
            if self.policy.read_scope == ReadScope::Workspace {
                self.add_system();
            }
        }
        if self.policy.file_rules == Switch::Refused {
            let source = self.builtin("filesystem.disabled");
            return self.add_rule(List::AllowWrite, Place::Literal("/".into()), "/", source);
        }
        self.add_protected();
        if self.protection.git == OnOff::On {
            // Git would remember conflicts where nobody may, and fail where a person has switched that on.
            self.policy.environment.git_settings.push(("rerere.enabled", "false".to_owned()));
            if self.policy.manner == Manner::Native {
                self.protect_leads(files);
            }
        }
        let source = self.builtin("directory that cannot be looked into");
        self.add_rule(List::Protected, Place::Unlistable, "unlistable directory", source);
    }

    fn builtin(&mut self, name: &str) -> SourceId {
        self.policy.book.source(Layer::BuiltIn, name)
    }

    fn add_rule(&mut self, list: List, place: Place, text: &str, source: SourceId) {
        self.policy.book.add(Rule { list, place, text: text.into(), source, key: None });
    }

    /// Stockade's settings, state and caches, masked; the cache of this workspace's tools inside them, open.
    fn add_own(&mut self) {
        let source = self.builtin("Stockade's own files");
        let own = self.policy.own.clone();
        for path in [&own.config, &own.state, &own.cache].into_iter().chain(&own.records) {
            if !path.as_os_str().is_empty() {
                self.add_rule(List::Own, Place::Literal(path.clone()), &path.to_string_lossy(), source);
            }
        }
        let wanted = self.policy.manner == Manner::Native && self.policy.caches == Caches::Persistent;
        if let Some(path) = own.tool_cache.filter(|_| wanted) {
            let text = path.to_string_lossy().into_owned();
            self.add_rule(List::ToolCache, Place::Literal(path), &text, source);
        }
    }

    /// Where the sandbox has something of its own instead of the host's.
    fn add_private(&mut self, files: &dyn Files) {
        let source = self.builtin("the sandbox's own file systems");
        for path in ["/dev", "/proc"] {
            self.add_rule(List::Private, Place::Literal(path.into()), path, source);
        }
        if self.policy.temporary == Temporary::Private {
            self.add_rule(List::Private, Place::Literal("/tmp".into()), "/tmp", source);
        }
        // Anybody may make names in /tmp; a link there could lead anywhere.
        let is_directory =
            |path: &str| files.look(Path::new(path)).is_ok_and(|found| found.kind == FileKind::Directory);
        if self.policy.manner == Manner::Srt && is_directory(SRT_TEMPORARY) {
            let source = self.builtin("srt's temporary directory");
            self.add_rule(List::AllowWrite, Place::Literal(SRT_TEMPORARY.into()), SRT_TEMPORARY, source);
            self.policy.environment.temporary = Some(PathBuf::from(SRT_TEMPORARY));
        }
    }

    fn add_deny_read(&mut self) {
        let source = self.builtin("default deny-read list");
        for entry in data::deny_read().entries {
            self.add_patterns(List::DenyRead, entry.path, Reading::Deny, source);
            for open in entry.open {
                self.add_patterns(List::Open, &format!("{}/{open}", entry.path), Reading::Allow, source);
            }
        }
    }

    fn add_system(&mut self) {
        let source = self.builtin("system directories");
        let system = data::system();
        for path in system.directories.iter().chain(&system.toolchains) {
            self.add_patterns(List::System, path, Reading::Allow, source);
        }
    }

    /// Patterns of a built-in list. What names a home or a variable that is not there names nothing.
    fn add_patterns(&mut self, list: List, text: &str, reading: Reading, source: SourceId) {
        let parsed = self.patterns(&PathEntry::Pattern(text.to_owned()), reading);
        match parsed {
            Ok(patterns) => {
                for pattern in patterns {
                    if list == List::System && self.is_too_wide(&pattern) {
                        continue;
                    }
                    self.add_rule(list, pattern.into(), text, source);
                }
            }
            Err(PatternError::NoHome | PatternError::UndefinedVariable(_) | PatternError::OddVariable(_)) => {
            }
            Err(error) => {
                let voice = Voice::new(source, Layer::BuiltIn);
                self.wrong(voice, text, error.to_string(), error.hint());
            }
        }
    }

    /// A toolchain variable that names the root or a home must not open all of it.
    fn is_too_wide(&self, pattern: &Pattern) -> bool {
        let Pattern::Literal(path) = pattern else { return false };
        path == Path::new("/") || self.policy.home.as_ref().is_some_and(|home| home.starts_with(path))
    }

    fn add_protected(&mut self) {
        let names = data::protected();
        let on = self.protection;
        let source = self.builtin("mandatory protection");
        let mut roots = Vec::new();
        if on.git == OnOff::On {
            for name in &names.git_directory {
                let place = Place::InGitDirectory(Glob::relative(name));
                self.add_rule(List::Protected, place, &format!(".git/{name}"), source);
            }
            for name in &names.git_memory {
                let place = Place::InGitDirectory(Glob::relative(name));
                self.add_rule(List::DenyRead, place, &format!(".git/{name}"), source);
            }
            // Work changes a repository's settings all the time, so the broker judges their content. srt's
            // users expect them to stay as they are.
            let list = match self.policy.manner {
                Manner::Native => List::Checked,
                Manner::Srt => List::Protected,
            };
            let kept = |name: &&&str| on.git_config == OnOff::On || **name != "config";
            for name in names.git_settings.iter().filter(kept) {
                let place = Place::InGitDirectory(Glob::relative(name));
                self.add_rule(list, place, &format!(".git/{name}"), source);
            }
            self.add_rule(List::Protected, Place::GitFile, ".git", source);
        }
        match self.policy.manner {
            Manner::Native => {
                for (switch, group) in [
                    (on.git, &names.git),
                    (on.shell, &names.shell),
                    (on.ide, &names.ide),
                    (on.agent, &names.agent),
                ] {
                    roots.extend(group.iter().filter(|_| switch == OnOff::On));
                }
            }
            Manner::Srt => {
                roots.extend(&names.srt);
                for name in &names.srt_ide {
                    let place = Place::AtRootsOutsideModules(Glob::relative(name));
                    self.add_rule(List::Protected, place, name, source);
                }
            }
        }
        for name in roots {
            self.add_rule(List::Protected, Place::AtRoots(Glob::relative(name)), name, source);
        }
    }
}
