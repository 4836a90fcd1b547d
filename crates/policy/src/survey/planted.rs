//! Links that an earlier command could have planted.

use super::links::{Link, links_on};
use super::locate::{Locator, tidy};
use crate::Files;
use crate::policy::Policy;
use crate::rules::{List, Place};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Directories commands write in, or have written in.
pub(super) struct Touched<'a> {
    /// Those of this policy: as rules spell them, and where they really are.
    bases: Vec<(PathBuf, PathBuf)>,
    elsewhere: Elsewhere<'a>,
}

/// Workspaces of other runs. There may be thousands: they are looked up, never gone through.
struct Elsewhere<'a>(HashSet<&'a Path>);

impl<'a> Touched<'a> {
    pub(super) fn of(policy: &'a Policy, locator: &mut Locator) -> Self {
        let mut bases = vec![
            (policy.cwd.clone(), policy.workspace.clone()),
            (policy.workspace.clone(), policy.workspace.clone()),
        ];
        for (_, rule) in policy.book.iter().filter(|(_, rule)| rule.list == List::AllowWrite) {
            if let Place::Literal(path) = &rule.place
                && let Some(found) = locator.locate(path)
            {
                bases.push((path.clone(), found.path));
            }
        }
        Self { bases, elsewhere: Elsewhere::of(policy) }
    }

    /// Whether a command of this policy could make a file of this name.
    pub(super) fn is_spelled_below(&self, path: &Path) -> bool {
        self.bases.iter().any(|(spelled, _)| path.starts_with(spelled))
    }

    /// Whether a path goes through a link that an earlier command could have planted.
    ///
    /// Below a directory commands write in, a path has to lead exactly where it says. That is judged by the
    /// place that will be opened, not by looking again: a link may come and go while somebody looks.
    pub(super) fn misleads(&self, files: &dyn Files, written: &Path, real: &Path) -> bool {
        // The way to the working directory is whoever named it's own.
        let from_workspace = self
            .bases
            .first()
            .and_then(|(cwd, workspace)| written.strip_prefix(cwd).ok().map(|rest| workspace.join(rest)));
        let written = from_workspace.as_deref().unwrap_or(written);
        let tidy = tidy(written);
        let mut below = self.bases.iter().filter_map(|(spelled, base)| {
            let rest = tidy.strip_prefix(spelled).ok().filter(|rest| !rest.as_os_str().is_empty())?;
            Some(base.join(rest))
        });
        if below.any(|expected| expected != real) {
            return true;
        }
        if tidy == real {
            return false;
        }
        let leads_away = |known: &Path| match (files.resolve(known), tidy.strip_prefix(known)) {
            (Ok(base), Ok(rest)) => base.join(rest) != real,
            _ => false,
        };
        if self.elsewhere.above(&tidy).any(leads_away) {
            return true;
        }
        let is_below_one = |link: &Link| {
            let mut bases = self.bases.iter().map(|(_, base)| base);
            bases.any(|base| link.path.starts_with(base) && link.path != *base)
                || self.elsewhere.above(&link.path).next().is_some()
        };
        links_on(files, written).iter().any(is_below_one)
    }
}

impl<'a> Elsewhere<'a> {
    fn of(policy: &'a Policy) -> Self {
        Self(policy.own.worked_in.iter().map(PathBuf::as_path).collect())
    }

    /// The workspaces a path lies in.
    fn above<'p>(&self, path: &'p Path) -> impl Iterator<Item = &'p Path> {
        path.ancestors().skip(1).filter(|above| self.0.contains(above))
    }
}

impl Policy {
    /// The same policy where commands have worked in these directories; nothing where it knows just them.
    pub fn knowing(&self, worked_in: &[PathBuf]) -> Option<Self> {
        if self.own.worked_in == worked_in {
            return None;
        }
        let mut policy = self.clone();
        policy.own.worked_in = worked_in.to_vec();
        Some(policy)
    }

    /// The directory commands work in, without links.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The workspace of earlier commands in which the working directory, as it was spelled, is a link or lies
    /// behind one that leads out of there. Whoever named it may not know where it leads now.
    pub fn led_out_of(&self, files: &dyn Files) -> Option<PathBuf> {
        let tidy = tidy(&self.cwd);
        if self.own.worked_in.is_empty() || tidy == self.workspace {
            return None;
        }
        let elsewhere = Elsewhere::of(self);
        // By the place that will be opened, as long as the spelling tells; a link may come and go.
        let leads_out =
            |known: &&Path| files.resolve(known).is_ok_and(|base| !self.workspace.starts_with(base));
        let spelled = elsewhere.above(&tidy).find(leads_out).map(Path::to_owned);
        spelled.or_else(|| {
            let links = links_on(files, &self.cwd);
            let mut above = links.iter().flat_map(|link| elsewhere.above(&link.path));
            above.find(|known| !self.workspace.starts_with(known)).map(Path::to_owned)
        })
    }
}
