//! What is kept, for how long, and how it is found again.

use super::*;
use crate::violations::{Cleared, Counts, Hidden, Recorded, Retention, SubjectPattern};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use stockade_policy::{IgnoreRule, Layer, Origin, RuleRef, ViolationKind};

#[test]
fn refusals_come_back_as_they_were() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("deep/state");
    let store = ViolationStore::new(&state);
    let mut full = violation("/a\n\u{1b}'\"ä");
    full.program = Some("/bin/touch".into());
    full.reason = "a rule denies it".into();
    full.suggestion = Some("--allow-write /a".into());
    let origin = Origin { layer: Layer::User, source: "f".into(), key: "k".into() };
    full.rule = Some(RuleRef { text: "denyWrite /a".into(), origin });
    let plain = violation("/b");
    let recorded = store.record(&[full.clone(), plain.clone()], &IgnoreList::default()).unwrap();
    assert_eq!(recorded, Recorded { stored: 2, ..Recorded::default() });

    let names: Vec<_> = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["violations.db"], "nothing else is left behind");

    let found = store.query(&Filter::default()).unwrap();
    assert_eq!(found.iter().map(|stored| &stored.violation).collect::<Vec<_>>(), [&full, &plain]);
    let json = serde_json::to_value(&found[1]).unwrap();
    let mut expected = serde_json::to_value(&plain).unwrap();
    expected["hidden"] = false.into();
    assert_eq!(json, expected);

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(store.path()), 0o600);
}

#[test]
fn nothing_to_store_touches_nothing() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    let store = ViolationStore::new(&state);
    assert_eq!(store.record(&[], &IgnoreList::default()).unwrap(), Recorded::default());
    assert_eq!(store.query(&Filter::default()).unwrap(), []);
    assert_eq!(store.count(&Filter::default()).unwrap(), Counts::default());
    assert_eq!(store.clear().unwrap(), Cleared::default());
    assert!(!state.exists());
}

#[test]
fn filters_find_what_they_say() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let now = private::now();
    let at = |subject: &str, age: u64, kind: ViolationKind, sandbox: &str, program: Option<&str>| Violation {
        time: now - age,
        kind,
        sandbox: sandbox.into(),
        program: program.map(Into::into),
        ..violation(subject)
    };
    let all = [
        at("/etc/shadow", 3000, ViolationKind::Read, "box-1", Some("/bin/cat")),
        at("/etc/motd", 2000, ViolationKind::Write, "box-1", None),
        at("/home/a/.env", 1000, ViolationKind::Read, "box-22", Some("/usr/bin/node")),
        at("Example.com:443", 0, ViolationKind::Connect, "other", Some("curl")),
    ];
    store.record(&all, &IgnoreList::default()).unwrap();
    let any = Filter::default;
    for (filter, expected) in [
        (any(), &[0, 1, 2, 3][..]),
        (Filter { since: Some(now - 2000), ..any() }, &[1, 2, 3]),
        (Filter { until: Some(now - 2000), ..any() }, &[0]),
        (Filter { kinds: vec![ViolationKind::Read], ..any() }, &[0, 2]),
        (Filter { kinds: vec![ViolationKind::Write, ViolationKind::Connect], ..any() }, &[1, 3]),
        (Filter { subject: Some(SubjectPattern::new("/etc")), ..any() }, &[0, 1]),
        (Filter { subject: Some(SubjectPattern::new(".env")), ..any() }, &[2]),
        (Filter { sandbox: Some("box-1".into()), ..any() }, &[0, 1]),
        (Filter { sandbox: Some("box".into()), ..any() }, &[0, 1, 2]),
        (Filter { sandbox: Some("bo%".into()), ..any() }, &[]),
        (Filter { program: Some(SubjectPattern::new("cat")), ..any() }, &[0]),
        (Filter { program: Some(SubjectPattern::new("*")), ..any() }, &[0, 2, 3]),
        (Filter { text: Some("EXAMPLE".into()), ..any() }, &[3]),
        (Filter { text: Some("make all".into()), ..any() }, &[0, 1, 2, 3]),
        (Filter { text: Some("' OR 1 --".into()), ..any() }, &[]),
        (Filter { limit: Some(2), ..any() }, &[2, 3]),
        (Filter { limit: Some(0), ..any() }, &[]),
        (Filter { limit: Some(1), subject: Some(SubjectPattern::new("/etc")), ..any() }, &[1]),
        (Filter { kinds: vec![ViolationKind::Read], sandbox: Some("box-1".into()), ..any() }, &[0]),
    ] {
        let expected: Vec<&str> = expected.iter().map(|index| all[*index].subject.as_str()).collect();
        assert_eq!(subjects(&store, &filter), expected, "{filter:?}");
    }
}

