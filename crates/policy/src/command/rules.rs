//! The rules about whole commands, merged.

use super::deny::DenyRule;
use super::pattern::{CommandPattern, glob};
use crate::data::MerelyNamed;
use crate::{Approval, RuleRef};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the settings say about whole commands.
#[derive(Clone, Debug)]
pub(crate) struct CommandRules {
    /// The system this is, in the words of settings.
    pub(crate) platform: &'static str,
    /// Commands that run without walls.
    pub(crate) excluded: Vec<Excluded>,
    /// Commands that do not run.
    pub(crate) deny: Vec<DenyRule>,
    /// Commands that somebody wants to be asked about.
    pub(crate) ask: Vec<DenyRule>,
    /// The setting that wants to be asked about all of them. The walls answer for those behind them.
    pub(crate) ask_about_all: Option<RuleRef>,
    /// The setting that wants walls on other systems only.
    pub(crate) elsewhere: Option<RuleRef>,
    /// The setting that lets commands run where walls cannot be built.
    pub(crate) fallback: Option<RuleRef>,
    /// Whether a person is asked about a command behind walls.
    pub(crate) behind_walls: Approval,
    /// Variables that change nothing about what a program runs, `*` at the end for several.
    pub(crate) variables: Vec<String>,
    /// Those of them that the caller may have lead anywhere.
    pub(crate) merely_named: Vec<MerelyNamed>,
    /// Those of them that name one file or directory.
    pub(crate) files: Vec<String>,
    /// Programs that run what they find under a name on PATH, and how.
    pub(crate) plugins_on_path: BTreeMap<String, String>,
    /// Programs that run what they read from their standard input, `*` for any letters.
    pub(crate) runs_its_input: Vec<String>,
    /// Programs that change the shell itself or run text.
    pub(crate) never: Vec<String>,
    /// What commands behind walls may write, without links.
    pub(crate) roots: Vec<PathBuf>,
    /// Where commands behind walls leave what nobody looks at: caches, in which git may be told anything, and
    /// places that are others inside.
    pub(crate) unguarded: Vec<PathBuf>,
    /// The other ones of `roots`: what programs obey is protected there.
    pub(crate) guarded: Vec<PathBuf>,
    /// Files that are executed or obeyed later without anybody naming them.
    pub(crate) obeyed: Vec<Obeyed>,
    /// Programs that git runs and that lie where commands may write.
    pub(crate) run_by_git: Vec<RunByGit>,
    /// Directories of hooks that settings name from the work tree on.
    pub(crate) hooks_by_tree: Vec<HooksByTree>,
}

/// A program of git's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunByGit {
    /// The work tree it is run in.
    pub(crate) tree: PathBuf,
    /// The key that names it, and where.
    pub(crate) named_by: String,
    pub(crate) program: PathBuf,
}

/// Hooks that every work tree has of its own. They are protected in those that are known when a run begins: in one that
/// commands made, they may have made hooks as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HooksByTree {
    /// The key that names them, and where.
    pub(crate) named_by: String,
    /// The one work tree whose own settings say so, if it is the only one.
    pub(crate) tree: Option<PathBuf>,
}

/// Names of files that are executed or obeyed without anybody naming them; `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Obeyed {
    /// A file of this name.
    File(String),
    /// Whatever lies in a directory of this name.
    Below(String),
}

/// Commands that run without walls.
#[derive(Clone, Debug)]
pub(crate) struct Excluded {
    pub(crate) pattern: CommandPattern,
    pub(crate) rule: RuleRef,
}

impl Obeyed {
    /// What a path of the review's list means here. Hidden names count anyhow.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut names = path.rsplit('/');
        let last = names.next()?;
        if path.starts_with('$') || path.split('/').any(|name| name.starts_with('.')) {
            return None;
        }
        let is_any = |name: &&str| name.bytes().all(|byte| byte == b'*');
        match is_any(&last) {
            false => Some(Self::File(last.to_owned())),
            true => names.find(|name| !is_any(name)).map(|name| Self::Below(name.to_owned())),
        }
    }

    fn fits(&self, names: &[&[u8]]) -> bool {
        match (self, names.split_last()) {
            (Self::File(name), Some((last, _))) => glob(name.as_bytes(), last),
            (Self::Below(name), Some((_, above))) => above.contains(&name.as_bytes()),
            (_, None) => false,
        }
    }
}

impl CommandRules {
    /// What holds on this system before anybody has spoken.
    pub(crate) fn new(platform: &'static str) -> Self {
        Self {
            platform,
            excluded: Vec::new(),
            deny: Vec::new(),
            ask: Vec::new(),
            ask_about_all: None,
            elsewhere: None,
            fallback: None,
            // The walls are there so that nobody has to be asked.
            behind_walls: Approval::NotNeeded,
            variables: Vec::new(),
            merely_named: Vec::new(),
            files: Vec::new(),
            plugins_on_path: BTreeMap::new(),
            runs_its_input: Vec::new(),
            never: Vec::new(),
            roots: Vec::new(),
            unguarded: Vec::new(),
            guarded: Vec::new(),
            obeyed: Vec::new(),
            run_by_git: Vec::new(),
            hooks_by_tree: Vec::new(),
        }
    }

    /// Whether a file below a writable directory is obeyed later: a hidden one, or one of the list.
    pub(crate) fn is_obeyed(&self, path: &Path) -> bool {
        let root =
            self.roots.iter().filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
        let inside = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        let names: Vec<&[u8]> = inside.iter().map(|name| name.as_bytes()).collect();
        names.iter().any(|name| name.starts_with(b"."))
            || path.iter().any(|name| name == ".git")
            || self.obeyed.iter().any(|obeyed| obeyed.fits(&names))
    }

    /// Whether any rule depends on what a text says.
    pub(crate) fn look_at_text(&self) -> bool {
        !self.excluded.is_empty() || !self.deny.is_empty() || !self.ask.is_empty()
    }
}
