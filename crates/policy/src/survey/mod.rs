//! Finding out which files the rules are about.
//!
//! Literal rules are looked up; everything else is found in one walk over the roots.

mod error;
mod links;
mod locate;
mod order;
mod planted;
mod roots;
mod suppose;
mod ungiven;
mod walk;
mod ways;

pub use error::PlanError;
pub(crate) use links::links_on;
pub(crate) use order::{holds, order};
pub(crate) use suppose::Supposing;
pub(crate) use ungiven::Ungiven;
pub(crate) use ways::Ways;

use crate::policy::Policy;
use crate::rules::{List, Place, RuleId};
use crate::{FileKind, Files, Identity, Layer, Notice, NoticeWeight, RuleRef, Switch};
use locate::{Absence, Located, Locator};
use planted::Touched;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use walk::Walk;

/// One file, and one rule that is about it.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) rule: RuleId,
}

/// How much a search may find, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) matches: usize,
    pub(crate) time: Duration,
}

impl Bounds {
    pub(crate) const USUAL: Self = Self { matches: 20_000, time: Duration::from_secs(4) };
}

/// Every file the rules are about.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Parents first; several points may share a path.
    pub(crate) points: Vec<Point>,
    /// Links that were listed, and where they lead.
    pub(crate) links: Vec<(PathBuf, PathBuf, RuleId)>,
    /// Rules that name something which is not there.
    pub(crate) absent: Vec<RuleId>,
    /// Those of them whose name may be a link all the same.
    pub(crate) unsettled: Vec<RuleId>,
    pub(crate) notices: Vec<Notice>,
    /// Git directories and pointers to one. What is in them is not asked: git needs neither hooks nor settings.
    pub(crate) repositories: Vec<PathBuf>,
}

/// Makes a survey for a policy.
pub(crate) fn survey(policy: &Policy, files: &dyn Files, bounds: Bounds) -> Result<Survey, PlanError> {
    let mut survey = Survey::default();
    let mut locator = Locator::new(files);
    let mut walk = Walk::new(policy, files, bounds);
    let touched = Touched::of(policy, &mut locator);
    for (id, rule) in policy.book.iter() {
        if policy.file_rules == Switch::Refused && policy.book.layer(id) != Layer::BuiltIn {
            continue;
        }
        match &rule.place {
            Place::Literal(path) => {
                let found = match policy.book.layer(id) {
                    Layer::BuiltIn => locator.find_listed(path),
                    _ => locator.find(path),
                };
                match found.or_else(|absence| locator.tidied(path, rule.list).ok_or(absence)) {
                    Ok(found) if opens(rule.list) && touched.misleads(files, path, &found.path) => {
                        survey.warn_about_planted(&policy.book.quote(id), path, &found.path);
                    }
                    Ok(found)
                        if opens(rule.list)
                            && survey.is_ungiven(path, &found.path, found.identity.kind, || {
                                policy.book.quote(id)
                            }) => {}
                    Ok(found) => {
                        let person = policy.book.layer(id) > Layer::Preset;
                        if person && matches!(rule.list, List::DenyRead | List::DenyWrite) {
                            survey.warn_about_own(path, found.identity.kind, || policy.book.quote(id));
                        }
                        survey.guard_way(files, id, rule.list, path, Some(&found.path));
                        add_literal(&mut survey, &mut walk, id, rule.list, found);
                    }
                    Err(absence) => {
                        // A link that leads nowhere yet. It counts only where a command could replace it.
                        let reachable = guards(rule.list) && touched.is_spelled_below(path);
                        if reachable && absence == Absence::LeadsNowhere {
                            survey.guard_way(files, id, rule.list, path, None);
                        }
                        let detour = path.components().any(|part| part == Component::ParentDir);
                        if detour || absence == Absence::LeadsNowhere {
                            survey.unsettled.push(id);
                        }
                        survey.absent.push(id);
                    }
                }
            }
            Place::Anchored { base, glob } => match locator.locate(base) {
                Some(found) if opens(rule.list) && touched.misleads(files, base, &found.path) => {
                    survey.warn_about_planted(&policy.book.quote(id), base, &found.path);
                }
                Some(found) => {
                    survey.guard_way(files, id, rule.list, base, Some(&found.path));
                    walk.anchor(found.path, id, glob);
                }
                None => survey.absent.push(id),
            },
            _ => walk.float(id, &rule.place),
        }
    }
    if policy.file_rules == Switch::Allowed {
        walk.run(&mut survey)?;
    }
    add_kept_elsewhere(policy, files, &mut survey);
    survey.points.sort_by(|left, right| order(&left.path, &right.path));
    warn_about_entries(policy, &mut survey);
    Ok(survey)
}

/// Lists that give something.
fn opens(list: List) -> bool {
    matches!(list, List::AllowRead | List::AllowWrite | List::AllowExecute)
}

