use super::super::parse::parse;
use super::super::{GitRefusal, check_git_config};
use super::places;

fn read(text: &[u8]) -> Vec<(String, Option<String>)> {
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let entries = parse(text).unwrap();
    entries.iter().map(|entry| (string(&entry.name), entry.value.as_deref().map(string))).collect()
}

fn refusal(text: &[u8]) -> GitRefusal {
    check_git_config(text, &places()).unwrap_err()
}

#[test]
fn keys_and_values_as_git_reads_them() {
    for (text, name, value) in [
        ("[core]a=b", "core.a", Some("b")),
        ("[CoRe]\nAb-C = d", "core.ab-c", Some("d")),
        ("[a \"B.c\"]\nD = e", "a.B.c.d", Some("e")),
        ("[a.B]\nc = d", "a.b.c", Some("d")),
        ("[a.B \"C\"]\nd = e", "a.b.C.d", Some("e")),
        ("[a \"b\\\"\\\\\\c\"]d=e", "a.b\"\\c.d", Some("e")),
        ("[a \t \"b\"] ; x\nc", "a.b.c", None),
        ("[x][a]b", "a.b", None),
        ("\u{feff}[a]\r\nb = c\r\n", "a.b", Some("c")),
        ("[a]\nb = c \\\n  d", "a.b", Some("c   d")),
        ("[a]\nb = c\\\r\nd", "a.b", Some("cd")),
        ("[a]\nb = \" c ; d \" # e", "a.b", Some(" c ; d ")),
        ("[a]\nb = c\"#\"d;e", "a.b", Some("c#d")),
        ("[a]\nb = \\t\\n\\b\\\\\\\"", "a.b", Some("\t\n\u{8}\\\"")),
        ("[a]\nb = ; c \\\n", "a.b", Some("")),
        ("# x \\\n[a]b=c", "a.b", Some("c")),
        ("[a]b=c\\", "a.b", Some("c")),
    ] {
        assert_eq!(read(text.as_bytes()), [(name.to_owned(), value.map(str::to_owned))], "{text:?}");
    }
}

#[test]
fn what_git_does_not_read_is_refused() {
    for text in [
        "[a",
        "[a\n]b",
        "[a \"b]\nc",
        "[a \"b\"c]",
        "[a b]",
        "[a_b]c",
        "[a]\n1=2",
        "[a]\nb_c = d",
        "[a]\nb c",
        "[a]\nb.c = d",
        "[a]\nb = \"c\n",
        "[a]\nb = \\x",
        "\u{feff}\u{feff}[a]",
        "[a]\nb \r= c",
        "[a]=b",
        "]",
        "[]a",
        "[a \"b\\\n\"]c",
    ] {
        assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        assert!(!refusal(text.as_bytes()).reason.is_empty(), "{text:?}");
    }
    assert!(parse(b"\xef[a]").is_err());
}

#[test]
fn a_program_is_found_in_every_spelling() {
    for text in [
        "[core]fsmonitor=evil",
        "[CORE] FsMonitor = evil",
        "[core]\n\tbare = false\n[user]name=x\n[core]\n fsmonitor=evil",
        "[core]fsmonitor=false\n[core]fsmonitor=evil",
        "[core]\nfsmonitor = fal\\\nse2",
        "[core]\nfsmonitor = \"false \"",
        "[user]\nname = a\\\\\n[core]fsmonitor = evil",
        "[user]\nname = \"a\" ; \\\n[core]fsmonitor = evil",
        "[user]\nname = \"a;\"\n[core]fsmonitor = evil ; \"",
        "; x \\\n[core]fsmonitor = evil",
        "[user]name = x # \"\n[core]fsmonitor = evil #\"",
        "[core \"\"]\nfsmonitor = false",
        "[core.]\nfsmonitor = false",
        "[.core]\nfsmonitor = false",
        "[ \"core\"]\nfsmonitor = false",
        "[include]path=x",
        "[Include]\npath = x",
        "[includeIf \"gitdir:/\"]path = x",
        "[alias]x = !evil",
        "[diff.Evil]\ntextconv = x",
        "[remote.origin]\nuploadpack = x",
        "[remote \"origin\"] url = ext::sh",
        "[remote \"origin\"]\nurl = \"ext\"\":\":evil",
        "[remote \"origin\"]\nurl = ext\\\n::evil",
        "[submodule \"s\"] update = \"!evil\"",
        "[user][core]fsmonitor=evil",
        "\u{feff}[core]fsmonitor=evil",
        "fsmonitor = false",
        "[]\nx = 1",
    ] {
        assert!(check_git_config(text.as_bytes(), &places()).is_err(), "{text:?}");
    }
}

#[test]
fn what_only_looks_like_a_program_passes() {
    for text in [
        "",
        "\n\n",
        "[alias]\n[include]\n",
        "# [core]fsmonitor=evil\n; [include] path = x\n",
        "[user]\nname = \"[core]\" ; fsmonitor = evil",
        "[user]\nname = a\\\nfsmonitor = evil",
        "[core]\nfsmonitor = false\\\n; evil",
        "[branch \"x] [core\"]\nrebase = true",
        "[Branch.Name]\nRemote = origin",
        "[core]\r\n\tbare = false\r\n",
    ] {
        let result = check_git_config(text.as_bytes(), &places());
        assert!(result.is_ok(), "{text:?}: {}", result.unwrap_err());
    }
}

#[test]
fn control_characters_are_refused_even_where_git_would_not_mind() {
    for text in [
        &b"[user]\nname = a\0b"[..],
        b"\0",
        b"# x\r[core]fsmonitor = evil\n",
        b"# x\x0b\n",
        b"[user]\nname = a\rb\n",
        b"[user]\nname = a\x1b[2Jb",
        b"# \x7f",
        b"[user]\r\r\nname = x",
        b"[user]name=x\r",
    ] {
        assert!(check_git_config(text, &places()).is_err(), "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn there_are_limits() {
    let keys = |count: usize| format!("[gc]\n{}", "auto = 0\n".repeat(count));
    assert!(check_git_config(keys(10_000).as_bytes(), &places()).is_ok());
    assert_eq!(refusal(keys(10_001).as_bytes()).line, 10_002);
    let lines = |count: usize| "# 234567\n".repeat(count);
    assert!(check_git_config(lines((1 << 20) / 9).as_bytes(), &places()).is_ok());
    assert!(refusal(lines((1 << 20) / 9 + 1).as_bytes()).reason.contains("1 MiB"));
    let long = |count: usize| format!("[user]\nname = {}\n", "x".repeat(count));
    assert!(check_git_config(long(900).as_bytes(), &places()).is_ok());
    assert_eq!(refusal(long(1000).as_bytes()).line, 2);
}

#[test]
fn a_refusal_says_where_and_what() {
    let found = refusal(b"[core]\n\tbare = false\n; x\n\tfsmonitor = evil\n");
    assert_eq!((found.key.as_str(), found.line), ("core.fsmonitor", 4));
    let text = found.to_string();
    assert!(
        text.starts_with("line 4: core.fsmonitor: \"evil\" is not an allowed value (false); if it is wanted"),
        "{text}"
    );
    assert!(!text.contains('\n'), "it is part of a line: {text}");
    let found = refusal(b"[user]\nname = a\\\n  b\n[alias \"\xe2\x80\xaex\\\"\"]y");
    assert_eq!((found.key.as_str(), found.line), ("alias.\\u{202e}x\\\".y", 4));
    let long = format!("[x \"{}\"]y", "z".repeat(900));
    assert!(refusal(long.as_bytes()).key.len() < 130);
}
