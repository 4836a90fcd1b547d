//! `stockade config validate`: every bad file gets one clear error.

use super::config;
use crate::support::{World, each_caller};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What is wrong, and the words that must be said about it: the key, the reason, the hint.
const BAD: &[(&str, &[&str])] = &[
    ("", &["is empty", "hint:"]),
    ("   \n", &["is empty", "hint:"]),
    ("{", &["is not valid JSON", "line 1", "hint:"]),
    ("{\"preset\": \"default\",, }", &["is not valid JSON", "line 1, column", "hint:"]),
    ("[]", &["the whole file"]),
    ("\"text\"", &["the whole file"]),
    ("{\"preset\": \"defualt\"}", &["preset", "defualt", "default"]),
    ("{\"filesytem\": {}}", &["Unrecognized key filesytem", "did you mean filesystem?"]),
    (
        "{\"filesystem\": {\"denyReed\": []}}",
        &["filesystem", "Unrecognized key denyReed", "did you mean denyRead?"],
    ),
    ("{\"filesystem\": {\"denyRead\": \"x\"}}", &["filesystem.denyRead"]),
    ("{\"filesystem\": {\"denyRead\": [1]}}", &["filesystem.denyRead[0]"]),
    ("{\"filesystem\": {\"denyRead\": [\"a\", \"\"]}}", &["filesystem.denyRead[1]"]),
    ("{\"filesystem\": {\"readScope\": \"some\"}}", &["filesystem.readScope", "some is none of"]),
    (
        "{\"filesystem\": {\"protection\": {\"git\": \"no\"}}}",
        &["filesystem.protection.git", "no is none of"],
    ),
    ("{\"network\": {\"allowedDomains\": [\"*\"]}}", &["network.allowedDomains[0]"]),
    (
        "{\"network\": {\"allowedDomains\": [\"ok.test\", \"https://x.test/\"]}}",
        &["network.allowedDomains[1]"],
    ),
    ("{\"network\": {\"ports\": [70000]}}", &["network.ports[0]"]),
    ("{\"environment\": {\"inherit\": \"most\"}}", &["environment.inherit", "most is none of"]),
    ("{\"limits\": {\"maxOutput\": -1}}", &["limits.maxOutput"]),
    ("{\"audit\": \"maybe\"}", &["audit", "maybe is none of"]),
    ("{\"requireLayers\": 3}", &["requireLayers"]),
    ("{\"provider\": \"\"}", &["provider", "cannot be empty", "hint:"]),
    ("{\"enabled\": \"yes\"}", &["enabled"]),
    ("{\"policy\": {}, \"preset\": \"default\"}", &["policy (sandbox.json)", "preset (Stockade)"]),
];

#[test]
fn each_bad_file_gets_one_clear_error() {
    each_caller(|world| {
        for (number, (text, words)) in BAD.iter().enumerate() {
            let file = world.file(format!("bad-{number}.json"), text);
            let ran = config(world, ["validate".as_ref(), file.as_os_str()]);
            ran.exits(1).complains(words).complains(&[file.to_str().expect("text"), "\n  hint: "]);
            let said = ran.err();
            let errors = said.lines().filter(|line| line.starts_with("stockade: ")).count();
            assert_eq!(errors, 1, "not one error for {text:?}{ran}");
            assert!(ran.stdout.is_empty(), "{ran}");
        }
    });
}

#[test]
fn several_mistakes_are_told_together() {
    each_caller(|world| {
        let file = world.file("bad.json", r#"{"nonsense": 1, "network": {"allowedDomains": ["*"]}}"#);
        let ran = config(world, ["validate".as_ref(), file.as_os_str()]);
        ran.exits(1).complains(&["nonsense"]);
        // The run itself says the same.
        world.run().with("--settings", &file).shell("true").refused_to_start(&["nonsense"]);
    });
}

#[test]
fn files_that_cannot_be_read_are_told_apart() {
    each_caller(|world| {
        config(world, ["validate", "absent.json"])
            .exits(1)
            .complains(&["absent.json does not exist", "hint:"]);
        world.dir("a-directory");
        config(world, ["validate", "a-directory"])
            .exits(1)
            .complains(&["a-directory cannot be read", "EISDIR"]);
        let closed = world.file("closed.json", "{}");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("chmod");
        if world.caller.become_ids().is_some() {
            config(world, ["validate", "closed.json"]).exits(1).complains(&["closed.json", "EACCES"]);
        }
    });
}

#[test]
fn good_files_of_every_shape_are_in_order() {
    each_caller(|world| {
        for (name, text, owner) in [
            ("native.json", "// mine\n{\"preset\": \"strict\",}", "Stockade"),
            ("srt.json", SRT, "srt"),
            ("claude.json", "{\"sandbox\": {\"enabled\": true}, \"model\": \"x\"}", "Claude Code"),
            (
                "sandbox.json",
                "{\"enabled\": true, \"policy\": {\"filesystem\": {\"whitelist\": []}}}",
                "sandbox.json",
            ),
        ] {
            world.file(name, text);
            let ran = config(world, ["validate", name]);
            ran.exits(0);
            assert!(ran.out().contains(&format!("{name}: in order, {owner} settings")), "{ran}");
        }
        // One that is wrong does not hide the others.
        world.file("bad.json", "{");
        let ran = config(world, ["validate", "bad.json", "native.json"]);
        ran.exits(1).complains(&["bad.json"]);
        assert!(ran.out().contains("native.json: in order"), "{ran}");
        // A shape that was named is not guessed at.
        config(world, ["validate", "--shape", "native", "srt.json"]).exits(1).complains(&["allowPty"]);
    });
}

const SRT: &str = r#"{"network": {"allowedDomains": [], "deniedDomains": []}, "allowPty": true,
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}"#;

#[test]
fn what_a_project_says_in_vain_is_told() {
    each_caller(|world: &World| {
        world.file(".stockade.json", r#"{"filesystem": {"allowWrite": ["/srv"], "denyRead": ["x"]}}"#);
        let ran = config(world, ["validate", ".stockade.json"]);
        ran.exits(0);
        assert!(ran.out().contains("filesystem.allowWrite[0] (/srv) is ignored"), "{ran}");
        assert!(!ran.out().contains("denyRead"), "{ran}");
    });
}
