//! Directories that commands behind walls chose.

use super::{shell, tree};
use crate::testing::{Tree, load};
use crate::{BareWish, Chooser, Decision, Files, Footing, Layer, Policy, Request, Shape, Verdict, Walls};
use std::path::Path;

fn files() -> Tree {
    tree()
        .directory("/ws/sub")
        .directory("/srv/data/sub")
        .directory("/srv/read")
        .directory("/var/other")
        .link("/ws/planted", "/var/other")
        .link("/ws/inner", "/ws/sub")
        .link("/ways", "/ws")
        .link("/var/to-inner", "/ws/inner")
}

fn policy(text: &str) -> Policy {
    load(&files(), Layer::User, Shape::Native, text).unwrap()
}

/// What is said in a session that began in the workspace, whose shell really is in `stands`.
fn at(policy: &Policy, cwd: &str, stands: &str, change: impl Fn(Request) -> Request) -> Decision {
    let files = files();
    let footing = Footing::In(files.look(Path::new(stands)).unwrap());
    let chosen_by = Chooser::Commands { began: "/ws".into(), footing };
    policy.decide(&change(Request { cwd: cwd.into(), chosen_by, ..shell("docker ps") }), &files)
}

const WRITABLE: &str = r#"{"excludedCommands": ["docker:*"], "filesystem": {"allowWrite": ["/srv/data"]}}"#;

#[test]
fn what_is_listed_keeps_its_walls_where_commands_lead_it() {
    let policy = policy(WRITABLE);
    for (cwd, stands) in
        [("/ws", "/ws"), ("/ws/sub", "/ws/sub"), ("/srv/data/sub", "/srv/data/sub"), ("/ways/sub", "/ws/sub")]
    {
        let decision = at(&policy, cwd, stands, |request| request);
        assert_eq!(decision.verdict, Verdict::Unsandboxed, "{cwd}: {}", decision.reason);
        assert_eq!(decision.directory.as_deref(), Some(Path::new(stands)));
    }
    for (cwd, stands, why) in [
        ("/ws/planted", "/var/other", "through the link /ws/planted"),
        ("/ws/inner", "/ws/sub", "through the link /ws/inner"),
        ("/var/to-inner", "/ws/sub", "through the link /ws/inner"),
        ("/ws/sub", "/ws", "not the directory that the session's shell is in"),
        ("/var/other", "/var/other", "commands behind walls chose"),
        ("/srv/read", "/srv/read", "commands behind walls chose"),
        ("/", "/", "commands behind walls chose"),
        ("/ws/gone", "/ws", "cannot be looked at"),
    ] {
        let decision = at(&policy, cwd, stands, |request| request);
        assert_eq!(decision.verdict, Verdict::Sandbox, "{cwd}");
        assert!(decision.reason.contains(why), "{cwd}: {}", decision.reason);
        // A caller may go there.
        let own = at(&policy, cwd, stands, |request| Request { chosen_by: Chooser::Caller, ..request });
        assert_eq!(own.verdict == Verdict::Unsandboxed, cwd != "/ws/gone", "{cwd}: {}", own.reason);
    }
}

#[test]
fn a_shell_that_is_gone_or_hides_is_another_matter() {
    let (policy, files) = (policy(WRITABLE), files());
    let verdict = |cwd: &str, footing: Footing| {
        let chosen_by = Chooser::Commands { began: "/ws".into(), footing };
        policy.decide(&Request { cwd: cwd.into(), chosen_by, ..shell("docker ps") }, &files).verdict
    };
    assert_eq!(verdict("/ws/sub", Footing::Nowhere), Verdict::Unsandboxed);
    assert_eq!(verdict("/ws/planted", Footing::Nowhere), Verdict::Sandbox);
    assert_eq!(verdict("/ws/sub", Footing::Hidden), Verdict::Sandbox);
}

#[test]
fn where_a_session_began_is_its_callers_choice() {
    let (policy, files) = (policy(WRITABLE), files());
    let verdict = |cwd: &str, began: &str| {
        let chosen_by = Chooser::Commands { began: began.into(), footing: Footing::Nowhere };
        policy.decide(&Request { cwd: cwd.into(), chosen_by, ..shell("docker ps") }, &files).verdict
    };
    assert_eq!(verdict("/var/other", "/var/other"), Verdict::Unsandboxed);
    assert_eq!(verdict("/var", "/var/other"), Verdict::Sandbox);
    assert_eq!(verdict("/ws/planted", "/ws/planted"), Verdict::Sandbox);
}

#[test]
fn what_would_have_no_walls_anyway_is_refused() {
    let bare = |request| Request { bare: BareWish::Bare, ..request };
    let broken = |request| Request { walls: Walls::Unavailable { reason: "none".into() }, ..request };
    let changes: [(&str, &dyn Fn(Request) -> Request); 3] = [
        (r#"{"allowUnsandboxedCommands": true}"#, &bare),
        (r#"{"failIfUnavailable": false}"#, &broken),
        (r#"{"enabled": false}"#, &|request| request),
    ];
    for (text, change) in changes {
        let policy = policy(text);
        let fine = at(&policy, "/ws/sub", "/ws/sub", change);
        assert_eq!(fine.verdict, Verdict::Unsandboxed, "{text}: {}", fine.reason);
        assert_eq!(fine.directory.as_deref(), Some(Path::new("/ws/sub")), "{text}");
        for (cwd, stands) in [("/ws/planted", "/var/other"), ("/var/other", "/var/other"), ("/ws/sub", "/ws")]
        {
            let decision = at(&policy, cwd, stands, change);
            assert_eq!(decision.verdict, Verdict::Refuse, "{text} {cwd}: {}", decision.reason);
        }
    }
}
