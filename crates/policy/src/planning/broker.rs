//! The broker's part of a plan: every rule as it holds for names that may appear.
//!
//! What denies goes in as a pattern, because it holds for what is not there yet. What allows goes in as the
//! paths it matched: only those were brought in by a mount.

use super::settle::Settler;
use super::sockets;
use crate::access::{Standing, View};
use crate::pattern::Glob;
use crate::policy::{Manner, Policy, WorkspaceGrant};
use crate::rules::{List, Place, RuleId};
use crate::survey::{Point, Survey, holds};
use crate::{
    BrokerPlan, CredentialSource, FileKind, Files, GuardPlace, GuardRule, HeldReads, Layer, RuleRef,
    StandInRule, Switch, presets,
};
use std::path::{Path, PathBuf};

/// What the broker holds, and the rule that needs it where one does.
pub(super) struct Need {
    pub(super) plan: BrokerPlan,
    pub(super) because: Option<RuleRef>,
}

/// The broker's part of the plan, if there is something for it to do.
pub(super) fn broker(policy: &Policy, survey: &Survey, files: &dyn Files) -> Option<Need> {
    let mut draft = Draft::new(policy, files);
    draft.add_points(survey);
    survey.repositories.iter().for_each(|git| draft.add_git_directory(git));
    let held = names_that_may_appear(policy, survey).filter(|_| !draft.plan.writable.is_empty());
    let listed = policy.network.unix_sockets.first().map(|socket| &socket.rule);
    let watched = policy.trace_reads == Switch::Allowed || policy.asking == Switch::Allowed;
    draft.add_stand_ins(files);
    let hidden = draft.plan.stand_ins.first().map(|stand_in| stand_in.rule.clone());
    if held.is_none() && listed.is_none() && hidden.is_none() && !watched {
        return None;
    }
    let because = held.map(|rule| policy.book.quote(rule)).or_else(|| listed.cloned()).or(hidden);
    draft.plan.reads = held_reads(policy, survey, &draft.plan);
    draft.plan.asking = policy.asking;
    draft.plan.named_trees = policy.named_trees.with(&survey.repositories, files);
    draft.add_rules(survey);
    draft.add_roots();
    draft.plan.unix = sockets::rules(policy, &mut draft.settler);
    Some(Need { plan: draft.plan, because })
}

/// A rule about names that do not exist yet, the person's own before a built-in one. Mounts cannot hold those.
fn names_that_may_appear(policy: &Policy, survey: &Survey) -> Option<RuleId> {
    // Whoever asked for no file rules at all is not held up by names that are not there.
    let bare = policy.preset == presets::UNRESTRICTED || policy.file_rules == Switch::Refused;
    let matters = |id: &RuleId| {
        let list = policy.book.get(*id).list;
        (list.refuses() || list == List::Checked) && !(bare && list == List::Own) && applies(policy, *id)
    };
    let floats = |id: &RuleId| !matches!(policy.book.get(*id).place, Place::Literal(_) | Place::Unlistable);
    let absent = survey.absent.iter().copied();
    let floating = policy.book.iter().map(|(id, _)| id).filter(floats);
    absent.chain(floating).filter(matters).max_by_key(|id| policy.book.layer(*id) != Layer::BuiltIn)
}

/// srt's `filesystem.disabled` leaves nothing but what is built in.
fn applies(policy: &Policy, rule: RuleId) -> bool {
    policy.file_rules == Switch::Allowed || policy.book.layer(rule) == Layer::BuiltIn
}

/// Which reads are held.
///
/// Mounts hide what may not be read, at no cost. They are not enough for a file that the host saves anew:
/// most editors write a new file and rename it over the old one, and the mask goes with the old one. So
/// reads are held where such a file lies in a directory the person works in, and where a person, not the
/// default list, asked for something to stay unread: they named it, and expect to hear who tried. A stand-in
/// goes with the old file just as a mask does.
fn held_reads(policy: &Policy, survey: &Survey, plan: &BrokerPlan) -> HeldReads {
    let book = &policy.book;
    let asked = policy.trace_reads == Switch::Allowed || policy.asking == Switch::Allowed;
    let written = |(id, rule): (RuleId, &crate::rules::Rule)| {
        rule.list.hides() && book.layer(id) >= Layer::Project && applies(policy, id)
    };
    let reachable = |point: &Point| {
        let rule = book.get(point.rule);
        // Git writes what it remembers into a directory, and never another directory in its place.
        let is_saved_anew = rule.list.hides() && !rule.hides_git_memory();
        is_saved_anew && plan.writable.iter().any(|root| holds(root, &point.path))
    };
    let masked = !plan.stand_ins.is_empty();
    if asked || masked || book.iter().any(written) || survey.points.iter().any(reachable) {
        HeldReads::All
    } else {
        HeldReads::None
    }
}

