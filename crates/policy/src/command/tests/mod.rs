//! The rules about commands, tried.

mod ask;
mod attacks;
mod chain;
mod chosen;
mod company;
mod deny;
mod given;
mod places;
mod repository;
mod table;
mod torture;

use crate::testing::{Tree, load, request, usual_tree};
use crate::{CommandLine, Decision, Layer, Policy, Request, Shape};

/// What the user of these tests lets run without walls.
pub(super) const EXCLUDED: &str = r#"{"excludedCommands": ["npm run lint", "npm run test:*", "docker*", "git status",
    "echo:*", "cat:*", "cd:*", "make -j * all", "timeout 9 sleep 8", "/opt/tool/run*", "./tool:*", "eval:*", "test:*",
    "printf:*", "bash -c:*", "env:*", "coproc:*", "time:*", "source:*", ".:*", "declare:*", "export:*", "say 'a b'"]}"#;

/// The usual places and a few programs.
pub(super) fn tree() -> Tree {
    let programs = [
        "docker", "npm", "git", "echo", "cat", "env", "timeout", "nice", "nohup", "stdbuf", "make", "bash",
        "time", "ionice",
    ];
    let tree = usual_tree()
        .directory("/ws/bin")
        .directory("/ws/src")
        .file("/ws/tool")
        .file("/opt/tool/run")
        .directory("/usr/local/bin");
    programs.iter().fold(tree, |tree, name| tree.file(&format!("/usr/bin/{name}")))
}

pub(super) fn policy(text: &str) -> Policy {
    load(&tree(), Layer::User, Shape::Native, text).unwrap()
}

/// A request to run a shell text.
pub(super) fn shell(text: &str) -> Request {
    let environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin".into())];
    Request { command: CommandLine::Shell(text.into()), environment, ..request() }
}

pub(super) fn decide(policy: &Policy, text: &str) -> Decision {
    policy.decide(&shell(text), &tree())
}
