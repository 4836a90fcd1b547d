//! Results on stdout.

use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Text as it is.
pub(crate) fn text(text: &str) -> ExitCode {
    bytes(text.as_bytes())
}

/// A value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> ExitCode {
    match serde_json::to_vec_pretty(value) {
        Ok(mut text) => {
            text.push(b'\n');
            bytes(&text)
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Bytes. A reader that has seen enough is not a failure; a full disk is.
pub(crate) fn bytes(data: &[u8]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