#[test]
fn ignored_ones_are_hidden_and_counted() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let ignore = IgnoreList::new([IgnoreRule { kind: None, subject: "/a".into(), program: None }]);
    let recorded = store.record(&[violation("/a/x"), violation("/b")], &ignore).unwrap();
    assert_eq!((recorded.stored, recorded.hidden), (2, 1));
    assert_eq!(subjects(&store, &Filter::default()), ["/b"]);
    assert_eq!(subjects(&store, &Filter { limit: Some(2), ..Filter::default() }), ["/b"]);
    let all = Filter { hidden: Hidden::Include, ..Filter::default() };
    assert_eq!(subjects(&store, &all), ["/a/x", "/b"]);
    assert!(store.query(&all).unwrap()[0].hidden);
    assert_eq!(store.count(&Filter::default()).unwrap(), Counts { shown: 1, hidden: 1, counted: 0 });
}

#[test]
fn the_oldest_go_first() {
    let place = tempfile::tempdir().unwrap();
    let keep = Retention { rows: 3, days: 2, ..Retention::default() };
    let store = ViolationStore::new(place.path()).retention(keep);
    record(&store, &["/1", "/2"]);
    record(&store, &["/3", "/4", "/5"]);
    assert_eq!(subjects(&store, &Filter::default()), ["/3", "/4", "/5"]);
    let old = Violation { time: private::now() - 3 * 24 * 3_600_000, ..violation("/old") };
    store.record(&[old, violation("/6")], &IgnoreList::default()).unwrap();
    assert_eq!(subjects(&store, &Filter::default()), ["/4", "/5", "/6"]);
}

#[test]
fn one_sandbox_does_not_fill_the_store() {
    let place = tempfile::tempdir().unwrap();
    let keep = Retention { sandbox_rows: 3, ..Retention::default() };
    let store = ViolationStore::new(place.path()).retention(keep);
    let many: Vec<Violation> = (0..5).map(|number| violation(&format!("/{number}"))).collect();
    let recorded = store.record(&many, &IgnoreList::default()).unwrap();
    assert_eq!((recorded.stored, recorded.counted), (3, 2));
    let recorded = store.record(&many, &IgnoreList::default()).unwrap();
    assert_eq!((recorded.stored, recorded.counted), (0, 5));
    let other = Violation { sandbox: "box-2".into(), ..violation("/other") };
    assert_eq!(store.record(&[other], &IgnoreList::default()).unwrap().stored, 1);

    let found = store.query(&Filter::default()).unwrap();
    assert_eq!(found.len(), 5);
    assert_eq!((found[3].more, found[3].violation.kind), (7, ViolationKind::Limit));
    assert!(found[3].violation.subject.starts_with("7 further refusals"));
    assert_eq!(store.count(&Filter::default()).unwrap(), Counts { shown: 4, hidden: 0, counted: 7 });
}

#[test]
fn what_the_run_did_not_keep_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let recorded = store.record_with(&[violation("/a")], 9000, &IgnoreList::default()).unwrap();
    assert_eq!((recorded.stored, recorded.counted), (1, 9000));
    let found = store.query(&Filter::default()).unwrap();
    assert_eq!((found[0].more, found[1].more), (0, 9000));
    assert_eq!(found[1].violation.sandbox, "box-1");
}

#[test]
fn long_subjects_do_not_fill_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let keep = Retention { bytes: 1 << 20, ..Retention::default() };
    let store = ViolationStore::new(place.path()).retention(keep);
    for round in 0..8 {
        let long: Vec<Violation> =
            (0..200).map(|number| violation(&format!("/{round}/{number}/{}", "x".repeat(4000)))).collect();
        store.record(&long, &IgnoreList::default()).unwrap();
    }
    let found = subjects(&store, &Filter::default());
    assert!(found.len() > 100 && found.last().unwrap().starts_with("/7/199/"), "{}", found.len());
    assert!(fs::metadata(store.path()).unwrap().len() < 3 << 20);
    assert_eq!(store.clear().unwrap().removed, found.len() as u64);
    assert!(fs::metadata(store.path()).unwrap().len() < 64 << 10, "space is given back");
}

#[test]
fn endless_texts_are_cut() {
    let place = tempfile::tempdir().unwrap();
    let store = ViolationStore::new(place.path());
    let huge = Violation { command: "ä".repeat(1 << 20), ..violation(&"x".repeat(1 << 20)) };
    store.record(&[huge], &IgnoreList::default()).unwrap();
    let found = store.query(&Filter::default()).unwrap();
    assert_eq!((found[0].violation.command.len(), found[0].violation.subject.len()), (1024, 8192));
}
