//! What git's configuration names inside directories that commands may write.
//!
//! A command may not add `include.path` or `core.hooksPath`, but where a person has, the file or directory they
//! name would be as good as the configuration itself.

use super::Draft;
use super::worktree::line;
use crate::command::{HooksByTree, RunByGit};
use crate::git::{Lead, LeadKind, git_config_leads};
use crate::rules::{List, Place, Rule};
use crate::{FileKind, Files, Layer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Git itself gives up at this depth.
const DEEPEST: usize = 10;
const MOST_FILES: usize = 500;
const MOST_LINKS: usize = 40;
/// How many directories are looked into for repositories further below, and how deep.
const MOST_DIRECTORIES: usize = 512;
const DEEPEST_NESTED: usize = 4;
/// More of those are not looked at.
const MOST_NESTED: usize = 50;

/// A configuration file still to be read.
struct Wanted {
    file: PathBuf,
    /// Where its relative paths begin that are not about other configuration.
    tree: PathBuf,
    /// Whose own settings they are, if they are a repository's.
    git_directory: Option<PathBuf>,
    depth: usize,
}

impl Draft {
    /// Protects what the configuration of the repositories here, and the user's own, leads to.
    pub(super) fn protect_leads(&mut self, files: &dyn Files) {
        let mut wanted = self.configurations(files);
        let mut seen = BTreeSet::new();
        let mut known = BTreeMap::new();
        while let Some(Wanted { file, tree, git_directory, depth }) = wanted.pop_front() {
            let is_file = |real: &PathBuf| files.look(real).is_ok_and(|found| found.kind == FileKind::File);
            let Some(real) = files.resolve(&file).ok().filter(is_file) else { continue };
            if !seen.insert((file.clone(), tree.clone())) {
                continue;
            }
            if seen.len() > MOST_FILES || depth > DEEPEST {
                let file = file.display();
                self.warn(format!(
                    "git's configuration includes too many files: what {file} names is not protected"
                ));
                return;
            }
            // Those of the user hold in every repository.
            let leads: &Vec<Lead> =
                known.entry(real).or_insert_with_key(|real| self.leads_of(&file, real, files));
            for lead in leads {
                if lead.kind == LeadKind::WorkIn {
                    let named_trees = &mut self.policy.named_trees;
                    git_directory.iter().for_each(|git| named_trees.add(git, &lead.path, files));
                    continue;
                }
                let base = match lead.kind {
                    LeadKind::Include => file.parent().unwrap_or(&tree),
                    _ => &tree,
                };
                let Some(path) = self.target(base, &lead.path, files) else { continue };
                match lead.kind {
                    LeadKind::Use => {
                        self.protect_lead(&file, lead, &path, files);
                        self.note_hooks(&file, lead);
                    }
                    LeadKind::Include => {
                        self.protect_lead(&file, lead, &path, files);
                        let tree = tree.clone();
                        wanted.push_back(Wanted { file: path, tree, git_directory: None, depth: depth + 1 });
                    }
                    LeadKind::Run | LeadKind::RunIfThere => {
                        self.protect_program(&file, lead, &path, &tree, files);
                    }
                    LeadKind::WorkIn => {}
                }
            }
        }
    }

    /// What a file names, or nothing where it cannot be read.
    fn leads_of(&mut self, file: &Path, real: &Path, files: &dyn Files) -> Vec<Lead> {
        let Ok(text) = files.read(real) else { return Vec::new() };
        git_config_leads(&text).unwrap_or_else(|error| {
            let (file, reason) = (file.display(), error.reason);
            self.warn(format!("what {file} names is not protected: it cannot be read: {reason}"));
            Vec::new()
        })
    }

    /// Takes note of hooks that lie in every work tree.
    fn note_hooks(&mut self, file: &Path, lead: &Lead) {
        let starts_at_tree = match lead.path.components().next() {
            Some(Component::Normal(name)) => name != OsStr::new("~"),
            Some(Component::CurDir | Component::ParentDir) => true,
            _ => false,
        };
        if !starts_at_tree || !lead.key.eq_ignore_ascii_case("core.hooksPath") {
            return;
        }
        // A work tree that others are linked to holds the settings of them all.
        let tree = file.ancestors().find(|above| above.ends_with(".git")).and_then(Path::parent);
        let named_by = format!("{} in {}", lead.key, file.display());
        let found = HooksByTree { named_by, tree: tree.map(Path::to_owned) };
        if !self.policy.commands.hooks_by_tree.contains(&found) {
            self.policy.commands.hooks_by_tree.push(found);
        }
    }

    /// Protects a program of the workspace that git runs, and takes note of it: what it needs is not protected.
    fn protect_program(&mut self, file: &Path, lead: &Lead, path: &Path, tree: &Path, files: &dyn Files) {
        let real = real(path, files);
        let there = files.look(&real).map(|found| found.kind);
        let counts = match there {
            Ok(kind) => kind != FileKind::Directory,
            Err(_) => lead.kind == LeadKind::Run,
        };
        let roots = self.writable(files);
        let below =
            |(written, root): &(PathBuf, PathBuf)| path.starts_with(written) || real.starts_with(root);
        if !counts || !roots.iter().any(below) {
            return;
        }
        self.protect_lead(file, lead, path, files);
        let named_by = format!("{} in {}", lead.key, file.display());
        let (tree, program) = (tree.to_owned(), path.to_owned());
        self.policy.commands.run_by_git.push(RunByGit { tree, named_by, program });
    }

    /// The configuration files of every repository that the workspace or a writable directory lies in, of those
    /// below, and those that hold in all of them.
    fn configurations(&mut self, files: &dyn Files) -> VecDeque<Wanted> {
        let roots = self.writable(files).into_iter().map(|(_, real)| real);
        let roots: BTreeSet<PathBuf> = roots.chain([self.policy.workspace.clone()]).collect();
        let around: BTreeSet<&Path> = roots.iter().flat_map(|root| root.ancestors()).collect();
        let below = nested(&roots, files);
        let below = below.iter().map(PathBuf::as_path).filter(|tree| !around.contains(tree));
        let trees: Vec<&Path> = around.iter().copied().chain(below).collect();
        let mut wanted = VecDeque::new();
        let mut want = |file: PathBuf, tree: &Path, git_directory: Option<&PathBuf>| {
            let (tree, git_directory) = (tree.to_owned(), git_directory.cloned());
            wanted.push_back(Wanted { file, tree, git_directory, depth: 0 });
        };
        let repositories = trees.into_iter().map(|tree| (tree, git_directories(tree, files)));
        for (tree, directories) in repositories {
            // The first repository may be one that commands make.
            if directories.is_empty() && *tree != self.policy.workspace {
                continue;
            }
            for directory in &directories {
                want(directory.join("config"), tree, Some(directory));
                want(directory.join("config.worktree"), tree, Some(directory));
            }
            self.policy.named_trees.look(tree.join(".git"), &directories);
            for file in self.own_configurations() {
                want(file, tree, None);
            }
        }
        wanted
    }

    /// The user's and the system's.
    fn own_configurations(&self) -> Vec<PathBuf> {
        let home = self.home_as_given.as_deref();
        let named = self.variable("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let config = named.or_else(|| home.map(|home| home.join(".config")));
        let own = [config.map(|config| config.join("git/config")), home.map(|home| home.join(".gitconfig"))];
        own.into_iter().flatten().chain([PathBuf::from("/etc/gitconfig")]).collect()
    }

    /// The path that a value means, free of `..`.
    fn target(&self, base: &Path, value: &Path, files: &dyn Files) -> Option<PathBuf> {
        let mut parts = value.components();
        let mut path = match parts.clone().next()? {
            // Homes of others are theirs.
            Component::Normal(name) if name == OsStr::new("~") => {
                parts.next();
                self.home_as_given.clone()?
            }
            _ => base.to_owned(),
        };
        for part in parts {
            match part {
                Component::RootDir => path = PathBuf::from("/"),
                Component::Normal(name) => path.push(name),
                Component::ParentDir => {
                    // Behind a link `..` is where the link leads.
                    path = files.resolve(&path).unwrap_or(path);
                    path.pop();
                }
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(path)
    }

    fn protect_lead(&mut self, file: &Path, lead: &Lead, path: &Path, files: &dyn Files) {
        let real = real(path, files);
        let roots = self.writable(files);
        let covers =
            |(written, root): &(PathBuf, PathBuf)| written.starts_with(path) || root.starts_with(&real);
        if roots.iter().any(covers) {
            let (key, path, file) = (&lead.key, path.display(), file.display());
            return self.warn(format!(
                "{key} in {file} names {path}, which commands may write as a whole: what git on the host takes from \
                 there is not protected"
            ));
        }
        let below =
            |(written, root): &(PathBuf, PathBuf)| path.starts_with(written) || real.starts_with(root);
        if !roots.iter().any(below) {
            return;
        }
        let name = format!("{} in {}", lead.key, file.display());
        let source = self.policy.book.source(Layer::BuiltIn, name);
        let places = BTreeSet::from([path.to_owned(), real]);
        for place in places {
            let text = place.to_string_lossy().into();
            let place = Place::Literal(place);
            self.policy.book.add(Rule { list: List::Protected, place, text, source, key: None });
        }
    }

    /// The directories that commands may write, as written and without links.
    fn writable(&self, files: &dyn Files) -> Vec<(PathBuf, PathBuf)> {
        let rules = self.policy.book.iter().filter(|(_, rule)| rule.list == List::AllowWrite);
        let roots = rules.filter_map(|(_, rule)| match &rule.place {
            Place::Literal(path) | Place::Anchored { base: path, .. } => Some(path.clone()),
            Place::Anywhere(_) => Some(self.policy.workspace.clone()),
            _ => None,
        });
        roots.map(|path| (path.clone(), real(&path, files))).collect()
    }
}

/// Work trees further below, the highest first. A big workspace is not searched to its end.
fn nested(roots: &BTreeSet<PathBuf>, files: &dyn Files) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending: VecDeque<(PathBuf, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut looked = 0;
    while let Some((directory, depth)) = pending.pop_front() {
        looked += 1;
        if looked > MOST_DIRECTORIES || found.len() >= MOST_NESTED {
            break;
        }
        let mut names = files.list(&directory).unwrap_or_default();
        if depth > 0 && names.iter().any(|(name, _)| name == ".git") {
            found.push(directory.clone());
        }
        if depth == DEEPEST_NESTED {
            continue;
        }
        // What tools make is big, and nobody works there.
        let is_made = |name: &OsStr| name == "node_modules" || name == "target";
        let is_searched = |name: &OsStr| !is_made(name) && !name.as_encoded_bytes().starts_with(b".");
        names.retain(|(name, kind)| *kind == FileKind::Directory && is_searched(name));
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        pending.extend(names.into_iter().map(|(name, _)| (directory.join(name), depth + 1)));
    }
    found
}

/// The git directory of a work tree, and the one it shares with others.
pub(crate) fn git_directories(tree: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let name = tree.join(".git");
    let Ok(found) = files.look(&name) else { return Vec::new() };
    let directory = match found.kind {
        FileKind::File => {
            let pointer = line(&name, files);
            pointer.and_then(|line| line.strip_prefix("gitdir: ").map(|path| tree.join(path)))
        }
        _ => Some(name),
    };
    let Some(directory) = directory.and_then(|path| files.resolve(&path).ok()) else { return Vec::new() };
    let common = line(&directory.join("commondir"), files);
    let common = common.and_then(|path| files.resolve(&directory.join(path)).ok());
    [Some(directory), common].into_iter().flatten().collect()
}

/// The path without links, as far as it is there. A link to nothing is followed, too.
fn real(path: &Path, files: &dyn Files) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if files.resolve(&path).is_ok() {
            break;
        }
        let Ok(target) = files.follow(&path) else { break };
        path.pop();
        path.push(target);
    }
    let found = path.ancestors().find_map(|above| files.resolve(above).ok().map(|real| (above, real)));
    let Some((above, real)) = found else { return path };
    match path.strip_prefix(above) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Tree, inputs, usual_tree};
    use crate::{Inputs, Policy};

    fn policy(tree: &Tree) -> Policy {
        Policy::load(Inputs { cwd: "/ws".into(), home: Some("/home/me".into()), ..inputs() }, tree).unwrap()
    }

    fn writes(tree: &Tree, path: &str) -> bool {
        policy(tree).explain(path.as_ref(), tree).unwrap().write.allowed
    }

    fn repository(config: &str) -> Tree {
        usual_tree().files(&["/ws/.git/HEAD", "/ws/src/a"]).text("/ws/.git/config", config)
    }

    #[test]
    fn included_files_are_protected_whether_they_are_there_or_not() {
        let config =
            "[include]\n\tpath = ../team.gitconfig\n[includeIf \"gitdir:~/x/\"]\n\tpath = /ws/conf/new\n";
        let tree = repository(config).text("/ws/team.gitconfig", "[include]\npath = src/third\n");
        for path in ["/ws/team.gitconfig", "/ws/conf/new", "/ws/src/third"] {
            assert!(!writes(&tree, path), "{path}");
        }
        assert!(writes(&tree, "/ws/src/a"));
        let told = policy(&tree).explain("/ws/team.gitconfig".as_ref(), &tree).unwrap().write.rule.unwrap();
        let expected = "protected /ws/team.gitconfig (built in: include.path in /ws/.git/config)";
        assert_eq!(told.to_string(), expected);
        let worktree =
            repository("").text("/ws/.git/config.worktree", "[include]\npath = ../team.gitconfig\n");
        assert!(!writes(&worktree, "/ws/team.gitconfig"));
    }

    #[test]
    fn hooks_and_attributes_begin_at_the_work_tree() {
        let tree = repository("[core]\nhooksPath = .githooks\nattributesFile = conf/attributes\n");
        assert!(!writes(&tree, "/ws/.githooks/pre-commit"));
        assert!(!writes(&tree, "/ws/conf/attributes"));
        assert!(writes(&tree, "/ws/src/a"));
        let own = repository("").text("/home/me/.gitconfig", "[core]\nhooksPath = .githooks\n");
        assert!(!writes(&own, "/ws/.githooks/pre-commit"));
    }

    #[test]
    fn repositories_below_count_as_well() {
        let config = "[core]\nhooksPath = .husky\n[include]\npath = ../../shared.cfg\n";
        let tree = repository("")
            .files(&["/ws/app/.git/HEAD", "/ws/a/b/.git/HEAD", "/ws/.git/modules/s/HEAD"])
            .text("/ws/app/.git/config", config)
            .text("/ws/sub/.git", "gitdir: ../.git/modules/s\n")
            .text("/ws/.git/modules/s/config", "[core]\nhooksPath = .husky\n");
        for path in ["/ws/app/.husky/pre-commit", "/ws/shared.cfg", "/ws/sub/.husky/pre-commit"] {
            assert!(!writes(&tree, path), "{path}");
        }
        assert!(writes(&tree, "/ws/a/b/.husky/pre-commit"));
        let own = tree.text("/home/me/.gitconfig", "[core]\nhooksPath = .husky\n");
        for path in ["/ws/.husky/pre-commit", "/ws/app/.husky/pre-commit", "/ws/a/b/.husky/pre-commit"] {
            assert!(!writes(&own, path), "{path}");
        }
        assert!(writes(&own, "/ws/src/.husky/pre-commit"));
    }

    #[test]
    fn programs_that_git_runs_are_protected() {
        let config =
            "[core]\nfsmonitor = ./watch\n[alias]\nx = !sh x.sh; y\n[filter \"a\"]\nclean = sed s/a/b/ src\n";
        let tree = repository(config).files(&["/ws/x.sh", "/ws/s/c"]);
        for path in ["/ws/watch", "/ws/x.sh"] {
            assert!(!writes(&tree, path), "{path}");
        }
        for path in ["/ws/src/a", "/ws/s/a/b", "/ws/s/c", "/ws/y", "/ws/sh"] {
            assert!(writes(&tree, path), "{path}");
        }
    }

    #[test]
    fn a_home_is_expanded_and_a_link_followed() {
        let tree = repository("[include]\npath = ~/team\npath = ../link/team\n")
            .link("/ws/link", "src")
            .link("/home/me/team", "/ws/src/mine");
        assert!(!writes(&tree, "/ws/src/team"));
        assert!(!writes(&tree, "/ws/src/mine"));
    }

    #[test]
    fn a_whole_workspace_is_not_closed_but_said() {
        for value in [".", "/", "/ws"] {
            let tree = repository(&format!("[core]\nhooksPath = {value}\n"));
            assert!(writes(&tree, "/ws/src/a"), "{value}");
            let notices = policy(&tree);
            let told = notices.notices().iter().any(|notice| notice.text.contains("core.hookspath"));
            assert!(told, "{value}");
        }
        assert!(policy(&repository("[core]\nhooksPath = /dev/null\n")).notices().is_empty());
    }

    #[test]
    fn includes_in_a_circle_and_without_end_come_to_an_end() {
        let tree =
            repository("[include]\npath = config\npath = ../a\n").text("/ws/a", "[include]\npath = a\n");
        assert!(!writes(&tree, "/ws/a"));
        let many = (0..300).fold(repository("[include]\npath = ../0\n"), |tree, number| {
            tree.text(&format!("/ws/{number}"), &format!("[include]\npath = {}\n", number + 1))
        });
        let notices = policy(&many);
        assert!(notices.notices().iter().any(|notice| notice.text.contains("too many files")));
    }
}
