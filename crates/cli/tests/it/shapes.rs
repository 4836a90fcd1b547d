//! Settings files of other programs, and where settings are looked for.

use crate::support::{Run, World, each_caller};
use std::fs;

fn claude(world: &World) -> Run<'_> {
    world.run().opt("--claude")
}

/// Whether the command could write there.
#[track_caller]
fn writes(run: Run<'_>, path: &str) -> bool {
    run.shell(&format!("echo x > {path}")).code() == 0
}

#[track_caller]
fn reads(run: Run<'_>, path: &str) -> bool {
    run.shell(&format!("cat {path}")).code() == 0
}

#[test]
fn claude_codes_files_are_heard_when_asked_for() {
    each_caller(|world| {
        let outside = world.outside.display().to_string();
        world.file(
            world.home.join(".claude/settings.json"),
            format!(
                r#"{{"model": "x", "hooks": {{}}, "permissions": {{"deny": ["Read(secret.txt)", "Edit(~/work/keep/**)", "Bash(uname:*)"]}},
                    "sandbox": {{"filesystem": {{"allowWrite": ["{outside}"]}}}}}}"#
            ),
        );
        world.file(
            ".claude/settings.json",
            r#"{"permissions": {"allow": ["Edit(//var/tmp/**)"], "deny": ["Read(/conf/*.key)"]}}"#,
        );
        for path in ["deep/secret.txt", "keep/x", "conf/a.key", "conf/b"] {
            world.file(path, "x");
        }
        assert!(!writes(world.run(), &format!("{outside}/a")));
        assert!(reads(world.run(), "deep/secret.txt") && reads(world.run(), "conf/a.key"));

        assert!(writes(claude(world), &format!("{outside}/a")));
        for path in ["deep/secret.txt", "conf/a.key"] {
            assert!(!reads(claude(world), path), "{path}");
        }
        assert!(reads(claude(world), "conf/b") && reads(claude(world), "keep/x"));
        assert!(!writes(claude(world), "keep/x") && writes(claude(world), "conf/b"));
        // What the project would open stays closed, and is told.
        let ran = claude(world).shell("echo x > ../../planted");
        assert_ne!(ran.code(), 0, "{ran}");
        ran.complains(&[".claude/settings.json permissions.allow[0] (Edit(//var/tmp/**)) is ignored"]);
        claude(world).program(["uname"]).refused_to_start(&["permissions.deny[2]"]);
    });
}

#[test]
fn a_named_file_is_known_by_its_keys() {
    each_caller(|world| {
        let outside = world.outside.display().to_string();
        world.file(world.outside.join("blocked/x"), "x");
        let texts = [
            format!(
                r#"{{"permissions": {{"allow": ["Edit(/{outside}/**)"], "deny": ["Read(/{outside}/blocked)"]}}}}"#
            ),
            format!(
                r#"{{"policy": {{"filesystem": {{"whitelist": ["{outside}"], "blacklist": ["{outside}/blocked"]}}}}}}"#
            ),
            format!(
                r#"{{"filesystem": {{"allowWrite": ["{outside}"], "denyRead": ["{outside}/blocked"]}}}}"#
            ),
            format!(
                r#"{{"network": {{"allowedDomains": [], "deniedDomains": []}}, "ignoreViolations": {{}},
                    "filesystem": {{"denyRead": ["{outside}/blocked"], "allowWrite": ["{outside}"], "denyWrite": []}}}}"#
            ),
        ];
        for text in texts {
            let file = world.settings(&text);
            let run = || world.run().with("--settings", &file);
            assert!(writes(run(), &format!("{outside}/a")), "{text}");
            assert!(!reads(run(), &format!("{outside}/blocked/x")), "{text}");
        }
        let file = world.settings(r#"{"preset": "strict", "sandbox": {}}"#);
        let ran = world.run().with("--settings", &file).program(["true"]);
        ran.refused_to_start(&["several kinds of settings", "preset (Stockade)", "sandbox (Claude Code)"]);
        let file = world.settings(r#"{"permissions": {"deny": ["Read(x"]}}"#);
        let ran = world.run().with("--settings", &file).program(["true"]);
        ran.refused_to_start(&["permissions.deny[0]", "the bracket is not closed"]);
    });
}

#[test]
fn a_project_speaks_from_the_root_of_its_repository() {
    each_caller(|world| {
        world.dir(".git");
        world.file(".stockade.json", r#"{"filesystem": {"denyRead": ["one.txt"]}}"#);
        world.file(".stockade.local.json", r#"{"filesystem": {"denyRead": ["two.txt"]}}"#);
        world.file("a/b/.stockade.local.json", r#"{"filesystem": {"denyRead": ["three.txt"]}}"#);
        for name in ["one.txt", "two.txt", "three.txt", "four.txt"] {
            world.file(format!("a/b/{name}"), "x");
        }
        let run = || world.run().at(world.ws.join("a/b"));
        for (name, open) in [("one", false), ("two", false), ("three", false), ("four", true)] {
            assert_eq!(reads(run(), &format!("{name}.txt")), open, "{name}");
        }
        // From the root only its own files speak.
        assert!(reads(world.run(), "a/b/three.txt") && !reads(world.run(), "a/b/one.txt"));
    });
}

#[test]
fn agents_settings_stay_as_they_are_existing_or_not() {
    each_caller(|world| {
        world.file(".claude/settings.json", "{}");
        for path in [
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/settings.other.json",
            ".claude/skills/x",
            ".claude/commands/x",
            ".claude/agents/x",
            ".claude/hooks/x",
            ".agents/x",
            ".codex/config.toml",
            ".stockade.json",
            ".stockade.local.json",
        ] {
            for run in [world.run(), claude(world)] {
                let ran = run.shell(&format!("mkdir -p $(dirname {path}); echo '{{}}' > {path}"));
                assert_ne!(ran.code(), 0, "{path}: {ran}");
            }
        }
        assert_eq!(fs::read(world.ws.join(".claude/settings.json")).unwrap(), b"{}");
        assert!(!world.ws.join(".stockade.local.json").exists());
        assert!(writes(world.run(), ".claude/notes.md"));
    });
}
