//! Odd names, odd workspaces, and which rule wins.

use crate::act;
use crate::support::{World, each_caller};
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Denied, and a neighbour that a careless matcher would take for it.
const ODD: [(&str, &str); 14] = [
    ("a b", "a"),
    (" lead", "lead"),
    ("new\nline", "new"),
    ("tab\there", "tab"),
    ("star*", "starx"),
    ("[x]", "x"),
    ("{a,b}", "b"),
    ("q?", "qq"),
    ("**", "anything"),
    ("-dash", "dash"),
    ("ünï", "uni"),
    ("back\\slash", "backslash"),
    ("$HOME", "HOME"),
    ("!bang", "bang"),
];

#[test]
fn literal_entries_mean_exactly_one_name() {
    each_caller(|world| {
        for (denied, neighbour) in ODD {
            world.file(Path::new("odd").join(denied), "SECRET");
            world.file(Path::new("odd").join(neighbour), "open");
        }
        let entry = |name: &str| json!({"path": world.ws.join("odd").join(name), "literal": true});
        let denied: Vec<_> = ODD.iter().map(|(denied, _)| entry(denied)).collect();
        let settings = world.settings(json!({"filesystem": {"denyRead": denied}}).to_string());
        let run = || world.run().with("--settings", &settings);
        for answer in run().batch(ODD.map(|(denied, _)| act!["read", world.ws.join("odd").join(denied)])) {
            answer.errno(&["EACCES"]);
        }
        for answer in run().batch(ODD.map(|(_, open)| act!["read", world.ws.join("odd").join(open)])) {
            assert_eq!(answer.ok(), "open");
        }
        let settings = world.settings(json!({"filesystem": {"denyWrite": denied}}).to_string());
        let run = || world.run().with("--settings", &settings);
        for answer in run().batch(ODD.map(|(denied, _)| act!["write", world.ws.join("odd").join(denied)])) {
            answer.errno(&["EROFS"]);
        }
        for answer in run().batch(ODD.map(|(_, open)| act!["write", world.ws.join("odd").join(open)])) {
            answer.ok();
        }
    });
}

#[test]
fn names_that_are_not_text() {
    each_caller(|world| {
        let odd = world.file(Path::new(OsStr::from_bytes(b"odd\xff\xfe")), "SECRET");
        let dir = world.dir(Path::new(OsStr::from_bytes(b"dir\x80")));
        let inner = world.file(dir.join("f"), "x");
        let plain = world.file("odd", "open");
        // Options are text: such a name cannot be written there, and is never half understood.
        let ran = world.run().with("--deny-read", &odd).program(["touch", "ran"]);
        ran.refused_to_start(&["UTF-8"]);
        let run = || world.run().opts(["--deny-read", "odd?*", "--deny-write", "dir*"]);
        run().probe(act!["read", &odd]).errno(&["EACCES"]);
        run().probe(act!["write", &inner]).errno(&["EROFS"]);
        assert_eq!(run().probe(act!["read", &plain]).ok(), "open");
        assert_eq!(world.probe(act!["read", &odd]).ok(), "SECRET");
        // Below such a directory rules hold like anywhere.
        let secret = world.file(dir.join(".env"), "SECRET");
        world.probe(act!["read", &secret]).errno(&["EACCES"]);
    });
}

