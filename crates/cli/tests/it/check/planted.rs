//! What something inside left behind, and commands without walls that come upon it.

use crate::support::{World, binaries, each_caller, eventually};
use serde_json::Value;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn decision(world: &World, settings: &str, variables: &[(&str, &str)], text: &str) -> Value {
    let file = world.settings(settings);
    let mut run = world.stockade().opts(["check", "--json", "--settings"]).opt(file);
    for (name, value) in variables {
        run = run.var(name, value);
    }
    let ran = run.opts(["-c", text]).go();
    ran.exits(0);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("not JSON: {error}{ran}"))
}

#[test]
fn git_outside_asks_no_host_that_was_named_inside() {
    each_caller(|world| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let ran = world.run().shell(
            "git init -q . && git config user.email a@b && git config user.name x && echo a > a && git add a && \
             git commit -qm a && git checkout -q -b topic && git remote add p https://a.example/r",
        );
        ran.exits(0);
        let plants = [
            "git config extensions.partialClone p".to_owned(),
            "git config remote.p.promisor true".to_owned(),
            "git config remote.p.partialCloneFilter blob:none".to_owned(),
            "printf '[remote \"p\"]\\n\\tpromisor = true\\n' >> .git/config".to_owned(),
        ];
        for plant in plants {
            let ran = world.run().shell(&plant);
            assert_ne!(ran.code(), 0, "{plant}{ran}");
        }
        world
            .run()
            .shell(&format!(
                "git config core.repositoryFormatVersion 1; git remote set-url p http://127.0.0.1:{port}/r"
            ))
            .exits(0);
        world.run().shell("rm -f .git/index .git/objects/??/*; touch .git/objects/pack/x.promisor").exits(0);
        let file = world.settings(r#"{"excludedCommands": ["git status", "git diff*"]}"#);
        for text in ["git status", "git diff HEAD"] {
            let ran = world.run().opt("--settings").opt(&file).shell(text);
            assert!(ran.err().contains("WITHOUT walls"), "{ran}");
        }
        let asked = listener.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(asked, Err(ErrorKind::WouldBlock));
    });
}

#[test]
fn a_partial_clone_keeps_its_address() {
    each_caller(|world| {
        world.dir(".git");
        world.run().shell("git init -q .").exits(0);
        let config = world.ws.join(".git/config");
        let own = fs::read_to_string(&config).unwrap()
            + "[remote \"origin\"]\n\turl = https://a.example/r\n\tpromisor = true\n";
        world.file(&config, &own);
        let ran = world.run().shell("git remote set-url origin https://b.example/r");
        assert_ne!(ran.code(), 0, "{ran}");
        assert_eq!(fs::read_to_string(&config).unwrap(), own);
        world.run().shell("git config user.name x").exits(0);
    });
}

#[test]
fn relative_variables_and_planted_interpreters_keep_the_walls() {
    each_caller(|world| {
        let tool = world.script(world.outside.join("tool"), &format!("#!{}/python\n", world.ws.display()));
        let mine = world.script(world.outside.join("mine"), "#!/usr/bin/env sh\necho fine\n");
        world.script("python", "#!/bin/sh\ncat /proc/1/comm\n");
        let settings =
            format!(r#"{{"excludedCommands": ["uname", {:?}, {:?}]}}"#, tool.display(), mine.display());
        let told = decision(world, &settings, &[], tool.to_str().unwrap());
        assert_eq!(told["decision"], "sandbox", "{told}");
        assert!(told["reason"].as_str().unwrap().contains("is run by"), "{told}");
        let told = decision(world, &settings, &[], mine.to_str().unwrap());
        assert_eq!(told["decision"], "unsandboxed", "{told}");
        let host = fs::read_to_string("/proc/1/comm").unwrap_or_default();
        let file = world.settings(&settings);
        let ran = world.run().opt("--settings").opt(&file).shell(tool.to_str().unwrap());
        assert_ne!(ran.out(), host, "{ran}");
        for (name, value, expected) in [
            ("LD_LIBRARY_PATH", ":/opt/x/lib", "sandbox"),
            ("LD_LIBRARY_PATH", "/opt/x/lib", "unsandboxed"),
            ("PYTHONPATH", ".", "sandbox"),
            ("PAGER", "./x", "sandbox"),
            ("PAGER", "less -R", "unsandboxed"),
        ] {
            let told = decision(world, &settings, &[(name, value)], "uname");
            assert_eq!(told["decision"], expected, "{name}={value} {told}");
        }
    });
}

#[test]
fn what_runs_on_in_the_background_keeps_its_files() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["cat:*", "echo:*"]}"#);
        let pipe = world.ws.join("pipe");
        world.bare("/usr/bin/mkfifo").opt(&pipe).go().exits(0);
        let text = "{ cat pipe; echo late > late; echo later >> late; } > /dev/null 2>&1 &";
        let ran = world.run().opt("--settings").opt(&file).shell(text);
        ran.exits(0);
        assert!(ran.err().contains("WITHOUT walls"), "{ran}");
        // The launcher is gone; what it opened is not.
        drop(File::options().write(true).open(&pipe).unwrap());
        eventually(PATIENCE, || match fs::read_to_string(world.ws.join("late")) {
            Ok(text) if text == "late\nlater\n" => Ok(()),
            other => Err(format!("{other:?}")),
        });
    });
}

