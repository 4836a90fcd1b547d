//! The program that runs a script: the kernel takes its name from the first line.

use super::lookup::{Lookup, Untrusted};
use super::strip::last_name;
use std::ffi::OsStr;
use std::path::Path;

/// As much of a file as the kernel looks at.
const LINE: usize = 256;

/// More scripts that run each other the kernel does not start.
const DEEPEST: usize = 5;

impl Lookup<'_> {
    /// Whether no command behind walls could have chosen what runs the program at a trusted place.
    pub(super) fn check_interpreter(
        &self,
        program: &Path,
        path: Option<&OsStr>,
        depth: usize,
    ) -> Result<(), Untrusted> {
        let unknown = || Untrusted::Unknown(program.to_owned());
        let text = self.files.beginning(program, LINE).map_err(|_| unknown())?;
        let Some(line) = text.strip_prefix(b"#!") else { return Ok(()) };
        let end = line.iter().position(|byte| *byte == b'\n');
        if depth == DEEPEST || (end.is_none() && text.len() >= LINE) {
            return Err(unknown());
        }
        let line = std::str::from_utf8(&line[..end.unwrap_or(line.len())]).map_err(|_| unknown())?;
        let mut words = line.split([' ', '\t', '\r']).filter(|word| !word.is_empty());
        // Without a name it is a text for a shell.
        let Some(interpreter) = words.next() else { return Ok(()) };
        let by = |named: &str| Untrusted::Interpreter(program.to_owned(), named.into());
        if !interpreter.starts_with('/') {
            return Err(by(interpreter));
        }
        self.trusted(Path::new(interpreter)).map_err(|_| by(interpreter))?;
        self.check_interpreter_if_there(Path::new(interpreter), path, depth)?;
        let arguments: Vec<&str> = words.collect();
        let is_planted = |word: &&&str| {
            let at = if word.starts_with('-') { word.find('/') } else { Some(0) };
            let named = at.map(|at| &word[at..]).filter(|named| named.contains('/'));
            named.is_some_and(|named| self.trusted(&self.request.cwd.join(named)).is_err())
        };
        if let Some(word) = arguments.iter().find(is_planted) {
            return Err(by(word));
        }
        match last_name(interpreter) {
            "env" => {
                let named = looked_for(&arguments).ok_or_else(unknown)?;
                self.check_deeper(named, path, depth + 1).map_err(|_| by(named))
            }
            _ => Ok(()),
        }
    }

    fn check_interpreter_if_there(
        &self,
        program: &Path,
        path: Option<&OsStr>,
        depth: usize,
    ) -> Result<(), Untrusted> {
        if self.files.runs(program) { self.check_interpreter(program, path, depth + 1) } else { Ok(()) }
    }
}

/// The program that `env` looks for, if its words are plain.
fn looked_for<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    if arguments.iter().any(|word| word.contains(['\\', '"', '\'', '$'])) {
        return None;
    }
    let is_plain = |word: &&&str| !matches!(**word, "-S" | "--split-string" | "-" | "-i");
    let is_set = |word: &&&str| word.contains('=') && !word.starts_with('-') && !word.starts_with("PATH=");
    let named = arguments.iter().filter(is_plain).find(|word| !is_set(word))?;
    let named = named.strip_prefix("-S").unwrap_or(named);
    (!named.is_empty() && !named.starts_with('-') && !named.contains('=')).then_some(named)
}
