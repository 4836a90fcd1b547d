//! Git directories: what the host's git will run or follow.
//!
//! Work makes repositories, commits, branches and worktrees, so most of a git directory is free. Hooks and
//! redirects are not, and what settings and pointers say is for the broker to read.

use super::descent::Place;
use super::judge::Act;
use super::judgement::{Check, Judgement, Naming, Refusal};
use super::refusal::protected;
use super::table::Table;
use crate::RuleRef;
use crate::git::{is_git_index, is_git_state};
use crate::rules::{Facts, List};
use std::path::Path;

pub(super) const CONFIG: &str = "git settings may only be changed to keys that run nothing";
const HOOK: &str = "git on the host would run it: only samples may be made here";
const REDIRECT: &str = "it would send git on the host to other settings and hooks";
const INDEX: &str = "git on the host would read and write the files it lists, wherever they are: programs other than git \
                     do not write it";
const STATE: &str = "git on the host would go on with what it says: programs other than git do not write it";
const MEMORY: &str = "it makes git on the host remember conflicts, and follow links in their files";
const ATTRIBUTES: &str = "it chooses programs that git on the host runs on files";
const ADDRESS: &str = "an address that git on the host would follow may name a program";
const WORKTREE: &str = "a work tree's part of a repository has no objects, settings and hooks of its own: with them git \
                        on the host would take it for a repository";
const POINTER: &str = "a .git that is not a new directory may only point to a protected git directory";
const LINK: &str = "git on the host would follow the link, and write or read what it leads to";
const SPECIAL: &str = "git on the host would open it like a file, and wait for ever";
const BARE: &str = "together with what lies beside it git on the host would take it for a repository";

/// What the last names of a path mean to git.
enum Meaning {
    Hooks,
    Hook {
        sample: bool,
    },
    Config,
    /// The list of files.
    Index,
    /// What git is in the middle of.
    State,
    /// What makes git remember conflicts, as soon as it is there, what it remembers, and its lock on the list of those
    /// that are open.
    Memory,
    CommonDir {
        of_worktree: bool,
    },
    WorktreePointer,
    /// What would make a work tree's part of a repository one of its own.
    InWorktree,
    Attributes,
    /// An address in the old style.
    Address,
    /// A directory above one of these.
    Way,
    Other,
}

/// Judges a path that no plain rule refuses.
pub(super) fn judge(table: &Table, path: &Path, place: &Place<'_>, act: Act) -> Judgement {
    let Some(git) = table.git.filter(|_| place.writable || place.cached || place.in_git.is_some()) else {
        return Judgement::Free;
    };
    let refuse = |name: &str, reason| {
        let rule = table.git_rule(name).unwrap_or(git);
        Judgement::Refused(protected(Some(table.quote(rule)), reason))
    };
    let name = path.file_name().map(|name| name.as_encoded_bytes()).unwrap_or_default();
    if name == b".git" {
        let refusal = protected(Some(table.quote(git)), POINTER);
        return match act {
            Act::Name(Naming::Directory) => Judgement::Free,
            Act::Name(Naming::File) | Act::Change => Judgement::Check(Check::GitPointer, refusal),
            Act::Name(_) => Judgement::Refused(refusal),
        };
    }
    let below = place.in_git.as_deref().unwrap_or_default();
    // Git writes most of its files without a look at what they are.
    let links = match act {
        Act::Name(Naming::Symlink) => true,
        Act::Name(Naming::SymlinkBeside) => !is_trial(below),
        _ => false,
    };
    if links && place.in_git.is_some() {
        return refuse(".git", LINK);
    }
    // Git reads these in every directory, too.
    let is_read = name.starts_with(b".git") || name == b".mailmap";
    if act == Act::Name(Naming::Special) && (place.in_git.is_some() || is_read) {
        return refuse(".git", SPECIAL);
    }
    let free = act == Act::Change;
    match meaning(below) {
        Meaning::Hooks if matches!(act, Act::Name(Naming::Directory) | Act::Change) => Judgement::Free,
        Meaning::Hook { sample: true }
            if matches!(act, Act::Name(Naming::File | Naming::Moved) | Act::Change) =>
        {
            Judgement::Free
        }
        Meaning::Hooks | Meaning::Hook { .. } => refuse("hooks", HOOK),
        Meaning::Config => config(table, below, act),
        // A submodule may have the name, and a directory is no list.
        Meaning::Index if matches!(act, Act::Name(Naming::Directory | Naming::MovedDirectory)) => {
            Judgement::Free
        }
        Meaning::Memory => refuse("rr-cache", MEMORY),
        Meaning::State => {
            let rule = RuleRef {
                text: format!("protected .git/{}", String::from_utf8_lossy(name)),
                ..table.quote(git)
            };
            content(act, Check::GitState, protected(Some(rule), STATE))
        }
        Meaning::Index => {
            let rule = RuleRef { text: "protected .git/index".to_owned(), ..table.quote(git) };
            content(act, Check::GitIndex, protected(Some(rule), INDEX))
        }
        Meaning::CommonDir { of_worktree: true } => {
            let rule = table.git_rule("worktrees/*/commondir").unwrap_or(git);
            content(act, Check::WorktreeCommonDir, protected(Some(table.quote(rule)), REDIRECT))
        }
        Meaning::WorktreePointer => {
            let rule = table.git_rule("worktrees/*/gitdir").unwrap_or(git);
            content(act, Check::WorktreePointer, protected(Some(table.quote(rule)), REDIRECT))
        }
        Meaning::InWorktree => refuse("worktrees/*/commondir", WORKTREE),
        Meaning::CommonDir { of_worktree: false } => refuse("commondir", REDIRECT),
        Meaning::Attributes => refuse("info/attributes", ATTRIBUTES),
        Meaning::Address => refuse("remotes/*", ADDRESS),
        Meaning::Way | Meaning::Other if free || is_at_home(below) => Judgement::Free,
        Meaning::Way | Meaning::Other => match name {
            b"commondir" => refuse("commondir", REDIRECT),
            b"HEAD" | b"objects" | b"refs" => {
                let rule = RuleRef { text: "protected bare repository".to_owned(), ..table.quote(git) };
                Judgement::Check(Check::BareRepository, protected(Some(rule), BARE))
            }
            _ => Judgement::Free,
        },
    }
}

