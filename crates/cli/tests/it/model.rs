//! F21: random rules over a random tree, in real sandboxes, against a model that is plain on purpose.
//!
//! The model knows nothing of mounts. Writing: some allowWrite covers the path, no denyWrite does, and it
//! can be read. Reading: of all rules that cover the path the one with the deepest match wins, a tie goes
//! to allowRead, and without any rule it may be read.

use crate::act;
use crate::support::{Caller, World, is_root, skip};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CASES: u32 = 150;
const LONGEST: Duration = Duration::from_secs(60);
const NAMES: [&str; 5] = ["a", "b", "c", "x.key", "y.txt"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    Workspace,
    Outside,
}

/// A path in the model: a root and names below it.
type Names = Vec<&'static str>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    AllowRead,
    DenyRead,
    AllowWrite,
    DenyWrite,
}

/// One part of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Name(&'static str),
    Any,
    AnyDepth,
    Keys,
    AorB,
    BorC,
    OneLetter,
}

#[derive(Clone, Debug)]
enum Target {
    Path(Root, Names),
    Literal(Root, Names),
    Anchored(Root, Vec<Part>),
    Anywhere(Part),
    Bare(Part),
}

#[derive(Clone, Debug)]
struct Rule {
    list: List,
    target: Target,
}

#[derive(Clone, Debug)]
struct Case {
    files: BTreeSet<(Root, Names)>,
    rules: Vec<Rule>,
}

impl Part {
    fn text(self) -> &'static str {
        match self {
            Self::Name(name) => name,
            Self::Any => "*",
            Self::AnyDepth => "**",
            Self::Keys => "*.key",
            Self::AorB => "{a,b}",
            Self::BorC => "[bc]",
            Self::OneLetter => "?",
        }
    }

    fn fits(self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Any | Self::AnyDepth => true,
            Self::Keys => name.ends_with(".key"),
            Self::AorB => ["a", "b"].contains(&name),
            Self::BorC => ["b", "c"].contains(&name),
            Self::OneLetter => name.len() == 1,
        }
    }
}

fn glob(parts: &[Part], names: &[&str]) -> bool {
    // A rule holds for everything below what it names, so `x/**/*` names no more than `x/*`.
    if let [before @ .., Part::AnyDepth, Part::Any] = parts {
        return glob(&[before, &[Part::Any]].concat(), names);
    }
    match parts.split_first() {
        None => names.is_empty(),
        Some((Part::AnyDepth, rest)) => (0..=names.len()).any(|skipped| glob(rest, &names[skipped..])),
        Some((part, rest)) => {
            names.split_first().is_some_and(|(name, tail)| part.fits(name) && glob(rest, tail))
        }
    }
}

impl Rule {
    fn denies(&self) -> bool {
        matches!(self.list, List::DenyRead | List::DenyWrite)
    }

    /// Whether the rule names exactly this path.
    fn names(&self, root: Root, names: &[&str]) -> bool {
        match &self.target {
            Target::Path(own, path) | Target::Literal(own, path) => *own == root && path == names,
            Target::Anchored(own, parts) => *own == root && glob(parts, names),
            Target::Anywhere(part) => names.last().is_some_and(|name| part.fits(name)),
            Target::Bare(part) if self.denies() => names.last().is_some_and(|name| part.fits(name)),
            Target::Bare(part) => root == Root::Workspace && glob(&[*part], names),
        }
    }

    /// How deep the deepest named path lies that is this one or above it.
    fn covers(&self, root: Root, names: &[&str]) -> Option<usize> {
        (0..=names.len()).rev().find(|depth| self.names(root, &names[..*depth]))
    }

    /// Unanchored patterns hold below the workspace and listed roots; what is listed outside is another
    /// test's question.
    fn unclear(&self, root: Root) -> bool {
        root == Root::Outside
            && match self.target {
                Target::Anywhere(_) => true,
                Target::Bare(_) => self.denies(),
                _ => false,
            }
    }
}

impl Case {
    fn deepest(&self, list: List, root: Root, names: &[&str]) -> Option<usize> {
        let own =
            self.rules.iter().filter(|rule| rule.list == list).filter_map(|rule| rule.covers(root, names));
        // The default preset lists the workspace itself.
        let preset = matches!(list, List::AllowRead | List::AllowWrite) && root == Root::Workspace;
        own.chain(preset.then_some(0)).max()
    }

    fn may_read(&self, root: Root, names: &[&str]) -> bool {
        match (self.deepest(List::DenyRead, root, names), self.deepest(List::AllowRead, root, names)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(denied), Some(allowed)) => allowed >= denied,
        }
    }

    fn may_write(&self, root: Root, names: &[&str]) -> bool {
        self.may_read(root, names)
            && self.deepest(List::AllowWrite, root, names).is_some()
            && self.deepest(List::DenyWrite, root, names).is_none()
    }

    fn settings(&self, world: &World) -> String {
        let list = |list: List| -> Value {
            let entries = self.rules.iter().filter(|rule| rule.list == list).map(|rule| match &rule.target {
                Target::Path(root, names) => json!(place(world, *root, names)),
                Target::Literal(root, names) => json!({"path": place(world, *root, names), "literal": true}),
                Target::Anchored(root, parts) => {
                    let parts: Vec<&str> = parts.iter().map(|part| part.text()).collect();
                    json!(place(world, *root, &parts))
                }
                Target::Anywhere(part) => json!(format!("**/{}", part.text())),
                Target::Bare(part) => json!(part.text()),
            });
            entries.collect()
        };
        json!({"filesystem": {
            "allowRead": list(List::AllowRead),
            "denyRead": list(List::DenyRead),
            "allowWrite": list(List::AllowWrite),
            "denyWrite": list(List::DenyWrite),
        }})
        .to_string()
    }
}

