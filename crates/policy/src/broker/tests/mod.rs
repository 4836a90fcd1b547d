mod agree;
mod git;
mod names;
mod planned;
mod unix;
mod walls;

use crate::testing::{Tree, inputs, request};
use crate::{Flags, Inputs, Judge, Judgement, Naming, Plan, Policy, Refusal};

/// A plan of the default preset with these options.
fn plan_with(flags: Flags, tree: &Tree) -> Plan {
    let policy = Policy::load(Inputs { flags, ..inputs() }, tree).unwrap();
    policy.plan(&request(), tree).unwrap()
}

fn judge_with(flags: Flags, tree: &Tree) -> Judge {
    Judge::new(&plan_with(flags, tree))
}

fn list(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// The refusal, or a panic that says what was asked.
fn refused(judge: &Judge, path: &str, naming: Naming) -> Refusal {
    match judge.name(path.as_ref(), naming) {
        Judgement::Refused(refusal) => refusal,
        other => panic!("{path} as {naming:?}: {other:?}"),
    }
}

fn assert_free(judge: &Judge, path: &str, naming: Naming) {
    assert_eq!(judge.name(path.as_ref(), naming), Judgement::Free, "{path} as {naming:?}");
}
