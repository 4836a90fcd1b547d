//! The user's settings, changed while a command runs.

use super::internet::online;
use crate::support::{Live, World, eventually};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How soon a change holds, on a machine under load.
const SOON: Duration = Duration::from_secs(5);

fn file(world: &World) -> PathBuf {
    world.home.join(".config/stockade/settings.json")
}

/// Saves them as editors do: a new file in the place of the old one.
fn save(world: &World, text: &str) {
    let new = world.file(file(world).with_extension("new"), text);
    fs::rename(new, file(world)).unwrap();
}

fn listing(hosts: &[&str]) -> String {
    json!({"network": {"allowedDomains": hosts}}).to_string()
}

/// Waits for a word on standard output, after whatever else is said.
#[track_caller]
fn says(live: &Live, word: &str, patience: Duration) {
    let mut said = String::new();
    eventually(patience, || {
        let more = live.next_output(Duration::from_millis(50)).unwrap_or_default();
        said.push_str(&String::from_utf8_lossy(&more));
        if said.contains(word) { Ok(()) } else { Err(format!("no {word:?} in {said:?}")) }
    });
}

#[test]
fn hosts_are_gained() {
    online(|_, world| {
        save(world, &listing(&["v4only.test"]));
        let text = "curl -sSf --max-time 10 http://allow.test/ 2>/dev/null && exit 9; echo refused; \
                    until curl -sSf --max-time 10 http://allow.test/ 2>/dev/null; do sleep 0.1; done; echo reached; sleep 600";
        let live = world.run().opts(["-c", text]).start_words();
        says(&live, "refused\n", Duration::from_secs(30));
        // Saved in place, and then as editors do.
        fs::write(file(world), listing(&["v4only.test", "allow.test"])).unwrap();
        says(&live, "hello from allow.test\nreached\n", SOON);
    });
}

#[test]
fn tunnels_that_the_new_list_refuses_are_closed() {
    online(|_, world| {
        save(world, &listing(&["allow.test", "v4only.test"]));
        let text = "curl -sSN http://v4only.test/drip >&2 & curl -sSN http://allow.test/drip; echo over; \
                    curl -sSf --max-time 10 http://allow.test/ || echo refused; \
                    kill -0 $! && echo other lives; sleep 600";
        let live = world.run().opts(["-c", text]).start_words();
        says(&live, "drop\n", Duration::from_secs(30));
        assert!(live.next_error(Duration::from_secs(30)).is_some(), "the other one carries nothing");
        save(world, &listing(&["v4only.test"]));
        says(&live, "over\nrefused\nother lives\n", SOON);
    });
}

#[test]
fn a_broken_file_changes_nothing() {
    online(|_, world| {
        save(world, &listing(&["allow.test"]));
        let text = "curl -sSN http://allow.test/drip & while :; do \
                    curl -sSf --max-time 10 http://evil.test/ 2>/dev/null && echo reached; \
                    curl -sSf --max-time 10 http://allow.test/ >&2 || echo lost; sleep 0.2; done";
        let live = world.run().opts(["-c", text]).start_words();
        says(&live, "drop\n", Duration::from_secs(30));
        let broken = [
            "{\"network\": {\"allowedDomains\": [\"evil.test\"",
            "{\"network\": {\"allowedDomains\": [\"evil.test\", \"*\"]}}",
            "{\"network\": {\"allowedDomains\": [\"evil.test\"]}, \"nonsense\": 1}",
        ];
        for text in broken {
            save(world, text);
            let end = Instant::now() + Duration::from_secs(2);
            let mut said = String::new();
            while Instant::now() < end {
                let more = live.next_output(Duration::from_millis(50)).unwrap_or_default();
                said.push_str(&String::from_utf8_lossy(&more));
            }
            assert!(said.contains("drop"), "the tunnel was closed after {text}: {said}");
            assert!(!said.contains("reached") && !said.contains("lost"), "after {text}: {said}");
        }
        // Its next version counts again.
        save(world, &listing(&["evil.test"]));
        says(&live, "reached", SOON);
    });
}
