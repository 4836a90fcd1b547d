//! Lists of files, as git writes them and as somebody else would.

use crate::git::{ObjectFormat, check_git_index, git_index_names, settled_git_index};
use sha2::Digest;
use std::borrow::Cow;

const DIGEST: [u8; 20] = [7; 20];
const PLAIN: u32 = 0o100_644;

fn entry(out: &mut Vec<u8>, mode: u32, name: &[u8], digest: &[u8]) {
    let start = out.len();
    head(out, mode, name.len(), digest);
    out.extend_from_slice(name);
    let padding = 8 - (out.len() - start) % 8;
    out.extend(std::iter::repeat_n(0, padding));
}

fn head(out: &mut Vec<u8>, mode: u32, length: usize, digest: &[u8]) {
    for field in [0, 0, 0, 0, 0, 0, mode, 0, 0, 0_u32] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(digest);
    out.extend_from_slice(&(length.min(0xfff) as u16).to_be_bytes());
}

fn begin(version: u32, count: usize) -> Vec<u8> {
    let mut out = b"DIRC".to_vec();
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&(count as u32).to_be_bytes());
    out
}

fn list(names: &[&str]) -> Vec<u8> {
    let mut out = begin(2, names.len());
    for name in names {
        entry(&mut out, PLAIN, name.as_bytes(), &DIGEST);
    }
    out.extend_from_slice(&DIGEST);
    out
}

/// Names of which each shares a part with the one before.
fn packed(entries: &[(u8, &str, usize)]) -> (Vec<u8>, Vec<usize>) {
    let mut out = begin(4, entries.len());
    let mut starts = Vec::new();
    for (cut, rest, whole) in entries {
        starts.push(out.len());
        head(&mut out, PLAIN, *whole, &DIGEST);
        out.push(*cut);
        out.extend_from_slice(rest.as_bytes());
        out.push(0);
    }
    (out, starts)
}

fn extension(out: &mut Vec<u8>, name: &[u8; 4], numbers: &[usize]) {
    out.extend_from_slice(name);
    out.extend_from_slice(&(numbers.len() as u32 * 4).to_be_bytes());
    numbers.iter().for_each(|number| out.extend_from_slice(&(*number as u32).to_be_bytes()));
}

fn names(content: &[u8], format: ObjectFormat) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    git_index_names(content, format, |name| found.push(name.display().to_string()))
        .map_err(|refusal| refusal.to_string())?;
    Ok(found)
}

#[test]
fn names_that_stay_in_the_work_tree() {
    let long = "l".repeat(5000);
    let fine = ["a", "src/main.rs", ".gitignore", ".github/x", "a..b", "..a", ".git2", "gitx", long.as_str()];
    assert_eq!(names(&list(&fine), ObjectFormat::Sha1), Ok(fine.map(str::to_owned).to_vec()));
    assert_eq!(names(&list(&[]), ObjectFormat::Sha1), Ok(Vec::new()));
}

#[test]
fn names_that_lead_elsewhere() {
    for name in [
        "../x",
        "a/../../x",
        "..",
        "./a",
        "/etc/passwd",
        "a//b",
        "a/",
        ".git/hooks/x",
        ".GIT/config",
        "a/.git/hooks/x",
        "a/.git",
        ".git./x",
        ".git /x",
        ".git::$INDEX_ALLOCATION/x",
        "GIT~1/config",
        "a\0b",
    ] {
        let found = check_git_index(&list(&["a", name, "z"]), ObjectFormat::Sha1);
        assert!(found.is_err(), "{name:?}");
    }
}

#[test]
fn digests_of_another_length_are_another_list() {
    let mut content = begin(2, 1);
    entry(&mut content, PLAIN, b"a/b", &[7; 32]);
    content.extend_from_slice(&[7; 32]);
    assert_eq!(names(&content, ObjectFormat::Sha256), Ok(vec!["a/b".to_owned()]));
    assert!(check_git_index(&content, ObjectFormat::Sha1).is_err());
    let config = b"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = SHA256\n";
    assert_eq!(ObjectFormat::of_config(config), ObjectFormat::Sha256);
    assert_eq!(ObjectFormat::of_config(b"[core]\n"), ObjectFormat::Sha1);
}

