//! The same texts, read by git.

use super::super::check_git_config;
use super::super::parse::parse;
use super::places;
use super::run::Place;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fs;

type Pairs = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What git makes of a text; none if it does not read it.
fn by_git(place: &Place, text: &[u8]) -> Option<Pairs> {
    let file = place.path("config");
    fs::write(&file, text).unwrap();
    let output = place.try_git(&place.path(""), &["config", "-f", file.to_str().unwrap(), "--list", "-z"]);
    if !output.status.success() {
        return None;
    }
    let pair = |record: &[u8]| match record.iter().position(|byte| *byte == b'\n') {
        Some(end) => (record[..end].to_vec(), Some(record[end + 1..].to_vec())),
        None => (record.to_vec(), None),
    };
    let records = output.stdout.strip_suffix(b"\0").unwrap_or(&output.stdout);
    Some(if records.is_empty() { Vec::new() } else { records.split(|byte| *byte == 0).map(pair).collect() })
}

fn by_us(text: &[u8]) -> Option<Pairs> {
    Some(parse(text).ok()?.into_iter().map(|entry| (entry.name, entry.value)).collect())
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("[core]".to_owned()),
        Just("[CoRe]\n".to_owned()),
        Just("[branch.Name]\r\n".to_owned()),
        Just("[a.B.c \"D e\"]".to_owned()),
        Just("[remote \"x\\\\y\\\"z\\w]#;\"] ".to_owned()),
        Just("[\"core\"]".to_owned()),
        Just("[ \"core\"]".to_owned()),
        Just("[a\t\r \"b\"]".to_owned()),
        Just("[x]\n; c\n".to_owned()),
        "\\[[a.]{0,3}( \"[aB.]{0,3}\")?\\]\n",
    ]
}

fn entry() -> impl Strategy<Value = String> {
    let value = r#"([a-c \t;\#=\[\]"]|[a-c ]{1,3}|\\[ntbx]|\\\n|\\\r\n|\r|\\"|\\\\|"[ab;\#]*"){0,6}"#;
    prop_oneof![
        3 => (Just("\tBare = "), value).prop_map(|(key, value)| format!("{key}{value}\n")),
        3 => ("[a-zA-Z][a-zA-Z0-9-]{0,4}[ \t]{0,2}", value)
            .prop_map(|(key, value)| format!("{key}={value}\r\n")),
        3 => "[a-zA-Z][a-zA-Z0-9-]{0,4}[ \t]{0,2}\n",
        2 => "[#;][a-c\\[\\]=\"\\\\\r]{0,6}\n",
        1 => "[ \t\r\n]{0,3}",
        1 => "[a-b=\x0b\\[\\]\"\\\\ .\r\n#;\u{e9}1-]{0,5}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let start = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    let body = prop::collection::vec(prop_oneof![1 => header(), 2 => entry()], 0..8);
    let end = prop_oneof![4 => Just(""), 1 => Just("\r"), 1 => Just("\\"), 1 => Just("[core]fsmonitor")];
    (start, header(), body, end)
        .prop_map(|(start, first, body, end)| format!("{start}{first}{}{end}", body.concat()))
}

#[test]
fn git_and_this_reader_see_the_same_keys() {
    let place = Place::new();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut read, mut keys) = (0, 0);
    for _ in 0..200 {
        let text = text().new_tree(&mut runner).unwrap().current();
        let git = by_git(&place, text.as_bytes());
        assert_eq!(by_us(text.as_bytes()), git, "{text:?}");
        match git {
            Some(pairs) => {
                read += 1;
                keys += pairs.len();
            }
            None => assert!(check_git_config(text.as_bytes(), &places()).is_err(), "{text:?}"),
        }
    }
    // Otherwise they would agree about nothing.
    assert!(read > 60 && read < 180 && keys > 100, "{read} texts and {keys} keys were read");
}

#[test]
fn known_corners() {
    let place = Place::new();
    for text in [
        &b""[..],
        b"\n",
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xef\xbb\n",
        b"\xef\xbb\xbf[a]b",
        b"a = b",
        b"a",
        b"[a]b",
        b"[a]b\r",
        b"[a]b=\r",
        b"[a]b=c\r",
        b"[a]b=c\r\r\n",
        b"[a]b=c\rd",
        b"[a]b=\\\r",
        b"[a]b=\\",
        b"[a]b=c \\\n",
        b"[a]b=c \\\n \n",
        b"[a]b=\"\" c",
        b"[a]b=\" \" ",
        b"[a]b= \"c\" \t d ",
        b"[a]b=c\td",
        b"[a]b=c\x0bd\x0c",
        b"[a]b=\"c\\\nd\"",
        b"[a]b=\"c\n\"",
        b"[a]b=c;d\\\ne=f",
        b"[a]b=c#\"\ne=f",
        b"[a]#\\\nb=c",
        b"[a\n\"b\"]c",
        b"[a\r\n\"b\"]c",
        b"[a \r\"b\"]c",
        b"[a \"b\r\"]c",
        b"[a \"b\\\r\n\"]c",
        b"[a \"\"]c",
        b"[a.]c",
        b"[.]c",
        b"[]c",
        b"[a..b]c",
        b"[.a \"b\"]c",
        b"[a \"b\" ]c",
        b"[a \"b\"",
        b"[a",
        b"[",
        b"[a]\x0bb",
        b"[a]\x0c",
        b"[a]b\t=c",
        b"[a]b\x0b=c",
        b"[a]-b",
        b"[a]b-",
        b"[1]b",
        b"[-]b",
        b"[a]B1-c = d",
        b"[a \"\xff\"]b=\xfe",
        b"[a]b=\\\"\\\\\\t\\n\\b",
        b"[a]b=\\a",
        b"[a][b]c=d\n[a] e",
    ] {
        assert_eq!(by_us(text), by_git(&place, text), "{:?}", String::from_utf8_lossy(text));
    }
}
