//! What files and names say, without what would mislead a reader.

use crate::print;
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use stockade::visible;

/// Passes text on, line by line, with every character written out that moves, hides or reorders others. A terminal
/// would obey it.
pub(super) struct Shown<W: Write> {
    out: W,
    /// The beginning of a line.
    line: Vec<u8>,
}

impl<W: Write> Shown<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, line: Vec::new() }
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.out.write_all(plain(&String::from_utf8_lossy(&line)).as_bytes())?;
            }
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(plain(&String::from_utf8_lossy(&line)).as_bytes())?;
        self.out.flush()
    }
}

/// A backslash is what it is: programs are full of them.
fn plain(text: &str) -> Cow<'_, str> {
    let kept = |letter: char| matches!(letter, '\n' | '\t' | '\\') || !misleads(letter);
    if text.chars().all(kept) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if kept(letter) {
            shown.push(letter);
        } else {
            shown.push_str(&visible(letter.encode_utf8(&mut [0; 4])));
        }
    }
    shown.into()
}

fn misleads(letter: char) -> bool {
    matches!(visible(letter.encode_utf8(&mut [0; 4])), Cow::Owned(_))
}

/// Prints JSON in which such characters are escaped: its readers get them as they are, eyes do not.
pub(super) fn json(value: &[Value]) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print::text(&format!("{}\n", escaped(&text))),
        Err(_) => ExitCode::FAILURE,
    }
}

fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter > '~' && misleads(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        let mut out = Vec::new();
        let mut shown = Shown::new(&mut out);
        shown.write_all("+a\tb \\n \u{fc}\n+x".as_bytes()).expect("write");
        // A character may come in pieces.
        for byte in "\u{202e}".bytes() {
            shown.write_all(&[byte]).expect("write");
        }
        shown.write_all("\u{202e}\u{200b}\u{2066}\u{feff}\u{9b}2J\u{1b}[2J\n+end".as_bytes()).expect("write");
        shown.flush().expect("flush");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(
            text,
            "+a\tb \\n \u{fc}\n+x\\u{202e}\\u{202e}\\u{200b}\\u{2066}\\u{feff}\\u{9b}2J\\u{1b}[2J\n+end"
        );
    }

    #[test]
    fn json_stays_what_it_is() {
        let name = "a\u{202e}\u{9b}\u{e0061}\u{7f}\u{fc}\\";
        let text = escaped(&serde_json::to_string(name).expect("JSON"));
        assert_eq!(text, "\"a\\u202e\\u009b\\udb40\\udc61\\u007f\u{fc}\\\\\"");
        assert_eq!(serde_json::from_str::<String>(&text).expect("JSON"), name);
    }
}
