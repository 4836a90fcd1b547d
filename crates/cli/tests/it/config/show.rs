//! `stockade config show`.

use super::{config, user_file};
use crate::support::each_caller;
use serde_json::Value;

#[test]
fn every_rule_tells_where_it_was_written() {
    each_caller(|world| {
        world.file(user_file(world), r#"{"filesystem": {"denyRead": ["secrets"]}}"#);
        world.file(".stockade.json", r#"{"network": {"deniedDomains": ["bad.test"]}}"#);
        let ran = config(world, ["show", "--allow-domain", "good.test"]);
        ran.exits(0);
        let text = ran.out();
        let line = |word: &str| {
            let found = text.lines().find(|line| line.contains(word));
            found.unwrap_or_else(|| panic!("no line with {word}{ran}")).to_owned()
        };
        assert!(line(" secrets").contains("filesystem.denyRead[0]"), "{ran}");
        assert!(line(" bad.test").contains(".stockade.json network.deniedDomains[0]"), "{ran}");
        assert!(line(" good.test").contains("--allow-domain"), "{ran}");
        assert!(line("$WORKSPACE").contains("preset default"), "{ran}");
        assert!(line(".stockade.local.json").contains("not there"), "{ran}");
        assert!(!text.contains("built in: deny-read"), "{ran}");
        assert!(config(world, ["show", "--all"]).out().contains("/.ssh"), "built-in rules are missing");
    });
}

#[test]
fn json_holds_the_same() {
    each_caller(|world| {
        world.file(user_file(world), r#"{"filesystem": {"denyRead": ["secrets"]}}"#);
        let ran = config(world, ["show", "--json"]);
        ran.exits(0);
        let value: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let rules = value["rules"].as_array().expect("rules");
        let rule = rules.iter().find(|rule| rule["entry"] == "secrets").expect("the rule");
        assert_eq!(rule["list"], "denyRead");
        assert_eq!(rule["origin"]["layer"], "user");
        assert_eq!(rule["origin"]["key"], "filesystem.denyRead[0]");
        let files = value["files"].as_array().expect("files");
        let user = files.iter().find(|file| file["layer"] == "user").expect("the user's");
        assert_eq!((&user["read"], &user["standing"]), (&Value::Bool(true), &"unknown".into()));
        assert!(files.iter().any(|file| file["layer"] == "managed"));
    });
}

#[test]
fn a_project_cannot_write_lines_of_its_own() {
    each_caller(|world| {
        let odd =
            r#"{"filesystem": {"denyRead": ["a\nfine\u202e\u009b"], "allowWrite": ["/x\nfine\u202e"]}}"#;
        let file = world.file(".stockade.json", odd);
        let file = file.to_str().expect("text");
        for ran in [config(world, ["show"]), config(world, ["validate", file])] {
            let text = ran.out();
            assert!(text.contains("\\nfine\\u{202e}"), "{ran}");
            assert!(!text.contains(['\u{202e}', '\u{9b}']), "{ran}");
            assert!(!text.lines().any(|line| line.trim().starts_with("fine")), "{ran}");
        }
        let ran = config(world, ["show", "--json"]);
        assert!(!ran.out().contains(['\u{202e}', '\u{9b}']), "{ran}");
        let value: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let rules = value["rules"].as_array().expect("rules");
        assert!(rules.iter().any(|rule| rule["entry"] == "a\nfine\u{202e}\u{9b}"), "{ran}");
        let ran = world.run().opt("-v").shell("true");
        assert!(!ran.err().lines().any(|line| line.trim_start().starts_with("fine")), "{ran}");
        assert!(!ran.err().contains('\u{202e}'), "{ran}");
    });
}

#[test]
fn broken_settings_are_not_shown_as_if_they_were_not_there() {
    each_caller(|world| {
        world.file(user_file(world), "{");
        config(world, ["show"]).refused_to_start(&["settings.json is not valid JSON", "hint:"]);
    });
}
