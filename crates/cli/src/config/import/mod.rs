//! `stockade config import`: what other tools' settings say, in Stockade's own form.

mod claude;
mod codex;
mod draft;
mod srt;

use super::check::{With, check};
use crate::args::ImportFrom;
use crate::voice::Voice;
use crate::{print, refuse};
use draft::Draft;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use stockade::{Files, Layer, RealFiles, SettingsErrors, SettingsFile, Shape};

/// Nothing was imported.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error("cannot read {}: {source}\nhint: name the file to import", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("there is no home directory to look in\nhint: name the file to import")]
    NoHome,
    #[error("{} is not valid TOML: {reason}\nhint: it should be Codex's config.toml", path.display())]
    NotToml { path: PathBuf, reason: String },
    #[error("{}: {key}: {reason}\nhint: {hint}", path.display())]
    Invalid { path: PathBuf, key: String, reason: String, hint: String },
    #[error(transparent)]
    Settings(#[from] SettingsErrors),
    #[error("what came of {} is not usable, which is a fault of the import: {source}", path.display())]
    Unusable { path: PathBuf, source: SettingsErrors },
    #[error("{} is there already and was left alone\nhint: name another file, or remove that one", path.display())]
    Exists { path: PathBuf },
    #[error("{} is behind a symbolic link, which an earlier command may have made, and was not written\nhint: name the directory that the link leads to, or write the path from / on", path.display())]
    Link { path: PathBuf },
    #[error("cannot write {}: {source}\nhint: the directory must be there and yours to write", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Imports a file.
pub(crate) fn main(from: ImportFrom, file: Option<PathBuf>, output: Option<PathBuf>) -> ExitCode {
    let result = import(from, file).and_then(|(text, lost)| {
        if let Some(path) = &output {
            write_new(path, &text)?;
        }
        Ok((text, lost))
    });
    match result {
        Err(error) => refuse(Voice::NORMAL, error),
        Ok((text, lost)) => {
            for line in lost {
                Voice::NORMAL.warning(format!("not carried over: {line}"));
            }
            match output {
                None => print::text(&text),
                Some(path) => print::text(&format!("wrote {}\n", path.display())),
            }
        }
    }
}

fn import(from: ImportFrom, file: Option<PathBuf>) -> Result<(String, Vec<String>), ImportError> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let home = stockade::home(&environment);
    let path = match file {
        Some(path) => std::path::absolute(&path).unwrap_or(path),
        None => usual(from, &environment, home.as_deref()).ok_or(ImportError::NoHome)?,
    };
    let content = RealFiles.read(&path).map_err(|source| ImportError::Read { path: path.clone(), source })?;
    let mut draft = Draft::new(from_name(from), &path);
    match from {
        ImportFrom::Srt => srt::translate(&json(&path, &content, Shape::Srt)?, &mut draft),
        ImportFrom::Claude => {
            let root = claude::root(&path, home.as_deref());
            claude::translate(&json(&path, &content, Shape::Claude)?, &root, &mut draft);
        }
        ImportFrom::Codex => codex::translate(&path, &content, &mut draft)?,
    }
    let text = draft.print();
    // What is written must be what Stockade reads.
    let made = PathBuf::from("/imported.json");
    let with = With { path: &made, content: text.as_bytes() };
    check(SettingsFile::named(&made, Layer::User), &with)
        .map_err(|source| ImportError::Unusable { path, source })?;
    Ok((text, draft.lost()))
}

/// The file's value, once its own reader has found nothing wrong with it.
fn json(path: &Path, content: &[u8], shape: Shape) -> Result<Value, ImportError> {
    let file = SettingsFile::named(path, Layer::User).in_shape(shape);
    check(file, &With { path, content })?;
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value: Option<Value> = parse_to_serde_value(text, &ParseOptions::default()).ok();
    Ok(value.unwrap_or_default())
}

/// Where the tool keeps its user's settings.
fn usual(from: ImportFrom, environment: &[(OsString, OsString)], home: Option<&Path>) -> Option<PathBuf> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == OsStr::new(name));
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    match from {
        ImportFrom::Srt => Some(home?.join(".srt-settings.json")),
        ImportFrom::Claude => Some(home?.join(".claude/settings.json")),
        ImportFrom::Codex => {
            Some(variable("CODEX_HOME").or_else(|| Some(home?.join(".codex")))?.join("config.toml"))
        }
    }
}

fn from_name(from: ImportFrom) -> &'static str {
    match from {
        ImportFrom::Claude => "claude",
        ImportFrom::Srt => "srt",
        ImportFrom::Codex => "codex",
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), ImportError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ImportError::Exists { path: path.to_owned() },
        _ => ImportError::Write { path: path.to_owned(), source },
    };
    // Below the working directory a link may be a command's.
    let resolve = if path.is_relative() { ResolveFlags::NO_SYMLINKS } else { ResolveFlags::empty() };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::from_raw_mode(0o666), resolve);
    let file = opened.map_err(|errno| match errno {
        Errno::LOOP => ImportError::Link { path: path.to_owned() },
        other => failed(other.into()),
    })?;
    File::from(file).write_all(text.as_bytes()).map_err(failed)
}