#[test]
fn globs_in_every_list() {
    each_caller(|world| {
        for name in ["a.key", "b.key", "c.txt", "deep/d.key", "deep/er/e.key", "x1/f", "x2/f", "x3/f"] {
            world.file(name, "text");
        }
        let at = |name: &str| world.ws.join(name);
        let read = |options: &[&str], name: &str| world.run().opts(options).probe(act!["read", at(name)]);
        read(&["--deny-read", "*.key"], "a.key").errno(&["EACCES"]);
        read(&["--deny-read", "*.key"], "c.txt").ok();
        read(&["--deny-read", "**/*.key"], "deep/er/e.key").errno(&["EACCES"]);
        read(&["--deny-read", "deep/**/*.key"], "deep/er/e.key").errno(&["EACCES"]);
        read(&["--deny-read", "deep/**/*.key"], "a.key").ok();
        read(&["--deny-read", "[ab].key"], "b.key").errno(&["EACCES"]);
        read(&["--deny-read", "{a,z}.key"], "a.key").errno(&["EACCES"]);
        read(&["--deny-read", "{a,z}.key"], "b.key").ok();
        read(&["--deny-read", "?.txt"], "c.txt").errno(&["EACCES"]);
        read(&["--deny-read", "x[!3]/f"], "x1/f").errno(&["EACCES"]);
        read(&["--deny-read", "x[!3]/f"], "x3/f").ok();
        let write =
            |options: &[&str], name: &str| world.run().opts(options).probe(act!["open-write", at(name)]);
        write(&["--deny-write", "*.key"], "a.key").errno(&["EROFS"]);
        write(&["--deny-write", "x?"], "x2/f").errno(&["EROFS"]);
        write(&["--deny-write", "x?"], "c.txt").ok();
        // A bare name in a deny list holds at any depth.
        write(&["--deny-write", "f"], "x2/f").errno(&["EROFS"]);
        read(&["--deny-read", "e.key"], "deep/er/e.key").errno(&["EACCES"]);
    });
}

#[test]
fn denied_writes_win_whatever_the_nesting() {
    each_caller(|world| {
        for name in ["f", "a/f", "a/b/f", "a/b/c/f"] {
            world.file(world.outside.join(name), "x");
        }
        let at = |name: &str| world.outside.join(name);
        let answers = world
            .run()
            .with("--allow-write", at("a/b"))
            .with("--deny-write", at("a"))
            .with("--allow-write", at(""))
            .with("--allow-write", at("a/b/c"))
            .batch(["f", "a/f", "a/b/f", "a/b/c/f"].map(|name| act!["open-write", at(name)]));
        answers[0].ok();
        for refused in &answers[1..] {
            refused.errno(&["EROFS"]);
        }
    });
}

#[test]
fn inside_a_denied_region_the_most_specific_rule_wins() {
    each_caller(|world| {
        for name in ["f", "a/f", "a/b/f", "a/b/c/f", "tie/f"] {
            world.file(world.outside.join(name), "x");
        }
        let at = |name: &str| world.outside.join(name);
        let run = || {
            world
                .run()
                .with("--deny-read", at(""))
                .with("--allow-read", at("a"))
                .with("--deny-read", at("a/b"))
                .with("--allow-read", at("a/b/c"))
                .with("--deny-read", at("tie"))
                .with("--allow-read", at("tie"))
        };
        let answers =
            run().batch(["f", "a/f", "a/b/f", "a/b/c/f", "tie/f"].map(|name| act!["read", at(name)]));
        answers[0].errno(&["EACCES", "ENOENT"]);
        answers[1].ok();
        answers[2].errno(&["EACCES", "ENOENT"]);
        answers[3].ok();
        answers[4].ok();
        let listed = run().probe(act!["list", &world.outside]);
        if listed.succeeded() {
            assert_eq!(listed.ok(), "a tie", "a denied directory shows more than its holes{}", listed.ran());
        }
    });
}

#[test]
fn a_single_file_as_a_hole() {
    each_caller(|world| {
        let open = world.file(world.outside.join("deep/down/open"), "open");
        let shut = world.file(world.outside.join("deep/down/shut"), "SECRET");
        let run = || world.run().with("--deny-read", world.outside.join("deep")).with("--allow-read", &open);
        assert_eq!(run().probe(act!["read", &open]).ok(), "open");
        run().probe(act!["read", &shut]).errno(&["EACCES", "ENOENT"]);
        // Reading is all a hole gives.
        run().probe(act!["write", &open]).errno(&["EROFS"]);
        run().probe(act!["create", open.with_file_name("new")]).errno(&["EROFS", "EACCES"]);
    });
}

