//! What becomes of a match.

use super::Scope;
use super::walker::Walker;
use crate::FileKind;
use crate::rules::{List, RuleId};
use crate::survey::{PlanError, Point, opens};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

impl Walker<'_, '_> {
    /// Records a match. What allows something turns the subtree into a root of its own.
    pub(super) fn found(&mut self, path: &Path, rules: &[RuleId]) -> Result<Scope, PlanError> {
        let mut allows = Scope::default();
        let Some(rule) = rules.first() else { return Ok(allows) };
        let (policy, files) = (self.walk.policy, self.walk.files);
        let matches = self.shared.matches.fetch_add(rules.len(), Ordering::Relaxed) + rules.len();
        if matches > self.walk.bounds.matches {
            return Err(PlanError::TooManyMatches {
                rule: policy.book.quote(*rule),
                root: self.root.to_owned(),
                count: self.walk.bounds.matches,
            });
        }
        let Ok(mut identity) = files.look(path) else { return Ok(allows) };
        let mut target = path.to_owned();
        if identity.kind == FileKind::Symlink {
            for rule in rules {
                self.survey.guard_way(files, *rule, policy.book.get(*rule).list, path, None);
            }
            let Some((real, of)) = files.resolve(path).ok().and_then(|real| {
                let identity = files.look(&real).ok()?;
                Some((real, identity))
            }) else {
                return Ok(allows);
            };
            (target, identity) = (real, of);
        }
        for rule in rules {
            let list = policy.book.get(*rule).list;
            if target != path && opens(list) {
                self.survey.warn_about_planted(&policy.book.quote(*rule), path, &target);
                continue;
            }
            allows.anywhere |= matches!(list, List::AllowRead | List::AllowWrite);
            allows.writable |= list == List::AllowWrite;
            self.survey.points.push(Point { path: target.clone(), identity, rule: *rule });
            if list == List::Protected && identity.kind == FileKind::Directory {
                self.guard_entries(&target, *rule);
            }
        }
        if allows.writable {
            self.shared.roots.lock().unwrap_or_else(PoisonError::into_inner).push(target);
        }
        Ok(allows)
    }

    /// What a protected directory holds by link is run or read from there, too.
    fn guard_entries(&mut self, directory: &Path, rule: RuleId) {
        let files = self.walk.files;
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            for (name, kind) in files.list(&directory).unwrap_or_default() {
                let path = directory.join(name);
                match kind {
                    FileKind::Directory => pending.push(path),
                    FileKind::File => {}
                    FileKind::Symlink => {
                        self.shared.matches.fetch_add(1, Ordering::Relaxed);
                        self.survey.guard_way(files, rule, List::Protected, &path, None);
                        if let Ok(target) = files.resolve(&path)
                            && let Ok(identity) = files.look(&target)
                        {
                            self.survey.points.push(Point { path: target, identity, rule });
                        }
                    }
                }
            }
        }
    }
}