struct Draft<'a> {
    policy: &'a Policy,
    settler: Settler<'a>,
    plan: BrokerPlan,
    /// Directories that hold a `.git`.
    repositories: Vec<PathBuf>,
    /// Writable directories that a rule names.
    named: Vec<PathBuf>,
}

impl<'a> Draft<'a> {
    fn new(policy: &'a Policy, files: &'a dyn Files) -> Self {
        let mut plan = BrokerPlan::default();
        plan.rules.reserve(policy.book.len());
        match policy.workspace_grant {
            WorkspaceGrant::Given => plan.roots.push(policy.workspace.clone()),
            WorkspaceGrant::Refused => plan.shallow_roots.push(policy.workspace.clone()),
        }
        Self { policy, settler: Settler::new(files), plan, repositories: Vec::new(), named: Vec::new() }
    }

    /// What was found, parents first.
    fn add_points(&mut self, survey: &Survey) {
        let book = &self.policy.book;
        let start = Standing::start(self.policy.read_scope, book);
        let mut levels: Vec<(&Path, Standing)> = vec![(Path::new("/"), start)];
        for group in survey.points.chunk_by(|left, right| left.path == right.path) {
            let (path, kind) = (group[0].path.as_path(), group[0].identity.kind);
            while levels.len() > 1 && !levels.last().is_some_and(|(above, _)| holds(above, path)) {
                levels.pop();
            }
            let above = levels[levels.len() - 1].1;
            // A link is kept by its mount; what it leads to has points of its own.
            if kind == FileKind::Symlink {
                continue;
            }
            for point in group {
                self.add_point(point, above, group);
            }
            let rules = group.iter().map(|point| point.rule);
            levels.push((path, above.enter(rules, kind, book)));
        }
    }

    fn add_point(&mut self, point: &Point, above: Standing, group: &[Point]) {
        let policy = self.policy;
        let rule = policy.book.get(point.rule);
        let (path, directory) = (&point.path, point.identity.kind == FileKind::Directory);
        let literal = matches!(rule.place, Place::Literal(_));
        match rule.list {
            List::AllowRead | List::AllowWrite => {
                self.add_root(path, directory, rule.list);
                if rule.list == List::AllowWrite && directory && literal {
                    self.named.push(path.clone());
                }
                let hidden = matches!(above.view, View::Denied(_) | View::Private(_))
                    || above.secret.is_some()
                    || above.sealed.is_some()
                    || group.iter().any(|other| policy.book.get(other.rule).list.hides());
                if hidden || (rule.list == List::AllowWrite && above.writable.is_none()) {
                    // An entry of the default list is opened by the name of a file, not by that of a directory.
                    let by_name = literal && !directory;
                    self.push(point.rule, rule.list, if by_name { path_of(path) } else { found_at(path) });
                }
            }
            List::Open | List::ToolCache | List::Private => {
                self.push(point.rule, rule.list, path_of(path));
            }
            List::AllowExecute | List::DenyExecute | List::System => {}
            _ if rule.place == Place::Unlistable => self.push(point.rule, List::Seal, path_of(path)),
            _ if literal => self.push(point.rule, rule.list, path_of(path)),
            // Found under another name than the pattern's: through a link.
            _ if !spells(&rule.place, path) => self.push(point.rule, rule.list, path_of(path)),
            _ => self.add_repository(&rule.place, path),
        }
    }

    fn push(&mut self, id: RuleId, list: List, place: GuardPlace) {
        self.plan.rules.push(GuardRule { list, place, rule: self.policy.book.quote(id) });
    }

    fn add_root(&mut self, path: &Path, directory: bool, list: List) {
        let plan = &mut self.plan;
        let held = |roots: &[PathBuf]| roots.iter().any(|root| holds(root, path));
        if list == List::AllowWrite && !held(&plan.writable) {
            plan.writable.push(path.to_owned());
        }
        if directory && !held(&plan.roots) {
            plan.roots.push(path.to_owned());
        }
        if !directory && !held(&plan.roots) {
            plan.listed_files.push(path.to_owned());
        }
    }

    /// A match in a git directory tells where that directory is.
    fn add_repository(&mut self, place: &Place, path: &Path) {
        let git = match place {
            Place::GitFile => Some(path),
            Place::InGitDirectory(glob) => glob.depth().and_then(|depth| path.ancestors().nth(depth)),
            _ => None,
        };
        if let Some(git) = git {
            self.add_git_directory(git);
        }
    }

    /// A git directory, or a pointer to one.
    fn add_git_directory(&mut self, git: &Path) {
        let (known, new) = match git.parent().filter(|_| git.ends_with(".git")) {
            Some(parent) => (&mut self.repositories, parent),
            None => (&mut self.plan.git_directories, git),
        };
        if !known.iter().any(|known| known == new) {
            known.push(new.to_owned());
        }
    }

