//! What a repository would make git do without walls.
//!
//! Settings and hooks are protected, but work has to write the rest of a git directory: also what git goes on with
//! after a pause, which may hold commands. Links cannot be made there any more, but may have been before.

use super::ground::{Ground, Stands};
use super::part::Word;
use super::rules::HooksByTree;
use crate::git::{ObjectFormat, check_git_index, is_git_index};
use crate::load::git_directories;
use crate::work_trees::{link_on_the_way, named, of_submodules, submodule_work_trees};
use crate::{FileKind, Opens, Request};
use std::path::{Path, PathBuf};

/// Work that was interrupted. The list of what is left of it may say `exec`.
const UNFINISHED: [&str; 4] = ["rebase-merge", "rebase-apply", "sequencer", "BISECT_START"];
/// People make links of these, and no command may change what they lead to.
const FOLLOWED: [&str; 2] = ["hooks", "config"];
/// More work trees and submodules than these keep the walls.
const MOST_DIRECTORIES: usize = 200;

/// The command that runs what such a list says. The list may be laid there after this looked.
const GOES_ON: &str = "rebase";

/// Options of git that say what to run, like the variables GIT_* do: settings, and where its own programs lie.
const STEERING: [&str; 3] = ["-c", "--config-env", "--exec-path"];

/// Options of git that choose the repository.
enum Chosen<'a> {
    /// As if it were run there.
    Directory(&'a str),
    /// This git directory, or this work tree.
    Repository(&'a str),
}

/// What stands before the name of git's own command, and that name.
#[derive(Default)]
struct Words<'a> {
    chosen: Vec<Chosen<'a>>,
    command: Option<&'a str>,
    /// Options that say what to run.
    steering: Vec<&'a str>,
}

