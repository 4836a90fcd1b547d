//! Listed commands while others are at work, and links that lead them elsewhere.

use super::{shell, tree};
use crate::testing::{Tree, load};
use crate::{AtWork, Decision, Layer, Request, Shape, Verdict, Worker};

const LISTED: &str = r#"{"excludedCommands": ["docker:*", "git diff", "git -C:*", "cd:*"]}"#;

fn decide(files: &Tree, cwd: &str, text: &str, who: Worker, roots: &[&str]) -> Decision {
    let policy = load(files, Layer::User, Shape::Native, LISTED).unwrap();
    let at_work = roots.iter().map(|root| AtWork { who, root: root.into() }).collect();
    policy.decide(&Request { cwd: cwd.into(), at_work, ..shell(text) }, files)
}

#[test]
fn beside_others_walls_are_kept() {
    let files = tree().directory("/ws/sub").directory("/var/other");
    for (cwd, text, roots, expected) in [
        ("/ws", "docker ps", &[][..], Verdict::Unsandboxed),
        ("/ws", "docker ps", &["/ws"], Verdict::Sandbox),
        ("/ws", "docker ps", &["/var/other", "/ws/sub"], Verdict::Sandbox),
        ("/ws", "docker ps", &["/"], Verdict::Sandbox),
        ("/ws/sub", "docker ps", &["/ws"], Verdict::Sandbox),
        ("/ws/sub", "docker ps", &["/ws/src"], Verdict::Unsandboxed),
        ("/ws", "docker ps", &["/ws2", "/var/other"], Verdict::Unsandboxed),
        ("/ws", "cd /var/other && docker ps", &["/var/other"], Verdict::Sandbox),
        ("/ws", "git -C /var/other status", &["/var/other"], Verdict::Sandbox),
    ] {
        let decision = decide(&files, cwd, text, Worker::Sandbox, roots);
        assert_eq!(decision.verdict, expected, "{cwd} {text} {roots:?}: {}", decision.reason);
    }
}

#[test]
fn all_of_a_repository_is_read_from_anywhere_in_it() {
    let files = tree()
        .directory("/ws/sub")
        .directory("/ws/.git")
        .file("/ws/.git/HEAD")
        .directory("/main/.git/worktrees/w")
        .text("/main/.git/worktrees/w/commondir", "../..\n")
        .text("/w/.git", "gitdir: /main/.git/worktrees/w\n");
    for (cwd, root, expected) in [
        ("/ws/sub", "/ws/src", Verdict::Sandbox),
        ("/ws/sub", "/ws2", Verdict::Unsandboxed),
        ("/w", "/main", Verdict::Sandbox),
        ("/w", "/main/.git", Verdict::Sandbox),
    ] {
        let decision = decide(&files, cwd, "docker ps", Worker::Sandbox, &[root]);
        assert_eq!(decision.verdict, expected, "{cwd} {root}: {}", decision.reason);
    }
}

/// Git reads where its settings lead it.
#[test]
fn a_work_tree_elsewhere_is_read_too() {
    let files = tree()
        .directory("/ws/.git")
        .file("/ws/.git/HEAD")
        .text("/ws/.git/config", "[core]\n\tworktree = /var/pw\n")
        .directory("/var/pw");
    for (root, expected) in [("/var/pw", Verdict::Sandbox), ("/var/other", Verdict::Unsandboxed)] {
        let decision = decide(&files, "/ws", "git diff", Worker::Sandbox, &[root]);
        assert_eq!(decision.verdict, expected, "{root}: {}", decision.reason);
    }
}

#[test]
fn the_reason_says_who() {
    for (who, words) in [
        (Worker::Session, "other commands of this session are still at work"),
        (Worker::Later, "it would go on in the background"),
        (Worker::Sandbox, "another sandbox is at work in /ws"),
        (Worker::Moved, "a directory that was /ws and has been moved"),
    ] {
        let decision = decide(&tree(), "/ws", "docker ps", who, &["/ws"]);
        let begins = "commands run behind walls; excludedCommands lists it, but ";
        assert!(decision.reason.starts_with(begins), "{}", decision.reason);
        assert!(decision.reason.contains(words), "{}", decision.reason);
    }
}

#[test]
fn a_link_that_commands_may_have_made_leads_nobody_out_of_the_walls() {
    let files = tree()
        .directory("/var/other")
        .directory("/ws/sub")
        .link("/ws/planted", "/var/other")
        .link("/ws/inner", "/ws/sub")
        .link("/mine", "/var/other");
    for (text, expected) in [
        ("cd sub && docker ps", Verdict::Unsandboxed),
        ("cd /mine && docker ps", Verdict::Unsandboxed),
        ("cd planted && docker ps", Verdict::Sandbox),
        ("cd inner && docker ps", Verdict::Sandbox),
        ("cd ./sub/../planted && docker ps", Verdict::Sandbox),
        ("git -C sub status", Verdict::Unsandboxed),
        ("git -C planted status", Verdict::Sandbox),
    ] {
        let decision = decide(&files, "/ws", text, Worker::Sandbox, &[]);
        assert_eq!(decision.verdict, expected, "{text}: {}", decision.reason);
        let told = decision.reason.contains("and commands may have made that");
        assert_eq!(told, expected == Verdict::Sandbox, "{text}: {}", decision.reason);
    }
}

/// Where it is now nobody knows.
#[test]
fn a_sandbox_that_was_moved_may_be_anywhere() {
    let files = tree().directory("/var/other");
    let decision = decide(&files, "/ws", "docker ps", Worker::Moved, &["/var/other"]);
    assert_eq!(decision.verdict, Verdict::Sandbox, "{}", decision.reason);
}
