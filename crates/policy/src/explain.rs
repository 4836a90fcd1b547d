//! Why a path may or may not be read, written and run.

use crate::access::{Standing, View};
use crate::policy::{Manner, Policy};
use crate::rules::{List, Place, RuleId};
use crate::survey::{self, Bounds, PlanError, Supposing, Ungiven, holds};
use crate::{FileKind, Files, Layer, RuleRef};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What the rules say about one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The path as asked.
    pub asked: PathBuf,
    /// The path it means, without links.
    pub resolved: PathBuf,
    /// Contents and listings.
    pub read: Answer,
    /// Contents, names, metadata.
    pub write: Answer,
    /// Running it.
    pub execute: Answer,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Yes or no.
    pub allowed: bool,
    /// The rule that decided, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Why, in one sentence.
    pub reason: String,
    /// What would change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl Policy {
    /// Says what the rules say about a path, existing or not.
    pub fn explain(&self, path: &Path, files: &dyn Files) -> Result<Explanation, PlanError> {
        let asked = self.cwd.join(path);
        let supposing = Supposing::new(files, &asked)
            .map_err(|source| PlanError::Directory { path: asked.clone(), source })?;
        let resolved = supposing.path();
        let survey = survey::survey(self, &supposing, Bounds::USUAL)?;
        let mut standing = Standing::start(self.read_scope, &self.book);
        let (mut kind, mut too_early) = (FileKind::File, None);
        for group in survey.points.chunk_by(|left, right| left.path == right.path) {
            let (at, identity) = (group[0].path.as_path(), group[0].identity);
            if !holds(at, &resolved) {
                continue;
            }
            // What is not there cannot be mounted, so a rule that allows it gives nothing yet. What lies in a
            // directory that may be read needs no mount to be read by its name.
            let named = |rule: &RuleId| {
                let rule = self.book.get(*rule);
                rule.list == List::AllowRead && matches!(rule.place, Place::Literal(_))
            };
            let heard = |rule: &RuleId| {
                supposing.is_real(at)
                    || !allows(self.book.get(*rule).list)
                    || (named(rule) && standing.rights().read)
            };
            let rules = group.iter().map(|point| point.rule);
            too_early = too_early.or(rules.clone().find(|rule| !heard(rule)));
            standing = standing.enter(rules.filter(heard), identity.kind, &self.book);
            if at == resolved {
                kind = identity.kind;
            }
        }
        let exists = supposing.exists();
        if exists && let Ok(found) = files.look(&resolved) {
            kind = found.kind;
        }
        let ungiven = Ungiven::of(&asked, kind).or_else(|| Ungiven::of(&resolved, kind));
        let teller = Teller { policy: self, path: &resolved, standing, exists, kind, too_early, ungiven };
        Ok(Explanation {
            asked: path.to_owned(),
            read: teller.read(),
            write: teller.write(),
            execute: teller.execute(),
            resolved,
        })
    }
}

/// Puts a standing into words.
struct Teller<'a> {
    policy: &'a Policy,
    path: &'a Path,
    standing: Standing,
    exists: bool,
    kind: FileKind,
    /// A rule that would allow it if it existed.
    too_early: Option<RuleId>,
    /// What it means in one of the sandbox's own places, where no rule counts.
    ungiven: Option<Ungiven>,
}

fn allows(list: List) -> bool {
    matches!(list, List::AllowRead | List::AllowWrite | List::AllowExecute | List::ToolCache)
}

