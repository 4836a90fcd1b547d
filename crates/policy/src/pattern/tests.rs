use super::{Pattern, PatternError, Reading, Surroundings, parse};
use crate::settings::PathEntry;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

fn read(text: &str, reading: Reading) -> Result<Vec<Pattern>, PatternError> {
    let variable = |name: &str| match name {
        "PLACE" => Some(OsStr::new("/odd*place")),
        "WORD" => Some(OsStr::new("w")),
        _ => None,
    };
    let around =
        Surroundings { cwd: Path::new("/ws"), home: Some(Path::new("/home/me")), variable: &variable };
    parse(&PathEntry::Pattern(text.to_owned()), reading, &around)
}

fn literal(text: &str, reading: Reading) -> PathBuf {
    match read(text, reading).unwrap().remove(0) {
        Pattern::Literal(path) => path,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn paths_without_wildcards() {
    for (text, path) in [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("~", "/home/me"),
        ("~/x", "/home/me/x"),
        ("./x", "/ws/x"),
        (".", "/ws"),
        ("x", "/ws/x"),
        ("x/y", "/ws/x/y"),
        ("../y", "/ws/../y"),
        ("$PLACE/x", "/odd*place/x"),
        ("${PLACE}x", "/odd*placex"),
        ("$WORKSPACE", "/ws"),
        ("$WORKSPACE/out", "/ws/out"),
        ("$WORD/x", "/ws/w/x"),
        (r"/a/\*", "/a/*"),
        (r"/a/\$PLACE", "/a/$PLACE"),
        ("/a/$/b", "/a/$/b"),
        ("/a/**", "/a"),
        ("**", "/ws"),
    ] {
        assert_eq!(literal(text, Reading::Allow), Path::new(path), "{text}");
    }
    assert_eq!(literal("x", Reading::SrtDeny), Path::new("/ws/x"));
    assert_eq!(literal("$PLACE", Reading::SrtDeny), Path::new("/ws/$PLACE"));
}

#[test]
fn entries_that_are_refused() {
    for (text, error) in [
        ("", PatternError::Empty),
        ("a\0b", PatternError::Nul),
        ("~root/x", PatternError::OtherHome("~root".into())),
        ("$NOPE/x", PatternError::UndefinedVariable("NOPE".into())),
        ("${PLACE", PatternError::OpenVariable),
        ("a{b,c", PatternError::OpenBrace),
        ("*/../x", PatternError::UpAfterWildcard),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", PatternError::TooManyAlternatives { most: 64 }),
    ] {
        assert_eq!(read(text, Reading::Allow).unwrap_err(), error, "{text}");
    }
    assert_eq!(read("*.x/", Reading::SrtDeny).unwrap_err(), PatternError::EndsInSeparator);
    assert!(read("*.x/", Reading::Deny).is_ok());
}

/// `text` with every match and miss, as paths; floating globs are tried below /any.
fn check(text: &str, reading: Reading, yes: &[&str], no: &[&str]) {
    let patterns = read(text, reading).unwrap();
    let hit = |path: &str| {
        patterns.iter().any(|pattern| match pattern {
            Pattern::Literal(literal) => literal == Path::new(path),
            Pattern::Anchored { base, glob } => Path::new(path)
                .strip_prefix(base)
                .is_ok_and(|rest| glob.matches(rest.iter().map(OsStr::as_encoded_bytes))),
            Pattern::Anywhere(glob) => Path::new(path)
                .strip_prefix("/any")
                .is_ok_and(|rest| glob.matches(rest.iter().map(OsStr::as_encoded_bytes))),
        })
    };
    for path in yes {
        assert!(hit(path), "{text} should match {path}: {patterns:?}");
    }
    for path in no {
        assert!(!hit(path), "{text} should not match {path}: {patterns:?}");
    }
}

#[test]
fn globs() {
    use Reading::{Allow, Deny, SrtAllow, SrtDeny};
    check(".env", Deny, &["/any/.env", "/any/a/b/.env"], &["/any/.envx", "/any/x.env"]);
    check("**/.env", Deny, &["/any/.env", "/any/a/b/.env"], &["/any/a/env"]);
    check("**/.env", SrtDeny, &["/any/.env", "/any/a/.env"], &[]);
    check("**/.env", SrtAllow, &["/ws/.env", "/ws/a/.env"], &["/any/.env"]);
    check("*.pem", Deny, &["/any/x.pem", "/any/a/.pem"], &["/any/x.pemx"]);
    check("*.pem", Allow, &["/ws/x.pem"], &["/ws/a/x.pem", "/any/x.pem"]);
    check("*.pem", SrtDeny, &["/ws/x.pem"], &["/ws/a/x.pem"]);
    check("./*.pem", Deny, &["/ws/x.pem"], &["/ws/a/x.pem"]);
    check("./**/x", Deny, &["/ws/x", "/ws/a/x"], &["/any/x"]);
    check("/a/*/c", Deny, &["/a/b/c"], &["/a/c", "/a/b/b/c", "/a/b/c/d"]);
    check("/a/**/c", Deny, &["/a/c", "/a/b/c", "/a/b/b/c"], &["/a/b/d"]);
    check("/a/**/c/**", Deny, &["/a/c", "/a/b/c"], &["/a/b/c/d"]);
    check("/a/**/*", Deny, &["/a/b"], &["/a", "/a/b/c"]);
    check("~/.ssh/*.pub", Allow, &["/home/me/.ssh/id.pub"], &["/home/me/.ssh/id", "/home/me/.ssh/a/id.pub"]);
    check("/a/{b,c/d}/*.x", Deny, &["/a/b/1.x", "/a/c/d/2.x"], &["/a/c/1.x"]);
    check("/a/{b,c}", Deny, &["/a/b", "/a/c"], &["/a/{b,c}"]);
    check("/a/[ab]?", Deny, &["/a/ax", "/a/bé"], &["/a/cx", "/a/a"]);
    check("/a/[!a-c]*", Deny, &["/a/d", "/a/é"], &["/a/a", "/a/bb"]);
    check("/a/[]x]", Deny, &["/a/]", "/a/x"], &["/a/y"]);
    check("/a/x[", Deny, &["/a/x["], &["/a/x"]);
    check("/a/*b*b", Deny, &["/a/bb", "/a/abxb"], &["/a/b", "/a/bx"]);
    check("/a/x**y", Deny, &["/a/xy", "/a/xzy"], &["/a/x/y"]);
    check(r"/a/\**", Deny, &["/a/*x"], &["/a/x"]);
    check("$PLACE/*", Deny, &["/odd*place/x"], &["/oddXplace/x"]);
}
