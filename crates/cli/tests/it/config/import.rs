//! `stockade config import`.

use super::config;
use crate::support::{Ran, World, each_caller};

/// Imports, and runs under what came out.
#[track_caller]
fn imported(world: &World, from: &str, text: &str) -> (Ran, String) {
    let file = world.file(world.base.join("foreign"), text);
    let out = world.base.join("imported.json");
    let _ = std::fs::remove_file(&out);
    let words = ["import".as_ref(), from.as_ref(), file.as_os_str(), "-o".as_ref(), out.as_os_str()];
    let ran = config(world, words);
    ran.exits(0);
    config(world, ["validate".as_ref(), out.as_os_str()]).exits(0);
    (ran, std::fs::read_to_string(&out).expect("text"))
}

fn run_under(world: &World, text: &str) -> Ran {
    world.run().with("--settings", world.base.join("imported.json")).shell(text)
}

#[test]
fn srt() {
    each_caller(|world| {
        let outside = world.outside.display();
        let (ran, text) = imported(
            world,
            "srt",
            &format!(
                r#"{{"network": {{"allowedDomains": ["a.test", "*.b.test:443"], "deniedDomains": ["c.test"]}},
                    "filesystem": {{"denyRead": ["./secret"], "allowWrite": [".", "{outside}"], "denyWrite": ["keep"]}},
                    "enableWeakerNestedSandbox": true, "ignoreViolations": {{"*": ["/x"]}}}}"#
            ),
        );
        ran.complains(&["not carried over: enableWeakerNestedSandbox", "not carried over: ignoreViolations"]);
        assert!(text.contains("// srt: network.allowedDomains[1]\n      \"*.b.test:443\""), "{text}");
        assert!(text.contains("// Not carried over:"), "{text}");
        world.file("secret", "s3cret");
        world.file("keep", "kept");
        let ran = run_under(
            world,
            &format!("cat secret; echo x > keep; echo made > {outside}/new; echo made > new"),
        );
        assert!(!ran.out().contains("s3cret"), "{ran}");
        assert_eq!(std::fs::read_to_string(world.ws.join("keep")).expect("text"), "kept");
        assert!(world.outside.join("new").exists() && world.ws.join("new").exists(), "{ran}");
    });
}

#[test]
fn srt_without_the_working_directory() {
    each_caller(|world| {
        let outside = world.outside.display();
        let (_, text) = imported(
            world,
            "srt",
            &format!(
                r#"{{"network": {{"allowedDomains": [], "deniedDomains": []}},
                    "filesystem": {{"denyRead": [], "allowWrite": ["{outside}"], "denyWrite": []}}}}"#
            ),
        );
        assert!(text.contains("\"$WORKSPACE\""), "{text}");
        let ran = run_under(world, &format!("echo x > here; echo x > {outside}/there"));
        assert!(!world.ws.join("here").exists(), "{ran}");
        assert!(world.outside.join("there").exists(), "{ran}");
    });
}

#[test]
fn claude() {
    each_caller(|world| {
        let outside = world.outside.display();
        let (ran, text) = imported(
            world,
            "claude",
            &format!(
                r#"{{"model": "x", "hooks": {{}},
                    "permissions": {{
                        "allow": ["Edit(/{outside}/**)", "WebFetch(domain:docs.test)", "WebFetch(domain:*)", "Bash(npm test:*)"],
                        "deny": ["Read(./secret)", "WebFetch(domain:bad.test)", "WebSearch", "Bash(shred -u:*)"],
                        "ask": ["Bash(git push:*)"]
                    }},
                    "sandbox": {{"enabled": true, "network": {{"allowedDomains": ["a.test"], "allowLocalBinding": true}}}}}}"#
            ),
        );
        ran.complains(&[
            "permissions.ask[0] Bash(git push:*)",
            "permissions.deny[2] WebSearch",
            "WebFetch(domain:*)",
        ]);
        assert!(text.contains("// claude: permissions.deny[0] Read(./secret)\n      \"./secret\""), "{text}");
        for host in ["docs.test", "bad.test", "a.test"] {
            assert!(text.contains(&format!("\"{host}\"")), "{text}");
        }
        world.file("secret", "s3cret");
        let ran = run_under(world, &format!("cat secret; echo x > {outside}/new"));
        assert!(!ran.out().contains("s3cret"), "{ran}");
        assert!(world.outside.join("new").exists(), "{ran}");
        run_under(world, "shred -u secret").refused_to_start(&["commands.deny[0]"]);
        assert!(world.ws.join("secret").exists());
    });
}

