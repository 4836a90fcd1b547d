//! Protection holds in an overlay as it does without.

use super::{apply, held, is, names, overlays};
use crate::act;
use crate::support::{Snapshot, World, each_caller};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;

fn project(world: &World) {
    for (path, content) in [
        (".env", "SECRET"),
        ("deep/.env", "SECRET"),
        (".bashrc", "alias x=y\n"),
        (".vscode/tasks.json", "{}"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\tbare = false\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        (".git/objects/info/packs", ""),
        (".git/refs/heads/main", ""),
        ("src/main.rs", "fn main() {}\n"),
        ("locked/file", "kept\n"),
    ] {
        world.file(path, content);
    }
    world.link(".bashrc", ".profile");
}

fn attacks(world: &World) -> Vec<Vec<OsString>> {
    let at = |path: &str| world.ws.join(path);
    let mut acts = Vec::new();
    for path in [".env", "deep/.env"] {
        acts.push(act!["read", at(path)]);
    }
    for path in [
        ".env",
        "deep/.env",
        ".bashrc",
        ".vscode/tasks.json",
        ".git/hooks/pre-commit",
        "locked/file",
        ".profile",
    ] {
        acts.push(act!["write", at(path)]);
        acts.push(act!["unlink", at(path)]);
        acts.push(act!["rename", at("src/main.rs"), at(path)]);
        acts.push(act!["rename", at(path), at("away")]);
        acts.push(act!["chmod", at(path), "0o777"]);
    }
    acts.push(act!["write", at(".git/config")]);
    for path in [".zshrc", ".mcp.json", ".git/hooks/post-checkout", "new/.env", ".git/commondir"] {
        acts.push(act!["put", at(path)]);
    }
    for path in [".git", "deep", ".vscode", ".git/hooks", "locked"] {
        acts.push(act!["rename", at(path), at("moved")]);
    }
    acts
}

/// The same acts, refused with the same words: nobody inside can tell whether changes are held back.
#[test]
fn the_same_is_refused() {
    each_caller(|world| {
        project(world);
        world.dir("new");
        let before = Snapshot::of(&world.ws, &[]);
        let bare = world.run().with("--deny-write", "locked").batch(attacks(world));
        Snapshot::of(&world.ws, &[]).same_as(&before, "without an overlay");
        let overlaid = held(world).with("--deny-write", "locked").batch(attacks(world));
        let told = |answers: &[crate::support::Answer]| -> Vec<String> {
            answers.iter().map(|answer| format!("{} -> {}", answer.asked(), answer.line())).collect()
        };
        assert_eq!(told(&overlaid), told(&bare));
        Snapshot::of(&world.ws, &[]).same_as(&before, "with an overlay");
        assert!(overlays(world).is_empty(), "{:?}", names(world));
    });
}

/// Git works, and its settings are checked.
#[test]
fn git_works_in_an_overlay() {
    each_caller(|world| {
        let git = "git -c user.name=a -c user.email=a@b";
        world.bare("/usr/bin/git").opts(["init", "-q", "-b", "main", "."]).go().exits(0);
        world.file("a", "one\n");
        let ran = held(world).shell(&format!(
            "{git} add a && {git} commit -qm first && {git} checkout -qb other && git config user.name someone; \
             git config core.fsmonitor /tmp/evil; git log --format=%s other"
        ));
        assert_eq!(ran.out(), "first\n", "{ran}");
        assert!(!world.ws.join(".git/refs/heads/other").exists());
        apply(world).exits(0);
        let ran = world.bare("/usr/bin/git").opts(["log", "--format=%s", "other"]).go();
        assert_eq!(ran.out(), "first\n", "{ran}");
        let ran = world.bare("/usr/bin/git").opts(["config", "--list", "--local"]).go();
        assert!(ran.out().contains("user.name=someone") && !ran.out().contains("fsmonitor"), "{ran}");
        world.bare("/usr/bin/git").opts(["fsck"]).go().exits(0);
    });
}

/// A hole in a mask, and what lies around it.
#[test]
fn a_place_opened_again_is_held_back_too() {
    each_caller(|world| {
        project(world);
        world.file("hidden/secret", "SECRET");
        world.file("hidden/open/a", "one\n");
        let settings = world.settings(
            r#"{"filesystem": {"denyRead": ["hidden"], "allowRead": ["hidden/open"], "allowWrite": [".", "hidden/open"]}}"#,
        );
        let text =
            "cat hidden/secret; echo more >> hidden/open/a; cat hidden/open/a; echo n > hidden/open/new";
        let bare = world.run().with("--settings", &settings).shell(&format!("{text}; rm hidden/open/new"));
        let written = bare.out();
        world.file("hidden/open/a", "one\n");
        let before = Snapshot::of(&world.ws, &[]);
        let ran = held(world).with("--settings", &settings).shell(text);
        assert_eq!(ran.out(), written, "{ran}");
        Snapshot::of(&world.ws, &[]).same_as(&before, "a hole in a mask");
    });
}

/// What the caller wants written to a file of the workspace is; the file's name inside is the overlay's.
#[test]
fn a_descriptor_of_the_host_stays_the_callers() {
    each_caller(|world| {
        project(world);
        let out = world.ws.join("out");
        let file = std::fs::File::create(&out).unwrap();
        world.give(&out);
        held(world)
            .output_to(file, std::process::Stdio::null())
            .shell("echo said; echo more >> out")
            .exits(0);
        is(&out, "said\n");
    });
}

/// A yes is done on the host, so nobody is asked about changes that are to be held back; hidden files can be
/// shown to a command all the same.
#[test]
fn a_yes_does_not_reach_past_the_overlay() {
    const NUMBER: i32 = 7;
    each_caller(|world| {
        project(world);
        world.file("hidden", "SECRET\n");
        let before = Snapshot::of(&world.ws, &[]);
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut to = ours.try_clone().expect("dup");
        let answers = thread::spawn(move || {
            let mut asked = Vec::new();
            for line in BufReader::new(ours).lines().map_while(Result::ok) {
                let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
                if line["type"] == "ask" {
                    let answer = serde_json::json!({"id": line["id"], "answer": "session"});
                    let _ = to.write_all(format!("{answer}\n").as_bytes());
                    asked.push(line["subject"].as_str().expect("a subject").to_owned());
                }
            }
            asked
        });
        let run = held(world).with("--ask", format!("fd:{NUMBER}")).holding(theirs, NUMBER);
        let run = run.with("--deny-write", "locked").with("--deny-read", "hidden");
        let ran = run.shell("cat hidden; echo x > locked/file; echo x > locked/new; rm locked/file");
        assert_eq!(ran.out(), "SECRET\n", "{ran}");
        assert_eq!(answers.join().expect("answers"), [world.ws.join("hidden").to_str().unwrap()]);
        Snapshot::of(&world.ws, &[]).same_as(&before, "a yes in an overlay");
    });
}
