//! The files that events and a report go to are not the command's to change.

use crate::support::{World, each_caller};
use std::fs;
use std::path::Path;

/// Every way to take a file away from whoever writes it.
const ATTACK: &str = "echo x > /var/tmp/nope1; : > ev.jsonl; echo forged >> ev.jsonl; rm -f ev.jsonl; mv ev.jsonl b; \
    echo forged > new; mv new ev.jsonl; ln ev.jsonl c; echo forged >> c; ln -sf /etc/hostname ev.jsonl; \
    truncate -s 0 ev.jsonl; chmod 0 ev.jsonl; mv ../ws ../gone; mkdir r.json; echo forged > r.json; exit 0";

/// Lines of the file, all of them events; the last tells the end.
#[track_caller]
fn whole(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for line in text.lines() {
        let event: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(event["type"].is_string(), "{line}");
    }
    assert!(text.lines().last().is_some_and(|last| last.contains("\"exited\"")), "{text}");
    text
}

fn attacked(world: &World, options: &[&str]) {
    let [events, report] = ["ev.jsonl", "r.json"].map(|name| world.ws.join(name));
    let options = ["--events", "sub/../ev.jsonl", "--report", "r.json"].iter().chain(options);
    let ran = world.run().opts(options).shell(ATTACK);
    ran.exits(0).complains(&["ev.jsonl", "files that the caller writes"]);
    let text = whole(&events);
    assert!(text.contains("/nope1") && text.contains("ev.jsonl"), "{text}");
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!(report["exitCode"], 0, "{report}");
}

#[test]
fn a_command_does_not_touch_its_own_record() {
    each_caller(|world| {
        world.dir("sub");
        // New files first, then those that are there already.
        for _ in 0..2 {
            attacked(world, &[]);
            let names = fs::read_dir(&world.ws).unwrap().flatten().map(|entry| entry.file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            assert_eq!(names, ["c", "ev.jsonl", "new", "r.json", "sub"]);
        }
        // A name that somebody allows is no exception.
        attacked(world, &["--allow-write", "ev.jsonl"]);
    });
}

/// What commands do not reach needs nothing, and what is no file of the workspace's works as ever.
#[test]
fn other_places_work_as_before() {
    each_caller(|world| {
        let place = world.outside.join("ev.jsonl");
        world.give(&world.outside);
        world.run().with("--events", &place).shell("echo x > /var/tmp/nope1; exit 0").exits(0);
        whole(&place);
        world.run().with("--events", "/dev/null").program(["true"]).exits(0);
        world
            .run()
            .opts(["--overlay", "--events", "ev.jsonl"])
            .opts(["-c", "rm ev.jsonl; exit 0"])
            .go()
            .exits(0);
        whole(&world.ws.join("ev.jsonl"));
        // The next command may tidy up.
        world.run().shell("rm ev.jsonl").exits(0);
    });
}
