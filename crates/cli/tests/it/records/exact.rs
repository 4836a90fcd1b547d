//! Every kind of refusal, named exactly.

use super::{Kept, kept, text};
use crate::support::{Run, World, binaries, each_caller};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// One act of the probe, and what has to be on record about it.
struct Case {
    act: &'static [&'static str],
    kind: &'static str,
    /// The subject, below the place outside.
    subject: &'static str,
}

/// Tries an act in a shell that says its number first.
#[track_caller]
fn tried(world: &World, run: Run<'_>, act: &[String]) -> Kept {
    let words: Vec<String> = act.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("echo $$; exec '{}' {}", binaries().probe.display(), words.join(" "));
    kept(world, run, |run| run.shell(&line))
}

/// The act's words with paths below `outside`.
fn words(outside: &Path, act: &[&str]) -> Vec<String> {
    let place = |word: &str| outside.join(word).to_str().expect("text").to_owned();
    let (verb, paths) = act.split_first().expect("a verb");
    std::iter::once((*verb).to_owned()).chain(paths.iter().map(|path| place(path))).collect()
}

/// Who did it, to what, and when; what refused and why.
#[track_caller]
fn checks_out(kept: &Kept, kind: &str, subject: &Path) -> Value {
    let violation = kept.only();
    let (number, answer) =
        kept.ran.out().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(answer.starts_with("errno "), "it was not refused{}", kept.ran);
    assert_eq!(violation["kind"], kind, "{violation:#}");
    assert_eq!(violation["subject"], subject.to_str().unwrap(), "{violation:#}");
    assert_eq!(violation["pid"], number.parse::<u64>().unwrap(), "{violation:#}");
    assert_eq!(violation["program"], binaries().probe.to_str().unwrap(), "{violation:#}");
    assert!(text(&violation["command"]).contains("echo $$"), "{violation:#}");
    assert!(!text(&violation["reason"]).is_empty(), "{violation:#}");
    assert!(violation["time"].as_u64().unwrap() > 1_700_000_000_000, "{violation:#}");
    violation.clone()
}

/// Adds the option that a violation suggests.
#[track_caller]
fn as_suggested<'a>(run: Run<'a>, violation: &Value) -> Run<'a> {
    let (option, value) = text(&violation["suggestion"]).split_once(' ').expect("an option and its value");
    run.with(option, value)
}

#[test]
fn each_kind_and_what_would_allow_it() {
    const CASES: [Case; 6] = [
        Case { act: &["write", "file"], kind: "write", subject: "file" },
        Case { act: &["create", "new"], kind: "create", subject: "new" },
        Case { act: &["mkdir", "newdir"], kind: "create", subject: "newdir" },
        Case { act: &["unlink", "file"], kind: "unlink", subject: "file" },
        Case { act: &["rename", "file", "moved"], kind: "rename", subject: "file" },
        Case { act: &["read", "secret"], kind: "read", subject: "secret" },
    ];
    each_caller(|world| {
        let settings =
            world.settings(json!({"filesystem": {"denyRead": [world.outside.join("secret")]}}).to_string());
        // Resolved: the link is not the subject.
        world.link(&world.outside, "elsewhere");
        let link = world.ws.join("elsewhere");
        for case in CASES {
            world.file(world.outside.join("file"), "content");
            world.file(world.outside.join("secret"), "content");
            let act = words(&link, case.act);
            let run = || world.run().with("--settings", &settings).with("--trace", "reads");
            let done = tried(world, run(), &act);
            let violation = checks_out(&done, case.kind, &world.outside.join(case.subject));
            if case.kind == "read" {
                assert_eq!(
                    violation["rule"],
                    json!({
                        "text": format!("denyRead {}", world.outside.join("secret").display()),
                        "origin": {"layer": "flag", "source": settings, "key": "filesystem.denyRead[0]"},
                    })
                );
            } else {
                assert_eq!(violation["rule"], Value::Null, "no one rule keeps everything else unwritten");
            }
            let again = tried(world, as_suggested(run(), &violation), &act);
            assert!(again.ran.out().contains("\nok"), "{:?} as suggested{}", case.act, again.ran);
            assert_eq!(again.everywhere(), [] as [Value; 0]);
            for name in ["new", "moved"] {
                let _ = fs::remove_file(world.outside.join(name));
            }
            let _ = fs::remove_dir(world.outside.join("newdir"));
        }
    });
}

