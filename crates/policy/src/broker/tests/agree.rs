//! Judge and explanation must say the same of a name.

use crate::testing::{Tree, inputs, request, settings_file};
use crate::{Answer, FileKind, Files, Inputs, Judge, Judgement, Layer, Naming, OwnPaths, Policy, Shape};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use std::path::Path;

const ROOTS: [&str; 3] = ["/ws", "/data", "/out"];
const NAMES: [&str; 6] = ["a", "b", "ab", ".env", ".vscode", ".claude"];
const LISTS: [&str; 4] = ["allowRead", "denyRead", "allowWrite", "denyWrite"];
/// `$R` is one of the roots, `$N` and `$M` names.
const SHAPES: [&str; 14] = [
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
    "$R/{$N,$M}",
    "./**/$N/*",
    "$R/a?/**/$N",
];

#[derive(Clone, Debug)]
struct Case {
    tree: Tree,
    rules: Vec<(&'static str, String)>,
    asked: Vec<String>,
    layer: Layer,
}

fn a_path() -> impl Strategy<Value = String> {
    (select(&ROOTS[..]), prop::collection::vec(select(&NAMES[..]), 1..5))
        .prop_map(|(root, names)| format!("{root}/{}", names.join("/")))
}

fn a_rule() -> impl Strategy<Value = (&'static str, String)> {
    (select(&LISTS[..]), select(&SHAPES[..]), select(&ROOTS[..]), select(&NAMES[..]), select(&NAMES[..]))
        .prop_map(|(list, shape, root, name, other)| {
            (list, shape.replace("$R", root).replace("$N", name).replace("$M", other))
        })
}

fn a_case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(a_path(), 0..8),
        prop::collection::vec(a_rule(), 0..7),
        prop::collection::vec(a_path(), 1..12),
        select(&[Layer::User, Layer::Project, Layer::Managed][..]),
    )
        .prop_map(|(paths, rules, asked, layer)| {
            let mut tree = ROOTS.iter().fold(Tree::new(), |tree, root| tree.directory(root));
            for path in paths {
                if !below_a_file(&tree, &path) && tree.look(Path::new(&path)).is_err() {
                    tree = tree.file(&path);
                }
            }
            Case { tree, rules, asked, layer }
        })
}

fn below_a_file(tree: &Tree, path: &str) -> bool {
    let is_file = |at: &Path| tree.look(at).is_ok_and(|found| found.kind != FileKind::Directory);
    Path::new(path).ancestors().skip(1).any(is_file)
}

impl Case {
    /// The same without what allows something that is not there: an explanation supposes it is, a plan
    /// gives nothing for it.
    fn without_early_rules(&self) -> Self {
        let is_there = |text: &str| {
            !text.contains(['*', '?', '{']) && self.tree.look(&Path::new("/ws").join(text)).is_ok()
        };
        let keep = |(list, text): &&(&str, String)| list.starts_with("deny") || is_there(text);
        Self { rules: self.rules.iter().filter(keep).cloned().collect(), ..self.clone() }
    }
}

fn policy(case: &Case) -> (Policy, Tree) {
    let mut filesystem = json!({});
    for name in LISTS {
        let entries: Vec<&str> =
            case.rules.iter().filter(|(list, _)| *list == name).map(|(_, text)| text.as_str()).collect();
        filesystem[name] = json!(entries);
    }
    let tree = case.tree.clone().text("/settings.json", &json!({"filesystem": filesystem}).to_string());
    let inputs = Inputs {
        settings: vec![settings_file(case.layer, Shape::Native)],
        own: OwnPaths::default(),
        ..inputs()
    };
    (Policy::load(inputs, &tree).unwrap(), tree)
}

/// Whether a rule that denies or protects is why not.
fn forbids(answer: &Answer) -> bool {
    let denies = |text: &str| text.starts_with("deny") || text.starts_with("protected");
    !answer.allowed && answer.rule.as_ref().is_some_and(|rule| denies(&rule.text))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_refused_exactly_when_a_rule_forbids_it(case in a_case()) {
        let kind = |path: &str| case.tree.look(Path::new(path)).map(|found| found.kind);
        let late = case.without_early_rules();
        for (case, exists) in [(&case, true), (&late, false)] {
            let (policy, tree) = policy(case);
            let plan = policy.plan(&request(), &tree).unwrap();
            let judge = Judge::new(&plan);
            // A directory that is there cannot become a file.
            let fits = |path: &&String| match kind(path) {
                Ok(kind) => exists && kind == FileKind::File,
                Err(_) => !exists && !below_a_file(&tree, path),
            };
            let there: Vec<String> = tree.paths().iter().map(|path| path.display().to_string()).collect();
            for path in case.asked.iter().chain(&there).filter(fits) {
                let told = policy.explain(Path::new(path), &tree).unwrap();
                let judged = judge.name(Path::new(path), Naming::File);
                prop_assert_eq!(
                    matches!(judged, Judgement::Refused(_)), forbids(&told.read) || forbids(&told.write),
                    "{} {:?}\n{:#?}\n{:#?}\n{:#?}", path, judged, told, case, &plan.broker
                );
                let read = matches!(judge.read(Path::new(path)), Judgement::Refused(_));
                prop_assert_eq!(read, forbids(&told.read), "reading {}\n{:#?}\n{:#?}", path, told, case);
            }
        }
    }
}
