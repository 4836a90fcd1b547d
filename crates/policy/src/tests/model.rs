//! Random rules over random trees, against a model that is slow and plain on purpose.

use crate::testing::{Tree, inputs, request, settings_file};
use crate::{FileKind, Files, Inputs, Layer, MountKind, OwnPaths, Plan, Policy, Rights, RootView, Shape};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOTS: [&str; 3] = ["/ws", "/data", "/out"];
const NAMES: [&str; 4] = ["a", "b", "ab", ".env"];
const LISTS: [&str; 6] = ["allowRead", "denyRead", "allowWrite", "denyWrite", "allowExecute", "denyExecute"];
/// `$R` is one of the roots, `$N` and `$M` names.
const SHAPES: [&str; 16] = [
    "$R",
    "$R/$N",
    "$R/$N/$M",
    "./$N",
    "$N",
    "*$N",
    "**/$N",
    "**/$N/$M",
    "$R/*",
    "$R/*/$N",
    "$R/**/$N",
    "$R/$N/**",
    "$R/{$N,$M}",
    "./**/$N/*",
    "$R/[a-b]",
    "$R/a?/**/$N",
];

#[derive(Clone, Debug)]
struct Case {
    tree: Tree,
    rules: Vec<(&'static str, String)>,
    scope: &'static str,
}

fn a_path() -> impl Strategy<Value = String> {
    (select(&ROOTS[..]), prop::collection::vec(select(&NAMES[..]), 1..4))
        .prop_map(|(root, names)| format!("{root}/{}", names.join("/")))
}

fn a_pattern() -> impl Strategy<Value = String> {
    (select(&SHAPES[..]), select(&ROOTS[..]), select(&NAMES[..]), select(&NAMES[..])).prop_map(
        |(shape, root, name, other)| shape.replace("$R", root).replace("$N", name).replace("$M", other),
    )
}

fn a_case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(a_path(), 1..12),
        prop::collection::vec((a_path(), a_path()), 0..3),
        prop::collection::vec((select(&LISTS[..]), a_pattern()), 0..8),
        select(&["all", "workspace"][..]),
    )
        .prop_map(|(paths, links, rules, scope)| {
            let mut tree = ROOTS.iter().fold(Tree::new(), |tree, root| tree.directory(root));
            for path in paths {
                if !below_a_file(&tree, &path) && tree.look(Path::new(&path)).is_err() {
                    tree = tree.file(&path);
                }
            }
            for (link, target) in links {
                if !below_a_file(&tree, &link) && tree.look(Path::new(&link)).is_err() {
                    tree = tree.link(&link, &target);
                }
            }
            Case { tree, rules, scope }
        })
}

fn below_a_file(tree: &Tree, path: &str) -> bool {
    Path::new(path)
        .ancestors()
        .skip(1)
        .any(|above| tree.look(above).is_ok_and(|found| found.kind != FileKind::Directory))
}

impl Case {
    fn policy(&self) -> (Policy, Tree) {
        let list = |wanted: &str| -> Vec<&str> {
            self.rules
                .iter()
                .filter(|(list, _)| *list == wanted)
                .map(|(_, pattern)| pattern.as_str())
                .collect()
        };
        let mut filesystem = json!({"readScope": self.scope});
        for name in LISTS {
            filesystem[name] = json!(list(name));
        }
        let tree = self.tree.clone().text("/settings.json", &json!({"filesystem": filesystem}).to_string());
        let inputs = Inputs {
            settings: vec![settings_file(Layer::User, Shape::Native)],
            own: OwnPaths::default(),
            home: None,
            ..inputs()
        };
        (Policy::load(inputs, &tree).unwrap(), tree)
    }
}

/// What one entry matches, as real paths; `literal` where it has no wildcard.
struct Matched {
    list: &'static str,
    paths: BTreeSet<PathBuf>,
    literal: bool,
    built_in: bool,
    preset: bool,
}

