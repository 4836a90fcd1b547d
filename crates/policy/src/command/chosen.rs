//! Directories that commands behind walls chose.
//!
//! In a session they say where the shell is, and may put something else in its place. A command without walls
//! would act there with everything its user may do, though nobody outside named that directory.

use super::ground::{Ground, without_dots};
use crate::{Chooser, Footing, Request};
use std::path::{Path, PathBuf};

impl Ground<'_> {
    /// Where a request would run, if no command behind walls has a say in what lies there; or what speaks
    /// against it.
    pub(crate) fn chosen(&self, request: &Request) -> Result<Option<PathBuf>, String> {
        match &request.chosen_by {
            Chooser::Caller => Ok(None),
            Chooser::Commands { began, footing } => self.entered(&request.cwd, began, *footing).map(Some),
        }
    }

    fn entered(&self, path: &Path, began: &Path, footing: Footing) -> Result<PathBuf, String> {
        let shown = path.display();
        let real = self
            .files
            .resolve(path)
            .map_err(|_| format!("it would run in {shown}, which cannot be looked at before it runs"))?;
        let rules = &self.policy.commands;
        let is_below = |place: &Path, roots: &[PathBuf]| {
            roots.iter().any(|root| place.starts_with(root) && place != root)
        };
        self.followed(path, Path::new("/"))?;
        match footing {
            Footing::In(identity) if self.files.look(&real).ok() != Some(identity) => {
                return Err(format!(
                    "it would run in {shown}, which is not the directory that the session's shell is in"
                ));
            }
            Footing::Hidden => {
                return Err("the directory that the session's shell is in cannot be looked at".to_owned());
            }
            Footing::In(_) | Footing::Nowhere => {}
        }
        let is_writable = rules.guarded.iter().any(|root| real.starts_with(root));
        // Where the caller began is the caller's choice, unless commands can put something else there.
        let is_callers = path == began && !is_below(&without_dots(began), &rules.roots);
        if is_writable || is_callers {
            return Ok(real);
        }
        Err(format!(
            "it would run in {shown}, which commands behind walls chose, and they may not write there"
        ))
    }
}
