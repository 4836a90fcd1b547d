//! Making a session: a host is started, and says when it is ready or why it is not.

use super::SessionRefusal;
use crate::voice::Voice;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use stockade::{SessionName, SessionPlace};

/// What a host says to whoever started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Word {
    /// The person should know this.
    Warning(String),
    /// It is there.
    Ready(SessionName),
    /// It is not.
    Error(String),
}

/// What a session is made by, which is also what its host is told first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    Shell,
    New,
}

impl Maker {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::New => "new",
        }
    }

    /// The caller's options, as they were given.
    fn options(self) -> Vec<OsString> {
        // `stockade shell ...`, `stockade sessions new ...`
        let before = match self {
            Self::Shell => 2,
            Self::New => 3,
        };
        std::env::args_os().skip(before).collect()
    }
}

/// Makes a session with the options of our own command line.
pub(super) fn make(
    voice: Voice,
    place: &SessionPlace,
    name: &SessionName,
    maker: Maker,
) -> Result<(), SessionRefusal> {
    // The program we are, whatever lies in its place by now.
    let mut host = Command::new("/proc/self/exe")
        .arg0("stockade")
        .args(["__host", maker.word(), name.as_str()])
        .args(maker.options())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(SessionRefusal::Spawn)?;
    let said = host.stdout.take();
    // Its first process ends at once, when the one that stays is there.
    host.wait().map_err(SessionRefusal::Spawn)?;
    for line in said.into_iter().flat_map(|said| BufReader::new(said).lines()) {
        let line = line.map_err(SessionRefusal::Spawn)?;
        match serde_json::from_str(&line) {
            Ok(Word::Warning(text)) => voice.warning(text),
            Ok(Word::Ready(_)) => return Ok(()),
            Ok(Word::Error(text)) => return Err(SessionRefusal::Made(text)),
            Err(_) => break,
        }
    }
    Err(SessionRefusal::Unmade(place.notes()))
}
