//! Writers, one and many.

use super::*;
use crate::audit::{AuditKind, AuditRecord, Durability};
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use stockade_policy::{Exit, Violation};

fn records(log: &AuditLog) -> Vec<AuditRecord> {
    let mut records = Vec::new();
    log.read(|line| {
        records.push(line.record.unwrap().clone());
        ControlFlow::Continue(())
    })
    .unwrap();
    records
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn lines_are_chained() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    let log = AuditLog::new(&state);
    assert_eq!(sound(&log), Verified::default());
    assert!(!state.exists(), "looking makes nothing");
    for (number, text) in ["one", "two\n\u{1b}", "three"].into_iter().enumerate() {
        assert_eq!(append(&log, text), number as u64 + 1);
    }
    let verified = sound(&log);
    assert_eq!((verified.lines, verified.files), (3, 1));

    let found = records(&log);
    assert_eq!(found[0].prev, "0".repeat(64));
    assert_eq!(found[1].prev, found[0].hash);
    assert_eq!(found[2].prev, found[1].hash);
    assert_eq!(found[1].event, event("two\n\u{1b}"));
    assert_eq!(found[1].event.kind(), AuditKind::BareRun);

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(log.path()), 0o600);
    assert_eq!(mode(&state.join("audit.head")), 0o600);
    assert_eq!(names(&state), ["audit.head", "audit.jsonl"]);
}

#[test]
fn every_kind_is_named_as_it_is_written() {
    for kind in AuditKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
    let json = serde_json::to_value(event("x")).unwrap();
    assert_eq!(json["kind"], event("x").kind().name());
}

#[test]
fn lines_of_any_length_are_followed() {
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::new(place.path()).durability(Durability::Power);
    for length in [1, 3000, 3500, 4096, 8000, 100_000, 2_000_000, 1] {
        append(&log, &"x".repeat(length));
        append(&log, &"\u{1}".repeat(length));
    }
    assert_eq!(sound(&log).lines, 16);
}

#[test]
fn the_chain_goes_over_files() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 14, Some(4));
    assert_eq!(
        names(place.path()),
        ["audit.head", "audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3"]
    );
    let verified = sound(&log);
    assert_eq!((verified.lines, verified.files), (14, 4));
    let found = records(&log);
    assert_eq!(found.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>());
    let first: AuditRecord = serde_json::from_str(&lines(log.path())[0]).unwrap();
    let before: AuditRecord =
        serde_json::from_str(lines(&place.path().join("audit.jsonl.1")).last().unwrap()).unwrap();
    assert_eq!(first.prev, before.hash);
}

#[test]
fn old_files_are_let_go() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 1, Some(2));
    let log = log.clone().rotation(Rotation { keep: 2, ..log.rotation });
    for number in 2..=21 {
        append(&log, &format!("{number:02}"));
        sound(&log);
    }
    assert_eq!(names(place.path()), ["audit.head", "audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
    assert_eq!(sound(&log).lines, 5);
    assert_eq!(records(&log)[0].seq, 17);
    // Fewer than before.
    let log = log.clone().rotation(Rotation { keep: 1, ..log.rotation });
    append(&log, "22");
    append(&log, "23");
    assert_eq!(names(place.path()), ["audit.head", "audit.jsonl", "audit.jsonl.1"]);
    assert_eq!(sound(&log).lines, 3);
}

#[test]
fn a_flood_of_refusals_does_not_push_the_rest_out() {
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::new(place.path());
    let violation: Violation = serde_json::from_value(serde_json::json!({
        "seq": 1, "time": 0, "sandbox": "box", "command": "c", "pid": 1, "kind": "read", "subject": "/x",
    }))
    .unwrap();
    let refusal = AuditEvent::Refusal { violation };
    for _ in 0..2000 {
        assert!(matches!(log.append(&refusal).unwrap(), Appended::Line(_)));
    }
    for _ in 0..5 {
        assert_eq!(log.clone().append(&refusal).unwrap(), Appended::Counted);
    }
    let exit = Exit::Code { code: 0 };
    let end = AuditEvent::End { sandbox: "box".into(), exit, exit_code: 0, duration_ms: 1, unlisted: 7 };
    assert_eq!(log.append(&end).unwrap(), Appended::Line(2001));
    assert!(matches!(records(&log)[2000].event, AuditEvent::End { unlisted: 12, .. }));
    // The next run in the same sandbox counts anew.
    assert_eq!(log.append(&refusal).unwrap(), Appended::Line(2002));
    sound(&log);
}

#[test]
fn processes_and_threads_write_at_once() {
    const PROCESSES: u64 = 4;
    const THREADS: u64 = 4;
    const LINES: u64 = 50;
    if let Some(log) = log_of_child() {
        let log = log.rotation(Rotation { bytes: 20_000, keep: 100 });
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let log = log.clone();
                scope.spawn(move || {
                    (0..LINES).for_each(|line| {
                        append(&log, &format!("{}/{thread}/{line}", std::process::id()));
                    });
                });
            }
        });
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let test = "writing::processes_and_threads_write_at_once";
    let start = || again(test, place.path()).stdout(Stdio::null()).spawn().unwrap();
    let mut children: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    let log = AuditLog::new(place.path());
    // Whoever looks meanwhile sees a sound log.
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        sound(&log);
    }
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let verified = sound(&log);
    assert_eq!(verified.lines, PROCESSES * THREADS * LINES);
    assert!(verified.files > 3, "{verified:?}");
}

#[test]
fn whoever_looks_while_the_log_begins_sees_it_sound() {
    for _ in 0..200 {
        let place = tempfile::tempdir().unwrap();
        let log = AuditLog::new(place.path());
        std::thread::scope(|scope| {
            scope.spawn(|| append(&log, "first"));
            while sound(&log).lines == 0 {}
        });
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(log) = log_of_child() {
        let log = log.rotation(Rotation { bytes: 2000, keep: 1000 });
        for number in 1.. {
            append(&log, &format!("{}/{number}", std::process::id()));
            println!("written {number}");
            std::io::stdout().flush().unwrap();
        }
    }
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::new(place.path());
    for round in 1..=30 {
        let mut child = again("writing::what_was_acknowledged_survives_a_kill", place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        while acknowledged < round {
            acknowledged += usize::from(said.next().unwrap().unwrap().contains("written "));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged += said.map_while(Result::ok).filter(|line| line.contains("written ")).count();

        sound(&log);
        let mine = format!("{}/", child.id());
        let found = records(&log).into_iter().filter(
            |record| matches!(&record.event, AuditEvent::BareRun { command, .. } if command.starts_with(&mine)),
        );
        let found = found.count();
        assert!(found == acknowledged || found == acknowledged + 1, "{acknowledged} {found}");
    }
}