impl Teller<'_> {
    fn yes(&self, rule: Option<RuleId>, reason: &str) -> Answer {
        Answer {
            allowed: true,
            rule: rule.map(|id| self.policy.book.quote(id)),
            reason: reason.to_owned(),
            change: None,
        }
    }

    fn no(&self, rule: Option<RuleId>, reason: &str, change: impl Into<String>) -> Answer {
        let late = if self.exists { "" } else { "; it does not exist yet, and may not be made" };
        Answer {
            allowed: false,
            rule: rule.map(|id| self.policy.book.quote(id)),
            reason: format!("{reason}{late}"),
            change: Some(change.into()),
        }
    }

    fn flag(&self, flag: &str) -> String {
        format!("{flag} {}", self.path.display())
    }

    fn remove(&self, rule: RuleId) -> String {
        let rule = self.policy.book.quote(rule);
        format!("remove {} from {}", rule.text, rule.origin)
    }

    fn private(&self) -> Option<RuleId> {
        match self.standing.view {
            View::Private(rule) => Some(rule),
            _ => None,
        }
    }

    /// Whether the path is the sandbox's own: nothing of the host's could be meant.
    fn is_own_place(&self, rule: RuleId) -> bool {
        !self.exists || self.path == Path::new(&*self.policy.book.get(rule).text)
    }

    fn read(&self) -> Answer {
        let standing = &self.standing;
        if let Some(rule) = standing.sealed {
            return self.no(Some(rule), "it is denied for good", self.sealed_change(rule));
        }
        if let Some(rule) = standing.secret {
            return self.no(Some(rule), "it is on the default deny-read list", self.secret_change(rule));
        }
        if let Some(answer) = self.private().and_then(|rule| self.own_answer(rule)) {
            return answer;
        }
        match standing.view {
            View::Open => self.yes(None, "everything may be read that is not denied"),
            View::Allowed(rule) => self.yes(Some(rule), "a rule allows it"),
            View::Denied(rule) => {
                let change = format!("{}, or {}", self.flag("--allow-read"), self.remove(rule));
                self.no(Some(rule), "a rule denies it and no more specific one allows it", change)
            }
            View::Unlisted => self.no(
                None,
                "only system directories, the workspace and listed paths may be read",
                self.flag("--allow-read"),
            ),
            View::Private(rule) if self.is_own_place(rule) => {
                self.yes(Some(rule), "the sandbox has a private one here; nothing of the host's is in it")
            }
            View::Private(rule) => self.no(
                Some(rule),
                "the sandbox has a private directory here and the host's files are not in it",
                self.flag("--allow-read"),
            ),
        }
    }

    /// What is to be said of something in the sandbox's own /dev and /proc.
    fn own_answer(&self, rule: RuleId) -> Option<Answer> {
        let ungiven = self.ungiven?;
        let own = "the sandbox has one of its own here; nothing of the host's is in it";
        Some(match ungiven.reason() {
            Some(reason) => self.no(Some(rule), reason, "cannot be opened by a rule"),
            None => self.yes(Some(rule), own),
        })
    }

    fn write(&self) -> Answer {
        let standing = &self.standing;
        match (self.private(), self.ungiven) {
            (Some(rule), Some(Ungiven::OwnDevice)) => {
                return self.yes(Some(rule), "the sandbox has one of its own here");
            }
            (Some(rule), Some(Ungiven::OwnProc)) => {
                return self.no(Some(rule), "the kernel's own files stay as they are", "cannot be opened");
            }
            _ => {}
        }
        if let Some(rule) = self.private()
            && self.is_own_place(rule)
            && standing.kept.is_none()
        {
            return match &*self.policy.book.get(rule).text {
                "/proc" => self.no(Some(rule), "the kernel's own files stay as they are", "cannot be opened"),
                _ => {
                    self.yes(Some(rule), "the sandbox has a private one here; nothing of it reaches the host")
                }
            };
        }
        let read = self.read();
        if !read.allowed {
            return Answer { reason: format!("it may not be read: {}", read.reason), ..read };
        }
        if let Some(rule) = standing.kept {
            return self.no(Some(rule), self.kept_reason(rule), self.kept_change(rule));
        }
        match (standing.writable, standing.checked) {
            (Some(_), Some(rule)) => {
                self.yes(Some(rule), "its content is checked: only keys that run nothing")
            }
            (Some(rule), None) => self.yes(Some(rule), "a rule allows it and none denies it"),
            (None, _) if self.too_early.is_some() => self.no(
                self.too_early,
                "the rule that allows it names something that is not there",
                format!("make {} before the start, or allow the directory it lies in", self.path.display()),
            ),
            (None, _) => self.no(None, "no allowWrite rule covers it", self.flag("--allow-write")),
        }
    }

    fn execute(&self) -> Answer {
        let standing = &self.standing;
        let read = self.read();
        if !read.allowed {
            return Answer { reason: format!("it may not be read: {}", read.reason), ..read };
        }
        if let (Some(rule), Some(_)) = (self.private(), self.ungiven) {
            return Answer { change: None, ..self.no(Some(rule), "it is no program", "") };
        }
        if let Some(rule) = standing.barred {
            return self.no(Some(rule), "a rule denies it", self.remove(rule));
        }
        match standing.runnable {
            Some(rule) => self.yes(Some(rule), "a rule allows it"),
            None if self.policy.book.any(List::AllowExecute) => self.no(
                None,
                "only what allowExecute lists may run",
                format!("add {} to filesystem.allowExecute", self.path.display()),
            ),
            None => self.yes(None, "what may be read may run"),
        }
    }

    fn sealed_change(&self, rule: RuleId) -> String {
        match (self.policy.book.get(rule).list, self.policy.book.layer(rule)) {
            (List::Own, _) => "cannot be opened: Stockade's own files are always hidden".to_owned(),
            (_, Layer::Managed) => "cannot be opened here: the organisation's settings say so".to_owned(),
            (List::Protected, _) => format!("make {} readable for you", self.path.display()),
            _ => self.remove(rule),
        }
    }

    fn secret_change(&self, rule: RuleId) -> String {
        if self.kind == FileKind::Directory && self.exists {
            let entry = &self.policy.book.get(rule).text;
            return format!(
                "name a path below it: --allow-read {}/NAME; the entry {entry} itself cannot be removed",
                self.path.display()
            );
        }
        self.flag("--allow-read")
    }

    fn kept_reason(&self, rule: RuleId) -> &'static str {
        match self.policy.book.get(rule).list {
            List::Protected => "the host would later run or trust it: mandatory protection",
            _ => "a rule denies it, and a denial beats every allowWrite",
        }
    }

    fn kept_change(&self, rule: RuleId) -> String {
        match (self.policy.book.get(rule).list, self.policy.manner) {
            (List::Protected, Manner::Srt) => "cannot be opened: mandatory protection".to_owned(),
            (List::Protected, Manner::Native) => {
                "cannot be opened by a rule: mandatory protection; filesystem.protection in your own settings switches a group off".to_owned()
            }
            _ => self.remove(rule),
        }
    }
}