#[test]
fn a_unix_socket_and_what_would_allow_it() {
    each_caller(|world| {
        let place = world.outside.join("socket");
        let _listener = UnixListener::bind(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
        let mut act = words(&world.outside, &["connect-unix", "socket"]);
        act.push("stream".to_owned());
        let done = tried(world, world.run(), &act);
        let violation = checks_out(&done, "unix", &place);
        let again = tried(world, as_suggested(world.run(), &violation), &act);
        assert!(again.ran.out().contains("\nok"), "{}", again.ran);
    });
}

#[test]
fn protection_names_its_rule_and_suggests_nothing() {
    each_caller(|world| {
        let done = tried(world, world.run(), &words(&world.ws, &["mkdir", ".vscode"]));
        let violation = checks_out(&done, "create", &world.ws.join(".vscode"));
        let origin = json!({"layer": "builtIn", "source": "mandatory protection"});
        assert_eq!(violation["rule"], json!({"text": "protected .vscode", "origin": origin}));
        assert_eq!(violation["suggestion"], Value::Null);
        assert!(!world.ws.join(".vscode").exists());
    });
}

#[test]
fn a_limit() {
    each_caller(|world| {
        let done = kept(world, world.run().with("--timeout", "0.3"), |run| run.shell("sleep 60"));
        let violation = done.only();
        assert_eq!(
            (&violation["kind"], &violation["subject"]),
            (&json!("limit"), &json!("maxExecutionTime 300 ms"))
        );
        let option = text(&violation["suggestion"]).to_owned();
        let again = kept(world, world.run().with(&option, "60"), |run| run.shell("sleep 0.4"));
        again.ran.exits(0);
    });
}

/// The likely cause of a failure, for programs that look at the outcome.
#[test]
fn the_outcome_names_the_likely_cause() {
    each_caller(|world| {
        let file = world.outside.join("f");
        let line = format!("echo x > '{}'", file.display());
        let done = kept(world, world.run(), |run| run.shell(&line));
        assert_eq!(done.report["blocked"], true, "{:#}", done.report);
        assert_eq!(done.report["blockedResource"], file.to_str().unwrap());
        assert_eq!(done.report["blockedReason"], done.only()["reason"]);
        let done = kept(world, world.run(), |run| run.shell(&format!("({line}); exit 0")));
        assert_eq!(done.report["blocked"], false, "{:#}", done.report);
        assert_eq!(done.everywhere().len(), 1);
    });
}

/// A violation is in the stream while the command still runs.
#[test]
fn events_come_as_they_happen() {
    each_caller(|world| {
        let events = world.file(world.base.join("live.jsonl"), "");
        let line = format!(
            "mkdir '{}'; touch tried; until [ -e seen ]; do sleep 0.02; done",
            world.outside.join("d").display()
        );
        let live = world.run().with("--events", &events).opt("-c").opt(line).start_words();
        crate::support::eventually(std::time::Duration::from_secs(20), || {
            let all = fs::read_to_string(&events).unwrap();
            if all.contains("\"type\":\"violation\"") { Ok(()) } else { Err(all) }
        });
        world.file("seen", "");
        live.finish(std::time::Duration::from_secs(20)).exits(0);
    });
}

/// The kernel says that a name is taken before it looks at any wall: nothing was refused.
#[test]
fn names_that_are_there_already_are_no_violations() {
    each_caller(|world| {
        world.file(".git/hooks/pre-commit", "x");
        world.file("plain", "x");
        let text = "mkdir -p \"$XDG_CACHE_HOME/a\" && mkdir -p .git/hooks /usr/bin && echo made; \
             mkdir .git/hooks; mkfifo .git/hooks/pre-commit; ln plain .git/hooks/pre-commit; \
             ln -s plain .git/hooks/pre-commit; dd if=plain of=.git/hooks/pre-commit conv=excl status=none";
        let run = kept(world, world.run(), |run| run.shell(text));
        assert_eq!(run.ran.out(), "made\n", "{}", run.ran);
        assert_eq!(run.ran.err().matches("File exists").count(), 5, "{}", run.ran);
        assert!(run.everywhere().is_empty(), "{}", run.ran);
        // One that is not there is.
        let run = kept(world, world.run(), |run| run.shell("mkdir -p \"$HOME/.cache/stockade/new\""));
        assert_eq!(run.only()["kind"], "create");
    });
}
