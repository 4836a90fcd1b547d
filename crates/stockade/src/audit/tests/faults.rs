//! Killed between two steps, full and read-only disks.

use super::*;
use crate::audit::AuditError;
use crate::private::testing::with_file_limit;
use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

#[test]
fn a_head_that_lags_is_no_flaw() {
    let place = tempfile::tempdir().unwrap();
    let head = place.path().join("audit.head");
    let log = filled(place.path(), 3, None);
    let before = fs::read(&head).unwrap();
    append(&log, "killed after this line, before the head");
    fs::write(&head, &before).unwrap();
    assert_eq!(sound(&log).lines, 4);
    append(&log, "next");
    assert_eq!(sound(&log).lines, 5);
}

#[test]
fn killed_before_the_first_head_is_no_flaw() {
    let place = tempfile::tempdir().unwrap();
    // The file of the head was made and nothing else.
    fs::write(place.path().join("audit.head"), "").unwrap();
    let log = AuditLog::new(place.path());
    sound(&log);
    append(&log, "first");
    assert_eq!(sound(&log).lines, 1);
}

#[test]
fn killed_in_a_rotation_is_no_flaw() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 9, Some(3));
    let name = |number: u32| place.path().join(format!("audit.jsonl.{number}"));
    // After `.2` went to `.3`: a number is missing.
    fs::rename(name(2), name(3)).unwrap();
    sound(&log);
    // After the full file went to `.1` and before there is a new one.
    fs::rename(name(1), name(2)).unwrap();
    fs::rename(log.path(), name(1)).unwrap();
    sound(&log);
    (10..=13).for_each(|number| assert_eq!(append(&log, &format!("{number:02}")), number));
    assert_eq!(sound(&log).lines, 13);
}

/// Whoever is killed in the middle of a write was never told that the line is there.
#[test]
fn half_a_line_of_a_killed_writer_goes() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    let mut file = OpenOptions::new().append(true).open(log.path()).unwrap();
    file.write_all(b"{\"seq\":4,\"time\":1,\"ki").unwrap();
    assert!(log.verify().unwrap().is_sound());
    assert_eq!(append(&log, "next"), 4);
    assert!(log.verify().unwrap().is_sound());
    assert_eq!(lines(log.path()).len(), 4);
}

/// Half a line where a whole one was told about is something else.
#[test]
fn a_line_that_was_cut_is_found_and_noted() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    let text = fs::read_to_string(log.path()).unwrap();
    fs::write(log.path(), &text[..text.len() - 10]).unwrap();
    assert!(matches!(flaw(&log).2, Flaw::CutOff { from: 3, to: 3 }));
    append(&log, "next");
    let (name, line, found) = flaw(&log);
    assert_eq!((name.as_str(), line), ("audit.jsonl", 4));
    assert!(matches!(found, Flaw::Gap { note } if note.contains("never finished")));
    // The gap accounts for these very bytes and no others.
    let text = fs::read_to_string(log.path()).unwrap();
    fs::write(log.path(), text.replacen("{\"seq\":3,", "{\"seq\":8,", 1)).unwrap();
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 3, Flaw::Unreadable));
}

#[test]
fn an_unfinished_first_line_is_noted() {
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::new(place.path());
    fs::write(log.path(), "{\"seq\":1,").unwrap();
    append(&log, "next");
    let (_, line, found) = flaw(&log);
    assert_eq!(line, 2);
    assert!(matches!(found, Flaw::Gap { .. }), "{found:?}");
}

#[test]
fn a_full_disk_leaves_whole_lines() {
    if let Some(log) = log_of_child() {
        let error = (0..).find_map(|number| log.append(&event(&format!("{number:04}"))).err()).unwrap();
        println!("ERROR {error:?}");
        // Again and again: nothing piles up.
        assert!(log.append(&event("once more")).is_err());
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let output = with_file_limit(&again("faults::a_full_disk_leaves_whole_lines", place.path()), 10);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("ERROR Write"), "{said}");
    let log = AuditLog::new(place.path());
    assert_eq!(flaw(&log).2, Flaw::Unwritten { count: 2 });
    let before = log.verify().unwrap().lines;
    assert!(before > 5);
    assert!(fs::metadata(log.path()).unwrap().len() <= 10 * 1024);
    // Whoever writes next says what is missing, once.
    append(&log, "room again");
    append(&log, "and again");
    let (_, line, found) = flaw(&log);
    assert_eq!(line, before + 1);
    assert!(matches!(found, Flaw::Gap { note } if note.starts_with("2 lines could not be written")));
    assert_eq!(log.verify().unwrap().lines, before + 3);
}

/// What the head could not be told, the process that knows it says with its next line.
#[test]
fn lines_that_no_head_counts_are_told_with_the_next_one() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    let head = place.path().join("audit.head");
    fs::rename(&head, place.path().join("aside")).unwrap();
    std::os::unix::fs::symlink("nowhere", &head).unwrap();
    assert!(log.append(&event("lost")).is_err());
    fs::rename(place.path().join("aside"), &head).unwrap();
    sound(&log);
    assert_eq!(append(&log, "next"), 5);
    assert!(matches!(flaw(&log).2, Flaw::Gap { note } if note.starts_with("1 line could not be written")));
    assert_eq!(append(&log, "after"), 6);
    assert_eq!(log.verify().unwrap().findings.len(), 1);
}

#[test]
fn a_read_only_directory_is_told() {
    if let Some(log) = log_of_child() {
        println!("ERROR {}", log.append(&event("x")).unwrap_err());
        println!("VERIFIED {}", log.verify().map(|verified| verified.lines).unwrap_or(99));
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o555)).unwrap();
    let mut command = again("faults::a_read_only_directory_is_told", place.path());
    // Root may write everywhere.
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("audit.head of the audit log: Permission denied"), "{said}");
    assert!(said.contains("hint: "), "{said}");
    assert!(said.contains("VERIFIED 0"), "{said}");
}

#[test]
fn a_home_of_nobody_is_told() {
    let log = AuditLog::new(Path::new("/nonexistent/.local/state/stockade"));
    assert!(matches!(log.append(&event("x")), Err(AuditError::Make { .. })));
    assert_eq!(sound(&log), Verified::default());
}

#[test]
fn planted_links_and_pipes_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::new(place.path());
    std::os::unix::fs::symlink(place.path().join("victim"), log.path()).unwrap();
    assert!(matches!(log.append(&event("x")), Err(AuditError::Open { .. })));
    assert!(!place.path().join("victim").exists());
    fs::remove_file(log.path()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, log.path(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(log.append(&event("x")), Err(AuditError::Open { .. })));
}
