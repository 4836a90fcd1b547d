//! Small files in which git keeps what it is in the middle of. It believes them, too.

use super::refusal::GitRefusal;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a path below a git directory is one of these.
pub(crate) fn is_git_state(below: &[&[u8]]) -> bool {
    matches!(below, [b"MERGE_RR" | b"BISECT_START"] | [b"reftable", b"tables.list"])
}

/// Whether such a file may hold this.
///
/// # Errors
///
/// What git on the host would make of it.
pub fn check_git_state(name: &[u8], content: &[u8]) -> Result<(), GitRefusal> {
    let refuse = |reason| Err(GitRefusal::new(name, 0, reason));
    match name {
        // Conflicts whose solutions are remembered: git reads and writes whatever files are listed, through links.
        b"MERGE_RR" if !content.is_empty() => {
            refuse("git on the host would read and write the files it lists, wherever they are")
        }
        // What to go back to. It becomes an argument.
        b"BISECT_START" if !is_name(content.strip_suffix(b"\n").unwrap_or(content)) => {
            refuse("git on the host would take it for an option")
        }
        // Files beside it, which git reads, rewrites and removes.
        b"tables.list"
            if !content.split(|byte| *byte == b'\n').all(|line| line.is_empty() || is_table(line)) =>
        {
            refuse("git on the host would read, rewrite and remove the files it lists, wherever they are")
        }
        _ => Ok(()),
    }
}

/// The files whose conflicts a `MERGE_RR` lists: a digest, a tab, and a path in the work tree that ends with a NUL.
/// Nothing where it is not such a list.
pub fn git_conflicts(content: &[u8], tree: &Path) -> Option<Vec<PathBuf>> {
    let entries = content.strip_suffix(b"\0").unwrap_or(content);
    if entries.is_empty() {
        return Some(Vec::new());
    }
    let path = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'\t')?;
        Some(tree.join(OsStr::from_bytes(&entry[at + 1..])))
    };
    entries.split(|byte| *byte == 0).map(path).collect()
}

/// A branch or a commit.
fn is_name(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/-+@#".contains(byte) || *byte >= 0x80;
    text.first().is_none_or(|first| *first != b'-') && text.iter().all(is_plain)
}

fn is_table(line: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    line.iter().all(is_plain)
        && (line.ends_with(b".ref") || line.ends_with(b".log"))
        && !line.starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_files_of_the_work_tree() {
        let told = |text: &str| git_conflicts(text.as_bytes(), Path::new("/ws"));
        assert_eq!(told(""), Some(Vec::new()));
        assert_eq!(told("11\ta\0"), Some(vec!["/ws/a".into()]));
        assert_eq!(told("11.1\td/a\tb\n\0aa\tc\0"), Some(vec!["/ws/d/a\tb\n".into(), "/ws/c".into()]));
        assert_eq!(told("11\ta\0nothing\0"), None);
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (name, fine) in [
            ("MERGE_RR", ""),
            ("BISECT_START", "main\n"),
            ("BISECT_START", "feature/a-b@2\n"),
            ("BISECT_START", "0123456789abcdef0123456789abcdef01234567\n"),
            ("BISECT_START", ""),
            ("tables.list", "0x000000000001-0x000000000003-1a2b3c4d.ref\n0x4-0x5-aa.ref\n"),
            ("tables.list", ""),
            ("HEAD", "-x"),
        ] {
            assert_eq!(check_git_state(name.as_bytes(), fine.as_bytes()), Ok(()), "{name} {fine}");
        }
        for (name, wrong) in [
            ("MERGE_RR", "1111111111111111111111111111111111111111\ta\0"),
            ("BISECT_START", "--pathspec-from-file=/etc/passwd\n"),
            ("BISECT_START", "-x"),
            ("BISECT_START", "a b"),
            ("BISECT_START", "a\nb\n"),
            ("tables.list", "../../other/0x1.ref\n"),
            ("tables.list", "/etc/x.ref\n"),
            ("tables.list", "ok.ref\n.ref\n"),
            ("tables.list", "pipe\n"),
        ] {
            assert!(check_git_state(name.as_bytes(), wrong.as_bytes()).is_err(), "{name} {wrong}");
        }
    }
}
