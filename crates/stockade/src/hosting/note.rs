//! The last words of hosts, which have no terminal to say them on.

use super::{SessionName, SessionPlace};
use crate::private::now;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// A longer file is begun anew: nobody reads last words from long ago.
const LONGEST: u64 = 64 << 10;
/// The longest note.
const NOTE: usize = 2000;

impl SessionPlace {
    /// Where hosts' last words are.
    pub fn notes(&self) -> PathBuf {
        self.path().join("log")
    }

    /// Writes down why a host ended: one line of JSON.
    pub fn note(&self, name: &SessionName, words: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(self.notes(), flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        if file.metadata()?.len() > LONGEST {
            file.set_len(0)?;
        }
        let words: String = words.chars().take(NOTE).collect();
        let mut line = serde_json::to_vec(&serde_json::json!({
            "when": now(), "session": name, "pid": std::process::id(), "words": words,
        }))?;
        line.push(b'\n');
        // One write, so that lines of several hosts do not mix.
        file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Directories, SessionName, SessionPlace};

    #[test]
    fn notes_do_not_grow_for_ever() {
        let top = tempfile::tempdir().unwrap();
        let state = top.path().as_os_str().to_owned();
        let place = SessionPlace::new(&Directories::new(&[("XDG_STATE_HOME".into(), state)], None));
        let name = SessionName::fresh();
        drop(place.claim(name.clone()).unwrap());
        for _ in 0..100 {
            place.note(&name, &"x\n".repeat(2000)).unwrap();
        }
        let text = std::fs::read_to_string(place.notes()).unwrap();
        assert!(text.len() < 80 << 10 && text.len() > 1000, "{}", text.len());
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
        assert_eq!(place.names().unwrap(), []);
    }
}
