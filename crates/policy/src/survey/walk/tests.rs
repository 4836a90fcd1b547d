//! Big trees, against a search that is slow and plain on purpose.

use crate::survey::{Bounds, PlanError, Survey, survey};
use crate::testing::{Tree, inputs, usual_tree};
use crate::{FileKind, Files, Flags, Identity, Inputs, Policy};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// A tree that notes who listed its directories, and takes its time as a disk would.
struct Watched {
    tree: Tree,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Watched {
    fn new(tree: Tree) -> Self {
        Self { tree, threads: Mutex::new(HashSet::new()) }
    }

    fn threads(&self) -> usize {
        self.threads.lock().unwrap().len()
    }
}

impl Files for Watched {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.tree.read(path)
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        self.tree.look(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.tree.resolve(path)
    }

    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        self.tree.follow(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        self.threads.lock().unwrap().insert(thread::current().id());
        thread::sleep(Duration::from_micros(50));
        self.tree.list(path)
    }
}

/// Wide at the top, a chain of directories below, with something to find at every depth.
fn big_tree() -> Tree {
    let mut tree = usual_tree();
    for wide in 0..40 {
        let mut path = format!("/ws/d{wide}");
        for deep in 0..12 {
            path = format!("{path}/e{}", (wide + deep) % 5);
            tree = tree.file(&format!("{path}/main.rs")).file(&format!("{path}/envrc"));
            match (wide * 7 + deep * 5) % 23 {
                0 => tree = tree.file(&format!("{path}/.env")),
                1 => tree = tree.file(&format!("{path}/tls.key")),
                2 => tree = tree.file(&format!("{path}/conf/secret")),
                3 => tree = tree.file(&format!("{path}/.git/hooks/run")).file(&format!("{path}/.bashrc")),
                4 => tree = tree.file(&format!("{path}/.bashrc")),
                5 => tree = tree.broken(&format!("{path}/closed"), io::ErrorKind::PermissionDenied),
                6 => tree = tree.link(&format!("{path}/leads-out"), "/home/me"),
                _ => {}
            }
        }
    }
    tree.file("/home/me/.env")
}

fn policy(tree: &Tree) -> Policy {
    let flags = Flags { deny_read: vec!["**/*.key".into(), "**/conf/secret".into()], ..Flags::default() };
    Policy::load(Inputs { flags, ..inputs() }, tree).unwrap()
}

/// What the rules of [`policy`] find below the workspace.
fn found_plainly(tree: &Tree, directory: &Path, found: &mut BTreeSet<(PathBuf, &'static str)>) {
    let Ok(entries) = tree.list(directory) else {
        found.insert((directory.to_owned(), "unlistable directory"));
        return;
    };
    let is_repository = directory == Path::new("/ws") || entries.iter().any(|(name, _)| name == ".git");
    for (name, kind) in entries {
        let path = directory.join(&name);
        let rule = match name.to_str().unwrap() {
            ".env" => Some("**/.env"),
            "secret" if directory.ends_with("conf") => Some("**/conf/secret"),
            "hooks" if directory.ends_with(".git") => Some(".git/hooks"),
            ".bashrc" if is_repository => Some(".bashrc"),
            name if name.ends_with(".key") => Some("**/*.key"),
            _ => None,
        };
        found.extend(rule.map(|rule| (path.clone(), rule)));
        if kind == FileKind::Directory {
            found_plainly(tree, &path, found);
        }
    }
}

fn found_by(survey: &Survey, policy: &Policy) -> BTreeSet<(PathBuf, String)> {
    let workspace = Path::new("/ws");
    let is_inside = |path: &Path| path.starts_with(workspace) && path != workspace;
    let inside = survey.points.iter().filter(|point| is_inside(&point.path));
    inside.map(|point| (point.path.clone(), policy.book.get(point.rule).text.to_string())).collect()
}

#[test]
fn several_threads_find_what_a_plain_search_finds() {
    let tree = big_tree();
    let policy = policy(&tree);
    let mut wanted = BTreeSet::new();
    found_plainly(&tree, Path::new("/ws"), &mut wanted);
    assert!(wanted.len() > 80, "{}", wanted.len());
    let wanted: BTreeSet<_> = wanted.into_iter().map(|(path, rule)| (path, rule.to_owned())).collect();

    let watched = Watched::new(tree);
    let first = survey(&policy, &watched, Bounds::USUAL).unwrap();
    assert_eq!(found_by(&first, &policy), wanted);
    assert!(watched.threads() > 1 || thread::available_parallelism().unwrap().get() == 1);
    for _ in 0..5 {
        let again = survey(&policy, &watched, Bounds::USUAL).unwrap();
        assert_eq!(format!("{again:?}"), format!("{first:?}"));
    }
}

#[test]
fn a_small_tree_is_searched_by_one_thread() {
    let tree = (0..100).fold(usual_tree(), |tree, number| tree.file(&format!("/ws/d{number}/.env")));
    let policy = policy(&tree);
    let watched = Watched::new(tree);
    assert_eq!(found_by(&survey(&policy, &watched, Bounds::USUAL).unwrap(), &policy).len(), 100);
    assert_eq!(watched.threads(), 1);
}

#[test]
fn one_thread_that_fails_ends_the_search() {
    let tree = big_tree();
    let policy = policy(&tree);
    let mut all = BTreeSet::new();
    found_plainly(&tree, Path::new("/ws"), &mut all);
    let within = |bounds| survey(&policy, &Watched::new(tree.clone()), bounds);

    let bounds = Bounds { matches: all.len(), ..Bounds::USUAL };
    assert!(within(bounds).is_ok());
    // Only the thread that finds the last match fails; the other must not wait for it.
    let bounds = Bounds { matches: all.len() - 1, ..Bounds::USUAL };
    let error = within(bounds).unwrap_err();
    assert!(matches!(error, PlanError::TooManyMatches { .. }), "{error}");

    let bounds = Bounds { time: Duration::from_millis(5), ..Bounds::USUAL };
    let error = within(bounds).unwrap_err();
    assert!(matches!(error, PlanError::TooBig { .. }), "{error}");
}
