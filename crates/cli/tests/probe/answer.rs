//! What an act answers, and the words it is given.

use crate::sys;
use std::ffi::{CString, OsStr, OsString};
use std::fmt::Write;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The detail of a success, or why not.
pub(crate) type Answer = Result<String, Failure>;

/// Why an act gave no success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The kernel said this.
    Errno(i32),
    /// The probe was called wrongly.
    Usage(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Errno(number),
            None => Self::Usage(error.to_string()),
        }
    }
}

/// The words after the act.
pub(crate) struct Args<'a>(pub(crate) &'a [OsString]);

impl Args<'_> {
    pub(crate) fn word(&self, at: usize) -> Result<&OsStr, Failure> {
        self.0
            .get(at)
            .map(OsString::as_os_str)
            .ok_or_else(|| Failure::Usage(format!("argument {at} is missing")))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str, Failure> {
        self.word(at)?.to_str().ok_or_else(|| Failure::Usage(format!("argument {at} is not text")))
    }

    pub(crate) fn path(&self, at: usize) -> Result<&Path, Failure> {
        self.word(at).map(Path::new)
    }

    /// A path as the kernel takes it.
    pub(crate) fn name(&self, at: usize) -> Result<CString, Failure> {
        CString::new(self.word(at)?.as_bytes()).map_err(|_| Failure::Usage("NUL in a path".into()))
    }

    /// Decimal, `0x` hexadecimal or `0o` octal; negative numbers wrap.
    pub(crate) fn number(&self, at: usize) -> Result<i64, Failure> {
        let text = self.text(at)?;
        let parsed = if let Some(hex) = text.strip_prefix("0x") {
            i64::from_str_radix(hex, 16)
        } else if let Some(octal) = text.strip_prefix("0o") {
            i64::from_str_radix(octal, 8)
        } else {
            text.parse()
        };
        parsed.map_err(|_| Failure::Usage(format!("{text} is not a number")))
    }

    pub(crate) fn int(&self, at: usize) -> Result<i32, Failure> {
        let wide = self.number(at)?;
        i32::try_from(wide).map_err(|_| Failure::Usage(format!("{wide} is too big")))
    }
}

/// The one line of an answer.
pub(crate) fn line(answer: &Answer) -> String {
    match answer {
        Ok(detail) if detail.is_empty() => "ok".into(),
        Ok(detail) => format!("ok {detail}"),
        Err(Failure::Errno(number)) => format!("errno {}", sys::errno::name(*number)),
        Err(Failure::Usage(what)) => format!("usage {}", escape(what.as_bytes())),
    }
}

/// Everything but plain graphic ASCII as %XX.
pub(crate) fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        match byte {
            b'%' | 0..=b' ' | 0x7f.. => {
                // Writing to a String cannot fail.
                let _ = write!(out, "%{byte:02x}");
            }
            plain => out.push(char::from(*plain)),
        }
        out
    })
}

/// The reverse of [`escape`].
pub(crate) fn unescape(text: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match (first, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &tail[2..];
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(out)
}