/// Lists whose rules must find the same file the next time.
fn guards(list: List) -> bool {
    use List::{Checked, DenyExecute, DenyRead, DenyWrite, Own, Protected};
    matches!(list, DenyRead | DenyWrite | DenyExecute | Protected | Checked | Own)
}

fn add_literal<'a>(survey: &mut Survey, walk: &mut Walk<'a>, rule: RuleId, list: List, found: Located) {
    let Located { path, identity, link } = found;
    match list {
        List::AllowWrite => walk.writable_root(&path, identity.kind),
        List::AllowRead => walk.readable_root(&path, identity.kind),
        List::Own => walk.skip(&path),
        _ => {}
    }
    if let (Some(link), List::AllowRead | List::AllowWrite | List::System) = (link, list) {
        survey.links.push((link, path.clone(), rule));
    }
    survey.points.push(Point { path, identity, rule });
}

/// What a directory of the default deny-read list holds by links, as those who keep their settings in one place have
/// it, is as secret there. Outside the home nobody keeps secrets of theirs, and a directory in which commands work, or
/// above one, is not closed because a link leads there.
fn add_kept_elsewhere(policy: &Policy, files: &dyn Files, survey: &mut Survey) {
    let book = &policy.book;
    let Some(home) = policy.home.as_deref().and_then(|home| files.resolve(home).ok()) else { return };
    let is_listed = |point: &&Point| {
        let rule = book.get(point.rule);
        let by_path = matches!(rule.place, Place::Literal(_));
        rule.list == List::DenyRead && by_path && book.layer(point.rule) == Layer::BuiltIn
    };
    let of = |list: List| survey.points.iter().filter(move |point| book.get(point.rule).list == list);
    let writable: Vec<&Path> = of(List::AllowWrite).map(|point| point.path.as_path()).collect();
    let is_at_work = |path: &Path| {
        let roots = writable.iter().copied().chain([policy.workspace.as_path()]);
        roots.into_iter().any(|root| holds(path, root) || holds(root, path))
    };
    let mut found: Vec<Point> = Vec::new();
    for point in survey.points.iter().filter(is_listed) {
        if point.identity.kind != FileKind::Directory {
            continue;
        }
        let names = files.list(&point.path).unwrap_or_default();
        for (name, _) in names.into_iter().filter(|(_, kind)| *kind == FileKind::Symlink) {
            let Ok(real) = files.resolve(&point.path.join(name)) else { continue };
            let Ok(identity) = files.look(&real) else { continue };
            let is_open = survey.points.iter().any(|known| {
                let list = book.get(known.rule).list;
                known.path == real && (opens(list) || list == List::Open)
            });
            let is_kept = real != home && holds(&home, &real) && !holds(&point.path, &real);
            let closes_work = identity.kind == FileKind::Directory && is_at_work(&real);
            if is_kept && !is_open && !closes_work {
                found.push(Point { path: real, identity, rule: point.rule });
            }
        }
    }
    survey.points.append(&mut found);
}

/// An allowRead that names a directory of the default deny list opens nothing; better said than wondered about.
fn warn_about_entries(policy: &Policy, survey: &mut Survey) {
    let book = &policy.book;
    for group in survey.points.chunk_by(|left, right| left.path == right.path) {
        let has = |list, built_in| {
            let fits = |point: &&Point| {
                book.get(point.rule).list == list && (book.layer(point.rule) == Layer::BuiltIn) == built_in
            };
            group.iter().find(fits)
        };
        if group.len() > 1
            && group[0].identity.kind == FileKind::Directory
            && let (Some(_), Some(allow)) = (has(List::DenyRead, true), has(List::AllowRead, false))
            && book.layer(allow.rule) > Layer::Preset
        {
            let text = format!(
                "{} has no effect: an entry of the default deny-read list cannot be removed; name a path below it",
                book.quote(allow.rule)
            );
            survey.notices.push(Notice { text, weight: NoticeWeight::Warning });
        }
    }
}

impl Survey {
    /// Every link on the way stays what it is, or the rule would not find its file again.
    fn guard_way(
        &mut self,
        files: &dyn Files,
        rule: RuleId,
        list: List,
        written: &Path,
        real: Option<&Path>,
    ) {
        if guards(list) && real != Some(written) {
            let links = links::links_on(files, written).into_iter();
            self.points.extend(links.map(|link| Point { path: link.path, identity: link.identity, rule }));
        }
    }

    /// An allow rule that a planted link would turn into another.
    fn warn_about_planted(&mut self, rule: &RuleRef, written: &Path, real: &Path) {
        self.notices.push(Notice {
            text: format!(
                "{rule} has no effect: {} leads through a link in the workspace, which a command could have planted, to {}; name that path itself",
                written.display(),
                real.display()
            ),
            weight: NoticeWeight::Warning,
        });
    }
}
