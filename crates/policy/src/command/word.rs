//! Words: quotes, escapes and expansions.

use super::part::{Doubt, Word};
use super::strict::{Closer, Reader, is_boundary, is_name};
use std::borrow::Cow;

/// Where an expansion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Bare,
    Quoted,
}

/// What stood there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Something only a running shell knows.
    Expansion,
    /// A dollar sign.
    Dollar,
}

/// A word while it is read.
#[derive(Default)]
struct Draft {
    value: String,
    dynamic: bool,
}

impl<'t> Reader<'t> {
    /// The word that begins here; empty where none does.
    pub(super) fn word(&mut self) -> Result<Word<'t>, Doubt> {
        let start = self.at;
        while self.peek().is_some_and(is_plain) {
            self.at += 1;
        }
        let plain = &self.text[start..self.at];
        if self.peek().is_none_or(is_boundary) {
            return Ok(Word { raw: plain, value: Some(Cow::Borrowed(plain)) });
        }
        let mut draft = Draft { value: plain.to_owned(), dynamic: false };
        while let Some(byte) = self.peek().filter(|byte| !is_boundary(*byte)) {
            self.piece(byte, start, &mut draft)?;
        }
        let value = (!draft.dynamic).then_some(Cow::Owned(draft.value));
        Ok(Word { raw: &self.text[start..self.at], value })
    }

    fn piece(&mut self, byte: u8, start: usize, draft: &mut Draft) -> Result<(), Doubt> {
        match byte {
            b'\\' => match self.peek_at(1) {
                None => return Err(Doubt::Unclosed),
                Some(b'\n') => return Err(Doubt::Continuation),
                Some(next) if !next.is_ascii() => return Err(Doubt::Letter),
                Some(next) => {
                    draft.value.push(char::from(next));
                    self.at += 2;
                }
            },
            b'\'' => {
                let rest = &self.text[self.at + 1..self.end];
                let length = rest.find('\'').ok_or(Doubt::Unclosed)?;
                draft.value.push_str(&rest[..length]);
                self.at += length + 2;
            }
            b'"' => self.quoted(draft)?,
            b'$' => match self.dollar(Place::Bare)? {
                Found::Expansion => draft.dynamic = true,
                Found::Dollar => draft.value.push('$'),
            },
            b'`' => {
                self.backquoted(Place::Bare)?;
                draft.dynamic = true;
            }
            // Patterns and lists: the shell puts file names or several words in their place.
            b'*' | b'?' | b'[' | b'{' | b'}' => {
                draft.dynamic = true;
                self.at += 1;
            }
            b'~' => {
                let before = self.text.as_bytes()[..self.at].last();
                draft.dynamic |= self.at == start || matches!(before, Some(b'=' | b':'));
                draft.value.push('~');
                self.at += 1;
            }
            byte if !byte.is_ascii() => return Err(Doubt::Letter),
            byte => {
                draft.value.push(char::from(byte));
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Text between double quotes.
    fn quoted(&mut self, draft: &mut Draft) -> Result<(), Doubt> {
        self.at += 1;
        loop {
            let run = self.at;
            while self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | b'$' | b'`')) {
                self.at += 1;
            }
            draft.value.push_str(&self.text[run..self.at]);
            match self.peek().ok_or(Doubt::Unclosed)? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => match self.peek_at(1).ok_or(Doubt::Unclosed)? {
                    b'\n' => return Err(Doubt::Continuation),
                    next @ (b'$' | b'`' | b'"' | b'\\') => {
                        draft.value.push(char::from(next));
                        self.at += 2;
                    }
                    _ => {
                        draft.value.push('\\');
                        self.at += 1;
                    }
                },
                b'$' => match self.dollar(Place::Quoted)? {
                    Found::Expansion => draft.dynamic = true,
                    Found::Dollar => draft.value.push('$'),
                },
                _ => {
                    self.backquoted(Place::Quoted)?;
                    draft.dynamic = true;
                }
            }
        }
    }

    /// The body of a here-document that the shell looks at.
    pub(super) fn expanded(&mut self) -> Result<(), Doubt> {
        while let Some(byte) = self.peek() {
            match byte {
                // A line that goes on may hide the end of the document.
                b'\\' => return Err(Doubt::HereDocument),
                b'$' => self.dollar(Place::Quoted).map(drop)?,
                b'`' => self.backquoted(Place::Quoted)?,
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn dollar(&mut self, place: Place) -> Result<Found, Doubt> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => Err(Doubt::Expansion),
            Some(b'(') => {
                self.at += 1;
                self.list(Closer::Parenthesis)?;
                Ok(Found::Expansion)
            }
            Some(b'{') => {
                self.at += 1;
                let start = self.at;
                while self.peek().is_some_and(is_name) {
                    self.at += 1;
                }
                // Every other form computes something, and some of them run commands.
                if self.at == start || self.peek() != Some(b'}') {
                    return Err(Doubt::Expansion);
                }
                self.at += 1;
                Ok(Found::Expansion)
            }
            Some(b'[') => Err(Doubt::Expansion),
            Some(b'\'' | b'"') if place == Place::Bare => Err(Doubt::Quoting),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                while self.peek().is_some_and(is_name) {
                    self.at += 1;
                }
                Ok(Found::Expansion)
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => {
                self.at += 1;
                Ok(Found::Expansion)
            }
            _ => Ok(Found::Dollar),
        }
    }

    fn backquoted(&mut self, place: Place) -> Result<(), Doubt> {
        let start = self.at + 1;
        let length = self.text[start..self.end].find('`').ok_or(Doubt::Unclosed)?;
        let inner = &self.text[start..start + length];
        // Escapes are taken off before the commands are read, and shells differ about quotes in quotes.
        if inner.contains('\\') || (place == Place::Quoted && inner.contains('"')) {
            return Err(Doubt::Expansion);
        }
        self.within(start, start + length, |reader| reader.list(Closer::End))?;
        self.at = start + length + 1;
        Ok(())
    }
}

/// Bytes that mean themselves wherever they stand in a word.
pub(super) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'@' | b'%' | b'+' | b',')
}
