//! The log with real files, several processes, and everything that can be done to it.

mod faults;
mod tampering;
mod writing;

use super::{Appended, AuditEvent, AuditLog, Flaw, Rotation, Verified};
use std::fs;
use std::path::Path;
use std::process::Command;

fn event(text: &str) -> AuditEvent {
    AuditEvent::BareRun {
        sandbox: "b".into(),
        command: text.into(),
        cwd: "/".into(),
        reason: "asked for".into(),
    }
}

fn append(log: &AuditLog, text: &str) -> u64 {
    match log.append(&event(text)).unwrap() {
        Appended::Line(seq) => seq,
        Appended::Counted => panic!("not counted"),
    }
}

/// A log with lines `1` to `count`, in small files when `lines` of them should fit in one.
fn filled(place: &Path, count: u64, lines: Option<u64>) -> AuditLog {
    let mut log = AuditLog::new(place);
    if let Some(lines) = lines {
        append(&log, "00");
        let line = fs::metadata(log.path()).unwrap().len();
        for file in ["audit.jsonl", "audit.head"] {
            fs::remove_file(place.join(file)).unwrap();
        }
        log = log.rotation(Rotation { bytes: line * lines + line / 2, keep: 8 });
    }
    for number in 1..=count {
        assert_eq!(append(&log, &format!("{number:02}")), number);
    }
    log
}

fn sound(log: &AuditLog) -> Verified {
    let verified = log.verify().unwrap();
    assert!(verified.is_sound(), "{:?}", verified.findings);
    verified
}

/// The only flaw, with the name of the file and the line.
fn flaw(log: &AuditLog) -> (String, u64, Flaw) {
    let verified = log.verify().unwrap();
    let [finding] = &verified.findings[..] else { panic!("{verified:?}") };
    let name = finding.file.file_name().unwrap().to_string_lossy().into_owned();
    (name, finding.line, finding.flaw.clone())
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(Into::into).collect()
}

fn put(path: &Path, lines: &[String]) {
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// The test of this name once more, in a process of its own that finds the place in its environment.
fn again(test: &str, place: &Path) -> Command {
    // Not by its name: it may lie where only root can go, and some of these processes are not.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", &format!("audit::tests::{test}"), "--nocapture"]).env("AUDIT_PLACE", place);
    command
}

/// The log, in such a process.
fn log_of_child() -> Option<AuditLog> {
    std::env::var_os("AUDIT_PLACE").map(|place| AuditLog::new(Path::new(&place)))
}
