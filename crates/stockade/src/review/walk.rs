//! One walk over the workspace, level by level: what lies highest counts most and is seen first.

use super::catalogue::{Catalogue, Inside};
use super::ground::{Ground, Spending};
use super::lead::Led;
use super::look::{Behind, Seen, content_of, is_among, look};
use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use stockade_policy::{ReviewTell, git_config_values};

/// A level with fewer directories is looked into sooner than shared.
const WORTH_SHARING: usize = 32;
/// More threads than this wait for each other more than they help.
const MOST_THREADS: usize = 4;
/// Files of one entry that are kept apart: a flood of one kind must not hide the others.
const MOST_PER_ENTRY: usize = 4000;
/// Names are read in pieces of this many bytes.
const PIECE: usize = 32 << 10;
/// Directories of this name hold programs of the search path.
const SEARCH_PATH: &str = "$PATH";

/// A workspace at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// By path below the workspace, with the number of the entry.
    pub(super) files: HashMap<PathBuf, (usize, Seen)>,
    /// Directories that git takes for repositories.
    pub(super) bare: Vec<PathBuf>,
    pub(super) gaps: Gaps,
}

/// What could not be looked at.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Names seen when the walk was given up.
    pub(super) given_up: Option<u64>,
    /// Directories that cannot be listed.
    pub(super) closed: Vec<PathBuf>,
    /// Settings that may name more directories, and do not say which.
    pub(super) unread: Vec<PathBuf>,
    /// Files beyond what is kept of one entry.
    pub(super) dropped: HashMap<usize, usize>,
}

/// A directory to look into.
#[derive(Debug)]
struct Visit {
    path: PathBuf,
    /// The path that patterns are held against: a directory may act under another name than its own.
    acts_as: PathBuf,
    inside: Inside,
    reach: Reach,
    /// How many layers of the ground are seen there.
    depth: usize,
}

/// A name of a directory.
struct Name {
    name: OsString,
    found: FileType,
    /// Which of the directory's layers holds it.
    layer: usize,
}

/// How far a visit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The tree itself; what links lead to is visited at the end.
    Tree,
    /// A second visit under another name. Further links are not followed: nothing goes round in circles.
    Again,
    /// Only the directory.
    Flat,
}

struct Walk<'a> {
    ground: &'a Ground,
    catalogue: &'a Catalogue,
    spending: Spending,
    counts: Vec<AtomicUsize>,
}

/// What one thread found.
#[derive(Default)]
struct Finds {
    files: Vec<(PathBuf, usize, Seen)>,
    bare: Vec<PathBuf>,
    closed: Vec<PathBuf>,
    unread: Vec<PathBuf>,
    below: Vec<Visit>,
    later: Vec<Visit>,
}

