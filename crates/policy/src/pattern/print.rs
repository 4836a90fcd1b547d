//! A glob as text that reads back as the same glob.

use super::glob::{Glob, Segment, Token};
use std::fmt::{self, Write};

impl fmt::Display for Glob {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments().iter().enumerate() {
            if index > 0 {
                out.write_char('/')?;
            }
            match segment {
                Segment::Name(name) => plain(out, name)?,
                Segment::Deep => out.write_str("**")?,
                Segment::Wild(tokens) => wild(out, tokens)?,
            }
        }
        Ok(())
    }
}

fn plain(out: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    // Patterns come from text, so their names are text.
    String::from_utf8_lossy(bytes).chars().try_for_each(|letter| escaped(out, letter))
}

fn wild(out: &mut fmt::Formatter<'_>, tokens: &[Token]) -> fmt::Result {
    let mut letters = Vec::new();
    for token in tokens {
        if let Token::Byte(byte) = token {
            letters.push(*byte);
            continue;
        }
        plain(out, &letters)?;
        letters.clear();
        match token {
            Token::One => out.write_char('?')?,
            Token::Many => out.write_char('*')?,
            Token::Class { negated, ranges } => class(out, *negated, ranges)?,
            Token::Byte(_) => {}
        }
    }
    plain(out, &letters)
}

/// Every range is written with both ends: a single `-` could be taken for one.
fn class(out: &mut fmt::Formatter<'_>, negated: bool, ranges: &[(char, char)]) -> fmt::Result {
    out.write_str(if negated { "[!" } else { "[" })?;
    for (from, to) in ranges {
        escaped(out, *from)?;
        out.write_char('-')?;
        escaped(out, *to)?;
    }
    out.write_char(']')
}

fn escaped(out: &mut fmt::Formatter<'_>, letter: char) -> fmt::Result {
    if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\') {
        out.write_char('\\')?;
    }
    out.write_char(letter)
}
