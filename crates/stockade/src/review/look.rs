//! One file as it stands: enough to see later that it is another.
//!
//! Whatever is looked at was written by the command. No link is followed but inside the workspace, nothing
//! that could block is opened, and no file is read to an end that it does not promise beforehand.

use super::ground::{Ground, Spending};
use super::lead::Led;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use stockade_policy::{ReviewFiles, ReviewLook};

/// Larger files are known by their times and size.
const LARGEST: u64 = 1 << 20;
/// Of settings that are kept to be compared.
const LARGEST_KEPT: usize = 64 << 10;
/// Members or lines of one file that are told apart.
const MOST_PARTS: usize = 1000;
/// Bits that make something executable, or more than that.
const POWERS: u32 = 0o6111;

/// How programs begin that a linker wrote.
const MACHINE_CODE: &[u8; 4] = b"\x7fELF";

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Content {
        digest: [u8; 32],
        powers: u32,
    },
    /// The parts of the content that count.
    Parts(BTreeMap<String, String>),
    /// Settings of git.
    Settings(Vec<u8>),
    /// Too large or not readable: whoever changes it changes these.
    Stamp {
        size: u64,
        number: u64,
        changed: (i64, u64),
        powers: u32,
    },
    Link {
        target: PathBuf,
        behind: Behind,
    },
    /// A program that was built, whatever it does.
    MachineCode,
    /// Counts by being there.
    Directory,
    /// A pipe, a socket, a device.
    Odd,
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    File(Box<Seen>),
    /// By its path without links.
    Directory(PathBuf),
    /// Out of the workspace.
    Outside,
    /// Nothing that could be looked at.
    Nothing,
}

/// Looks at a name in an open directory.
pub(super) fn look(
    ground: &Ground,
    directory: &OwnedFd,
    path: &Path,
    how: &ReviewLook,
    spending: &Spending,
) -> Option<Seen> {
    let name = path.file_name()?;
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let open = || open_file(directory, name);
            Some(regular(&stat, how, spending, open))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(directory, name, Vec::new()).ok()?;
            let target = PathBuf::from(OsStr::from_bytes(target.as_bytes()));
            let behind = behind(ground, path.parent()?, &target, how, spending);
            Some(Seen::Link { target, behind })
        }
        FileType::Directory => Some(Seen::Directory),
        _ => Some(Seen::Odd),
    }
}

fn behind(ground: &Ground, from: &Path, target: &Path, how: &ReviewLook, spending: &Spending) -> Behind {
    match ground.lead(from, target, spending) {
        Led::Directory(path) => Behind::Directory(path),
        Led::File { path, directory, stat } if is_regular(&stat) => {
            let open = || open_file(&directory, path.file_name()?);
            Behind::File(Box::new(regular(&stat, how, spending, open)))
        }
        Led::Outside => Behind::Outside,
        Led::File { .. } | Led::Nowhere | Led::Closed => Behind::Nothing,
    }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Only after somebody saw that it is a file.
fn open_file(directory: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty()).ok()
}

/// Whether a name is one of the files that count.
pub(super) fn is_among(files: ReviewFiles, directory: &OwnedFd, name: &OsStr) -> bool {
    if files == ReviewFiles::Any {
        return true;
    }
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => files == ReviewFiles::Executable,
            FileType::RegularFile => stat.st_mode & 0o111 != 0,
            _ => false,
        }
    })
}

fn regular(
    stat: &Stat,
    how: &ReviewLook,
    spending: &Spending,
    open: impl FnOnce() -> Option<OwnedFd>,
) -> Seen {
    let powers = stat.st_mode & POWERS;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    let stamp =
        Seen::Stamp { size, number: stat.st_ino, changed: (stat.st_ctime, stat.st_ctime_nsec), powers };
    if size > LARGEST && *how == ReviewLook::Script {
        return if open().is_some_and(begins_as_machine_code) { Seen::MachineCode } else { stamp };
    }
    if size > LARGEST || !spending.may_read(size) {
        return stamp;
    }
    let Some(content) = open().and_then(|file| read(file, stat)) else { return stamp };
    let parts = match how {
        ReviewLook::Script if content.starts_with(MACHINE_CODE) => return Seen::MachineCode,
        ReviewLook::Whole | ReviewLook::Script => None,
        ReviewLook::Members(wanted) => members(&content, wanted),
        ReviewLook::Lines(words) => Some(lines(&content, words)),
        ReviewLook::GitSettings if content.len() <= LARGEST_KEPT => return Seen::Settings(content),
        ReviewLook::GitSettings => None,
        ReviewLook::GitSteps => Some(steps(&content)),
    };
    match parts {
        Some(parts) => Seen::Parts(parts),
        None => Seen::Content { digest: Sha256::digest(&content).into(), powers },
    }
}

/// Programs too large to be read as a whole are told by their first bytes.
fn begins_as_machine_code(file: OwnedFd) -> bool {
    let mut first = [0; MACHINE_CODE.len()];
    File::from(file).read_exact(&mut first).is_ok() && first == *MACHINE_CODE
}

/// The content, if it is still the same file and no longer than it said.
fn read(file: OwnedFd, expected: &Stat) -> Option<Vec<u8>> {
    let stat = rustix::fs::fstat(&file).ok()?;
    let same = stat.st_ino == expected.st_ino && stat.st_dev == expected.st_dev;
    if !same || !is_regular(&stat) {
        return None;
    }
    let mut content = Vec::new();
    File::from(file).take(LARGEST + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= LARGEST).then_some(content)
}