    /// Files that stand-ins lie over.
    fn add_stand_ins(&mut self, files: &dyn Files) {
        // Nothing is laid over anything there.
        if self.policy.preset == presets::UNRESTRICTED {
            return;
        }
        for secret in &self.policy.network.credentials {
            let CredentialSource::File(path) = &secret.source else { continue };
            let device = files.look(path).ok().map(|found| found.dev);
            let rule = secret.rule.clone();
            self.plan.stand_ins.push(StandInRule { path: path.clone(), device, rule });
        }
    }

    /// Rules that hold for what is not there.
    fn add_rules(&mut self, survey: &Survey) {
        let policy = self.policy;
        for (id, rule) in policy.book.iter() {
            if !(rule.list.refuses() || rule.list == List::Checked) || !applies(policy, id) {
                continue;
            }
            let text = |glob: &Glob| glob.to_string();
            let place = match &rule.place {
                Place::Literal(_) | Place::Unlistable => continue,
                Place::Anchored { base, glob } => {
                    for base in self.settler.settle(base) {
                        self.push(id, rule.list, GuardPlace::Below { base, glob: text(glob) });
                    }
                    continue;
                }
                Place::Anywhere(glob) => GuardPlace::Anywhere { glob: text(glob) },
                Place::InGitDirectory(glob) => GuardPlace::InGitDirectory { glob: text(glob) },
                Place::GitFile => GuardPlace::GitPointer,
                Place::AtRoots(glob) if policy.manner == Manner::Native => {
                    GuardPlace::AtRoots { glob: text(glob) }
                }
                Place::AtRoots(glob) => GuardPlace::AtAnyDepth { glob: text(glob), outside_modules: false },
                Place::AtRootsOutsideModules(glob) => {
                    GuardPlace::AtAnyDepth { glob: text(glob), outside_modules: true }
                }
            };
            self.push(id, rule.list, place);
        }
        for id in &survey.absent {
            self.add_absent(*id, survey);
        }
    }

    /// A path that is not there. Allowing it opens the very name; nothing could be mounted for it.
    fn add_absent(&mut self, id: RuleId, survey: &Survey) {
        let rule = self.policy.book.get(id);
        let Place::Literal(path) = &rule.place else { return };
        if !applies(self.policy, id) || !(rule.list.refuses() || rule.list == List::AllowRead) {
            return;
        }
        // Somebody has looked already: most names are not there, and so no links either.
        let settled = if survey.unsettled.contains(&id) {
            self.settler.settle(path)
        } else {
            vec![self.settler.place(path)]
        };
        // A link on the way could have been planted.
        if rule.list == List::AllowRead && !self.policy.leads_straight(path, &settled) {
            return;
        }
        for path in settled {
            // Most of the default list names what nobody here has, nor could make.
            let reachable = self.plan.writable.iter().any(|root| holds(root, &path));
            let matters = self.plan.reads == HeldReads::All || self.policy.book.layer(id) > Layer::BuiltIn;
            if matters || reachable {
                self.push(id, rule.list, GuardPlace::Path { path });
            }
        }
    }

    /// Directories at which protected names stand.
    fn add_roots(&mut self) {
        if self.policy.manner == Manner::Srt {
            return;
        }
        let mut roots = vec![self.policy.workspace.clone()];
        roots.extend(self.policy.home.clone());
        roots.append(&mut self.named);
        roots.append(&mut self.repositories);
        roots.sort();
        roots.dedup();
        self.plan.protected_roots = roots;
    }
}

impl Policy {
    /// Whether a path as written leads where it says, the working directory's own links aside.
    pub(crate) fn leads_straight(&self, written: &Path, settled: &[PathBuf]) -> bool {
        let [place] = settled else { return false };
        let plain = match written.strip_prefix(&self.cwd) {
            Ok(rest) => self.workspace.join(rest),
            Err(_) => written.to_owned(),
        };
        *place == plain
    }
}

fn path_of(path: &Path) -> GuardPlace {
    GuardPlace::Path { path: path.to_owned() }
}

/// The same path, but not by its name.
fn found_at(path: &Path) -> GuardPlace {
    match (path.parent(), path.file_name()) {
        (Some(base), Some(name)) => GuardPlace::Below {
            base: base.to_owned(),
            glob: Glob::exactly(name.as_encoded_bytes()).to_string(),
        },
        _ => path_of(path),
    }
}

/// Whether some end of the path matches the pattern.
fn spells(place: &Place, path: &Path) -> bool {
    let glob = match place {
        Place::GitFile => return path.ends_with(".git"),
        Place::Literal(_) | Place::Unlistable => return true,
        Place::Anchored { glob, .. }
        | Place::Anywhere(glob)
        | Place::InGitDirectory(glob)
        | Place::AtRoots(glob)
        | Place::AtRootsOutsideModules(glob) => glob,
    };
    let names: Vec<&[u8]> = path.iter().map(|name| name.as_encoded_bytes()).collect();
    (1..names.len()).rev().any(|from| glob.matches(names[from..].iter().copied()))
}