fn place(world: &World, root: Root, names: &[&str]) -> PathBuf {
    let mut path = match root {
        Root::Workspace => world.ws.clone(),
        Root::Outside => world.outside.clone(),
    };
    path.extend(names);
    path
}

fn root() -> impl Strategy<Value = Root> {
    prop_oneof![3 => Just(Root::Workspace), 2 => Just(Root::Outside)]
}

fn names(shortest: usize) -> impl Strategy<Value = Names> {
    proptest::collection::vec(proptest::sample::select(&NAMES[..]), shortest..=3)
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => proptest::sample::select(&NAMES[..]).prop_map(Part::Name),
        1 => Just(Part::Any),
        1 => Just(Part::Keys),
        1 => Just(Part::AorB),
        1 => Just(Part::BorC),
        1 => Just(Part::OneLetter),
    ]
}

/// `part`, `part/part`, `**/part`, `part/**/part`.
fn parts() -> impl Strategy<Value = Vec<Part>> {
    prop_oneof![
        part().prop_map(|one| vec![one]),
        (part(), part()).prop_map(|(one, two)| vec![one, two]),
        part().prop_map(|one| vec![Part::AnyDepth, one]),
        (part(), part()).prop_map(|(one, two)| vec![one, Part::AnyDepth, two]),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        4 => (root(), names(1)).prop_map(|(root, names)| Target::Path(root, names)),
        2 => (root(), names(1)).prop_map(|(root, names)| Target::Literal(root, names)),
        3 => (root(), parts()).prop_map(|(root, parts)| Target::Anchored(root, parts)),
        1 => part().prop_map(Target::Anywhere),
        1 => part().prop_map(Target::Bare),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let list = prop_oneof![
        Just(List::AllowRead),
        Just(List::DenyRead),
        Just(List::AllowWrite),
        Just(List::DenyWrite)
    ];
    (list, target()).prop_map(|(list, target)| Rule { list, target })
}

fn case() -> impl Strategy<Value = Case> {
    let files = proptest::collection::btree_set((root(), names(1)), 3..14);
    (files, proptest::collection::vec(rule(), 0..8)).prop_map(|(mut files, rules)| {
        // A name cannot be a file and a directory.
        let all = files.clone();
        files.retain(|(root, names)| {
            !all.iter().any(|(other, longer)| {
                other == root && longer.len() > names.len() && longer.starts_with(names)
            })
        });
        Case { files, rules }
    })
}

fn check(caller: Caller, case: &Case) -> Result<(), TestCaseError> {
    let world = World::new(caller);
    let mut directories = BTreeSet::new();
    for (root, names) in &case.files {
        world.file(place(&world, *root, names), "text");
        directories.extend((1..names.len()).map(|depth| (*root, names[..depth].to_vec())));
    }
    let settings = world.settings(case.settings(&world));
    let mut acts = Vec::new();
    for (root, names) in &case.files {
        acts.push(act!["read", place(&world, *root, names)]);
        acts.push(act!["open-write", place(&world, *root, names)]);
    }
    acts.extend(directories.iter().map(|(root, names)| act!["list", place(&world, *root, names)]));
    let answers = world.run().with("--settings", &settings).batch(acts);
    let mut wrong = Vec::new();
    let mut expect = |line: &str, allowed: bool, what: &str, root: Root, names: &[&str]| {
        let refused = ["errno EACCES", "errno ENOENT", "errno EROFS"].contains(&line);
        if line.starts_with("ok") != allowed || (!allowed && !refused) {
            let word = if allowed { "allowed" } else { "refused" };
            wrong
                .push(format!("{what} {root:?} {}: the model says {word}, the wall {line}", names.join("/")));
        }
    };
    let clear = |root: Root| !case.rules.iter().any(|rule| rule.unclear(root));
    for ((root, names), two) in case.files.iter().zip(answers.chunks(2)).filter(|((root, _), _)| clear(*root))
    {
        expect(two[0].line(), case.may_read(*root, names), "read", *root, names);
        expect(two[1].line(), case.may_write(*root, names), "write", *root, names);
    }
    for ((root, names), answer) in directories.iter().zip(&answers[case.files.len() * 2..]) {
        if !clear(*root) {
            continue;
        }
        let below = |file: &&(Root, Names)| {
            file.0 == *root && file.1.len() > names.len() && file.1.starts_with(names)
        };
        let open = case.files.iter().filter(below).any(|(root, file)| {
            case.may_read(*root, file)
                || (names.len()..file.len()).any(|depth| case.may_read(*root, &file[..depth]))
        });
        // A denied directory with readable files below shows those, or nothing.
        if case.may_read(*root, names) || !open {
            expect(answer.line(), case.may_read(*root, names), "list", *root, names);
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let ran = answers[0].ran();
    Err(TestCaseError::fail(format!("{}\nsettings: {}{ran}", wrong.join("\n"), case.settings(&world))))
}

#[test]
fn f21_random_rules_agree_with_the_model() {
    let mut callers = vec![Caller::User];
    if is_root() {
        callers.push(Caller::Root);
    } else {
        skip("model::f21_random_rules_agree_with_the_model (root caller)", "the suite does not run as root");
    }
    for caller in callers {
        let begun = Instant::now();
        let config =
            Config { cases: CASES, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
        let seed = if caller == Caller::Root { [7; 32] } else { [11; 32] };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let result =
            runner.run(&case(), |case| if begun.elapsed() > LONGEST { Ok(()) } else { check(caller, &case) });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(why, case)) => panic!("{caller:?}: {case:#?}\n{why}"),
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
    }
}
