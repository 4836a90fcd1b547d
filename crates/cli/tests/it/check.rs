//! What is decided about a command, and that runs follow it.

mod planted;
mod raced;

use crate::support::{Ran, Run, World, each_caller, eventually};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

const SETTINGS: &str = r#"{
    "excludedCommands": ["sh outside.sh", "npm run test:*", "docker*", "printenv:*"],
    "commands": {"deny": [{"program": "reboot", "reason": "not today", "match": ["sudo reboot"], "notMatch": ["ls"]}]}
}"#;

#[track_caller]
fn check(world: &World, settings: &str, words: &[&str]) -> Value {
    let file = world.settings(settings);
    let ran = world.stockade().opts(["check", "--json", "--settings"]).opt(file).opts(words).go();
    ran.exits(0);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("not JSON: {error}{ran}"))
}

#[test]
fn the_answer_names_parts_rules_and_origins() {
    each_caller(|world| {
        let told = check(world, SETTINGS, &["-c", "docker ps && npm run test unit"]);
        assert_eq!((&told["decision"], &told["needs_approval"]), (&json!("unsandboxed"), &json!(true)));
        let told = check(world, SETTINGS, &["-c", "docker ps && rm x"]);
        assert_eq!((&told["decision"], &told["needs_approval"]), (&json!("sandbox"), &json!(false)));
        assert_eq!(
            (&told["parts"][0]["text"], &told["parts"][0]["decision"]),
            (&json!("docker ps"), &json!("unsandboxed"))
        );
        assert_eq!(told["parts"][0]["rule"], "excludedCommands docker*");
        assert_eq!(told["parts"][0]["origin"]["key"], "excludedCommands[2]");
        assert_eq!(
            (&told["parts"][1]["text"], &told["parts"][1]["decision"]),
            (&json!("rm x"), &json!("sandbox"))
        );
        let told = check(world, SETTINGS, &["-c", "ls; sudo reboot"]);
        assert_eq!((&told["decision"], &told["reason"]), (&json!("refuse"), &json!("not today")));
        assert_eq!(told["origin"]["key"], "commands.deny[0]");
        let told = check(world, "{}", &["-c", "a | b"]);
        assert_eq!(told["parts"].as_array().map(Vec::len), Some(2));
        assert_eq!(check(world, "{}", &["--bare", "-c", "ls"])["decision"], "refuse");
        let allowed = r#"{"allowUnsandboxedCommands": true}"#;
        assert_eq!(check(world, allowed, &["--bare", "--", "ls", "-l"])["decision"], "unsandboxed");
        let asks = r#"{"autoAllowBashIfSandboxed": false}"#;
        assert_eq!(check(world, asks, &["-c", "ls"])["needs_approval"], true);
        assert_eq!(check(world, "{}", &["-c", ""])["decision"], "refuse");
    });
}

#[test]
fn people_get_a_text() {
    each_caller(|world| {
        let file = world.settings(SETTINGS);
        let ran =
            world.stockade().opts(["check", "--settings"]).opt(&file).opts(["-c", "docker ps; rm x"]).go();
        ran.exits(0);
        assert!(ran.out().starts_with("sandbox: "), "{ran}");
        assert!(ran.out().contains("unsandboxed docker ps"), "{ran}");
        let ran = world.stockade().opts(["check", "--settings", "/does/not/exist", "-c", "ls"]).go();
        ran.exits(125);
        let ran = world.stockade().opt("check").go();
        assert_ne!(ran.code(), 0, "{ran}");
    });
}

#[test]
fn runs_follow_the_decision() {
    each_caller(|world| {
        let file = world.settings(SETTINGS);
        let run = |text: &str| -> Ran { world.run().opt("--settings").opt(&file).shell(text) };
        world.file("outside.sh", "ls /proc/1/comm > /dev/null; cat /proc/1/comm");
        let host = std::fs::read_to_string("/proc/1/comm").unwrap_or_default();
        let bare = run("sh outside.sh");
        bare.exits(0);
        assert_eq!(bare.out(), host, "{bare}");
        let walled = run("true; sh outside.sh");
        assert_ne!(walled.out(), host, "{walled}");
        run("ls; reboot").exits(125);
        run("ls; reboot").complains(&["not today", "commands.deny[0]"]);
    });
}

/// A sandbox that is not seen at work: it has another state directory.
fn unseen(world: &World) -> Run<'_> {
    world.run().var("XDG_STATE_HOME", world.dir(world.base.join("state")))
}

