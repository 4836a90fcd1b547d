//! From a path entry as written to patterns.

use super::atoms::{self, Atom, Escapes};
use super::error::PatternError;
use super::glob::{self, Glob, Segment};
use crate::settings::PathEntry;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a path entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// One absolute path, as written: links and `..` are still in it.
    Literal(PathBuf),
    /// What matches below one directory.
    Anchored { base: PathBuf, glob: Glob },
    /// What matches below the workspace and every listed root.
    Anywhere(Glob),
}

/// What relative paths, `~` and `$VAR` mean.
pub(crate) struct Surroundings<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<&'a OsStr>,
}

/// How an entry is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Stockade's own shape, an allow list: a bare name is a file of the working directory.
    Allow,
    /// Stockade's own shape, a deny list: a bare name is meant at any depth.
    Deny,
    /// srt's shape, an allow list: no variables, no escapes, all relative to the working directory.
    SrtAllow,
    /// srt's shape, a deny list.
    SrtDeny,
}

/// The variable that stands for the working directory.
const WORKSPACE: &str = "$WORKSPACE";
/// Letters that may mean something.
const MEANINGFUL: [char; 6] = ['*', '?', '[', '{', '\\', '$'];

/// Reads one entry.
pub(crate) fn parse(
    entry: &PathEntry,
    reading: Reading,
    around: &Surroundings,
) -> Result<Vec<Pattern>, PatternError> {
    let text = entry.text();
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.contains('\0') {
        return Err(PatternError::Nul);
    }
    let (base, rest) = base(text, around)?;
    if let PathEntry::Literal(_) = entry {
        return Ok(vec![Pattern::Literal(join(base, rest))]);
    }
    let relative = base == around.cwd && rest.len() == text.len();
    // Most entries are plain paths; they need no second look.
    if !rest.contains(MEANINGFUL) {
        return Ok(vec![plain_path(base, rest, relative, reading)]);
    }
    let mut atoms = Vec::with_capacity(rest.len());
    match reading {
        Reading::Allow | Reading::Deny => expand(rest, around, &mut atoms)?,
        Reading::SrtAllow | Reading::SrtDeny => atoms::read(rest, Escapes::None, &mut atoms),
    }
    if !atoms::is_glob(&atoms) {
        let path: String = atoms.iter().filter_map(|atom| atom.plain()).collect();
        return Ok(vec![plain_path(base, &path, relative, reading)]);
    }
    if reading == Reading::SrtDeny && atoms.last() == Some(&Atom::Plain('/')) {
        return Err(PatternError::EndsInSeparator);
    }
    atoms::unfold(&atoms)?
        .iter()
        .map(|atoms| pattern(atoms, base, relative_reading(relative, reading)))
        .collect()
}

fn plain_path(base: &Path, path: &str, relative: bool, reading: Reading) -> Pattern {
    let bare = relative && !path.contains('/') && path != "." && path != "..";
    match reading {
        Reading::Deny if bare => Pattern::Anywhere(Glob::anywhere(path)),
        _ => Pattern::Literal(join(base, path)),
    }
}

/// Whether a glob without a fixed beginning holds at any depth of every root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Floating {
    /// `**/x` floats, `x*` does not.
    Deep,
    /// Both float.
    DeepAndBare,
    /// Nothing does.
    Never,
}

fn relative_reading(relative: bool, reading: Reading) -> Floating {
    match reading {
        _ if !relative => Floating::Never,
        Reading::Deny => Floating::DeepAndBare,
        Reading::Allow | Reading::SrtDeny => Floating::Deep,
        Reading::SrtAllow => Floating::Never,
    }
}