/// Looks at everything that counts.
pub(super) fn walk(ground: &Ground, catalogue: &Catalogue, search_path: &[PathBuf]) -> Snapshot {
    let counts = catalogue.entries.iter().map(|_| AtomicUsize::new(0)).collect();
    let walk = Walk { ground, catalogue, spending: Spending::begin(), counts };
    let root = PathBuf::new();
    let (inside, depth) = (Inside::Project, ground.depth());
    let searched = search_path.iter().filter_map(|directory| {
        match ground.lead(&root, &ground.within(directory)?, &walk.spending) {
            Led::Directory(path) => Some(path),
            _ => None,
        }
    });
    let searched: BTreeSet<PathBuf> = searched.collect();
    let mut level = vec![Visit { acts_as: root.clone(), path: root, inside, reach: Reach::Tree, depth }];
    let mut later: Vec<Visit> = searched
        .into_iter()
        .map(|path| Visit { path, acts_as: SEARCH_PATH.into(), inside, reach: Reach::Flat, depth })
        .collect();
    let mut snapshot = Snapshot::default();
    let mut again: HashMap<PathBuf, (usize, Seen)> = HashMap::new();
    while !level.is_empty() {
        if !walk.spending.goes_on() {
            break;
        }
        let in_tree = level.first().is_some_and(|visit| visit.reach == Reach::Tree);
        let finds = walk.level(&level);
        level.clear();
        for Finds { files, bare, closed, unread, below, later: more } in finds {
            for (path, entry, seen) in files {
                keep(if in_tree { &mut snapshot.files } else { &mut again }, path, entry, seen);
            }
            snapshot.bare.extend(bare);
            snapshot.gaps.closed.extend(closed);
            snapshot.gaps.unread.extend(unread);
            level.extend(below);
            later.extend(more);
        }
        if level.is_empty() {
            level.append(&mut later);
        }
    }
    // What a file is where it lies goes before what some link makes of it, unless it is told in part only there.
    for (path, found) in again {
        let known = snapshot.files.get(&path);
        if known.is_none_or(|(entry, _)| catalogue.entries[*entry].tell != ReviewTell::All) {
            snapshot.files.insert(path, found);
        }
    }
    if !walk.spending.goes_on() {
        snapshot.gaps.given_up = Some(walk.spending.names());
    }
    for (entry, count) in walk.counts.iter().enumerate() {
        let dropped = count.load(Ordering::Relaxed).saturating_sub(MOST_PER_ENTRY);
        if dropped > 0 {
            snapshot.gaps.dropped.insert(entry, dropped);
        }
    }
    snapshot
}

/// A file that counts for two reasons is told for the first of them.
fn keep(files: &mut HashMap<PathBuf, (usize, Seen)>, path: PathBuf, entry: usize, seen: Seen) {
    match files.get(&path) {
        Some((known, _)) if *known <= entry => {}
        _ => {
            files.insert(path, (entry, seen));
        }
    }
}

