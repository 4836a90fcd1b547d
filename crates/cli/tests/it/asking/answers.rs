//! How long an answer lasts.

use super::{Program, about, grants, text, tried, user_settings, violations};
use crate::act;
use crate::support::{World, each_caller};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A settings file as a person writes it.
const SETTINGS: &str = r#"// mine
{
  "filesystem": {
    // for the tests
    "allowWrite": ["/nonexistent/out"], // nothing yet
  },
}
"#;

fn secret(world: &World) -> PathBuf {
    world.file(world.outside.join("secret"), "SECRET")
}

#[test]
fn once_is_for_one_act() {
    each_caller(|world| {
        let secret = secret(world);
        let acts = [act!["read", &secret], act!["read", &secret]];
        let mut first = true;
        let tried = tried(world.run().with("--deny-read", &secret), &acts, |_| {
            if std::mem::take(&mut first) { "once" } else { "deny" }
        });
        assert_eq!(tried.answers[0].ok(), "SECRET");
        tried.answers[1].errno(&["EACCES"]);
        assert_eq!(tried.questions.len(), 2);
        assert!(grants(world).is_empty());
    });
}

/// Who answers and who reads the events speak of the same question.
#[test]
fn a_question_has_one_number() {
    each_caller(|world| {
        let secret = secret(world);
        let events = world.file(world.base.join("asked.jsonl"), "");
        let run = world.run().with("--deny-read", &secret).with("--events", &events);
        let tried = tried(run, &[act!["read", &secret], act!["read", &secret]], |_| "once");
        let asked: Vec<_> = tried.questions.iter().map(|question| question["id"].as_u64().unwrap()).collect();
        let told = fs::read_to_string(&events).unwrap();
        let told: Vec<serde_json::Value> =
            told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for kind in ["ask", "answered"] {
            let ids = told.iter().filter(|event| event["type"] == kind).map(|event| event["id"].as_u64());
            assert_eq!(ids.flatten().collect::<Vec<_>>(), asked, "{kind}");
        }
        // Nor does the number of one tell that of the next.
        assert!(asked.len() == 2 && asked[0].abs_diff(asked[1]) > 1, "{asked:?}");
    });
}

#[test]
fn a_session_is_asked_once() {
    each_caller(|world| {
        let (secret, new) = (secret(world), world.outside.join("new"));
        let acts = [
            act!["read", &secret],
            act!["read", &secret],
            act!["create", &new],
            act!["unlink", &new],
            act!["create", &new],
            act!["unlink", &new],
            act!["read", &secret],
        ];
        let run = || world.run().with("--deny-read", &secret);
        let tried_out = tried(run(), &acts, |_| "session");
        for answer in &tried_out.answers {
            answer.ok();
        }
        let asked: Vec<_> = tried_out.questions.iter().map(|question| about(question).0).collect();
        assert_eq!(asked, ["read", "create", "unlink"]);
        // A session ends with its run.
        let again = tried(run(), &[act!["read", &secret]], |_| "deny");
        assert_eq!(again.questions.len(), 1);
        assert!(!user_settings(world).exists() && grants(world).is_empty());
    });
}

#[test]
fn always_is_written_down_and_comments_stay() {
    each_caller(|world| {
        let settings = world.file(user_settings(world), SETTINGS);
        let (new, socket) = (world.outside.join("new"), world.outside.join("socket"));
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        world.give(&socket);
        let acts = [act!["create", &new], act!["connect-unix", &socket, "stream"], act!["unlink", &new]];
        let first = tried(world.run(), &acts, |_| "always");
        for answer in &first.answers {
            answer.ok();
        }
        // The list allows every change, and the session knows that.
        let asked: Vec<_> = first.questions.iter().map(|question| about(question).0).collect();
        assert_eq!(asked, ["create", "unix"]);
        let written = fs::read_to_string(&settings).unwrap();
        for kept in ["// mine\n", "// for the tests\n", "\"/nonexistent/out\"", "// nothing yet"] {
            assert!(written.contains(kept), "{kept:?} is gone:\n{written}");
        }
        assert!(written.contains(text(&new)) && written.contains(text(&socket)), "{written}");
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&settings).unwrap());
        assert_eq!(owner, world.caller.ids().0);
        // The next run needs nobody: the socket is a rule now.
        let second = tried(world.run(), &[act!["connect-unix", &socket, "stream"]], |_| "deny");
        second.answers[0].ok();
        assert!(second.questions.is_empty(), "{:?}", second.questions);
        let listed = grants(world);
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert!(listed.iter().all(|grant| grant["scope"] == "permanent"));
        drop(listener);
        // Taken back, the file is as it was.
        world.stockade().opts(["grants", "revoke", "--all"]).go().exits(0);
        let left = fs::read_to_string(&settings).unwrap();
        assert!(!left.contains(text(&new)) && !left.contains(text(&socket)), "{left}");
        assert!(left.contains("// nothing yet") && grants(world).is_empty());
    });
}

