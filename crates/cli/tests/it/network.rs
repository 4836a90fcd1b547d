//! What commands reach, in an internet of the tests' own.

mod credentials;
mod crowd;
mod internet;
mod itself;
mod limits;
mod live;
mod lookups;
mod names;
mod ports;
mod proxies;
mod records;
mod settings;
mod streams;
mod tls;
mod transparent;
mod udp;

use crate::support::{Answer, Ran, Run, World, binaries};
use internet::authority;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Kilobytes of memory a process has.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0)
}

/// A refusal is heard at once; a machine under load gets this much.
const QUICK: Duration = Duration::from_secs(8);

/// What a server on our own side says.
const HOME: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nHOME\n";

/// A run with a report.
struct Reported<'a> {
    run: Run<'a>,
    report: PathBuf,
}

/// A finished run and its report.
struct Judged {
    ran: Ran,
    report: Value,
}

/// `stockade run` that may reach these hosts.
fn allowing<'a>(world: &'a World, hosts: &[&str]) -> Reported<'a> {
    let run = hosts.iter().fold(world.run(), |run, host| run.with("--allow-domain", host));
    reported(world, run)
}

/// `stockade run` with these network settings.
fn with_network(world: &World, network: Value) -> Reported<'_> {
    let settings = world.settings(json!({"network": network}).to_string());
    reported(world, world.run().with("--settings", settings))
}

fn reported<'a>(world: &World, run: Run<'a>) -> Reported<'a> {
    let report = world.base.join("report.json");
    let _ = fs::remove_file(&report);
    Reported { run: run.with("--report", &report), report }
}

impl<'a> Reported<'a> {
    fn with(self, option: &str, value: &str) -> Self {
        Self { run: self.run.with(option, value), ..self }
    }

    fn var(self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        Self { run: self.run.var(name, value), ..self }
    }

    #[track_caller]
    fn ends(report: &Path, ran: Ran) -> Judged {
        ran.keeps_calm();
        let text = fs::read(report).unwrap_or_else(|error| panic!("no report: {error}{ran}"));
        Judged { report: serde_json::from_slice(&text).expect("JSON"), ran }
    }

    #[track_caller]
    fn program(self, argv: &[&str]) -> Judged {
        Self::ends(&self.report, self.run.program(argv))
    }

    #[track_caller]
    fn shell(self, text: &str) -> Judged {
        Self::ends(&self.report, self.run.shell(text))
    }

    #[track_caller]
    fn curl(self, words: &[&str]) -> Judged {
        self.program(&[&["curl", "-sS", "--max-time", "30"], words].concat())
    }

    /// One act of the probe, with what the run wrote down.
    #[track_caller]
    fn probe(self, words: &[&str]) -> (Answer, Judged) {
        let probe = binaries().probe.to_str().expect("text").to_owned();
        let judged = self.program(&[&[probe.as_str()], words].concat());
        (Answer::all(judged.ran.clone(), &[words.join(" ")]).remove(0), judged)
    }
}

/// The records of connections among a run's events.
fn connections(events: &Path) -> Vec<Value> {
    let text = fs::read_to_string(events).expect("events");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["type"] == "connection").collect()
}

impl Judged {
    fn violations(&self) -> &[Value] {
        self.report["violations"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The record of this refusal; fails when there is none.
    #[track_caller]
    fn refused(&self, kind: &str, subject: &str) -> &Value {
        let found = self.violations().iter().find(|row| row["kind"] == kind && row["subject"] == subject);
        let Some(row) = found else {
            panic!("no violation {kind} {subject}: {:#?}{}", self.violations(), self.ran);
        };
        assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row:#}");
        row
    }

    /// Nothing was refused, and the command succeeded with this output.
    #[track_caller]
    fn gives(&self, output: &str) -> &Self {
        assert_eq!(self.ran.out(), output, "{}", self.ran);
        self.ran.exits(0);
        self.clean()
    }

    /// Nothing was refused.
    #[track_caller]
    fn clean(&self) -> &Self {
        assert_eq!(self.violations(), &[] as &[Value], "{}", self.ran);
        self
    }

    /// The command failed, and did not have to wait for it.
    #[track_caller]
    fn fails_quickly(&self) -> &Self {
        assert_ne!(self.ran.code(), 0, "this should have failed{}", self.ran);
        assert!(self.ran.took < QUICK, "the refusal took too long{}", self.ran);
        self
    }
}

/// A server on our own side: whoever reaches it reached this machine.
struct Home {
    hits: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Home {
    /// Listens on every address of this machine.
    fn open(port: u16) -> Self {
        let listener = bound(port);
        listener.set_nonblocking(true).expect("nonblocking");
        let (hits, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&hits), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((mut stream, _)) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        let _ = stream.write_all(HOME);
                        // Whatever the client says is taken, or it would not hear us.
                        let _ = stream.shutdown(Shutdown::Write);
                        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                        let _ = stream.read_to_end(&mut Vec::new());
                    }
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        Self { hits, over, thread: Some(thread) }
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::Relaxed)
    }
}

/// Another test's child holds every socket of ours between its fork and its exec.
fn bound(port: u16) -> TcpListener {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpListener::bind(("::", port)) {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < end, "port {port} of our own: {error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// srt settings with these network keys.
fn srt_settings(network: Value) -> Value {
    let mut all = json!({"allowedDomains": [], "deniedDomains": []});
    for (key, value) in network.as_object().expect("an object") {
        all[key] = value.clone();
    }
    json!({"network": all, "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
}

/// `srt -s F` with these network keys, ready for a command.
fn srt(world: &World, network: Value) -> Run<'_> {
    srt_with(world, &srt_settings(network))
}

/// `srt -s F` with these settings.
fn srt_with<'a>(world: &'a World, settings: &Value) -> Run<'a> {
    let file = world.file(world.base.join("srt.json"), settings.to_string());
    world.srt().with("-s", file)
}

/// Everything in the caller's store of violations.
#[track_caller]
fn stored(world: &World) -> Vec<Value> {
    let ran = world.stockade().opts(["violations", "--json", "--all", "--limit", "100000"]).go();
    ran.exits(0);
    let rows: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    rows.as_array().expect("a list").clone()
}

/// The latest row of this kind in the store; fails when there is none.
#[track_caller]
fn on_record(world: &World, kind: &str, subject: &str) -> Value {
    let rows = stored(world);
    let fits = |row: &&Value| row["kind"] == kind && row["subject"] == subject;
    let latest = rows.iter().filter(fits).max_by_key(|row| row["time"].as_u64());
    latest.cloned().unwrap_or_else(|| panic!("no {kind} {subject} in {rows:#?}"))
}

/// The root that signs the servers' certificates, where the caller can read it.
fn root(world: &World) -> PathBuf {
    world.file("root.pem", &authority().root)
}