/// The model.
struct Plain {
    tree: Tree,
    matched: Vec<Matched>,
    scope: &'static str,
}

impl Plain {
    fn new(case: &Case) -> Self {
        let tree = case.tree.clone();
        let mut roots: BTreeSet<PathBuf> = BTreeSet::from(["/ws".into()]);
        let mut listed_files: BTreeSet<PathBuf> = BTreeSet::new();
        loop {
            let find = |list, pattern: &str| matches_of(&tree, list, pattern, &roots, &listed_files);
            let mut matched: Vec<Matched> = case
                .rules
                .iter()
                .map(|(list, pattern)| Matched {
                    list,
                    paths: find(list, pattern),
                    literal: !is_wild(list, pattern),
                    built_in: false,
                    preset: false,
                })
                .collect();
            let ws = BTreeSet::from([PathBuf::from("/ws")]);
            for list in ["allowRead", "allowWrite"] {
                matched.push(Matched {
                    list,
                    paths: ws.clone(),
                    literal: true,
                    built_in: false,
                    preset: true,
                });
            }
            for name in ["**/.env", "**/.env.local"] {
                let paths = find("denyRead", name);
                matched.push(Matched {
                    list: "denyRead",
                    paths,
                    literal: false,
                    built_in: true,
                    preset: false,
                });
            }
            let (before, files_before) = (roots.len(), listed_files.len());
            for listed in matched.iter().filter(|rule| rule.list == "allowRead" || rule.list == "allowWrite")
            {
                for path in &listed.paths {
                    match tree.look(path).unwrap().kind {
                        FileKind::Directory => roots.insert(path.clone()),
                        _ => listed_files.insert(path.clone()),
                    };
                }
            }
            if (before, files_before) == (roots.len(), listed_files.len()) {
                return Self { tree, matched, scope: case.scope };
            }
        }
    }

    fn covered(&self, list: &str, path: &Path) -> bool {
        self.matched
            .iter()
            .filter(|rule| rule.list == list)
            .any(|rule| path.ancestors().any(|at| rule.paths.contains(at)))
    }

    fn rights(&self, path: &Path) -> Rights {
        let read = self.readable(path) && !self.secret(path);
        let executes = self.covered("allowExecute", path)
            || !self.matched.iter().any(|rule| rule.list == "allowExecute");
        Rights {
            read,
            write: read && self.covered("allowWrite", path) && !self.covered("denyWrite", path),
            execute: read && executes && !self.covered("denyExecute", path),
        }
    }

    /// The deepest rule speaks, a tie goes to allowRead unless only the preset says so.
    fn readable(&self, path: &Path) -> bool {
        for at in path.ancestors() {
            let speaks = |list: &str, preset: bool| {
                self.matched.iter().any(|rule| {
                    rule.list == list && rule.preset == preset && !rule.built_in && rule.paths.contains(at)
                })
            };
            if speaks("allowRead", false) {
                return true;
            }
            if speaks("denyRead", false) {
                return false;
            }
            if speaks("allowRead", true) {
                return true;
            }
        }
        self.scope == "all" || self.covered("allowWrite", path)
    }

    /// From the top: an entry of the default list hides, the user's own deeper rule shows again.
    fn secret(&self, path: &Path) -> bool {
        let mut secret = false;
        let mut downwards: Vec<&Path> = path.ancestors().collect();
        downwards.reverse();
        for at in downwards {
            let entry = self.matched.iter().any(|rule| rule.built_in && rule.paths.contains(at));
            secret |= entry;
            let file = self.tree.look(at).unwrap().kind != FileKind::Directory;
            let opens = self.matched.iter().any(|rule| {
                rule.list == "allowRead"
                    && !rule.preset
                    && rule.paths.contains(at)
                    && (!entry || (file && rule.literal))
            });
            secret &= !opens;
        }
        secret
    }
}

