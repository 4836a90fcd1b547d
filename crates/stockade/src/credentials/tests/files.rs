//! Files.

use super::*;
use std::fs;
use std::path::PathBuf;

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place(content: &[u8]) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secrets");
    fs::write(&path, content).unwrap();
    Place { _directory: directory, path }
}

fn shown(gathered: &Gathered) -> &str {
    let [(_, content)] = gathered.masked.contents.as_slice() else {
        panic!("{} files", gathered.masked.contents.len())
    };
    std::str::from_utf8(content).unwrap()
}

#[test]
fn a_whole_file_keeps_its_end_of_line() {
    let place = place(b"s3cr3t\n");
    let gathered = gathered(&[], with(vec![file(&place.path)])).unwrap();
    let [entry] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    assert_eq!(shown(&gathered), format!("{}\n", entry.stand_in.as_str()));
    assert!(stands_for(entry, entry.stand_in.as_str(), "s3cr3t"));
    assert_eq!(gathered.masked.contents[0].0, place.path);
}

#[test]
fn other_places_of_the_same_text() {
    let place = place(b"# old: abc, abcdef\ntoken: abcdef\nother: abc\n");
    for (duplicates, expected) in [
        (Switch::Refused, "# old: abc, abcdef\ntoken: {long}\nother: {short}\n"),
        (Switch::Allowed, "# old: {short}, {long}\ntoken: {long}\nother: {short}\n"),
    ] {
        let credential = extracted(file(&place.path), "(?:token|other): (\\S+)", None);
        let credential = CredentialPlan { mask_duplicates: duplicates, ..credential };
        let gathered = gathered(&[], with(vec![credential])).unwrap();
        let [long, short] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
        let expected = expected.replace("{long}", long.stand_in.as_str());
        assert_eq!(shown(&gathered), expected.replace("{short}", short.stand_in.as_str()));
        assert!(stands_for(long, long.stand_in.as_str(), "abcdef"));
    }
}

#[test]
fn two_rules_about_one_file() {
    let place = place(b"a=one\nb=two\n");
    let rules = ["a=(.*)", "b=(.*)"].map(|expression| extracted(file(&place.path), expression, None));
    let gathered = gathered(&[], with(rules.to_vec())).unwrap();
    let [one, two] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    assert_eq!(shown(&gathered), format!("a={}\nb={}\n", one.stand_in.as_str(), two.stand_in.as_str()));
}

#[test]
fn where_nothing_is_found() {
    let place = place(b"s3cr3t");
    let run = |no_match| {
        let rule = extracted(file(&place.path), "a=(.*)", Some(no_match));
        gathered(&[], with(vec![extracted(file(&place.path), "(.*)", None), rule]))
    };
    // One rule that denies makes the whole file unreadable, whatever others do.
    let denied = run("deny").unwrap();
    assert!(denied.masked.contents.is_empty());
    assert_eq!(denied.masked.withheld, [CredentialSource::File(place.path.clone())]);
    let warned = run("warn").unwrap();
    assert!(shown(&warned).starts_with("fake_value_"));
    assert!(run("error").is_err());
}

#[test]
fn what_cannot_be_read_whole_is_withheld() {
    let big = place(&vec![b'x'; (1 << 20) + 1]);
    let held = tempfile::tempdir().unwrap();
    let pipe = held.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    for path in [big.path.as_path(), held.path(), &pipe] {
        let gathered = gathered(&[], with(vec![file(path)])).unwrap();
        assert_eq!(gathered.masked.withheld, [CredentialSource::File(path.to_owned())]);
        assert!(gathered.masked.warnings[0].contains("cannot be masked"), "{:?}", gathered.masked.warnings);
        assert!(gathered.entries.is_empty());
    }
}

#[test]
fn files_that_are_no_text() {
    let place = place(b"\xff\xfe key=\x80\x81; \xff");
    let gathered =
        gathered(&[], with(vec![extracted(file(&place.path), "(?-u)key=([^;]+);", None)])).unwrap();
    let [entry] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    assert!(entry.real.is(b"\x80\x81"));
    let expected = [b"\xff\xfe key=", entry.stand_in.as_str().as_bytes(), b"; \xff"].concat();
    assert_eq!(gathered.masked.contents[0].1, expected);
}
