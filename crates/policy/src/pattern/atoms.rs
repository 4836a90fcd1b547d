//! A pattern's text after escapes and variables: letters that are meant as they stand, and letters that
//! mean something.

use super::error::PatternError;

/// Alternatives one entry may unfold to.
const MOST_ALTERNATIVES: usize = 64;

/// One letter of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atom {
    /// Stands for itself.
    Plain(char),
    /// One of `* ? [ ] { } ,`.
    Special(char),
}

impl Atom {
    /// The letter, where it stands for itself. Outside braces and classes `,`, `]` and `}` do.
    pub(crate) fn plain(self) -> Option<char> {
        match self {
            Self::Plain(letter) | Self::Special(letter @ (',' | ']' | '}')) => Some(letter),
            Self::Special(_) => None,
        }
    }
}

/// Reads text in which no `$` is left to expand.
pub(crate) fn read(text: &str, escapes: Escapes, into: &mut Vec<Atom>) {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        into.push(match letter {
            '\\' if escapes == Escapes::Backslash => Atom::Plain(letters.next().unwrap_or('\\')),
            '*' | '?' | '[' | ']' | '{' | '}' | ',' => Atom::Special(letter),
            letter => Atom::Plain(letter),
        });
    }
}

/// Whether a backslash takes the meaning from the next letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    Backslash,
    None,
}

/// Whether a letter makes this a glob rather than a path.
pub(crate) fn is_glob(atoms: &[Atom]) -> bool {
    atoms.iter().any(|atom| atom.plain().is_none())
}

/// Unfolds `{a,b}`.
pub(crate) fn unfold(atoms: &[Atom]) -> Result<Vec<Vec<Atom>>, PatternError> {
    let mut done = Vec::new();
    let mut open = vec![atoms.to_vec()];
    while let Some(atoms) = open.pop() {
        if done.len() + open.len() >= MOST_ALTERNATIVES {
            return Err(PatternError::TooManyAlternatives { most: MOST_ALTERNATIVES });
        }
        let Some(start) = brace(&atoms) else {
            done.push(atoms);
            continue;
        };
        let (alternatives, end) = alternatives(&atoms, start).ok_or(PatternError::OpenBrace)?;
        // Reversed, because the stack gives them back in the order they were written.
        for (from, to) in alternatives.into_iter().rev() {
            open.push([&atoms[..start], &atoms[from..to], &atoms[end + 1..]].concat());
        }
    }
    Ok(done)
}

/// The first brace outside a class.
fn brace(atoms: &[Atom]) -> Option<usize> {
    atoms.iter().position(|atom| *atom == Atom::Special('{'))
}

fn alternatives(atoms: &[Atom], start: usize) -> Option<(Vec<(usize, usize)>, usize)> {
    let (mut depth, mut from, mut found) = (0, start + 1, Vec::new());
    for (at, atom) in atoms.iter().enumerate().skip(start) {
        match atom {
            Atom::Special('{') => depth += 1,
            Atom::Special('}') => {
                depth -= 1;
                if depth == 0 {
                    found.push((from, at));
                    return Some((found, at));
                }
            }
            Atom::Special(',') if depth == 1 => {
                found.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}