fn is_wild(list: &str, pattern: &str) -> bool {
    let bare_deny = list.starts_with("deny") && !pattern.contains('/');
    let pattern = pattern.strip_suffix("/**").unwrap_or(pattern);
    bare_deny || pattern.contains(['*', '?', '['])
}

/// The real paths an entry names.
fn matches_of(
    tree: &Tree,
    list: &str,
    pattern: &str,
    roots: &BTreeSet<PathBuf>,
    listed_files: &BTreeSet<PathBuf>,
) -> BTreeSet<PathBuf> {
    if let Some((before, rest)) = pattern.split_once('{') {
        let (inside, after) = rest.split_once('}').unwrap();
        let one = |word: &str| matches_of(tree, list, &format!("{before}{word}{after}"), roots, listed_files);
        return inside.split(',').flat_map(one).collect();
    }
    let pattern = pattern.strip_suffix("/**").unwrap_or(pattern);
    let bare_deny = list.starts_with("deny") && !pattern.contains('/');
    let mut found = BTreeSet::new();
    if bare_deny || pattern.starts_with("**/") {
        let wanted: Vec<&str> = pattern.trim_start_matches("**/").split('/').collect();
        for path in all_names(tree) {
            let below = |root: &PathBuf| {
                path.strip_prefix(root).is_ok_and(|rest| {
                    let names: Vec<&str> = rest.iter().map(|name| name.to_str().unwrap()).collect();
                    names.len() >= wanted.len() && fits(&wanted, &names[names.len() - wanted.len()..])
                })
            };
            let own_name = wanted.len() == 1
                && listed_files.contains(&path)
                && fits(&wanted, &[path.file_name().unwrap().to_str().unwrap()]);
            if roots.iter().any(below) || own_name {
                found.insert(path);
            }
        }
    } else {
        let full = match pattern.strip_prefix("./") {
            Some(rest) => format!("/ws/{rest}"),
            None if pattern.starts_with('/') => pattern.to_owned(),
            None => format!("/ws/{pattern}"),
        };
        let wanted: Vec<&str> = full.split('/').skip(1).collect();
        for path in all_names(tree) {
            let names: Vec<&str> = path.iter().skip(1).map(|name| name.to_str().unwrap()).collect();
            if fits(&wanted, &names) {
                found.insert(path);
            }
        }
        // A plain path may lead through links.
        if !full.contains(['*', '?', '[']) {
            found.extend(tree.resolve(Path::new(&full)).is_ok().then(|| PathBuf::from(&full)));
        }
        // So may the fixed beginning of a glob.
        found.extend(through_links(tree, &wanted));
    }
    let glob = is_wild(list, pattern);
    found
        .into_iter()
        .filter(|path| !list.starts_with("allow") || !is_planted(tree, path, glob))
        .filter_map(|path| tree.resolve(&path).ok())
        .collect()
}

/// What allows something does not follow links that a command could have made, nor those a glob finds.
fn is_planted(tree: &Tree, path: &Path, glob: bool) -> bool {
    let is_link = |path: &Path| tree.look(path).is_ok_and(|found| found.kind == FileKind::Symlink);
    let in_workspace = |path: &Path| {
        path.parent().and_then(|parent| tree.resolve(parent).ok()).is_some_and(|real| real.starts_with("/ws"))
    };
    (glob && is_link(path)) || path.ancestors().any(|at| is_link(at) && in_workspace(at))
}

/// Matches of a glob whose fixed beginning leads through a link.
fn through_links(tree: &Tree, wanted: &[&str]) -> BTreeSet<PathBuf> {
    let fixed = wanted.iter().take_while(|part| !part.contains(['*', '?', '['])).count();
    if fixed == wanted.len() {
        return BTreeSet::new();
    }
    let spelled = PathBuf::from(format!("/{}", wanted[..fixed].join("/")));
    let Ok(base) = tree.resolve(&spelled) else { return BTreeSet::new() };
    let below = |path: &PathBuf| {
        path.strip_prefix(&base).is_ok_and(|rest| {
            let names: Vec<&str> = rest.iter().map(|name| name.to_str().unwrap()).collect();
            !names.is_empty() && fits(&wanted[fixed..], &names)
        })
    };
    all_names(tree).into_iter().filter(below).collect()
}

