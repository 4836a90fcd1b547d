//! Permissions that come, and go, while a command runs.

use super::internet::online;
use super::{reported, srt_settings};
use crate::support::{Live, Ran, World, eventually};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The descriptor's number in the launcher.
const NUMBER: i32 = 7;

/// A run whose questions come here.
struct Asking {
    live: Live,
    lines: BufReader<UnixStream>,
    to: UnixStream,
}

impl Asking {
    fn begin(world: &World, options: &[&str], text: &str) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        ours.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
        let run = options.iter().fold(reported(world, world.run()).run, |run, word| run.opt(word));
        let run = run.with("--ask", format!("fd:{NUMBER}")).holding(theirs, NUMBER);
        let live = run.opts(["-c", text]).start_words();
        Self { live, lines: BufReader::new(ours.try_clone().expect("dup")), to: ours }
    }

    #[track_caller]
    fn question(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a question");
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(line["type"], "ask", "{line}");
        line
    }

    /// Says no to everything that is still asked, to the end of the run. A program that is refused on one
    /// address tries the next, and that is a question of its own.
    #[track_caller]
    fn refuse_the_rest(mut self) -> Ran {
        let mut line = String::new();
        while self.lines.read_line(&mut line).is_ok_and(|count| count > 0) {
            let question: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            if question["type"] == "ask" {
                self.answer(&question, "deny");
            }
            line.clear();
        }
        self.live.finish(Duration::from_secs(60))
    }

    fn answer(&mut self, question: &Value, reply: &str) {
        let line = json!({"id": question["id"], "answer": reply});
        // A run that is over needs no answer.
        let _ = self.to.write_all(format!("{line}\n").as_bytes());
    }
}

#[test]
fn a_connection_waits_for_the_answer() {
    online(|net, world| {
        let mut asking = Asking::begin(
            world,
            &["--allow-domain", "v4only.test"],
            "curl -sS --max-time 60 http://allow.test/",
        );
        let question = asking.question();
        let subject = question["subject"].as_str().unwrap();
        assert!(subject == "allow.test" || subject == "allow.test:80", "{question:#}");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(net.connections(), [], "it did not wait");
        assert_eq!(net.asked(), [""; 0], "it did not wait");
        asking.answer(&question, "session");
        let ran = asking.live.finish(Duration::from_secs(60));
        assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
    });
}

#[test]
fn a_no_is_a_no_and_is_on_record() {
    online(|net, world| {
        for listed in [&[][..], &["--allow-domain", "v4only.test"]] {
            let mut asking =
                Asking::begin(world, listed, "curl -sS --max-time 60 http://evil.test/; echo $?");
            let question = asking.question();
            asking.answer(&question, "deny");
            let ran = asking.refuse_the_rest();
            assert_ne!(ran.out(), "0\n", "{ran}");
            let report: Value =
                serde_json::from_slice(&fs::read(world.base.join("report.json")).unwrap()).unwrap();
            assert!(report["violations"].to_string().contains("evil.test"), "{report:#}");
        }
        assert_eq!(net.connections(), []);
        assert_eq!(net.asked(), [""; 0]);
    });
}

#[test]
fn an_answer_is_for_its_host_alone() {
    online(|net, world| {
        let text = "curl -sS --max-time 60 http://allow.test/; curl -sS --max-time 60 http://allow.test/again >/dev/null; \
                    curl -sS --max-time 60 http://evil.test/; true";
        let mut asking = Asking::begin(world, &["--allow-domain", "v4only.test"], text);
        let first = asking.question();
        asking.answer(&first, "session");
        let mut next = asking.question();
        // The name may be asked about first and the port then; never the same thing twice.
        if next["subject"].as_str().unwrap().starts_with("allow.test") {
            assert_ne!(next["subject"], first["subject"]);
            asking.answer(&next, "session");
            next = asking.question();
        }
        assert!(next["subject"].as_str().unwrap().starts_with("evil.test"), "{next:#}");
        asking.answer(&next, "deny");
        let ran = asking.refuse_the_rest();
        ran.exits(0);
        assert_eq!(net.served(), ["GET /", "GET /again"], "{ran}");
    });
}

