//! Whatever is done to the files is found.

use super::*;

#[test]
fn a_changed_byte_is_found_wherever_it_is() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    let whole = fs::read(log.path()).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(log.path(), &changed).unwrap();
        assert!(!log.verify().unwrap().is_sound(), "byte {at}");
    }
    fs::write(log.path(), &whole).unwrap();
    sound(&log);
}

#[test]
fn a_changed_line_is_named() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 9, Some(3));
    let file = place.path().join("audit.jsonl.1");
    let mut text = lines(&file);
    text[1] = text[1].replace("asked for", "asked 4or");
    put(&file, &text);
    assert_eq!(flaw(&log), ("audit.jsonl.1".into(), 2, Flaw::Changed { seq: 5 }));
}

#[test]
fn a_changed_line_with_a_new_hash_is_found() {
    let place = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 5, None);
    // The same number and a sound hash, from a chain of its own.
    let forged = lines(filled(other.path(), 5, None).path())[2].replace("asked for", "asked");
    let parts = crate::audit::line::read(forged.as_bytes()).unwrap();
    let forged = forged.replace(&parts.link.hash.to_string(), &parts.computed.to_string());
    let mut text = lines(log.path());
    text[2] = forged;
    put(log.path(), &text);
    // Two chains begun in the same millisecond agree up to the forged line, and the next one tells.
    assert!(matches!(flaw(&log).2, Flaw::Unchained { seq: 3 | 4 }));
    // As the last line it is the head that tells, as the first one the line after it.
    let mut text = lines(log.path());
    text.truncate(3);
    put(log.path(), &text);
    assert!(!log.verify().unwrap().is_sound());
}

#[test]
fn a_last_line_replaced_by_another_is_found() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    let (head, text) = (fs::read(place.path().join("audit.head")).unwrap(), lines(log.path()));
    put(log.path(), &text[..2]);
    fs::remove_file(place.path().join("audit.head")).unwrap();
    let mut forged = Vec::new();
    let after = crate::audit::line::read(text[1].as_bytes()).unwrap().link;
    crate::audit::line::write(&event("forged"), 0, after, &mut forged).unwrap();
    let mut bytes = fs::read(log.path()).unwrap();
    bytes.extend(forged);
    fs::write(log.path(), bytes).unwrap();
    fs::write(place.path().join("audit.head"), head).unwrap();
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 3, Flaw::NotTheHead { seq: 3 }));
    // The next writer notes it, and goes on.
    assert_eq!(append(&log, "next"), 5);
    let (_, line, found) = flaw(&log);
    assert_eq!(line, 4);
    assert!(matches!(found, Flaw::Gap { note } if note.contains("not the one")));
}

#[test]
fn removed_lines_are_found() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 9, Some(3));
    let file = place.path().join("audit.jsonl.1");
    let text = lines(&file);
    for (removed, at, expected) in [
        (0, ("audit.jsonl.1", 1), Flaw::Missing { from: 4, to: 4 }),
        (1, ("audit.jsonl.1", 2), Flaw::Missing { from: 5, to: 5 }),
        (2, ("audit.jsonl", 1), Flaw::Missing { from: 6, to: 6 }),
    ] {
        let mut less = text.clone();
        less.remove(removed);
        put(&file, &less);
        assert_eq!(flaw(&log), (at.0.into(), at.1, expected));
    }
    put(&file, &text);
    sound(&log);
}

#[test]
fn moved_and_repeated_lines_are_found() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 5, None);
    let text = lines(log.path());
    let mut swapped = text.clone();
    swapped.swap(1, 2);
    put(log.path(), &swapped);
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 2, Flaw::Missing { from: 2, to: 2 }));
    let mut repeated = text.clone();
    repeated.insert(2, text[1].clone());
    put(log.path(), &repeated);
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 3, Flaw::OutOfOrder { seq: 2, expected: 3 }));
    let mut added = text.clone();
    added.insert(2, "{\"kind\":\"start\"}".into());
    put(log.path(), &added);
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 3, Flaw::Unreadable));
    let mut blank = text;
    blank.push(String::new());
    put(log.path(), &blank);
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 6, Flaw::Unreadable));
}

#[test]
fn a_cut_end_is_found_and_noted() {
    for kept in 0..5 {
        let place = tempfile::tempdir().unwrap();
        let log = filled(place.path(), 5, None);
        put(log.path(), &lines(log.path())[..kept]);
        let kept = kept as u64;
        assert_eq!(flaw(&log), ("audit.jsonl".into(), kept + 1, Flaw::CutOff { from: kept + 1, to: 5 }));
        // A line that is written later does not cover it up.
        assert_eq!(append(&log, "next"), 7);
        let (_, line, found) = flaw(&log);
        assert_eq!(line, kept + 1);
        assert!(matches!(found, Flaw::Gap { note } if note.contains("are gone")));
    }
}

#[test]
fn a_missing_file_is_found() {
    for (missing, expected) in [
        ("audit.jsonl.3", ("audit.jsonl.2", 1, Flaw::Missing { from: 1, to: 3 })),
        ("audit.jsonl.2", ("audit.jsonl.1", 1, Flaw::Missing { from: 4, to: 6 })),
        ("audit.jsonl.1", ("audit.jsonl", 1, Flaw::Missing { from: 7, to: 9 })),
        ("audit.jsonl", ("audit.jsonl.1", 4, Flaw::CutOff { from: 10, to: 12 })),
        ("audit.head", ("audit.jsonl", 4, Flaw::HeadMissing)),
    ] {
        let place = tempfile::tempdir().unwrap();
        let log = filled(place.path(), 12, Some(3));
        sound(&log);
        fs::remove_file(place.path().join(missing)).unwrap();
        assert_eq!(flaw(&log), (expected.0.into(), expected.1, expected.2), "{missing}");
        append(&log, "next");
        append(&log, "and next");
        assert!(!log.verify().unwrap().is_sound(), "{missing}: still found after more lines");
    }
}

#[test]
fn the_removal_of_the_oldest_is_found_after_some_were_let_go() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 1, Some(2));
    let log = log.clone().rotation(Rotation { keep: 3, ..log.rotation });
    (2..=20).for_each(|number| {
        append(&log, &format!("{number:02}"));
    });
    sound(&log);
    fs::remove_file(place.path().join("audit.jsonl.3")).unwrap();
    assert_eq!(flaw(&log), ("audit.jsonl.2".into(), 1, Flaw::Missing { from: 13, to: 14 }));
}

#[test]
fn swapped_files_are_found() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 12, Some(3));
    let name = |number: u32| place.path().join(format!("audit.jsonl.{number}"));
    fs::rename(name(1), name(9)).unwrap();
    assert_eq!(flaw(&log).2, Flaw::Missing { from: 1, to: 6 });
}

#[test]
fn everything_removed_but_the_head_is_found() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    fs::remove_file(log.path()).unwrap();
    assert_eq!(flaw(&log), ("audit.jsonl".into(), 1, Flaw::CutOff { from: 1, to: 3 }));
}

#[test]
fn a_damaged_head_is_found_and_noted() {
    let place = tempfile::tempdir().unwrap();
    let log = filled(place.path(), 3, None);
    fs::write(place.path().join("audit.head"), "garbage\n").unwrap();
    assert_eq!(flaw(&log).2, Flaw::HeadUnreadable);
    append(&log, "next");
    assert!(matches!(flaw(&log).2, Flaw::Gap { note } if note.contains("audit.head")));
}