#[test]
fn nohup_follows_no_link_to_where_its_output_goes() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["echo:*"]}"#);
        let victim = world.file(world.outside.join("victim"), "untouched");
        world.run().shell(&format!("ln -s {} nohup.out", victim.display())).exits(0);
        let stockade = world.stockade().opts(["check", "--settings"]).opt(&file);
        let told = stockade.opts(["-c", "nohup echo planted"]).go();
        assert!(told.out().starts_with("unsandboxed"), "{told}");
        // `script` gives it a terminal.
        let line = |text: &str| {
            format!("{} run --settings {} -c '{text}'", binaries().stockade.display(), file.display())
        };
        let on_terminal =
            |text: &str| world.bare("/usr/bin/script").opts(["-qec", &line(text), "/dev/null"]).go();
        let ran = on_terminal("nohup echo planted");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched", "{ran}");
        assert!(ran.out().contains("nohup.out is there and is a link"), "{ran}");
        assert!(ran.out().contains("hint: remove it"), "{ran}");
        fs::remove_file(world.ws.join("nohup.out")).unwrap();
        let ran = on_terminal("nohup echo mine; nohup echo through | echo there");
        assert_eq!(fs::read_to_string(world.ws.join("nohup.out")).unwrap(), "mine\n", "{ran}");
    });
}

#[test]
fn what_claude_code_wants_to_be_asked_about_does_not_run_unasked() {
    each_caller(|world| {
        let settings = r#"{"sandbox": {"excludedCommands": ["uname:*", "echo:*"]},
            "permissions": {"ask": ["Bash(uname:*)"], "deny": ["Bash(hostname:*)"]}}"#;
        world.dir(world.home.join(".claude"));
        world.file(world.home.join(".claude/settings.json"), settings);
        let check = |text: &str| {
            let ran = world.stockade().opts(["check", "--claude", "-c", text]).go();
            ran.exits(0);
            ran.out()
        };
        let told = check("uname -a");
        assert!(told.starts_with("ask: ") && told.contains("permissions.ask[0]"), "{told}");
        assert!(told.contains("needs approval: yes, ") && told.contains("refuses"), "{told}");
        assert!(check("hostname").starts_with("refuse: "), "{}", check("hostname"));
        let told = check("echo a");
        assert!(told.starts_with("unsandboxed: ") && told.contains("takes the order"), "{told}");
        for text in ["uname", "echo a; uname"] {
            let ran = world.run().opt("--claude").shell(text);
            ran.exits(125).complains(&["Bash(uname:*)", "permissions.ask[0]"]);
            assert_eq!(ran.out(), "", "{ran}");
        }
        world.run().opt("--claude").shell("hostname").exits(125).complains(&["permissions.deny[0]"]);
        // Nothing is held back from a command without walls, and nothing is said to be.
        let ran = world.run().opts(["--claude", "-v"]).var("OWN_TOKEN", "x").shell("echo $OWN_TOKEN");
        assert_eq!(ran.exits(0).out(), "x\n", "{ran}");
        assert!(!ran.err().contains("do not cross"), "{ran}");
        let ran = world.run().opts(["--claude", "-v"]).var("OWN_TOKEN", "x").shell("ls");
        assert!(ran.err().contains("do not cross"), "{ran}");
    });
}
