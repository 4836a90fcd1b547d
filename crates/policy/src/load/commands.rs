//! Settings about whole commands: which run without walls, which do not run, when a person is asked.

use super::Draft;
use super::layer::Voice;
use crate::command::{CommandPattern, Denied, DenyRule, Excluded, Obeyed};
use crate::policy::Policy;
use crate::rules::{List, Place};
use crate::settings::commands::{CommandSettings, DenyEntry};
use crate::settings::native::Settings;
use crate::settings::nearest;
use crate::{Approval, Files, ReviewEntry, ReviewTell, data};
use std::path::{Path, PathBuf};

/// The names settings have for systems.
const PLATFORMS: [&str; 4] = ["linux", "macos", "windows", "wsl"];

/// Where Linux says who built it; Windows' own says so.
const KERNEL_NAME: &str = "/proc/sys/kernel/osrelease";

/// Every example is tried when settings are read, which must not take long.
const LONGEST_EXAMPLES: usize = 64 * 1024;

/// What makes a directory a repository, or says where one is.
const GIT_FILES: [&str; 5] = ["HEAD", "config", "config.worktree", "commondir", "gitdir"];

impl Draft {
    /// What a layer says about whole commands, but for the list of those that are refused.
    pub(super) fn apply_decisions(&mut self, settings: &Settings, voice: Voice) {
        self.add_excluded(&settings.excluded_commands, voice);
        if let Some(platforms) = &settings.enabled_platforms {
            self.set_platforms(platforms, voice);
        }
        match settings.fail_if_unavailable {
            Some(true) => self.policy.commands.fallback = None,
            Some(false) if voice.may_take_down() => {
                self.policy.commands.fallback = Some(self.quote(voice, "failIfUnavailable", "false"));
            }
            Some(false) => self.ignore(voice, "failIfUnavailable", "false"),
            None => {}
        }
        match settings.auto_allow_bash_if_sandboxed {
            Some(false) => self.policy.commands.behind_walls = Approval::Needed,
            Some(true) if voice.may_loosen() => self.policy.commands.behind_walls = Approval::NotNeeded,
            Some(true) if self.policy.commands.behind_walls == Approval::NotNeeded => {}
            Some(true) => self.ignore(voice, "autoAllowBashIfSandboxed", "true"),
            None => {}
        }
    }

    fn add_excluded(&mut self, patterns: &[String], voice: Voice) {
        for (index, text) in patterns.iter().enumerate() {
            let key = format!("excludedCommands[{index}]");
            let pattern = match CommandPattern::parse(text) {
                Ok(pattern) => pattern,
                Err(error) => {
                    self.wrong(voice, &key, format!("{text:?} {error}"), error.hint());
                    continue;
                }
            };
            if !voice.may_take_down() {
                self.ignore(voice, &key, text);
                continue;
            }
            if pattern.fits_all() {
                self.warn(format!("{key} {text:?} lets every simple command run without walls"));
            }
            if let Some(reason) = CommandPattern::futile(text) {
                self.warn(format!("{key} {text:?} fits no command: {reason}"));
                // It might, read in another way than whoever wrote it has been told now.
                continue;
            }
            let mut rule = self.quote(voice, &key, "");
            rule.text = format!("excludedCommands {text}");
            self.policy.commands.excluded.push(Excluded { pattern, rule });
        }
    }