impl Ground<'_> {
    /// What speaks against running git in these places. `names` tells which options the settings list themselves.
    pub(super) fn repository_objection(
        &self,
        request: &Request,
        stands: &Stands,
        words: &[Word<'_>],
        names: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let entered = stands.entered.iter().filter(|opening| opening.opens == Opens::ToEnter);
        let mut places: Vec<PathBuf> = entered.map(|opening| opening.path.clone()).collect();
        places.push(stands.first.clone());
        let mut directories = Vec::new();
        let Words { chosen, command, steering } = match before_command(words) {
            Ok(words) => words,
            Err(option) => return Some(format!("where {option} leads is not known before it runs")),
        };
        if let Some(option) = steering.into_iter().find(|option| !names(option)) {
            return Some(format!("{option} can make git run anything, and no pattern names it"));
        }
        for choice in chosen {
            match choice {
                Chosen::Directory(path) => places.iter_mut().for_each(|place| *place = place.join(path)),
                Chosen::Repository(path) => directories.extend(places.iter().map(|place| place.join(path))),
            }
        }
        // Git goes there itself, through whatever has the name then.
        let mut entered = places.iter().chain(&directories);
        if let Some(objection) = entered.find_map(|place| self.followed(place, &stands.first).err()) {
            return Some(objection);
        }
        let real = |path: &PathBuf| self.files.resolve(path).ok();
        let places: Vec<PathBuf> = places.iter().filter_map(real).collect();
        let mut directories: Vec<PathBuf> = directories.iter().filter_map(real).collect();
        for place in &places {
            let around = place.ancestors().map(|tree| git_directories(tree, self.files));
            directories.extend(around.into_iter().find(|found| !found.is_empty()).unwrap_or_default());
        }
        directories.dedup();
        let roots = &self.policy.commands.roots;
        let is_written = directories.iter().any(|one| roots.iter().any(|root| one.starts_with(root)));
        let going_on = (is_written && command == Some(GOES_ON))
            .then(|| format!("git {GOES_ON} runs what a list says that commands may write at any moment"));
        let mut read = places.clone();
        read.extend(directories.iter().flat_map(|one| named(one, self.files)));
        read.extend_from_slice(&directories);
        self.raced(request, &read)
            .or_else(|| self.program(&places))
            .or_else(|| self.hooks(&places))
            .or_else(|| self.misled(&places, &directories))
            .or_else(|| self.left_behind(directories))
            .or(going_on)
    }

    /// A program that git runs, where commands may write: they may have written it, or what it needs.
    fn program(&self, places: &[PathBuf]) -> Option<String> {
        let concerns = |tree: &Path| places.iter().any(|at| at.starts_with(tree) || tree.starts_with(at));
        let found = self.policy.commands.run_by_git.iter().find(|found| concerns(&found.tree))?;
        let (by, program) = (&found.named_by, found.program.display());
        Some(format!("{by} has git run {program}, which lies where commands may write"))
    }

    /// Hooks in a work tree that commands may have made.
    fn hooks(&self, places: &[PathBuf]) -> Option<String> {
        let is_there = |tree: &&Path| self.files.look(&tree.join(".git")).is_ok();
        let trees: Vec<&Path> = places.iter().filter_map(|place| place.ancestors().find(is_there)).collect();
        let roots = &self.policy.commands.roots;
        let written =
            |tree: &&&Path| roots.iter().any(|root| tree.starts_with(root) || root.starts_with(tree));
        trees.iter().filter(written).find_map(|tree| {
            let strange = |hooks: &&HooksByTree| hooks.tree.as_deref() != Some(*tree);
            let found = self.policy.commands.hooks_by_tree.iter().find(strange)?;
            let (by, tree) = (&found.named_by, tree.display());
            Some(format!("{by} has git run hooks of the work tree {tree}, where commands may have made some"))
        })
    }

    /// A work tree that git would enter through a link. No command can lay one there any more, but may have before:
    /// also where these commands write nothing, from a directory above.
    fn misled(&self, places: &[PathBuf], directories: &[PathBuf]) -> Option<String> {
        let mut trees: Vec<PathBuf> = directories.iter().flat_map(|one| named(one, self.files)).collect();
        let around = places.iter().map(|place| submodule_work_trees(place, self.files));
        for found in around.chain(directories.iter().map(|one| of_submodules(one, self.files))) {
            match found {
                Some(known) => trees.extend(known),
                None => {
                    return Some("there are too many submodules to look at, or some are closed".to_owned());
                }
            }
        }
        trees.into_iter().find_map(|tree| {
            let link = link_on_the_way(&tree, self.files)?;
            let (tree, link) = (tree.display(), link.display());
            Some(format!("git would follow the link {link} on the way to the work tree {tree}"))
        })
    }

    /// What commands may have left in git directories, or in those of submodules and other work trees below them.
    fn left_behind(&self, mut directories: Vec<PathBuf>) -> Option<String> {
        let roots = &self.policy.commands.roots;
        let mut looked = 0;
        while let Some(directory) = directories.pop() {
            if !roots.iter().any(|root| directory.starts_with(root)) {
                continue;
            }
            looked += 1;
            if looked > MOST_DIRECTORIES {
                return Some("there are too many git directories to look at".to_owned());
            }
            let Ok(names) = self.files.list(&directory) else {
                return Some(format!("{} cannot be listed", directory.display()));
            };
            let in_logs = self.files.list(&directory.join("logs")).unwrap_or_default();
            let in_logs = in_logs.into_iter().map(|(name, kind)| (Path::new("logs").join(name), kind));
            for (name, kind) in
                names.into_iter().map(|(name, kind)| (PathBuf::from(name), kind)).chain(in_logs)
            {
                let path = directory.join(&name);
                let is = |listed: &[&str]| listed.iter().any(|one| name.as_os_str() == *one);
                if is(&UNFINISHED) {
                    let path = path.display();
                    return Some(format!("git would go on with what commands may have written to {path}"));
                }
                // An empty one is left where nothing is to be remembered.
                let remembers = || self.files.read(&path).map_or(true, |content| !content.is_empty());
                if is(&["MERGE_RR"]) && remembers() {
                    let path = path.display();
                    return Some(format!("git would read and write the files that {path} lists"));
                }
                if kind == FileKind::File && is_git_index(name.as_os_str().as_encoded_bytes()) {
                    let format = self.object_format(&directory);
                    let checked = self.files.read(&path).map(|content| check_git_index(&content, format));
                    if !matches!(checked, Ok(Ok(()))) {
                        let path = path.display();
                        return Some(format!("{path} lists files outside the work tree, or cannot be read"));
                    }
                }
                if kind == FileKind::Symlink && !is(&FOLLOWED) {
                    return Some(format!("git would follow the link {}", path.display()));
                }
                // The name of a submodule may have slashes.
                let is_below = directory.ends_with("modules") || directory.ends_with("worktrees");
                let nests = is(&["modules", "worktrees"]) || is_below || !is_git_directory(self, &directory);
                if kind == FileKind::Directory && nests && !path.ends_with("logs") {
                    directories.push(path);
                }
            }
        }
        None
    }
}

impl Ground<'_> {
    /// The digests of the repository that a git directory, or a work tree's part of one, belongs to.
    fn object_format(&self, directory: &Path) -> ObjectFormat {
        let common = match directory.parent() {
            Some(above) if above.ends_with("worktrees") => above.parent().unwrap_or(above),
            _ => directory,
        };
        ObjectFormat::of_config(&self.files.read(&common.join("config")).unwrap_or_default())
    }
}

fn is_git_directory(ground: &Ground<'_>, directory: &Path) -> bool {
    ground.files.look(&directory.join("HEAD")).is_ok()
}

/// The options before the name of git's own command, and that name, or the one whose value nobody knows.
fn before_command<'a>(words: &'a [Word<'_>]) -> Result<Words<'a>, &'a str> {
    let mut told = Words::default();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(option) = word.value.as_deref() else { return Err(word.raw) };
        if !option.starts_with('-') {
            told.command = Some(option);
            break;
        }
        let (name, own) = option.split_once('=').map_or((option, None), |(name, own)| (name, Some(own)));
        told.steering.extend(STEERING.contains(&name).then_some(name));
        let takes =
            matches!(name, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env");
        let value = match own {
            None if takes => rest.next().map(|word| word.value.as_deref().ok_or(word.raw)).transpose()?,
            own => own,
        };
        match (name, value) {
            ("-C", Some(path)) => told.chosen.push(Chosen::Directory(path)),
            ("--git-dir" | "--work-tree", Some(path)) => told.chosen.push(Chosen::Repository(path)),
            _ => {}
        }
    }
    Ok(told)
}