fn all_names(tree: &Tree) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    let mut at = 0;
    while at < found.len() {
        let here = found[at].clone();
        at += 1;
        if tree.look(&here).unwrap().kind == FileKind::Directory {
            found.extend(tree.list(&here).unwrap().into_iter().map(|(name, _)| here.join(name)));
        }
    }
    found
}

fn fits(wanted: &[&str], names: &[&str]) -> bool {
    match (wanted, names) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=names.len()).any(|skip| fits(rest, &names[skip..])),
        ([first, rest @ ..], [name, names @ ..]) => {
            name_fits(first.as_bytes(), name.as_bytes()) && fits(rest, names)
        }
        _ => false,
    }
}

fn name_fits(wanted: &[u8], name: &[u8]) -> bool {
    match (wanted, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skip| name_fits(rest, &name[skip..])),
        ([b'?', rest @ ..], [_, name @ ..]) => name_fits(rest, name),
        ([b'[', from, b'-', to, b']', rest @ ..], [letter, name @ ..]) => {
            (from..=to).contains(&letter) && name_fits(rest, name)
        }
        ([letter, rest @ ..], [other, name @ ..]) => letter == other && name_fits(rest, name),
        _ => false,
    }
}

/// What a path may do in a sandbox built from these mounts, one after the other.
fn mounted(plan: &Plan, path: &Path) -> Rights {
    let nothing = Rights { read: false, write: false, execute: false };
    let mut rights = match plan.root {
        RootView::Host { rights } => rights,
        RootView::Listed => nothing,
    };
    for mount in plan.mounts.iter().filter(|mount| path.starts_with(&mount.path)) {
        rights = match mount.kind {
            MountKind::Bind { rights, .. } => rights,
            MountKind::Symlink { .. } => rights,
            _ => nothing,
        };
    }
    rights
}

/// Ancestors of a protected path must be mount points where they could be renamed away.
fn unpinned<'a>(plain: &Plain, plan: &Plan, path: &'a Path) -> Option<&'a Path> {
    let protected_here = path.parent().is_some_and(|parent| {
        !plain.covered("denyWrite", parent) && plain.covered("denyWrite", path) && plain.rights(parent).write
    });
    if !protected_here {
        return None;
    }
    path.ancestors().find(|at| {
        let renameable = at.parent().is_some_and(|parent| plain.rights(parent).write);
        renameable && !plan.mounts.iter().any(|mount| mount.path == **at)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn policy_mounts_and_model_agree(case in a_case()) {
        let (policy, tree) = case.policy();
        let plain = Plain::new(&case);
        let plan = policy.plan(&request(), &tree).unwrap();
        for path in case.tree.paths() {
            let wanted = plain.rights(&path);
            let told = policy.explain(&path, &tree).unwrap();
            let told = Rights { read: told.read.allowed, write: told.write.allowed, execute: told.execute.allowed };
            prop_assert_eq!(told, wanted, "explain {} in {:#?}\n{:#?}", path.display(), &case, &plan.mounts);
            prop_assert_eq!(mounted(&plan, &path), wanted, "mounts at {} in {:#?}\n{:#?}", path.display(), &case, &plan.mounts);
            prop_assert_eq!(unpinned(&plain, &plan, &path), None, "pins above {} in {:#?}", path.display(), &case);
        }
        let order: Vec<&Path> = plan.mounts.iter().map(|mount| mount.path.as_path()).collect();
        for (at, path) in order.iter().enumerate() {
            prop_assert!(!order[at + 1..].iter().any(|later| path.starts_with(later)), "{:?}", order);
        }
    }
}
