//! Results on stdout.

use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;
use stockade::visible;

/// Text as it is.
pub(crate) fn text(text: &str) -> ExitCode {
    bytes(text.as_bytes())
}

/// A value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(value) => text(&(shown(&value) + "\n")),
        Err(_) => ExitCode::FAILURE,
    }
}

/// The same JSON with escapes for what would mislead somebody who reads it in a terminal.
fn shown(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 1);
    for letter in json.chars() {
        let own = letter.to_string();
        match visible(&own) {
            Cow::Owned(_) if !matches!(letter, '\n' | '\\') => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => text.push(letter),
        }
    }
    text
}

/// Bytes. A reader that has seen enough is not a failure; a full disk is.
pub(crate) fn bytes(data: &[u8]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn json_shows_what_misleads_and_stays_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}\u{9b}\u{7f}\u{e0001}\n\\ Übung"});
        let text = shown(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.contains(r"x\u202e\u009b\u007f\udb40\udc01\n\\ Übung"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