#[test]
fn codex() {
    each_caller(|world| {
        let outside = world.outside.display();
        let (ran, text) = imported(
            world,
            "codex",
            &format!(
                "model = \"x\"\napproval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n\
                 [sandbox_workspace_write]\nwritable_roots = [\"{outside}\"]\nnetwork_access = false\n\
                 [shell_environment_policy]\ninherit = \"core\"\nexclude = [\"AWS_*\", \"A*B\"]\nset = {{ CI = \"1\" }}\n\
                 [mcp_servers.x]\ncommand = \"y\"\n"
            ),
        );
        ran.complains(&["not carried over: approval_policy", "exclude[1] A*B"]);
        assert!(text.contains("// codex: sandbox_workspace_write.writable_roots[0]"), "{text}");
        let ran = run_under(world, &format!("echo x > {outside}/new; echo x > here; echo CI=$CI"));
        assert_eq!(ran.out(), "CI=1\n", "{ran}");
        assert!(world.outside.join("new").exists() && world.ws.join("here").exists(), "{ran}");
    });
}

#[test]
fn codex_reads_only_unless_told_otherwise() {
    each_caller(|world| {
        for text in [
            "",
            "sandbox_mode = \"read-only\"",
            "profile = \"p\"\nsandbox_mode = \"danger-full-access\"\n[profiles.p]\nsandbox_mode = \"read-only\"\n",
        ] {
            imported(world, "codex", text);
            let ran = run_under(world, "echo x > here");
            assert!(!world.ws.join("here").exists(), "{text:?}{ran}");
        }
    });
}

#[test]
fn the_users_own_file_is_found_and_nothing_is_overwritten() {
    each_caller(|world| {
        world.file(world.home.join(".codex/config.toml"), "sandbox_mode = \"workspace-write\"");
        let ran = config(world, ["import", "codex"]);
        ran.exits(0);
        assert!(ran.out().contains("config.toml") && ran.out().contains("\"preset\": \"default\""), "{ran}");
        world.file("mine.json", "{}");
        config(world, ["import", "codex", "-o", "mine.json"])
            .refused_to_start(&["mine.json is there already", "hint:"]);
        assert_eq!(std::fs::read_to_string(world.ws.join("mine.json")).expect("text"), "{}");
        config(world, ["import", "srt"]).refused_to_start(&[".srt-settings.json", "hint: name the file"]);
    });
}

#[test]
fn foreign_files_that_are_wrong_get_one_clear_error() {
    each_caller(|world| {
        for (from, text, words) in [
            ("codex", "sandbox_mode = ", &["is not valid TOML", "hint:"][..]),
            (
                "codex",
                "sandbox_mode = \"loose\"",
                &["sandbox_mode: loose is no mode", "hint: known are read-only"],
            ),
            ("codex", "sandbox_mode = 3", &["sandbox_mode: it is not text", "hint:"]),
            (
                "codex",
                "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = \"x\"",
                &["sandbox_workspace_write.writable_roots", "not a list", "hint:"],
            ),
            ("codex", "profile = \"x\"", &["profile: there is no profile x", "hint:"]),
            ("srt", "{", &["is not valid JSON", "hint:"]),
            ("srt", "{\"network\": {\"allowedDomains\": [\"*\"]}}", &["network.allowedDomains"]),
            (
                "claude",
                "{\"sandbox\": {\"network\": {\"allowedDomains\": 1}}}",
                &["sandbox.network.allowedDomains"],
            ),
            ("claude", "{\"permissions\": {\"deny\": [\"Read(\"]}}", &["permissions.deny[0]", "hint:"]),
        ] {
            let file = world.file("foreign", text);
            let ran = config(world, ["import".as_ref(), from.as_ref(), file.as_os_str()]);
            ran.refused_to_start(words).complains(&[file.to_str().expect("text")]);
        }
    });
}

/// A link below the working directory may be a command's.
#[test]
fn nothing_is_written_behind_a_link_of_the_workspace() {
    each_caller(|world| {
        let text = r#"{"network": {"allowedDomains": [], "deniedDomains": []},
                       "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}"#;
        let file = world.file(world.base.join("foreign"), text);
        world.dir("kept");
        world.link(&world.outside, "planted");
        let import = |out: &str| config(world, ["import", "srt", file.to_str().expect("text"), "-o", out]);
        import("planted/new.json").exits(125).complains(&["behind a symbolic link"]);
        assert!(!world.outside.join("new.json").exists());
        import("kept/new.json").exits(0);
        assert!(world.ws.join("kept/new.json").exists());
    });
}