impl Walk<'_> {
    fn level(&self, level: &[Visit]) -> Vec<Finds> {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS));
        let next = AtomicUsize::new(0);
        let work = || {
            let mut finds = Finds::default();
            while let Some(visit) = level.get(next.fetch_add(1, Ordering::Relaxed)) {
                if !self.spending.goes_on() {
                    break;
                }
                self.visit(visit, &mut finds);
            }
            finds
        };
        if level.len() < WORTH_SHARING {
            return vec![work()];
        }
        thread::scope(|scope| {
            // Where no more threads are to be had, those there are do the work.
            let helpers: Vec<_> =
                (1..cores).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut all = vec![work()];
            for helper in helpers {
                all.push(helper.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
            }
            all
        })
    }

    fn visit(&self, visit: &Visit, finds: &mut Finds) {
        let listed = self.ground.directories(&visit.path, visit.depth).and_then(|(directories, depth)| {
            let names = self.names(&directories)?;
            Ok((directories, names, depth))
        });
        let Ok((directories, names, depth)) = listed else { return finds.closed.push(visit.path.clone()) };
        let acts_as = self.role(visit, &names, finds);
        if is_git_directory(&acts_as) && visit.reach != Reach::Flat {
            for config in ["config", "config.worktree"] {
                self.follow_hooks_path(visit, Path::new(config), &acts_as, finds);
            }
        }
        let parts: Vec<&[u8]> = acts_as.iter().map(OsStr::as_bytes).collect();
        let here = self.catalogue.here(&parts, visit.inside);
        for Name { name, found, layer } in &names {
            let directory = &directories[*layer];
            let entry = here.entry(name.as_bytes());
            match found {
                FileType::Directory if visit.reach == Reach::Flat => {}
                FileType::Directory => {
                    // Which repository git and other tools are in depends on where such directories are.
                    let is_git = name == ".git" && visit.path.iter().all(|above| above != ".git");
                    if let Some(entry) = entry.filter(|_| is_git && visit.reach == Reach::Tree) {
                        self.found(directory, visit.path.join(name), entry, finds);
                    }
                    let mut path = parts.clone();
                    path.push(name.as_bytes());
                    if !self.catalogue.skips(&path) {
                        finds.below.push(Visit {
                            path: visit.path.join(name),
                            acts_as: acts_as.join(name),
                            inside: self.catalogue.below(visit.inside, name.as_bytes()),
                            reach: visit.reach,
                            depth,
                        });
                    }
                }
                found => {
                    let leading = (*found == FileType::Symlink && visit.reach == Reach::Tree)
                        .then(|| self.follow_link(visit, directory, name, &acts_as, finds))
                        .flatten();
                    if let Some(entry) = entry.or(leading) {
                        self.found(directory, visit.path.join(name), entry, finds);
                    }
                }
            }
        }
    }

    /// The names of a directory. One that several layers have is the uppermost's.
    fn names(&self, directories: &[OwnedFd]) -> Result<Vec<Name>, Errno> {
        let mut names = Vec::new();
        let mut covered: HashSet<OsString> = HashSet::new();
        for (layer, directory) in directories.iter().enumerate() {
            let first = names.len();
            self.list(directory, |name, found| {
                if !covered.contains(name) {
                    names.push(Name { name: name.to_owned(), found, layer });
                }
            })?;
            if layer + 1 < directories.len() {
                covered.extend(names[first..].iter().map(|entry| entry.name.clone()));
                names.retain(|entry| {
                    entry.found != FileType::CharacterDevice || !is_whiteout(directory, &entry.name)
                });
            }
        }
        Ok(names)
    }

    fn list(&self, directory: &OwnedFd, mut each: impl FnMut(&OsStr, FileType)) -> Result<(), Errno> {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut entries = RawDir::new(directory, &mut piece);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let found = match entry.file_type() {
                // Some file systems do not keep it with the name.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
                }
                found => found,
            };
            let name = name.to_bytes();
            if name != b"." && name != b".." {
                each(OsStr::from_bytes(name), found);
                if !self.spending.name() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The name a directory acts under: what it holds tells more than what it is called.
    fn role(&self, visit: &Visit, names: &[Name], finds: &mut Finds) -> PathBuf {
        let has =
            |wanted: &str, kind: FileType| names.iter().any(|one| one.found == kind && one.name == wanted);
        let in_git = visit.acts_as.iter().any(|name| name == ".git");
        if visit.reach == Reach::Tree && !in_git && is_bare_repository(has) {
            finds.bare.push(visit.path.clone());
            return visit.acts_as.join(".git");
        }
        let venv = visit.acts_as.file_name() != Some(OsStr::new(".venv"));
        if venv && has("pyvenv.cfg", FileType::RegularFile) {
            return visit.acts_as.join(".venv");
        }
        visit.acts_as.clone()
    }

    /// `core.hooksPath`: a directory that acts as the hooks, wherever it is.
    fn follow_hooks_path(&self, visit: &Visit, config: &Path, acts_as: &Path, finds: &mut Finds) {
        let values = match self.ground.lead(&visit.path, config, &self.spending) {
            Led::File { path, directory, stat } => {
                let content = path.file_name().and_then(|name| content_of(&directory, name, &stat));
                content.and_then(|content| git_config_values(&content, b"core.hookspath").ok())
            }
            Led::Closed => None,
            Led::Directory(_) | Led::Outside | Led::Nowhere => return,
        };
        let Some(values) = values else { return finds.unread.push(visit.path.join(config)) };
        let named_git = visit.path.file_name() == Some(OsStr::new(".git"));
        let base = if named_git { visit.path.parent().unwrap_or(Path::new("")) } else { &visit.path };
        let acts_as = acts_as.join("hooks");
        for value in values.iter().filter(|value| !value.is_empty()) {
            let value = Path::new(OsStr::from_bytes(value));
            let behind = match self.ground.lead(base, value, &self.spending) {
                Led::Directory(path) => {
                    finds.later.push(self.again(path.clone(), acts_as.clone(), visit.inside));
                    Behind::Directory(path)
                }
                Led::Outside => Behind::Outside,
                Led::File { .. } | Led::Nowhere => continue,
                Led::Closed => {
                    finds.unread.push(visit.path.join(config));
                    continue;
                }
            };
            let path =
                value.strip_prefix(self.ground.path()).map_or_else(|_| base.join(value), Path::to_owned);
            self.keep_way(path, value, behind, &acts_as, finds);
        }
    }

    /// A way that leads over links is a thing of its own: it may lead elsewhere later.
    fn keep_way(&self, path: PathBuf, value: &Path, behind: Behind, acts_as: &Path, finds: &mut Finds) {
        let parts: Vec<&[u8]> = acts_as.iter().map(OsStr::as_bytes).collect();
        if !is_spelled_inside(&path) || behind == Behind::Directory(path.clone()) {
            return;
        }
        if let Some(entry) = self.catalogue.leads_over(&parts) {
            finds.files.push((path, entry, Seen::Link { target: value.to_owned(), behind }));
        }
    }

    fn again(&self, path: PathBuf, acts_as: PathBuf, inside: Inside) -> Visit {
        Visit { path, acts_as, inside, reach: Reach::Again, depth: self.ground.depth() }
    }

    /// A link in the place of a directory that patterns lead over. Gives the entry it counts for.
    fn follow_link(
        &self,
        visit: &Visit,
        directory: &OwnedFd,
        name: &OsStr,
        acts_as: &Path,
        finds: &mut Finds,
    ) -> Option<usize> {
        let acts_as = acts_as.join(name);
        let parts: Vec<&[u8]> = acts_as.iter().map(OsStr::as_bytes).collect();
        let entry = self.catalogue.leads_over(&parts)?;
        let target = rustix::fs::readlinkat(directory, name, Vec::new()).ok()?;
        let target = Path::new(OsStr::from_bytes(target.as_bytes()));
        match self.ground.lead(&visit.path, target, &self.spending) {
            Led::Directory(path) => {
                let inside = self.catalogue.below(visit.inside, name.as_bytes());
                finds.later.push(self.again(path, acts_as, inside));
            }
            Led::Closed => finds.closed.push(visit.path.join(name)),
            Led::File { .. } | Led::Outside | Led::Nowhere => {}
        }
        Some(entry)
    }

    fn found(&self, directory: &OwnedFd, path: PathBuf, number: usize, finds: &mut Finds) {
        let entry = &self.catalogue.entries[number];
        let name = path.file_name().unwrap_or_default();
        if !is_among(entry.files, directory, name) {
            return;
        }
        if self.counts[number].fetch_add(1, Ordering::Relaxed) >= MOST_PER_ENTRY {
            return;
        }
        if let Some(seen) = look(self.ground, directory, &path, &entry.look, &self.spending) {
            finds.files.push((path, number, seen));
        }
    }
}

/// Not one inside another, or settings could lead round in circles.
fn is_git_directory(acts_as: &Path) -> bool {
    let last = acts_as.file_name() == Some(OsStr::new(".git"));
    last && acts_as.iter().filter(|name| *name == ".git").count() == 1
}

/// An overlay's mark for a name that is gone.
fn is_whiteout(directory: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_rdev == 0)
}

/// Whether git would take a directory for a repository by what is in it.
fn is_bare_repository(has: impl Fn(&str, FileType) -> bool) -> bool {
    let either = |name: &str| has(name, FileType::Directory) || has(name, FileType::Symlink);
    let head = has("HEAD", FileType::RegularFile) || has("HEAD", FileType::Symlink);
    head && either("objects") && either("refs")
}

/// By its words. What leaves in plain sight is told with the settings that say so.
fn is_spelled_inside(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::ParentDir => {
            let rises = depth > 0;
            depth = depth.saturating_sub(1);
            rises
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}
