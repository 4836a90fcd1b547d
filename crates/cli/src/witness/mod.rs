//! The witness: started inside a sandbox by `stockade doctor`, it really tries what must be refused.

mod act;
mod sys;

pub(crate) use act::{Act, INPUT, SECRET, Scene};
pub(crate) use sys::plant;

use crate::print;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::process::ExitCode;

/// What the witness saw. An empty text means that the act succeeded.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Testimony {
    /// Why a harmless act of the same kind failed.
    pub(crate) control: String,
    /// Why the forbidden act failed.
    pub(crate) forbidden: String,
}

/// Tries one act: `ACT OUTSIDE PORT DESCRIPTOR NAMED`.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    let Some((act, scene)) = read(&words) else {
        return ExitCode::FAILURE;
    };
    let why = |result: std::io::Result<()>| result.err().map(|error| error.to_string()).unwrap_or_default();
    // The harmless act first: the forbidden one may end this process.
    let control = why(act.control(&scene));
    print::text(&format!("{}\n", serde_json::Value::from(control)));
    print::text(&format!("{}\n", serde_json::Value::from(why(act.forbidden(&scene)))))
}

impl Testimony {
    /// From what the witness printed; `ending` says how it died where it could not finish.
    pub(crate) fn read(output: &[u8], ending: &str) -> Self {
        let text = String::from_utf8_lossy(output);
        let mut lines = text.lines().map(|line| serde_json::from_str::<String>(line).ok());
        let mut next = |absent: &str| lines.next().flatten().unwrap_or_else(|| absent.to_owned());
        Self { control: next("the witness did not start"), forbidden: next(ending) }
    }

    /// The forbidden act failed although the harmless one worked.
    pub(crate) fn holds(&self) -> bool {
        self.control.is_empty() && !self.forbidden.is_empty()
    }
}

fn read(words: &[OsString]) -> Option<(Act, Scene)> {
    let [act, outside, numbers @ ..] = words else { return None };
    let act = Act::ALL.iter().find(|known| act == known.name())?;
    let [port, descriptor, named] = numbers else { return None };
    let scene = Scene {
        outside: outside.into(),
        port: port.to_str()?.parse().ok()?,
        descriptor: descriptor.to_str()?.parse().ok()?,
        named: named.to_str()?.parse().ok()?,
    };
    Some((*act, scene))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_beside_a_working_control_holds() {
        for (output, holds) in [
            ("\"\"\n\"denied\"\n", true),
            ("\"\"\n\"\"\n", false),
            ("\"broken\"\n\"denied\"\n", false),
            ("\"\"\n", true),
            ("", false),
        ] {
            assert_eq!(Testimony::read(output.as_bytes(), "killed").holds(), holds, "{output:?}");
        }
    }

    #[test]
    fn acts_have_names_of_their_own() {
        let mut names: Vec<_> = Act::ALL.iter().map(|act| act.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Act::ALL.len());
    }
}
