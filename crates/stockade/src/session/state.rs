//! What outlives a shell: where it was and what it exported.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use stockade_policy::Plan;

/// What a new shell begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Where it was; unknown before it said so.
    pub(super) cwd: Option<PathBuf>,
    /// What it exported.
    pub(super) exports: Option<Vec<(OsString, OsString)>>,
}

impl Kept {
    pub(super) fn stand_at(&mut self, cwd: Vec<u8>) {
        let cwd = PathBuf::from(OsString::from_vec(cwd));
        if cwd.is_absolute() {
            self.cwd = Some(cwd);
        }
    }

    /// Whether this is where the shell was last.
    pub(super) fn stands_at(&self, cwd: &[u8]) -> bool {
        self.cwd.as_ref().is_some_and(|known| known.as_os_str().as_bytes() == cwd)
    }

    /// Forgets what only says what the plan said: another plan says it for itself.
    pub(super) fn only_own(&mut self, plan: Option<&Plan>) {
        let (Some(exports), Some(plan)) = (&mut self.exports, plan) else { return };
        exports.retain(|(name, value)| {
            !plan.environment.iter().any(|variable| variable.name == *name && variable.value == *value)
        });
    }

    pub(super) fn export(&mut self, listing: &[u8]) {
        self.exports = Some(exports(listing));
    }
}

/// Reads what `export -p` and `declare -px` print: `declare -x NAME="value"`, `export NAME='value'`. What
/// has no value, or more than one, is left out.
fn exports(listing: &[u8]) -> Vec<(OsString, OsString)> {
    let mut found = Vec::new();
    let mut rest = listing;
    while !rest.is_empty() {
        let (word, after) = name(rest);
        let value = word.and_then(|name| Some((name, after.strip_prefix(b"=")?)));
        let Some((name, text)) = value else {
            rest = next_line(after);
            continue;
        };
        let (value, after) = unquote(text);
        if name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && !name.starts_with(b"_sk")
            && !matches!(name, b"PWD" | b"OLDPWD" | b"SHLVL" | b"_")
        {
            found.push((OsString::from_vec(name.to_vec()), OsString::from_vec(value)));
        }
        rest = next_line(after);
    }
    found
}

/// The name a line is about, and what follows it. No name where the line is of no use.
fn name(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut rest = line;
    for word in [&b"declare "[..], b"export "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    if rest.starts_with(b"-") {
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        // Arrays cannot be part of an environment.
        if rest[..end].iter().any(|flag| matches!(flag, b'a' | b'A')) {
            return (None, rest);
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    let end = rest.iter().position(|byte| matches!(byte, b'=' | b'\n')).unwrap_or(rest.len());
    (Some(&rest[..end]).filter(|name| !name.is_empty()), &rest[end..])
}

fn next_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
    &text[end..]
}

/// What a word means to a shell, up to the end of the line it ends on.
fn unquote(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' => break,
            b'\'' => {
                let end = closing(text, at + 1, b'\'');
                value.extend_from_slice(&text[at + 1..end]);
                at = end + 1;
            }
            b'"' => {
                at += 1;
                while let Some(byte) = text.get(at).filter(|byte| **byte != b'"') {
                    let escaped = *byte == b'\\'
                        && matches!(text.get(at + 1), Some(b'"' | b'$' | b'`' | b'\\' | b'\n'));
                    at += usize::from(escaped);
                    value.extend(text.get(at));
                    at += 1;
                }
                at += 1;
            }
            b'$' if text.get(at + 1) == Some(&b'\'') => at = ansi(text, at + 2, &mut value),
            b'\\' => {
                value.extend(text.get(at + 1));
                at += 2;
            }
            byte => {
                value.push(*byte);
                at += 1;
            }
        }
    }
    (value, &text[at.min(text.len())..])
}

fn closing(text: &[u8], from: usize, quote: u8) -> usize {
    text[from..].iter().position(|byte| *byte == quote).map_or(text.len(), |end| from + end)
}

/// The `$'...'` form, which shells use for what cannot be seen. Returns where it ends.
fn ansi(text: &[u8], from: usize, value: &mut Vec<u8>) -> usize {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'\'' => return at,
            b'\\' => {
                let Some(next) = text.get(at) else { return at };
                at += 1;
                value.push(match next {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'v' => 11,
                    b'f' => 12,
                    b'e' | b'E' => 27,
                    b'0'..=b'7' => {
                        let digits =
                            text[at - 1..].iter().take(3).take_while(|digit| (b'0'..=b'7').contains(digit));
                        let count = digits.clone().count();
                        let octal = digits.fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
                        at += count - 1;
                        octal as u8
                    }
                    other => *other,
                });
            }
            byte => value.push(*byte),
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn lists_of_both_shells_are_read() {
        let listing = b"declare -x A=\"a \\\"b\\\" \\$c \\\\ d\"\ndeclare -x EMPTY\ndeclare -rx R=\"1\"\n\
            declare -ax ARRAY=([0]=\"x\")\ndeclare -x N=$'two\\nlines\\001\\''\nexport Q='it'\\''s'\n\
            declare -x M=\"x\ny=z\"\ndeclare -x PWD=\"/\"\n";
        let expected =
            [("A", "a \"b\" $c \\ d"), ("R", "1"), ("N", "two\nlines\u{1}'"), ("Q", "it's"), ("M", "x\ny=z")];
        assert_eq!(exports(listing), pairs(&expected));
    }

    #[test]
    fn what_shells_print_comes_back_as_it_was() {
        let value = "a'b\"c$d`e\\f\tg\nh=\u{e9} \u{7f}!*?[x]{y}~#&;|<>()";
        for (shell, print) in [("bash", "declare -px"), ("sh", "export -p")] {
            let out = Command::new(shell).args(["-c", print]).env_clear().env("A", value).output().unwrap();
            assert_eq!(exports(&out.stdout), pairs(&[("A", value)]), "{shell}");
        }
    }
}
