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
fn broken_settings_are_not_shown_as_if_they_were_not_there() {
    each_caller(|world| {
        world.file(user_file(world), "{");
        config(world, ["show"]).refused_to_start(&["settings.json is not valid JSON", "hint:"]);
    });
}
