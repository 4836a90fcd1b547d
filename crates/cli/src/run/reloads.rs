//! What is said when settings change during a run.

use crate::voice::Voice;
use std::path::PathBuf;
use stockade::{Event, visible};

/// Tells of changed settings: at once, or after the run where the terminal belongs to the command.
#[derive(Debug)]
pub(crate) struct Reloads {
    voice: Voice,
    when: When,
    kept: Vec<Word>,
}

/// When something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    AtOnce,
    Afterwards,
}

/// Something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Warning(String),
    Detail(String),
}

impl Reloads {
    pub(crate) fn new(voice: Voice, when: When) -> Self {
        Self { voice, when, kept: Vec::new() }
    }

    /// Hears an event; only some are about settings.
    pub(crate) fn hear(&mut self, event: &Event) {
        for word in words(event) {
            match self.when {
                When::AtOnce => self.say(word),
                When::Afterwards => self.kept.push(word),
            }
        }
    }

    /// Says what was kept.
    pub(crate) fn finish(mut self) {
        for word in std::mem::take(&mut self.kept) {
            self.say(word);
        }
    }

    fn say(&self, word: Word) {
        match word {
            Word::Warning(text) => self.voice.warning(text),
            Word::Detail(text) => self.voice.detail(text),
        }
    }
}

fn words(event: &Event) -> Vec<Word> {
    match event {
        Event::SettingsRejected { file, error } => {
            let file = file.to_string_lossy();
            let file = visible(&file);
            vec![Word::Warning(format!(
                "{file} has changed and is wrong; the settings from before hold, and nothing runs without walls until it is in order\n{error}"
            ))]
        }
        Event::SettingsReloaded { files, mended, applied, later, notices } => {
            let mut words: Vec<Word> = Vec::new();
            if !mended.is_empty() {
                words.push(Word::Warning(format!("{} is in order again and holds", names(mended))));
            }
            words.extend(notices.iter().map(|text| Word::Warning(visible(text).into_owned())));
            let told = |(lines, when): (&[String], &str)| match lines {
                [] => String::new(),
                lines => format!("\n  {when}: {}", visible(&lines.join("; "))),
            };
            let changes: String =
                [(&**applied, "from now on"), (&**later, "from the next command on")].map(told).concat();
            words.push(Word::Detail(format!("settings were read anew: {}{changes}", names(files))));
            words
        }
        _ => Vec::new(),
    }
}

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| visible(&file.to_string_lossy()).into_owned()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_with_what_it_means() {
        let event = Event::SettingsReloaded {
            files: vec!["/a".into(), "/b".into()],
            mended: vec!["/a".into()],
            applied: vec!["+ allowedDomains x.test".into()],
            later: vec!["+ denyRead y".into(), "- denyRead z".into()],
            notices: vec!["look".into()],
        };
        assert_eq!(
            words(&event),
            [
                Word::Warning("/a is in order again and holds".into()),
                Word::Warning("look".into()),
                Word::Detail(
                    "settings were read anew: /a, /b\n  from now on: + allowedDomains x.test\n  from the next command on: + denyRead y; - denyRead z"
                        .into()
                ),
            ]
        );
    }
}
