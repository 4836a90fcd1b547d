//! The probe's line, read back.

use super::Ran;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::rc::Rc;

/// What the probe answered, with the run it belongs to.
#[derive(Clone)]
pub(crate) struct Answer {
    line: String,
    asked: String,
    ran: Rc<Ran>,
}

impl Answer {
    /// The answers of a run: one line each and nothing else, and the probe came to its end.
    #[track_caller]
    pub(crate) fn all(ran: Ran, asked: &[String]) -> Vec<Self> {
        assert_eq!(ran.status.code(), Some(0), "the probe did not come to its end{ran}");
        let text = ran.out();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), asked.len(), "expected a line for each act{ran}");
        let ran = Rc::new(ran);
        let answers = lines.iter().zip(asked).map(|(line, asked)| {
            assert!(
                *line == "ok" || line.starts_with("ok ") || line.starts_with("errno "),
                "the probe does not know {asked:?}: {line}{ran}"
            );
            Self { line: (*line).to_string(), asked: asked.clone(), ran: Rc::clone(&ran) }
        });
        answers.collect()
    }

    /// The act, as it was asked for.
    pub(crate) fn asked(&self) -> &str {
        &self.asked
    }

    /// The whole line.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.line.starts_with("ok")
    }

    /// The detail of a success; fails otherwise.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert!(self.succeeded(), "{:?} was refused ({}) but should work{}", self.asked, self.line, self.ran);
        self.line.strip_prefix("ok ").unwrap_or("")
    }

    /// Fails unless the kernel gave one of these error numbers.
    #[track_caller]
    pub(crate) fn errno(&self, names: &[&str]) -> &Self {
        let given = self.line.strip_prefix("errno ");
        assert!(
            given.is_some_and(|given| names.contains(&given)),
            "{:?} should end in {}, but: {}{}",
            self.asked,
            names.join(" or "),
            self.line,
            self.ran
        );
        self
    }

    /// Words of a success, unescaped.
    #[track_caller]
    pub(crate) fn words(&self) -> Vec<OsString> {
        self.ok().split(' ').filter(|word| !word.is_empty()).map(unescape).collect()
    }

    /// The value of `key=` in a success.
    #[track_caller]
    pub(crate) fn value(&self, key: &str) -> String {
        let found = self.ok().split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}= in {:?}{}", self.line, self.ran)).to_string()
    }

    /// The run, for messages.
    pub(crate) fn ran(&self) -> &Ran {
        &self.ran
    }
}

/// A word as the probe's batch mode takes it.
pub(crate) fn escape(word: &OsStr) -> String {
    word.as_bytes().iter().fold(String::new(), |mut out, byte| {
        match byte {
            b'%' | 0..=b' ' | 0x7f.. => write!(out, "%{byte:02x}").expect("writing to a String"),
            plain => out.push(char::from(*plain)),
        }
        out
    })
}

fn unescape(text: &str) -> OsString {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let pair = std::str::from_utf8(&tail[..2]).expect("hexadecimal");
            out.push(u8::from_str_radix(pair, 16).expect("hexadecimal"));
            rest = &tail[2..];
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    OsString::from_vec(out)
}
