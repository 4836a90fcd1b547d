//! Project settings that were trusted: until they change.

use super::{config, save};
use crate::support::{World, each_caller};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn project(world: &World) -> std::path::PathBuf {
    let place = world.outside.display();
    world.file(".stockade.json", format!(r#"{{"filesystem": {{"allowWrite": ["{place}"]}}}}"#))
}

fn writes(world: &World) -> bool {
    let target = world.outside.join("made");
    let _ = fs::remove_file(&target);
    world.run().shell(&format!("echo x > {}", target.display()));
    target.exists()
}

#[test]
fn what_was_trusted_is_heard_until_it_changes() {
    each_caller(|world| {
        let file = project(world);
        assert!(!writes(world), "an untrusted project gave");
        let ran = config(world, ["trust"]);
        ran.exits(0);
        assert!(
            ran.out().contains("trusted") && ran.out().contains("now heard: filesystem.allowWrite"),
            "{ran}"
        );
        assert!(writes(world), "a trusted project gave nothing");
        assert!(config(world, ["show"]).out().contains("Stockade settings, trusted"));

        // One letter more, and it only tightens again, which is said.
        let text = format!("{} ", fs::read_to_string(&file).expect("text"));
        save(world, file.clone(), &text);
        assert!(!writes(world), "changed content is still trusted");
        world
            .run()
            .shell("true")
            .exits(0)
            .complains(&["has changed since", "hint: read it, then `stockade config trust"]);
        assert!(config(world, ["trust", "--list"]).out().contains("not trusted any more"));

        config(world, ["trust".as_ref(), file.as_os_str()]).exits(0);
        assert!(writes(world));
        config(world, ["trust", "--revoke"]).exits(0);
        assert!(!writes(world), "trust was taken back");
        assert_eq!(config(world, ["trust", "--list"]).out(), "nothing is trusted\n");
        config(world, ["trust", "--revoke"]).refused_to_start(&["is not trusted", "hint:"]);
    });
}

#[test]
fn trust_opens_neither_secrets_nor_protection() {
    each_caller(|world| {
        world.file(world.home.join(".ssh/id_ed25519"), "secret");
        let text = r#"{"filesystem": {"allowRead": ["~/.ssh/id_ed25519"], "protection": {"git": "off"}}}"#;
        world.file(".stockade.json", text);
        world.dir(".git/hooks");
        config(world, ["trust"]).exits(0);
        let ran = world.run().shell("cat ~/.ssh/id_ed25519; echo x > .git/hooks/pre-commit");
        assert_ne!(ran.code(), 0, "{ran}");
        assert!(!ran.out().contains("secret"), "{ran}");
        assert!(!world.ws.join(".git/hooks/pre-commit").exists(), "{ran}");
    });
}

#[test]
fn a_command_cannot_trust_anything_itself() {
    each_caller(|world| {
        let list = world.home.join(".local/state/stockade/trust.json");
        project(world);
        let ran = world.run().shell("stockade config trust; mkdir -p ~/.local/state/stockade; echo '{}' > ~/.local/state/stockade/trust.json");
        assert_ne!(ran.code(), 0, "{ran}");
        assert!(!list.exists(), "{ran}");
        config(world, ["trust"]).exits(0);
        let mode = fs::metadata(&list).expect("the list").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let ran = world.run().shell("cat ~/.local/state/stockade/trust.json");
        assert!(!ran.out().contains("sha256"), "{ran}");
    });
}

#[test]
fn what_is_wrong_or_absent_is_not_trusted() {
    each_caller(|world| {
        config(world, ["trust"]).refused_to_start(&["there are no project settings here", "hint:"]);
        config(world, ["trust", "absent.json"]).refused_to_start(&["absent.json", "hint:"]);
        world.file("bad.json", "{\"nonsense\": 1}");
        config(world, ["trust", "bad.json"]).refused_to_start(&["bad.json", "nonsense", "hint:"]);
        assert_eq!(config(world, ["trust", "--list"]).out(), "nothing is trusted\n");
        // A list that somebody spoilt is told, and trusts nothing.
        project(world);
        config(world, ["trust"]).exits(0);
        world.file(world.home.join(".local/state/stockade/trust.json"), "nonsense");
        config(world, ["trust", "--list"])
            .refused_to_start(&["trust.json is not a list", "hint: remove the file"]);
        assert!(!writes(world));
        world.run().shell("true").exits(0).complains(&["trust.json is not a list"]);
    });
}

#[test]
fn many_words_that_are_not_heard_are_one_warning() {
    each_caller(|world| {
        let file = world.file(
            ".stockade.json",
            r#"{"filesystem": {"allowWrite": ["/a", "/b", "/c"], "allowRead": ["/d"]}, "enabled": false}"#,
        );
        let ran = world.run().shell("true");
        let hint = format!("then `stockade config trust {}`", file.display());
        ran.exits(0).complains(&[
            "5 settings of",
            "a project may only tighten",
            "stockade config show",
            &hint,
        ]);
        assert_eq!(ran.err().lines().count(), 2, "{ran}");
        let ran = world.run().opt("-v").shell("true");
        assert_eq!(ran.err().matches(" is ignored: ").count(), 5, "{ran}");
        let shown = config(world, ["show"]);
        assert_eq!(shown.out().matches(" is ignored: ").count(), 5, "{shown}");
    });
}

/// What a project says is shown, and never passes for a line of ours.
#[test]
fn words_of_settings_are_no_lines_of_ours() {
    each_caller(|world| {
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("stockade: all")).count();
        world.file(
            ".stockade.json",
            r#"{"commands": {"deny": [{"program": "id", "reason": "no\nstockade: all is well"}]}}"#,
        );
        let ran = world.run().shell("id");
        ran.refused_to_start(&["no\\nstockade: all is well"]);
        assert_eq!(lines(&ran.err()), 0, "{ran}");
        world.file(".stockade.json", r#"{"x\nstockade: all is well": 1}"#);
        let ran = world.run().shell("id");
        ran.refused_to_start(&["x\\nstockade: all is well"]);
        assert_eq!(lines(&ran.err()), 0, "{ran}");
    });
}

/// What no project may say is neither promised nor hinted at.
#[test]
fn only_what_is_heard_is_promised() {
    each_caller(|world| {
        let hint = "then `stockade config trust";
        let never = "still not heard, as no project may say that: ";
        let file = world.file(".stockade.json", r#"{"enabled": false, "excludedCommands": ["make"]}"#);
        let ran = world.run().shell("true");
        ran.exits(0).complains(&["enabled (false) is ignored"]);
        assert!(!ran.err().contains(hint), "{ran}");
        let ran = config(world, ["trust"]);
        ran.exits(0);
        assert!(!ran.out().contains("now heard") && ran.out().contains("trust changes nothing"), "{ran}");
        let told = ran.out().lines().find(|line| line.contains(never)).unwrap_or_default().to_owned();
        assert!(told.contains("enabled (false)") && told.contains("excludedCommands[0] (make)"), "{ran}");

        let place = world.outside.display();
        let text = format!(r#"{{"enabled": false, "filesystem": {{"allowWrite": ["{place}", "/x"]}}}}"#);
        config(world, ["trust", "--revoke"]).exits(0);
        save(world, file.clone(), &text);
        let ran = world.run().shell("true");
        ran.exits(0).complains(&[&format!("{hint} {}`", file.display())]);
        assert_eq!(ran.err().matches(hint).count(), 1, "{ran}");
        let ran = config(world, ["trust"]);
        ran.exits(0);
        assert_eq!(ran.out().matches("now heard: filesystem.allowWrite").count(), 2, "{ran}");
        assert!(!ran.out().contains("now heard: enabled"), "{ran}");
        assert!(ran.out().contains(&format!("{never}enabled (false)\n")), "{ran}");
        let ran = world.run().shell("true");
        assert!(!ran.err().contains("allowWrite") && !ran.err().contains(hint), "{ran}");
    });
}
