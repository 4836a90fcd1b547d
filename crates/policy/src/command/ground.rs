//! Where a command without walls would run.
//!
//! A program obeys what lies in its working directory: git a repository there, many others their settings. In
//! the workspace such files are protected; in caches and the like, commands behind walls may write what they
//! want, and in a session they choose the directory, too.

use super::excluded::place_of;
use super::part::Part;
use super::strip::{Purpose, strip};
use crate::policy::Policy;
use crate::survey::links_on;
use crate::{Files, Opening, Opens, Request};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// The directories that the parts of a text would run in.
pub(super) struct Ways<'a> {
    /// Says where the first of them is, and who chose it.
    request: &'a Request,
    turns: Vec<Turn>,
    /// Why there may be others.
    lost: Option<String>,
}

/// A `cd` of the text.
struct Turn {
    to: PathBuf,
    /// Where the word stands that says so.
    name: Range<usize>,
}

/// Where the parts of a text would run, without links on the way.
pub(super) struct Stands {
    pub(super) first: PathBuf,
    /// What the text enters after that.
    pub(super) entered: Vec<Opening>,
}

impl<'a> Ways<'a> {
    /// Follows every `cd` of the text.
    pub(super) fn of(request: &'a Request, parts: &[Part<'_>]) -> Self {
        let mut ways = Self { request, turns: Vec::new(), lost: None };
        for part in parts {
            let stripped = strip(part, Purpose::Deny);
            for words in &stripped.stages {
                let Some(program) = words.first().and_then(|word| word.value.as_deref()) else { continue };
                match (program, &words[1..]) {
                    ("cd", [word]) => match ways.turn(word.value.as_deref(), word.raw) {
                        Some(turn) => ways.turns.push(turn),
                        None => ways.lose(program),
                    },
                    ("cd" | "pushd" | "popd", _) => ways.lose(program),
                    _ => {}
                }
            }
        }
        ways
    }

    /// After the first turn nobody knows where a relative one begins: the first may stand in a subshell.
    fn turn(&self, to: Option<&str>, raw: &str) -> Option<Turn> {
        let request = self.request;
        let to = to.filter(|to| !to.is_empty() && !to.starts_with('-') && !may_be_elsewhere(request, to))?;
        let known = self.turns.is_empty() || to.starts_with('/');
        let name = place_of(request, raw).filter(|_| known)?;
        Some(Turn { to: request.cwd.join(to), name })
    }

    fn lose(&mut self, program: &str) {
        self.lost = Some(format!("where {program} leads is not known before it runs"));
    }

    /// Whether they are more than one.
    pub(super) fn move_about(&self) -> bool {
        !self.turns.is_empty() || self.lost.is_some()
    }
}

/// Whether a shell looks for this directory somewhere else first.
fn may_be_elsewhere(request: &Request, to: &str) -> bool {
    let relative = !to.starts_with('/') && !to.starts_with("./") && !to.starts_with("../");
    relative && request.environment.iter().any(|(name, _)| name == "CDPATH")
}

/// What is needed to judge directories.
pub(crate) struct Ground<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) files: &'a dyn Files,
}

impl Ground<'_> {
    /// The directories as they are now, or what speaks against them.
    pub(super) fn stands(&self, ways: &Ways<'_>) -> Result<Stands, String> {
        let chosen = self.chosen(ways.request)?;
        if let Some(lost) = &ways.lost {
            return Err(lost.clone());
        }
        let entered = ways.turns.iter().map(|turn| {
            self.followed(&turn.to, &ways.request.cwd)?;
            let path = self.guarded(&turn.to)?;
            Ok(Opening { name: turn.name.clone(), path, opens: Opens::ToEnter })
        });
        let first = self.guarded(&ways.request.cwd)?;
        if chosen.is_some_and(|chosen| chosen != first) {
            return Err(format!("{} changes while it is looked at", ways.request.cwd.display()));
        }
        Ok(Stands { first, entered: entered.collect::<Result<_, String>>()? })
    }

    /// Speaks against a link on the way to a path that commands behind walls may have made. The text names the path,
    /// but whoever made the link has chosen the directory. Links on the way to where it begins are not counted.
    pub(super) fn followed(&self, path: &Path, from: &Path) -> Result<(), String> {
        let (roots, known) = (&self.policy.commands.roots, links_on(self.files, from));
        let is_theirs = |link: &Path| roots.iter().any(|root| link.starts_with(root) && link != root);
        let is_new = |link: &Path| known.iter().all(|known| known.path != link);
        let planted =
            links_on(self.files, path).into_iter().find(|link| is_theirs(&link.path) && is_new(&link.path));
        planted.map_or(Ok(()), |link| {
            let (path, link) = (path.display(), link.path.display());
            Err(format!(
                "it would run in {path}, which leads through the link {link}, and commands may have made that"
            ))
        })
    }

    /// Where a path leads, if commands behind walls cannot leave there what they want.
    fn guarded(&self, path: &Path) -> Result<PathBuf, String> {
        let real = self.files.resolve(path).map_err(|_| {
            format!("it would run in {}, which cannot be looked at before it runs", path.display())
        })?;
        if [&without_dots(path), &real].iter().any(|path| self.is_unguarded(path)) {
            let path = path.display();
            return Err(format!("it would run in {path}, where commands may leave what programs obey"));
        }
        match self.bare_repository(&real) {
            Some(repository) => Err(format!(
                "it would run in {}, which git takes for a repository that commands may have made",
                repository.display()
            )),
            None => Ok(real),
        }
    }

    /// The repository without a `.git` around a place, where commands may write. None is made behind walls, but
    /// one may have come about between two runs.
    fn bare_repository(&self, place: &Path) -> Option<PathBuf> {
        let written = |path: &&Path| self.policy.commands.guarded.iter().any(|root| path.starts_with(root));
        let is_there = |path: &Path, name: &str| self.files.look(&path.join(name)).is_ok();
        let is_one = |path: &&Path| ["HEAD", "objects", "refs"].iter().all(|name| is_there(path, name));
        place.ancestors().take_while(written).find(is_one).map(Path::to_owned)
    }

    /// The nearest rule above decides: a workspace may lie in /tmp. In directories of our own it may not.
    fn is_unguarded(&self, path: &Path) -> bool {
        let (rules, own) = (&self.policy.commands, &self.policy.own);
        let ours = [&own.config, &own.state, &own.cache];
        if ours.iter().any(|place| !place.as_os_str().is_empty() && path.starts_with(place)) {
            return true;
        }
        let depth = |places: &[PathBuf]| {
            let above = places.iter().filter(|place| path.starts_with(place));
            above.map(|place| place.components().count()).max()
        };
        depth(&rules.unguarded) > depth(&rules.guarded)
    }
}

/// A path with its dots taken literally.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