/// The content of a small file, for whoever has to know what it says.
pub(super) fn content_of(directory: &OwnedFd, name: &OsStr, stat: &Stat) -> Option<Vec<u8>> {
    if !is_regular(stat) || u64::try_from(stat.st_size).ok()? > LARGEST_KEPT as u64 {
        return None;
    }
    read(open_file(directory, name)?, stat)
}

/// Members of a JSON object. The parser stops at its own depth limit; what it cannot read is compared whole.
fn members(content: &[u8], wanted: &[String]) -> Option<BTreeMap<String, String>> {
    let Ok(Value::Object(top)) = serde_json::from_slice::<Value>(content) else { return None };
    let mut parts = BTreeMap::new();
    for name in wanted {
        let found = match name.split_once('.') {
            None => top.get(name),
            Some((name, member)) => top.get(name).and_then(|members| members.get(member)),
        };
        match found {
            None => {}
            Some(Value::Object(members)) => {
                for (member, value) in members {
                    parts.insert(format!("{name}.{member}"), words(value));
                }
            }
            Some(value) => {
                parts.insert(name.clone(), words(value));
            }
        }
    }
    (parts.len() <= MOST_PARTS).then_some(parts)
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The lines of a list of steps that run programs.
fn steps(content: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(content);
    let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    let found = text.lines().filter(runs).take(MOST_PARTS);
    found.map(|line| (line.trim().to_owned(), String::new())).collect()
}

/// Lines that hold one of the words, with those that their values go on in. A flood of them is compared as one.
fn lines(content: &[u8], words: &[String]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(content);
    let mut found = Vec::new();
    let mut goes_on = GoesOn::No;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let lower = line.to_ascii_lowercase();
        let words = words.iter().any(|word| lower.contains(word.as_str()));
        if words || goes_on.to(line) {
            found.push(line.trim());
        }
        goes_on = goes_on.after(line, words);
    }
    if found.len() > MOST_PARTS {
        let digest = Sha256::digest(found.join("\n"));
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        return BTreeMap::from([(format!("{} lines", found.len()), digest)]);
    }
    found.into_iter().map(|line| (line.to_owned(), String::new())).collect()
}

/// Whether the value of a line that counts may go on in the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    No,
    /// Where that is indented.
    Indented,
    /// Until a bracket closes it.
    InBrackets,
}

impl GoesOn {
    fn to(self, line: &str) -> bool {
        match self {
            Self::No => false,
            // Items of a YAML list may stand right below its name.
            Self::Indented => line.starts_with([' ', '\t', '-']),
            Self::InBrackets => true,
        }
    }

    fn after(self, line: &str, counts: bool) -> Self {
        let opens = line.trim_end().ends_with(['[', '{', '(']);
        match self {
            _ if counts && opens => Self::InBrackets,
            Self::InBrackets if line.trim_start().starts_with([']', '}', ')']) => Self::No,
            Self::InBrackets => self,
            _ if counts || self.to(line) => Self::Indented,
            _ => Self::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn members_are_told_apart() {
        let text = br#"{"name": "x", "scripts": {"test": "t", "build": ["a", 1]}, "bin": "b"}"#;
        let parts = members(text, &list(&["scripts", "bin", "husky"])).unwrap();
        let expected = [("bin", "b"), ("scripts.build", "[\"a\",1]"), ("scripts.test", "t")];
        assert_eq!(parts, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let parts = members(text, &list(&["scripts.test", "scripts.install", "bin.x"])).unwrap();
        assert_eq!(parts, [("scripts.test".to_owned(), "t".to_owned())].into());
    }

    #[test]
    fn hostile_json_is_not_read() {
        let deep = "[".repeat(100_000);
        assert_eq!(members(format!("{{\"scripts\": {deep}").as_bytes(), &list(&["scripts"])), None);
        let many: Vec<String> = (0..2000).map(|number| format!("\"{number}\": \"x\"")).collect();
        let many = format!("{{\"scripts\": {{{}}}}}", many.join(","));
        assert_eq!(members(many.as_bytes(), &list(&["scripts"])), None);
        assert_eq!(members(b"[]", &list(&["scripts"])), None);
    }

    #[test]
    fn steps_that_run_programs() {
        let parts = steps(b"pick 1234 exec\n exec id > /x\nx make\nexecute\nlabel x\n");
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["exec id > /x", "x make"]);
    }

    #[test]
    fn lines_that_count() {
        let parts = lines(b"*.png filter=lfs\n*.txt text\n  *.c diff=x  \n", &list(&["filter", "diff"]));
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["*.c diff=x", "*.png filter=lfs"]);
        let words = list(&["commands", "addopts"]);
        let parts = lines(b"[x]\ncommands =\n  one\n\n  two\ndeps = y\n  z\n", &words);
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["commands =", "one", "two"]);
        let parts = lines(b"addopts = [\n\"-p\",\n\"evil\",\n]\n  x = 1\n", &words);
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["\"-p\",", "\"evil\",", "]", "addopts = ["]);
        let parts = lines(b"x:\n- no\nRequire:\n- ./a\n- b\ny:\n- no\n", &list(&["require"]));
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["- ./a", "- b", "Require:"]);
        let flood = "a filter\n".repeat(5000);
        assert_eq!(lines(flood.as_bytes(), &list(&["filter"])).len(), 1);
    }
}
