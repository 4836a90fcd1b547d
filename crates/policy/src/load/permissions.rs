//! Rules about an agent's tools, where they say something about files and hosts.

use super::Draft;
use super::claude::{below, without_variables};
use super::layer::Voice;
use crate::domain::DomainPattern;
use crate::pattern::Reading;
use crate::rules::List;
use crate::settings::PathEntry;
use crate::settings::claude::ClaudePermissions;
use crate::settings::domain_entry::LimitedDomain;
use crate::settings::permission::Permission;
use std::path::Path;

/// What a list of rules does with what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Allow,
    Deny,
}

impl Wish {
    fn key(self) -> &'static str {
        match self {
            Self::Allow => "permissions.allow",
            Self::Deny => "permissions.deny",
        }
    }
}

impl Draft {
    /// `root` is what a path with one slash begins at.
    pub(super) fn apply_permissions(&mut self, rules: &ClaudePermissions, voice: Voice, root: &Path) {
        for (index, path) in rules.additional_directories.iter().enumerate() {
            let key = ("permissions.additionalDirectories", index);
            let entry = PathEntry::Literal(path.clone());
            self.add_entry(voice, List::AllowWrite, key, &entry, Reading::Allow);
        }
        let mut unheard = Vec::new();
        for (wish, texts) in [(Wish::Allow, &rules.allow), (Wish::Deny, &rules.deny)] {
            for (index, text) in texts.iter().enumerate() {
                let key = format!("{}[{index}]", wish.key());
                match Permission::parse(text) {
                    Err(reason) => {
                        let hint = "write a tool and what it is used on, such as Edit(/src/**)";
                        self.wrong(voice, &key, format!("{text:?}: {reason}"), hint);
                    }
                    Ok(rule) if wish == Wish::Deny && rule.tool == "*" => {
                        self.warn_about_whole_tool(wish, text, voice, index);
                    }
                    Ok(rule) if !self.apply_permission(rule, wish, text, voice, (index, root)) => {
                        unheard.push(format!("{key} {text}"));
                    }
                    Ok(_) => {}
                }
            }
        }
        for (index, text) in rules.ask.iter().enumerate() {
            let key = format!("permissions.ask[{index}]");
            match Permission::parse(text).map(Permission::meant) {
                Err(reason) => {
                    let hint = "write a tool and what it is used on, such as Bash(git push:*)";
                    self.wrong(voice, &key, format!("{text:?}: {reason}"), hint);
                }
                Ok(Permission { tool: "Bash", subject }) => {
                    self.ask_about_command(subject.unwrap_or("*"), text, voice, &key);
                }
                Ok(_) => unheard.push(format!("{key} {text}")),
            }
        }
        if !unheard.is_empty() {
            let file = self.policy.book.source_name(voice.source).to_owned();
            self.detail(format!("{file}: about the agent, not about its commands: {}", unheard.join(", ")));
        }
    }

    /// Whether the rule says something about commands.
    fn apply_permission(
        &mut self,
        rule: Permission,
        wish: Wish,
        text: &str,
        voice: Voice,
        (index, root): (usize, &Path),
    ) -> bool {
        let rule = if wish == Wish::Deny { rule.meant() } else { rule };
        let list = match (rule.tool, wish) {
            ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Wish::Allow) => List::AllowWrite,
            ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Wish::Deny) => List::DenyWrite,
            ("Read", Wish::Allow) => List::AllowRead,
            ("Read", Wish::Deny) => List::DenyRead,
            ("WebFetch", _) => return self.apply_fetch(rule, wish, text, voice, index),
            ("Bash", Wish::Deny) => {
                let key = format!("{}[{index}]", wish.key());
                self.deny_command(rule.subject.unwrap_or("*"), text, voice, &key);
                return true;
            }
            _ => return false,
        };
        let Some(path) = rule.subject else {
            self.warn_about_whole_tool(wish, text, voice, index);
            return wish == Wish::Deny;
        };
        let reading = match wish {
            Wish::Allow => Reading::Allow,
            Wish::Deny => Reading::Deny,
        };
        let entry = PathEntry::Pattern(place(path, root));
        self.add_written(voice, list, (wish.key(), index), text, &entry, reading);
        true
    }

    fn apply_fetch(&mut self, rule: Permission, wish: Wish, text: &str, voice: Voice, index: usize) -> bool {
        let key = format!("{}[{index}]", wish.key());
        let Some(domain) = rule.subject.and_then(|subject| subject.strip_prefix("domain:")) else {
            self.warn_about_whole_tool(wish, text, voice, index);
            return wish == Wish::Deny;
        };
        match wish {
            Wish::Deny => self.deny_domain(domain, None, voice, &key),
            // The tool asks for pages one by one; a wish that is no host for commands opens nothing.
            Wish::Allow if DomainPattern::parse_allowed(domain).is_err() => return false,
            Wish::Allow => {
                let entry = LimitedDomain { domain: domain.to_owned(), ..LimitedDomain::default() };
                self.allow_domain(&entry, voice, &key);
            }
        }
        true
    }

    /// A whole tool that is denied: whoever wrote it may think that commands are held, too.
    fn warn_about_whole_tool(&mut self, wish: Wish, text: &str, voice: Voice, index: usize) {
        if wish == Wish::Deny {
            let file = self.policy.book.source_name(voice.source).to_owned();
            self.warn(format!(
                "{file} {}[{index}] ({text}) is about the agent's tool and holds no command: name paths or hosts",
                wish.key()
            ));
        }
    }
}

/// A path of a rule: two slashes for the root of the file system, one for the root of the settings, none for
/// the working directory.
fn place(path: &str, root: &Path) -> String {
    match path.strip_prefix('/') {
        Some(rest) => match rest.strip_prefix('/') {
            Some(rest) => format!("/{}", without_variables(rest)),
            None => below(root, rest),
        },
        None => without_variables(path),
    }
}