#[test]
fn a_workspace_below_tmp() {
    each_caller(|elsewhere| {
        let world = World::below(elsewhere.caller, Path::new("/tmp"));
        let inside = world.file("inside", "inside");
        let beside = world.file(world.outside.join("beside"), "SECRET");
        let listed = world.file(world.outside.join("listed/f"), "listed");
        world.probe(act!["write", &inside]).ok();
        world.probe(act!["create", world.ws.join("new")]).ok();
        assert!(world.ws.join("new").exists());
        world.probe(act!["read", &beside]).errno(&["ENOENT"]);
        world.probe(["create", "/tmp/private"]).ok();
        assert!(!Path::new("/tmp/private").exists(), "the sandbox wrote into the host's /tmp");
        let run = || world.run().with("--allow-read", listed.parent().unwrap());
        assert_eq!(run().probe(act!["read", &listed]).ok(), "listed");
        run().probe(act!["write", &listed]).errno(&["EROFS"]);
    });
}

#[test]
fn private_places_are_private() {
    each_caller(|world| {
        let name = format!("stockade-it-{}-{:?}", std::process::id(), world.caller);
        for dir in ["/tmp", "/dev/shm"] {
            let path = format!("{dir}/{name}");
            world.probe(["create", &path]).ok();
            assert!(!Path::new(&path).exists(), "{path} reached the host");
            std::fs::write(&path, "SECRET").unwrap();
            let seen = world.probe(["read", &path]);
            std::fs::remove_file(&path).unwrap();
            seen.errno(&["ENOENT"]);
        }
    });
}

#[test]
fn a_workspace_behind_a_link() {
    each_caller(|world| {
        let link = world.link(&world.ws, world.base.join("link"));
        world.file(".env", "SECRET");
        let kept = world.file("kept", "kept");
        for run in [world.run().at(&link), world.run().at("/").with("--cwd", &link)] {
            let answers = run.opts(["--deny-write", "kept"]).batch([
                act!["put", "relative"],
                act!["put", world.ws.join("absolute")],
                act!["put", link.join("through")],
                act!["read", ".env"],
                act!["read", link.join(".env")],
                act!["write", "kept"],
                act!["write", &kept],
            ]);
            for fine in &answers[..3] {
                fine.ok();
            }
            answers[3].errno(&["EACCES"]);
            answers[4].errno(&["EACCES"]);
            answers[5].errno(&["EROFS"]);
            answers[6].errno(&["EROFS"]);
        }
    });
}

#[test]
fn odd_workspaces() {
    each_caller(|world| {
        for name in ["with space", "new\nline", "star*[x]{a,b}?", "-dash", "#hash", "$HOME", "~"] {
            let ws = world.dir(world.home.join(name));
            world.file(ws.join(".env"), "SECRET");
            let run = || world.run().at(&ws);
            run().probe(["create", "made"]).ok();
            assert!(ws.join("made").exists(), "{name:?}");
            run().probe(["read", ".env"]).errno(&["EACCES"]);
            run().probe(act!["create", world.home.join("x")]).errno(&["EROFS"]);
        }
        let ws = world.dir(world.home.join(OsStr::from_bytes(b"bytes\xff")));
        world.run().at(&ws).probe(["create", "made"]).ok();
        assert!(ws.join("made").exists());
    });
}

#[test]
fn execute_rules() {
    each_caller(|world| {
        let tool = world.script("bin/tool", "#!/bin/sh\nexit 7\n");
        let other = world.script("other/tool", "#!/bin/sh\nexit 8\n");
        let settings =
            world.settings(json!({"filesystem": {"denyExecute": [world.ws.join("bin")]}}).to_string());
        let run = || world.run().with("--settings", &settings);
        run().probe(act!["exec", &tool]).errno(&["EACCES"]);
        run().probe(act!["map-exec", &tool]).errno(&["EPERM", "EACCES"]);
        run().probe(act!["read", &tool]).ok();
        assert_eq!(run().probe(act!["exec", &other]).ok(), "exit=8");
        assert_eq!(world.probe(act!["exec", &tool]).ok(), "exit=7");
        run().program([&tool]).exits(126);
        // A new name for it is no way around.
        let answers = run().batch([
            act!["link", &tool, world.ws.join("other/linked")],
            act!["exec", world.ws.join("other/linked")],
        ]);
        assert!(!answers[1].succeeded(), "{}{}", answers[1].line(), answers[1].ran());
    });
}