#[test]
fn packed_names_are_put_together() {
    let (mut fine, _) = packed(&[(0, "src/a", 5), (1, "b", 5), (5, "z", 1)]);
    fine.extend_from_slice(&DIGEST);
    let expected = ["src/a", "src/b", "z"].map(str::to_owned).to_vec();
    assert_eq!(names(&fine, ObjectFormat::Sha1), Ok(expected));
    // Apart both halves are harmless.
    let (mut evil, _) = packed(&[(0, "a/..x", 5), (1, "/x", 6)]);
    evil.extend_from_slice(&DIGEST);
    assert!(check_git_index(&evil, ObjectFormat::Sha1).is_err());
    // More is cut off than there is; the length is not the name's.
    for wrong in [&[(0_u8, "a", 1), (2, "b", 1)][..], &[(0, "abc", 2)], &[(0, "abc", 4)]] {
        let (mut wrong, _) = packed(wrong);
        wrong.extend_from_slice(&DIGEST);
        assert!(check_git_index(&wrong, ObjectFormat::Sha1).is_err());
    }
}

/// A reader with many threads begins where these say.
#[test]
fn parts_begin_where_entries_do() {
    let build = |parts: &dyn Fn(&[usize], usize) -> Vec<usize>, end: &dyn Fn(usize) -> usize| {
        let (mut content, starts) = packed(&[(0, "src/a", 5), (5, "src/b", 5), (1, "c", 5)]);
        let whole = content.len();
        extension(&mut content, b"IEOT", &parts(&starts, whole));
        content.extend_from_slice(b"EOIE");
        content.extend_from_slice(&24_u32.to_be_bytes());
        content.extend_from_slice(&(end(whole) as u32).to_be_bytes());
        content.extend_from_slice(&DIGEST);
        content.extend_from_slice(&DIGEST);
        check_git_index(&content, ObjectFormat::Sha1)
    };
    let right = |starts: &[usize], _| vec![1, starts[0], 1, starts[1], 2];
    assert_eq!(build(&right, &|whole| whole), Ok(()));
    for wrong in [
        &(|starts: &[usize], _| vec![1, starts[0], 1, starts[1] + 1, 2])
            as &dyn Fn(&[usize], usize) -> Vec<usize>,
        // The third shares a part with the one before it.
        &|starts: &[usize], _| vec![1, starts[0], 2, starts[2], 1],
        &|starts: &[usize], _| vec![1, starts[0], 1],
        &|_: &[usize], whole| vec![1, whole + 8, 3],
    ] {
        assert!(build(wrong, &|whole| whole).is_err());
    }
    assert!(build(&right, &|whole| whole - 8).is_err());
}

#[test]
fn cut_anywhere_it_is_refused_or_read() {
    let whole = list(&["a", "b/c", "../x"]);
    for end in 0..whole.len() {
        assert!(check_git_index(&whole[..end], ObjectFormat::Sha1).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        // Whatever comes of it, no panic.
        let _ = check_git_index(&changed, ObjectFormat::Sha1);
    }
}

/// Directories to list, trees to commit, and more: what git can do without is left out.
#[test]
fn nothing_stands_behind_the_entries_but_what_is_needed() {
    let settled = |name: &str, content: &[u8]| {
        settled_git_index(name.as_bytes(), content, ObjectFormat::Sha1).map(Cow::into_owned)
    };
    let mut plain = list(&["a", "b"]);
    plain.truncate(plain.len() - DIGEST.len());
    let signed = |body: &[u8]| [body, sha1::Sha1::digest(body).as_slice()].concat();
    let mut needed = plain.clone();
    extension(&mut needed, b"link", &[1, 2, 3]);
    let mut full = plain.clone();
    extension(&mut full, b"UNTR", &[7; 9]);
    extension(&mut full, b"link", &[1, 2, 3]);
    extension(&mut full, b"TREE", &[]);
    assert_eq!(settled("index", &signed(&plain)), Ok(signed(&plain)));
    assert_eq!(settled("index", &signed(&needed)), Ok(signed(&needed)));
    assert_eq!(settled("index", &signed(&full)), Ok(signed(&needed)));
    // Named after its digest.
    assert_eq!(settled("sharedindex.1", &signed(&plain)), Ok(signed(&plain)));
    assert!(settled("sharedindex.1", &signed(&full)).is_err());
    assert!(settled("index", &signed(&full[..full.len() - 1])).is_err());
}