#[test]
fn redirections_without_walls_lead_where_they_were_judged_to_lead() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["uname", "cat:*"]}"#);
        let run = |text: &str| -> Ran { world.run().opt("--settings").opt(&file).shell(text) };
        let ran = run("uname > 'a file'; uname >> 'a file'; cat < 'a file'");
        ran.exits(0);
        assert_eq!(ran.out(), "Linux\nLinux\n");
        assert!(ran.err().contains("WITHOUT walls"), "{ran}");
        assert_eq!(fs::read_to_string(world.ws.join("a file")).unwrap(), "Linux\nLinux\n");
        // A process inside puts a file and a link in turns where the command's output goes.
        let victim = world.file(world.base.join("victim"), "untouched");
        let flip = format!(
            "import os\nopen('ready', 'w')\nwhile not os.path.exists('stop'):\n open('f', 'w').close(); os.rename('f', 'x')\n \
             os.symlink('{}', 'l'); os.rename('l', 'x')",
            victim.display()
        );
        let flipping = unseen(world).opts(["--", "python3", "-c", &flip]).start_words();
        eventually(PATIENCE, || if world.ws.join("ready").exists() { Ok(()) } else { Err("not yet".into()) });
        let ran = (0..60).map(|_| run("uname > x"));
        assert!(ran.filter(|ran| ran.err().contains("WITHOUT walls")).count() > 0);
        world.file("stop", "");
        flipping.finish(PATIENCE).exits(0);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    });
}

/// A repository in a cache that would have git run something. No command can leave one there, so that this is about
/// the second wall.
fn plant(world: &World, owned: &Path) -> String {
    let made =
        world.run().shell("mkdir -p $XDG_CACHE_HOME/r/.git/{objects,refs} && cd $XDG_CACHE_HOME/r && pwd");
    made.exits(0);
    let place = made.out().trim().to_owned();
    let git = Path::new(&place).join(".git");
    world.file(git.join("HEAD"), "ref: refs/heads/x\n");
    world.file(git.join("config"), format!("[core]\n\tfsmonitor = \"touch {}; false\"\n", owned.display()));
    place
}

#[test]
fn nothing_runs_without_walls_where_a_command_planted_a_repository() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["git status"]}"#);
        let owned = world.base.join("owned");
        let place = plant(world, &owned);
        let cwd = ["--cwd", &place];
        let ran = world.run().opt("--settings").opt(&file).opts(cwd).shell("git status");
        assert!(!owned.exists(), "{ran}");
        let told = world.stockade().opts(["check", "--json", "--settings"]).opt(&file).at(&place);
        let told = told.opts(["-c", "git status"]).go();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["decision"], "sandbox", "{told}");
    });
}

#[test]
fn runs_without_walls_stay_in_the_directory_they_were_judged_in() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["git status", "cd:*"]}"#);
        let run = || world.run().opt("--settings").opt(&file);
        let owned = world.base.join("owned");
        let place = plant(world, &owned);
        let within = world.dir("d");
        // A process inside puts a directory and a link to the planted one in turns where the command runs.
        let flip = format!(
            "import os, time\nopen('ready', 'w')\nwhile not os.path.exists('stop'):\n time.sleep(.005); \
             os.rename('d', 'e'); os.symlink('{place}', 'd'); time.sleep(.005); os.unlink('d'); os.rename('e', 'd')"
        );
        let flipping = unseen(world).opts(["--", "python3", "-c", &flip]).start_words();
        eventually(PATIENCE, || if world.ws.join("ready").exists() { Ok(()) } else { Err("not yet".into()) });
        let mut bare = 0;
        for round in 0..400 {
            // On a busy machine the directory is seldom there for long enough.
            if round >= 40 && bare > 0 {
                break;
            }
            let ran = run().opt("--cwd").opt(&within).shell("git status");
            bare += usize::from(ran.err().contains("WITHOUT walls"));
            run().shell("cd d && git status");
        }
        world.file("stop", "");
        flipping.finish(PATIENCE).exits(0);
        assert!(!owned.exists(), "a repository in a cache was obeyed");
        assert!(bare > 0, "nothing ran without walls");
    });
}

#[test]
fn a_shell_without_a_path_finds_nothing_of_the_workspace() {
    each_caller(|world| {
        let file = world.settings(r#"{"excludedCommands": ["tool*"]}"#);
        world.script("tool-x", "#!/bin/sh\ncat /proc/1/comm\n");
        let run = world.run().without_var("PATH").opt("--settings").opt(&file);
        let host = fs::read_to_string("/proc/1/comm").unwrap_or_default();
        let ran = run.shell("tool-x");
        assert_ne!(ran.out(), host, "{ran}");
    });
}