/// "Always" about a file that is read, written and made again: later runs ask nothing.
#[test]
fn later_runs_know_what_is_always_allowed() {
    each_caller(|world| {
        let (secret, old) = (secret(world), world.file(world.outside.join("old"), "host"));
        let settings = format!(r#"{{"filesystem": {{"denyRead": ["{}"]}}}}"#, text(&secret));
        world.file(user_settings(world), settings);
        let acts = [act!["read", &secret], act!["write", &old]];
        let first = tried(world.run(), &acts, |_| "always");
        assert_eq!(first.questions.len(), 2);
        let second = tried(world.run(), &acts, |_| "deny");
        assert!(second.questions.is_empty(), "{:?}", second.questions);
        assert_eq!(second.answers[0].ok(), "SECRET");
        second.answers[1].ok();
    });
}

/// Settings that cannot be written cost the "always", not the act.
#[test]
fn what_cannot_be_kept_holds_for_the_run() {
    each_caller(|world| {
        world.file(user_settings(world), "{}");
        let old = world.file(world.outside.join("old"), "host");
        let acts = [act!["write", &old], act!["write", &old]];
        let (lines, asked) = super::batch(&acts);
        let mut program = Program::begin(world.run(), |run| run.input(lines).start(["batch"]));
        let question = program.question();
        // Broken while the question stands: before the start it would have been refused.
        world.file(user_settings(world), "{ broken");
        program.answers(&question, "always");
        let (heard, ran) = program.attend(|_| "deny");
        for answer in crate::support::Answer::all(ran, &asked) {
            answer.ok();
        }
        assert!(heard.iter().any(|line| line["type"] == "notice"), "{heard:?}");
        assert_eq!(fs::read(user_settings(world)).unwrap(), b"{ broken");
    });
}

#[test]
fn until_ends() {
    each_caller(|world| {
        let old = world.file(world.outside.join("old"), "host");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let end = now + Duration::from_secs(4);
        let script = format!("for i in 1 2; do echo $i >> {}; done; sleep 4.5; echo 3 >> {0}", text(&old));
        let report = world.base.join("report.json");
        let run = world.run().with("--report", &report);
        let mut program = Program::begin(run, |run| run.opt("-c").opt(script).start_words());
        let question = program.question();
        let until = u64::try_from(end.as_millis()).unwrap();
        program.says(&json!({"id": question["id"], "answer": "until", "until": until}).to_string());
        // Other runs know it too until then.
        while grants(world).is_empty() {
            sleep(Duration::from_millis(20));
        }
        let meanwhile = tried(world.run(), &[act!["append", &old]], |_| "deny");
        meanwhile.answers[0].ok();
        assert!(meanwhile.questions.is_empty());
        let again = program.question();
        program.answers(&again, "deny");
        let ran = program.finish();
        ran.exits(1);
        assert_eq!(fs::read_to_string(&old).unwrap(), "host1\n2\nATTACK", "{ran}");
        assert_eq!(violations(&report).len(), 1);
        assert!(grants(world).is_empty());
        // And so does a run that begins later.
        let later = tried(world.run(), &[act!["append", &old]], |_| "deny");
        later.answers[0].errno(&["EROFS"]);
        assert_eq!(later.questions.len(), 1);
        assert!(!user_settings(world).exists());
    });
}

#[test]
fn no_answer_in_time_is_a_no() {
    each_caller(|world| {
        let report = world.base.join("report.json");
        let run = world.run().with("--ask-timeout", "1").with("--report", &report);
        let new = world.outside.join("new");
        let mut program = Program::begin(run, |run| run.start(["mkdir", text(&new)]));
        let question = program.question();
        assert!(question["timeoutMs"].as_u64().is_some_and(|time| (1..=1000).contains(&time)), "{question}");
        assert_eq!(program.next(), Some(json!({"type": "expired", "id": question["id"]})));
        program.answers(&question, "once");
        let ran = program.finish();
        assert_eq!(ran.out(), "errno EROFS\n", "{ran}");
        assert_eq!(violations(&report), [("create".to_string(), new.clone())]);
        assert!(!new.exists());
    });
}
