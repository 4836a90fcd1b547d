//! Settings that change while a command runs.

use super::{save, user_file};
use crate::support::{Live, World, each_caller, eventually};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How soon a change is told, on a machine under load.
const SOON: Duration = Duration::from_secs(10);

struct Watched {
    live: Live,
    events: PathBuf,
}

impl Watched {
    fn start(world: &World) -> Self {
        let events = world.file(world.base.join("events.jsonl"), "");
        let live = world.run().with("--events", &events).opts(["-c", "echo up; sleep 600"]).start_words();
        assert_eq!(live.first_output(Duration::from_secs(60)), b"up\n");
        Self { live, events }
    }

    /// Waits for the event of this kind after those that were seen.
    #[track_caller]
    fn event(&self, kind: &str, number: usize) -> Value {
        let mut found = Value::Null;
        eventually(SOON, || {
            let text = fs::read_to_string(&self.events).unwrap_or_default();
            let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut wanted = events.filter(|event| event["type"] == kind);
            found = wanted.nth(number).ok_or_else(|| format!("no {kind} number {number} in {text}"))?;
            Ok(())
        });
        found
    }

    /// Waits until all of this was said.
    #[track_caller]
    fn complains(&self, words: &[&str]) {
        let mut said = String::new();
        eventually(SOON, || {
            let more = self.live.next_error(Duration::from_millis(50)).unwrap_or_default();
            said.push_str(&String::from_utf8_lossy(&more));
            match words.iter().find(|word| !said.contains(**word)) {
                None => Ok(()),
                Some(word) => Err(format!("no {word:?} in {said:?}")),
            }
        });
    }
}

fn lines(event: &Value, key: &str) -> Vec<String> {
    let list = event[key].as_array().cloned().unwrap_or_default();
    list.iter().map(|line| line.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_change_is_told_with_what_it_means() {
    each_caller(|world| {
        save(world, world.file(user_file(world), "{}"), r#"{"network": {"allowedDomains": ["a.test"]}}"#);
        let watched = Watched::start(world);
        let text = r#"{"network": {"allowedDomains": ["b.test"]}, "filesystem": {"denyRead": ["x.key"]}}"#;
        save(world, user_file(world), text);
        let event = watched.event("settingsReloaded", 0);
        assert_eq!(lines(&event, "files"), [user_file(world).to_str().expect("text")]);
        assert_eq!(lines(&event, "applied"), ["- allowedDomains a.test", "+ allowedDomains b.test"]);
        assert_eq!(lines(&event, "later"), ["+ denyRead x.key"]);
        // A file that comes into being is a change, too.
        world.file(".stockade.json", r#"{"filesystem": {"denyRead": ["y.key"], "allowWrite": ["/srv"]}}"#);
        let event = watched.event("settingsReloaded", 1);
        assert_eq!(lines(&event, "later"), ["+ denyRead y.key"]);
        watched.complains(&["allowWrite", "may only tighten"]);
    });
}

#[test]
fn without_a_gateway_hosts_come_with_the_next_command() {
    each_caller(|world| {
        let watched = Watched::start(world);
        save(world, world.file(user_file(world), "{}"), r#"{"network": {"allowedDomains": ["a.test"]}}"#);
        let event = watched.event("settingsReloaded", 0);
        assert_eq!(lines(&event, "applied"), Vec::<String>::new());
        assert_eq!(lines(&event, "later")[0], "+ allowedDomains a.test");
    });
}

#[test]
fn a_broken_edit_is_told_and_so_is_its_mending() {
    each_caller(|world| {
        let good = r#"{"filesystem": {"denyRead": ["x.key"]}}"#;
        world.file(user_file(world), good);
        let watched = Watched::start(world);
        save(world, user_file(world), r#"{"filesystem": {"denyReed": ["x.key"]}}"#);
        let event = watched.event("settingsRejected", 0);
        assert_eq!(event["file"], user_file(world).to_str().expect("text"));
        let error = event["error"].as_str().expect("text");
        for word in ["settings.json", "denyReed", "hint: did you mean denyRead?"] {
            assert!(error.contains(word), "{error}");
        }
        watched.complains(&["has changed and is wrong; the settings from before hold", "denyReed", "hint:"]);
        save(world, user_file(world), good);
        let event = watched.event("settingsReloaded", 0);
        assert_eq!(lines(&event, "mended"), [user_file(world).to_str().expect("text")]);
        assert_eq!((lines(&event, "applied").len(), lines(&event, "later").len()), (0, 0));
        watched.complains(&["is in order again"]);
    });
}
