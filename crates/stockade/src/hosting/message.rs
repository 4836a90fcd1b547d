//! What a client and a session's host say to each other.
//!
//! Both begin with a hello that names the protocol's version. Then the client says one [`Ask`], and the rest of
//! the connection is about that. A client that goes away takes its command with it.

use super::SessionName;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use stockade_isolate::WindowSize;
use stockade_policy::{CommandLine, Event};

/// Changes when old clients or hosts would misunderstand new ones.
pub(super) const PROTOCOL: u32 = 1;

/// The first line of each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Hello {
    pub(super) stockade: u32,
    /// Of the program, for people.
    pub(super) version: String,
}

impl Hello {
    pub(super) fn ours() -> Self {
        Self { stockade: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "ask", deny_unknown_fields)]
pub(super) enum Ask {
    /// How the session is.
    Status,
    /// Run a command; its descriptors 0, 1 and 2 come along. Those that are terminals become one of its own
    /// where a size is given.
    Run { command: Words, time_limit_ms: Option<u64>, terminal: Option<Size> },
    /// Begin a command that goes on without the client.
    Background { command: Words },
    /// What a background command has said from there on, once there is something.
    Output { id: u64, from: u64 },
    /// End a background command.
    Stop { id: u64 },
    /// Be connected to the session's terminal.
    Attach { size: Size, wish: AttachWish },
    /// End the session.
    Close,
}

/// Of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Size {
    rows: u16,
    columns: u16,
}

impl From<WindowSize> for Size {
    fn from(WindowSize { rows, columns }: WindowSize) -> Self {
        Self { rows, columns }
    }
}

impl From<Size> for WindowSize {
    fn from(Size { rows, columns }: Size) -> Self {
        Self { rows, columns }
    }
}

/// How to come to a terminal that somebody may be connected to already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachWish {
    /// Only if nobody is.
    IfFree,
    /// Whoever is gets disconnected.
    TakeOver,
}

/// What a client says later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "then", deny_unknown_fields)]
pub(super) enum Then {
    /// End the command, with this signal first.
    Cancel { signal: i32 },
}

/// What the host says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "told")]
pub(super) enum Told {
    /// It will not be done.
    Refused { reason: String },
    /// How the session is.
    Status(SessionStatus),
    /// Something happened to the command. Its output goes to its own descriptors instead.
    Event { event: Box<Event> },
    /// A command goes on without the client, which should know this.
    Begun {
        id: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<Event>,
    },
    /// What a background command said.
    Output(BackgroundSaid),
    /// The terminal is yours: its outer end comes along. This is what it showed last.
    Attached { shown: Bytes },
    /// Somebody else has the terminal now.
    Detached,
    /// The terminal's shell has ended.
    Left { status: i32 },
    /// It is done.
    Done,
}

/// How a hosted session is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// Its name.
    pub name: SessionName,
    /// Its host's process.
    pub pid: u32,
    /// When it was made, in milliseconds since 1970.
    pub since: u64,
    /// The directory it was made in.
    pub workspace: PathBuf,
    /// The preset of its policy.
    pub preset: String,
    /// Commands that run now.
    pub commands: u64,
    /// Background commands that run now.
    pub background: u64,
    /// Whether it has a terminal, and whether somebody is connected to it.
    pub terminal: TerminalState,
    /// For how long nobody has used it, in milliseconds.
    pub idle_ms: u64,
    /// After how long unused it ends, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// How a session's terminal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TerminalState {
    /// It has none.
    #[default]
    None,
    /// Nobody is connected to it.
    Detached,
    /// Somebody is connected to it.
    Attached,
}

/// What a background command said since somebody last looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundSaid {
    /// In order.
    pub chunks: Vec<SaidChunk>,
    /// Where to go on.
    pub next: u64,
    /// Bytes that were printed and are not kept any more, since the start.
    pub lost: u64,
    /// Its exit status, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
}

/// Some bytes of a background command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaidChunk {
    /// Descriptor 1 or 2.
    pub descriptor: u8,
    /// The bytes.
    #[serde(with = "plain")]
    pub data: Vec<u8>,
}

/// Bytes that may be anything: a string where they are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Bytes {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Raw(Vec<u8>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Raw(error.into_bytes()), Self::Text)
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Text(text) => text.into_bytes(),
            Bytes::Raw(bytes) => bytes,
        }
    }
}

/// Bytes as [`Bytes`].
mod plain {
    use super::{Bytes, Deserialize, Serialize};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(data: &[u8], out: S) -> Result<S::Ok, S::Error> {
        Bytes::from(data.to_vec()).serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Bytes::deserialize(from).map(Vec::from)
    }
}

/// A command on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Words {
    Shell(Bytes),
    Argv(Vec<Bytes>),
}

impl From<&CommandLine> for Words {
    fn from(command: &CommandLine) -> Self {
        let bytes = |word: &OsString| Bytes::from(word.as_bytes().to_vec());
        match command {
            CommandLine::Shell(text) => Self::Shell(bytes(text)),
            CommandLine::Argv(words) => Self::Argv(words.iter().map(bytes).collect()),
        }
    }
}

impl From<Words> for CommandLine {
    fn from(words: Words) -> Self {
        let word = |bytes: Bytes| OsString::from_vec(bytes.into());
        match words {
            Words::Shell(text) => Self::Shell(word(text)),
            Words::Argv(words) => Self::Argv(words.into_iter().map(word).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_arrive_as_they_were() {
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
        for command in [
            CommandLine::Shell("echo \u{e4}".into()),
            CommandLine::Shell(odd.clone()),
            CommandLine::Argv(vec!["ls".into(), odd]),
            CommandLine::Argv(Vec::new()),
        ] {
            let json = serde_json::to_string(&Words::from(&command)).unwrap();
            assert_eq!(CommandLine::from(serde_json::from_str::<Words>(&json).unwrap()), command);
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert!(serde_json::from_str::<Ask>(r#"{"ask":"status"}"#).is_ok());
        for wrong in [
            r#"{"ask":"loosen"}"#,
            r#"{"ask":"run","command":{"shell":"x"},"timeLimitMs":null,"terminal":null,"allowWrite":["/"]}"#,
            r#"{"ask":"status","ask":"close"}"#,
            r#"["loosen"]"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<Ask>(wrong).is_err(), "{wrong}");
        }
    }
}
