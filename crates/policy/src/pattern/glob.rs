//! Globs, matched one path component at a time.
//!
//! Matching by component lets a walk carry the state of a pattern down a tree and stop where nothing can
//! match any more, which matching whole paths cannot.

use super::atoms::{self, Atom, Escapes};

/// A glob below some directory: `src/**/*.key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    segments: Vec<Segment>,
}

/// One component of a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Exactly this name.
    Name(Box<[u8]>),
    /// A name with wildcards.
    Wild(Vec<Token>),
    /// `**`: any number of directories.
    Deep,
}

/// A piece of a name with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Byte(u8),
    /// `?`
    One,
    /// `*`
    Many,
    /// `[a-z]`, `[!x]`
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// What a name did to a glob's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The whole glob is matched by this name.
    Matched,
    /// This far; the rest must match below.
    At(u16),
}

impl Glob {
    pub(crate) fn new(segments: Vec<Segment>) -> Self {
        Self { segments }
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many names a match has, if that does not depend on the path.
    pub(crate) fn depth(&self) -> Option<usize> {
        (!self.segments.contains(&Segment::Deep)).then_some(self.segments.len())
    }

    /// Exactly this name.
    pub(crate) fn exactly(name: &[u8]) -> Self {
        Self { segments: vec![Segment::Name(name.into())] }
    }

    /// Any depth, then exactly this name.
    pub(crate) fn anywhere(name: &str) -> Self {
        Self { segments: vec![Segment::Deep, Segment::Name(name.as_bytes().into())] }
    }

    /// A glob as it is written, from the directory it is looked for in.
    pub fn relative(text: &str) -> Self {
        if !text.contains(['*', '?', '[', '\\']) {
            let names = text.split('/').filter(|name| !name.is_empty());
            return Self { segments: names.map(|name| Segment::Name(name.as_bytes().into())).collect() };
        }
        let mut atoms = Vec::with_capacity(text.len());
        atoms::read(text, Escapes::Backslash, &mut atoms);
        let parts = atoms.split(|atom| *atom == Atom::Plain('/')).filter(|part| !part.is_empty());
        Self { segments: parts.map(segment).collect() }
    }

    /// The name, if the glob is nothing but a name at any depth.
    pub(crate) fn name_anywhere(&self) -> Option<&[u8]> {
        match self.segments.as_slice() {
            [Segment::Deep, Segment::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// Where the glob can be after `name`, when it was at `position` before. Calls `found` for each.
    pub(crate) fn step(&self, position: u16, name: &[u8], mut found: impl FnMut(Step)) {
        let mut position = usize::from(position);
        while let Some(Segment::Deep) = self.segments.get(position) {
            found(Step::At(position as u16));
            position += 1;
        }
        let matches = match self.segments.get(position) {
            Some(Segment::Name(wanted)) => **wanted == *name,
            Some(Segment::Wild(tokens)) => matches(tokens, name),
            _ => false,
        };
        if matches {
            found(if position + 1 == self.segments.len() {
                Step::Matched
            } else {
                Step::At(position as u16 + 1)
            });
        }
    }

    /// Whether a path, given as names from the glob's base, is matched as a whole.
    pub fn matches<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let (mut now, mut next): (Vec<u16>, Vec<u16>) = (vec![0], Vec::new());
        let mut matched = false;
        for name in names {
            matched = false;
            next.clear();
            for position in &now {
                self.step(*position, name, |step| match step {
                    Step::Matched => matched = true,
                    Step::At(position) if !next.contains(&position) => next.push(position),
                    Step::At(_) => {}
                });
            }
            std::mem::swap(&mut now, &mut next);
        }
        matched
    }
}

/// One component from its atoms.
pub(crate) fn segment(atoms: &[Atom]) -> Segment {
    if atoms == [Atom::Special('*'), Atom::Special('*')] {
        return Segment::Deep;
    }
    if let Some(name) = atoms.iter().map(|atom| atom.plain()).collect::<Option<String>>() {
        return Segment::Name(name.into_bytes().into());
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < atoms.len() {
        match atoms[at] {
            Atom::Special('*') => {
                if tokens.last() != Some(&Token::Many) {
                    tokens.push(Token::Many);
                }
            }
            Atom::Special('?') => tokens.push(Token::One),
            Atom::Special('[') => {
                if let Some((class, end)) = class(atoms, at) {
                    tokens.push(class);
                    at = end;
                } else {
                    tokens.push(Token::Byte(b'['));
                }
            }
            Atom::Special(letter) | Atom::Plain(letter) => {
                tokens.extend(letter.encode_utf8(&mut [0; 4]).bytes().map(Token::Byte));
            }
        }
        at += 1;
    }
    Segment::Wild(tokens)
}

/// The class that opens at `start`, and where it closes. A class that never closes is a plain `[`.
fn class(atoms: &[Atom], start: usize) -> Option<(Token, usize)> {
    let mut at = start + 1;
    let negated = matches!(atoms.get(at), Some(Atom::Special('!') | Atom::Plain('!' | '^')));
    at += usize::from(negated);
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let letter = match *atoms.get(at)? {
            Atom::Special(']') if at > first => return Some((Token::Class { negated, ranges }, at)),
            Atom::Special(letter) | Atom::Plain(letter) => letter,
        };
        let range_end = match (atoms.get(at + 1), atoms.get(at + 2)) {
            (Some(Atom::Plain('-')), Some(Atom::Plain(end))) => Some(*end),
            _ => None,
        };
        ranges.push((letter, range_end.unwrap_or(letter)));
        at += if range_end.is_some() { 3 } else { 1 };
    }
}

fn matches(tokens: &[Token], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    // Where to take up again when what follows the last `*` did not fit: one letter later.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let fits = match tokens.get(token) {
            None if at == name.len() => return true,
            None => None,
            Some(Token::Many) => {
                retry = Some((token + 1, at));
                token += 1;
                continue;
            }
            Some(Token::Byte(byte)) => (name.get(at) == Some(byte)).then_some(1),
            Some(Token::One) => letter(&name[at..]).map(|(_, length)| length),
            Some(Token::Class { negated, ranges }) => letter(&name[at..]).and_then(|(letter, length)| {
                let inside = letter
                    .is_some_and(|letter| ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)));
                (inside != *negated).then_some(length)
            }),
        };
        match (fits, retry) {
            (Some(length), _) => {
                token += 1;
                at += length;
            }
            (None, Some((after, from))) if from < name.len() => {
                retry = Some((after, from + 1));
                token = after;
                at = from + 1;
            }
            _ => return false,
        }
    }
}

/// The first letter and its length; a byte that is no UTF-8 counts as one letter of its own.
fn letter(rest: &[u8]) -> Option<(Option<char>, usize)> {
    let first = *rest.first()?;
    let length = match first {
        0..0x80 => return Some((Some(first.into()), 1)),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((None, 1)),
    };
    let text = rest.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    Some(text.and_then(|text| text.chars().next()).map_or((None, 1), |letter| (Some(letter), length)))
}
