//! What can be wrong with settings.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// One thing that is wrong with the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file that was named is not there.
    #[error("{} does not exist\nhint: check the name, or leave the option out", shown(path))]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is there and cannot be read.
    #[error(
        "{} cannot be read: {}{source}\nhint: it must be a regular file that you may read",
        shown(path),
        errno_name(source)
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The name of a file is there, and what it leads to is not.
    #[error(
        "{} leads nowhere: the link {} points to {}, and nothing is there\nhint: put the file back, or remove the link",
        shown(path),
        shown(link),
        shown(target)
    )]
    LeadsNowhere {
        /// The file.
        path: PathBuf,
        /// The link on the way that is to blame; mostly the file itself.
        link: PathBuf,
        /// Where it points, as it is written there.
        target: PathBuf,
    },
    /// A file holds nothing.
    #[error("{} is empty\nhint: write at least {{}}, or remove the file", shown(path))]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file is not JSON.
    #[error(
        "{} is not valid JSON: line {line}, column {column}: {}\nhint: comments and trailing commas are allowed, everything else must be JSON",
        shown(path),
        plain(reason)
    )]
    NotJson {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// Counted from one.
        column: usize,
        /// What the parser said.
        reason: String,
    },
    /// A key of a file does not hold what it should.
    #[error(
        "{} does not hold a valid config: {}: {}{}",
        plain(source_name),
        plain(key),
        plain(reason),
        hint_line(hint)
    )]
    Invalid {
        /// The file or preset.
        source_name: String,
        /// `network.allowedDomains[1]`.
        key: String,
        /// What is wrong.
        reason: String,
        /// What would mend it; empty where the reason says it.
        hint: String,
    },
    /// A file has keys of several shapes.
    #[error(
        "{} looks like several kinds of settings at once: {}\nhint: keep the keys of one kind in a file, and name each file",
        shown(path),
        plain(looks)
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The keys, and whose they are.
        looks: String,
    },
    /// An option of the command line does not hold what it should.
    #[error("{flag}: {}{}", plain(reason), hint_line(hint))]
    Flag {
        /// `--allow-write`.
        flag: String,
        /// What is wrong.
        reason: String,
        /// What would mend it; empty where the reason says it.
        hint: String,
    },
    /// The working directory cannot be used.
    #[error(
        "the working directory {} cannot be used: {source}\nhint: name an existing directory",
        shown(path)
    )]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The short name people search for.
fn errno_name(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::IsADirectory => "EISDIR: ",
        io::ErrorKind::PermissionDenied => "EACCES: ",
        _ => "",
    }
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("\nhint: {}", plain(hint)) }
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

/// Words of a file that anybody may have written: none of them may begin a line that looks like ours.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect::<String>().into()
}

/// Everything that is wrong with the settings, not only the first thing.
#[derive(Debug)]
pub struct SettingsErrors(pub Vec<SettingsError>);

impl fmt::Display for SettingsErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            write!(out, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_file_are_no_lines_of_ours() {
        let error = SettingsError::Invalid {
            source_name: "/ws/a\nb.json".into(),
            key: "x\nstockade: all is well".into(),
            reason: "unknown key \"y\r\nz\"".into(),
            hint: "did you mean\u{1b}[2J".into(),
        };
        let told = error.to_string();
        assert_eq!(told.lines().count(), 2, "{told}");
        assert!(told.contains("x\\nstockade: all is well") && !told.contains('\u{1b}'), "{told}");
    }
}