fn pattern(atoms: &[Atom], base: &Path, floating: Floating) -> Result<Pattern, PatternError> {
    let absolute = atoms.first() == Some(&Atom::Plain('/'));
    let mut base = if absolute { PathBuf::from("/") } else { base.to_owned() };
    let parts: Vec<&[Atom]> = atoms
        .split(|atom| *atom == Atom::Plain('/'))
        .filter(|part| !part.is_empty() && *part != [Atom::Plain('.')])
        .collect();
    let bare = parts.len() == 1 && !atoms.contains(&Atom::Plain('/'));
    let mut segments = Vec::with_capacity(parts.len() + 1);
    // A glob that begins with names holds below those names and nowhere else.
    let mut begins_with_names = false;
    for part in parts {
        match glob::segment(part) {
            Segment::Name(name) if *name == *b".." => {
                if !segments.is_empty() {
                    return Err(PatternError::UpAfterWildcard);
                }
                begins_with_names = true;
                base.push("..");
            }
            // One of `{a,b}`: a bare name like any other.
            Segment::Name(name) if bare && floating == Floating::DeepAndBare => {
                segments.push(Segment::Name(name));
            }
            Segment::Name(name) if segments.is_empty() => {
                begins_with_names = true;
                base.push(String::from_utf8_lossy(&name).as_ref());
            }
            // Two in a row say no more than one.
            Segment::Deep if segments.last() == Some(&Segment::Deep) => {}
            segment => segments.push(segment),
        }
    }
    let deep = segments.first() == Some(&Segment::Deep);
    shorten(&mut segments);
    let floats = !absolute
        && !begins_with_names
        && match (floating, segments.first()) {
            (Floating::Never, _) | (_, None) => false,
            (_, Some(Segment::Deep)) => atoms.first() != Some(&Atom::Plain('.')),
            (Floating::DeepAndBare, Some(_)) => bare && !deep,
            (Floating::Deep, Some(_)) => false,
        };
    Ok(match segments.first() {
        None => Pattern::Literal(base),
        Some(first) if floats => {
            if *first != Segment::Deep {
                segments.insert(0, Segment::Deep);
            }
            Pattern::Anywhere(Glob::new(segments))
        }
        Some(_) => Pattern::Anchored { base, glob: Glob::new(segments) },
    })
}

/// A rule holds for everything below what it names, so `x/**` is `x`, and `x/**/*` is `x/*`.
fn shorten(segments: &mut Vec<Segment>) {
    if let [.., Segment::Deep, Segment::Wild(last)] = segments.as_slice()
        && last.as_slice() == [glob::Token::Many]
    {
        segments.remove(segments.len() - 2);
    }
    while segments.last() == Some(&Segment::Deep) {
        segments.pop();
    }
}

fn base<'t, 's>(text: &'t str, around: &Surroundings<'s>) -> Result<(&'s Path, &'t str), PatternError> {
    if let Some(rest) = text.strip_prefix('~') {
        return match rest.strip_prefix('/') {
            Some(rest) => Ok((around.home.ok_or(PatternError::NoHome)?, rest)),
            None if rest.is_empty() => Ok((around.home.ok_or(PatternError::NoHome)?, rest)),
            None => Err(PatternError::OtherHome(text.split('/').next().unwrap_or(text).to_owned())),
        };
    }
    if let Some(rest) = text.strip_prefix(WORKSPACE) {
        if rest.is_empty() {
            return Ok((around.cwd, rest));
        }
        if let Some(rest) = rest.strip_prefix('/') {
            return Ok((around.cwd, rest));
        }
    }
    Ok((around.cwd, text))
}

fn join(base: &Path, rest: &str) -> PathBuf {
    match rest {
        "" => base.to_owned(),
        // Only these leave something to tidy up.
        _ if rest.starts_with('.') || rest.ends_with('/') || rest.contains("//") || rest.contains("/.") => {
            base.join(rest).components().collect()
        }
        _ => base.join(rest),
    }
}

/// Puts the values of variables in; letters inside a value never mean anything.
fn expand(text: &str, around: &Surroundings, into: &mut Vec<Atom>) -> Result<(), PatternError> {
    let mut rest = text;
    while let Some(at) = dollar(rest) {
        atoms::read(&rest[..at], Escapes::Backslash, into);
        let after = &rest[at + 1..];
        let (name, next) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').ok_or(PatternError::OpenVariable)?,
            None => after.split_at(
                after
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(after.len()),
            ),
        };
        rest = next;
        if name.is_empty() {
            into.push(Atom::Plain('$'));
            continue;
        }
        if name == &WORKSPACE[1..] {
            into.extend(around.cwd.to_string_lossy().chars().map(Atom::Plain));
            continue;
        }
        let value =
            (around.variable)(name).ok_or_else(|| PatternError::UndefinedVariable(name.to_owned()))?;
        let value = value.to_str().ok_or_else(|| PatternError::OddVariable(name.to_owned()))?;
        into.extend(value.chars().map(Atom::Plain));
    }
    atoms::read(rest, Escapes::Backslash, into);
    Ok(())
}

/// The first `$` that is not escaped.
fn dollar(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let found = byte == b'$' && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}