    /// The systems on which there are walls at all.
    fn set_platforms(&mut self, platforms: &[String], voice: Voice) {
        for (index, name) in platforms.iter().enumerate() {
            if !PLATFORMS.contains(&name.as_str()) {
                let hint = match nearest(name, PLATFORMS) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("the names are {}", PLATFORMS.join(", ")),
                };
                self.wrong(
                    voice,
                    &format!("enabledPlatforms[{index}]"),
                    format!("{name:?} is no system"),
                    hint,
                );
            }
        }
        let listed = platforms.join(", ");
        if platforms.iter().any(|name| *name == self.policy.commands.platform) {
            self.policy.commands.elsewhere = None;
        } else if voice.may_take_down() {
            self.policy.commands.elsewhere = Some(self.quote(voice, "enabledPlatforms", &listed));
        } else {
            self.ignore(voice, "enabledPlatforms", &listed);
        }
    }

    /// Adds the rules that refuse commands.
    pub(super) fn apply_denied_commands(&mut self, settings: CommandSettings, voice: Voice) {
        let examples = settings.deny.iter().flat_map(|entry| entry.matching.iter().chain(&entry.not_match));
        if examples.map(String::len).sum::<usize>() > LONGEST_EXAMPLES {
            return self.wrong(
                voice,
                "commands.deny",
                "its examples are too long together",
                "keep match and notMatch below 64 KiB",
            );
        }
        for (index, entry) in settings.deny.into_iter().enumerate() {
            self.deny_program(entry, voice, &format!("commands.deny[{index}]"));
        }
    }

    fn deny_program(&mut self, entry: DenyEntry, voice: Voice, key: &str) {
        if entry.program.trim().is_empty() {
            return self.wrong(
                voice,
                &format!("{key}.program"),
                "cannot be empty",
                "name a program, such as rm",
            );
        }
        if entry.program.contains(char::is_whitespace) {
            return self.wrong(
                voice,
                &format!("{key}.program"),
                format!("{:?} is more than the name of a program", entry.program),
                "write the first word here and the others as args; sudo and the like are looked behind anyway",
            );
        }
        for (index, argument) in entry.args.iter().enumerate() {
            if argument.is_empty() || argument.contains(char::is_whitespace) {
                self.warn(format!(
                    "{key}.args[{index}] {argument:?} fits no argument of an ordinary command; write one pattern for each word"
                ));
            }
        }
        let mut rule = self.quote(voice, key, "");
        rule.text =
            format!("deny {}", [std::slice::from_ref(&entry.program), &entry.args].concat().join(" "));
        let what = Denied::Program { program: entry.program, arguments: entry.args };
        let rule = DenyRule { what, reason: entry.reason, rule };
        for (examples, name, refused) in
            [(&entry.matching, "match", true), (&entry.not_match, "notMatch", false)]
        {
            for (index, example) in examples.iter().enumerate() {
                if rule.refuses_text(example) != refused {
                    let reason = match refused {
                        true => format!("{example:?} should be refused by this rule and is not"),
                        false => format!("{example:?} should not be refused by this rule and is"),
                    };
                    let key = format!("{key}.{name}[{index}]");
                    self.wrong(voice, &key, reason, "change the patterns or the example");
                }
            }
        }
        self.policy.commands.deny.push(rule);
    }

    /// Adds a rule that refuses commands by a pattern for the whole command: `rm -rf:*`. `written` is the rule
    /// as its file has it.
    pub(super) fn deny_command(&mut self, pattern: &str, written: &str, voice: Voice, key: &str) {
        match CommandPattern::parse(pattern) {
            Ok(pattern) => {
                let mut rule = self.quote(voice, key, "");
                rule.text = format!("deny {written}");
                let what = Denied::Command(pattern);
                self.policy.commands.deny.push(DenyRule { what, reason: None, rule });
            }
            Err(error) => self.wrong(voice, key, format!("{written:?} {error}"), error.hint()),
        }
    }

    /// The same for commands that somebody wants to be asked about.
    pub(super) fn ask_about_command(&mut self, pattern: &str, written: &str, voice: Voice, key: &str) {
        match CommandPattern::parse(pattern) {
            Ok(pattern) => {
                let mut rule = self.quote(voice, key, "");
                rule.text = format!("ask {written}");
                if pattern.fits_all() {
                    self.policy.commands.ask_about_all = Some(rule);
                    return;
                }
                let what = Denied::Command(pattern);
                self.policy.commands.ask.push(DenyRule { what, reason: None, rule });
            }
            Err(error) => self.wrong(voice, key, format!("{written:?} {error}"), error.hint()),
        }
    }

    /// What judging needs besides the patterns, once every rule is known.
    pub(super) fn finish_commands(&mut self, files: &dyn Files) {
        let Policy { bare, bare_wishes, commands, .. } = &self.policy;
        let bare = [bare, bare_wishes, &commands.elsewhere, &commands.fallback];
        if !commands.excluded.is_empty() || bare.into_iter().any(Option::is_some) {
            self.find_roots(files);
        }
        if self.policy.commands.excluded.is_empty() {
            return;
        }
        let lists = data::commands();
        self.policy.commands.variables = lists.variables;
        self.policy.commands.merely_named = lists.merely_named;
        self.policy.commands.files = lists.files;
        self.policy.commands.plugins_on_path = lists.plugins_on_path;
        self.policy.commands.runs_its_input = lists.runs_its_input;
        self.policy.commands.never = lists.never;
        // What people start by habit is obeyed by nobody else: it would be every script.
        let told = |entry: &ReviewEntry| entry.tell != ReviewTell::Changed;
        let paths = data::review().entries.into_iter().filter(told).flat_map(|entry| entry.paths);
        let mut obeyed: Vec<Obeyed> = paths.filter_map(|path| Obeyed::parse(&path)).collect();
        // Behind walls these are checked together with what lies beside them.
        obeyed.extend(GIT_FILES.map(|name| Obeyed::File(name.to_owned())));
        obeyed.sort();
        obeyed.dedup();
        self.policy.commands.obeyed = obeyed;
    }

    /// Where commands behind walls may write. Nobody needs to know where nothing runs without.
    fn find_roots(&mut self, files: &dyn Files) {
        let workspace = self.policy.workspace.clone();
        let mut roots = Vec::new();
        let mut unguarded: Vec<PathBuf> = ["/dev", "/proc"].map(PathBuf::from).into();
        for (_, rule) in self.policy.book.iter() {
            let (given, guarded) = match rule.list {
                List::AllowWrite => (true, true),
                List::ToolCache => (true, false),
                List::Private => (false, false),
                _ => continue,
            };
            let place = match &rule.place {
                Place::Literal(path) => path.as_path(),
                Place::Anchored { base, .. } => base.as_path(),
                _ => workspace.as_path(),
            };
            // A root that is not there may be made later, under the name it has now.
            let resolved = files.resolve(place).unwrap_or_else(|_| place.to_owned());
            for path in [place.to_owned(), resolved] {
                if !guarded {
                    unguarded.push(path.clone());
                }
                if given {
                    roots.push(path);
                }
            }
        }
        roots.sort();
        roots.dedup();
        self.policy.commands.guarded =
            roots.iter().filter(|root| !unguarded.contains(root)).cloned().collect();
        self.policy.commands.roots = roots;
        self.policy.commands.unguarded = unguarded;
    }
}

/// The system this is, in the words of settings.
pub(super) fn platform(files: &dyn Files) -> &'static str {
    match std::env::consts::OS {
        "linux" => {
            let name = files.read(Path::new(KERNEL_NAME)).unwrap_or_default().to_ascii_lowercase();
            if name.windows(9).any(|part| part == b"microsoft") { "wsl" } else { "linux" }
        }
        "macos" => "macos",
        "windows" => "windows",
        other => other,
    }
}