/// What a rule denies nobody is asked about.
#[test]
fn denials_are_not_asked_about() {
    online(|net, world| {
        let options = ["--allow-domain", "v4only.test", "--deny-domain", "evil.test"];
        let asking = Asking::begin(
            world,
            &options,
            "curl -sS --max-time 20 http://evil.test/; curl -sS --max-time 20 http://169.254.169.254/",
        );
        let Asking { live, mut lines, .. } = asking;
        let ran = live.finish(Duration::from_secs(60));
        assert_ne!(ran.code(), 0, "{ran}");
        let mut line = String::new();
        let _ = lines.read_line(&mut line);
        assert!(!line.contains("\"ask\""), "{line}");
        assert_eq!(net.connections(), []);
    });
}

/// `srt --control-fd` with settings that allow these hosts to begin with.
fn controlled(world: &World, hosts: &[&str], text: &str) -> (Live, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let file =
        world.file(world.base.join("srt.json"), srt_settings(json!({"allowedDomains": hosts})).to_string());
    let run = world.srt().with("-s", file).with("--control-fd", NUMBER.to_string()).holding(theirs, NUMBER);
    (run.opts(["-c", text]).start_words(), ours)
}

fn change(to: &mut UnixStream, hosts: &[&str]) {
    let line = srt_settings(json!({"allowedDomains": hosts}));
    to.write_all(format!("{line}\n").as_bytes()).expect("a line");
}

#[test]
fn a_running_command_gains_hosts() {
    online(|_, world| {
        for proxy in ["", "--noproxy '*'"] {
            let text = format!(
                "curl -sSf --max-time 10 {proxy} http://allow.test/ && exit 9; echo refused; \
                 for i in $(seq 200); do curl -sSf --max-time 10 {proxy} http://allow.test/ 2>/dev/null && exit 0; sleep 0.1; done; exit 1"
            );
            let (live, mut control) = controlled(world, &["v4only.test"], &text);
            let first = live.first_output(Duration::from_secs(30));
            assert_eq!(String::from_utf8_lossy(&first), "refused\n");
            change(&mut control, &["allow.test"]);
            let ran = live.finish(Duration::from_secs(60));
            ran.exits(0);
            assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
        }
    });
}

#[test]
fn tunnels_that_are_no_longer_allowed_are_closed() {
    online(|net, world| {
        for how in ["", "--noproxy '*'", "-p", "--noproxy '' -x socks5h://localhost:1080"] {
            net.forget();
            let text = format!("curl -sSN {how} http://allow.test/drip; echo over $?; sleep 600");
            let (live, mut control) = controlled(world, &["allow.test", "v4only.test"], &text);
            assert!(live.first_output(Duration::from_secs(30)).starts_with(b"drop"), "{how}");
            // A change that keeps the host keeps the connection.
            change(&mut control, &["allow.test"]);
            std::thread::sleep(Duration::from_millis(200));
            while let Some(text) = more(&live, Duration::from_millis(100)) {
                assert!(!text.contains("over"), "{how}: closed although it is still allowed");
                if text.contains("drop") {
                    break;
                }
            }
            change(&mut control, &["v4only.test"]);
            eventually(Duration::from_secs(10), || match more(&live, Duration::from_millis(100)) {
                Some(text) if text.contains("over") => Ok(()),
                _ => Err(format!("{how}: the tunnel is still open")),
            });
        }
    });
}

/// What came next on standard output.
fn more(live: &Live, patience: Duration) -> Option<String> {
    live.next_output(patience).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[test]
fn a_bad_line_changes_nothing() {
    online(|_, world| {
        let text = "read -r go < gate; curl -sSf --max-time 10 http://allow.test/";
        let gate = world.ws.join("gate");
        assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
        world.give(&gate);
        let (live, mut control) = controlled(world, &["allow.test"], text);
        control.write_all(b"{\"network\": {\"allowedDomains\": [\"*\"]}}\nnonsense\n").unwrap();
        std::thread::sleep(Duration::from_millis(500));
        fs::write(&gate, "go\n").unwrap();
        let ran = live.finish(Duration::from_secs(60));
        assert_eq!(ran.out(), "hello from allow.test\n", "{ran}");
        ran.complains(&["Invalid config on control fd 7"]);
    });
}