/// New content passes a check; what is no file of content is refused.
pub(super) fn content(act: Act, check: Check, refusal: Refusal) -> Judgement {
    match act {
        Act::Name(Naming::File | Naming::Moved) | Act::Change => Judgement::Check(check, refusal),
        Act::Name(_) => Judgement::Refused(refusal),
    }
}

/// Settings: checked, kept as they are, or free where somebody switched their protection off.
fn config(table: &Table, below: &[&[u8]], act: Act) -> Judgement {
    let name = match below {
        [b"config", ..] => "config",
        [b"config.worktree", ..] => "config.worktree",
        [b"worktrees", ..] => "worktrees/*/config.worktree",
        _ => "modules/**/config",
    };
    let Some(rule) = table.git_rule(name) else { return Judgement::Free };
    let refusal = protected(Some(table.quote(rule)), CONFIG);
    match table.list(rule) {
        List::Checked => content(act, Check::GitConfig, refusal),
        _ => Judgement::Refused(refusal),
    }
}

/// What names below a git directory mean.
fn meaning(below: &[&[u8]]) -> Meaning {
    match below {
        [b"modules"] | [b"worktrees"] | [b"worktrees", _] => Meaning::Way,
        [b"modules", rest @ ..] => in_modules(rest),
        [b"worktrees", _, rest @ ..] => match rest {
            [b"commondir", ..] => Meaning::CommonDir { of_worktree: true },
            [b"gitdir", ..] => Meaning::WorktreePointer,
            [b"config.worktree", ..] => Meaning::Config,
            [b"objects" | b"config" | b"hooks", ..] => Meaning::InWorktree,
            [name] if is_git_index(name) => Meaning::Index,
            rest if is_git_state(rest) => Meaning::State,
            [b"MERGE_RR.lock"] => Meaning::Memory,
            // Submodules of a linked work tree have their git directories in its part of the repository.
            [b"modules"] => Meaning::Way,
            [b"modules", below @ ..] => in_modules(below),
            _ => Meaning::Other,
        },
        _ => in_repository(below),
    }
}

fn in_repository(below: &[&[u8]]) -> Meaning {
    match below {
        [b"hooks"] => Meaning::Hooks,
        // No hook's name begins with a dot, but those under which programs write before they rename do.
        [b"hooks", name] => Meaning::Hook { sample: name.ends_with(b".sample") || name.starts_with(b".") },
        [b"hooks", ..] => Meaning::Hook { sample: false },
        [b"config" | b"config.worktree", ..] => Meaning::Config,
        [name] if is_git_index(name) => Meaning::Index,
        below if is_git_state(below) => Meaning::State,
        [b"rr-cache", ..] | [b"MERGE_RR.lock"] => Meaning::Memory,
        [b"commondir", ..] => Meaning::CommonDir { of_worktree: false },
        [b"remotes" | b"branches", _, ..] => Meaning::Address,
        [b"info"] => Meaning::Way,
        [b"info", b"attributes", ..] => Meaning::Attributes,
        _ => Meaning::Other,
    }
}

/// A submodule's name may have slashes, so its git directory may begin anywhere.
fn in_modules(below: &[&[u8]]) -> Meaning {
    for at in 0..below.len() {
        if let [b"worktrees", _, name, ..] = &below[at..]
            && [&b"commondir"[..], b"gitdir", b"config.worktree", b"objects", b"config", b"hooks"]
                .contains(name)
        {
            return meaning(&below[at..]);
        }
        match in_repository(&below[at..]) {
            Meaning::Way | Meaning::Other => {}
            // Branches of others, not addresses.
            Meaning::Address if at > 0 && below[at - 1] == b"refs" => {}
            // Branches again.
            Meaning::Index | Meaning::State | Meaning::Memory
                if below[..at].iter().any(|name| matches!(*name, b"refs" | b"logs")) => {}
            found => return found,
        }
    }
    Meaning::Way
}

/// Whether this is the link by which git, or another program that works like it, sees whether there are any: it
/// leads to nothing, and nothing is ever read or written under its name.
fn is_trial(below: &[&[u8]]) -> bool {
    let at_top = matches!(below, [_] | [b"modules", _, ..]);
    let name = below.last().copied().unwrap_or_default();
    let made_up = |letters: &[u8]| letters.iter().all(u8::is_ascii_alphanumeric);
    let of_git = name.len() == 7 && name[0] == b't' && made_up(name);
    // Libraries that do git's work.
    let of_others = [&b"__file_link"[..], b"_git2_"];
    at_top && (of_git || of_others.iter().any(|start| name.strip_prefix(*start).is_some_and(made_up)))
}

/// Whether HEAD, objects and refs belong here: a git directory, a submodule's, or a worktree's part of one.
fn is_at_home(below: &[&[u8]]) -> bool {
    matches!(below, [_] | [b"modules", ..] | [b"worktrees", _, b"HEAD"])
}
