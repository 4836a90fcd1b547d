//! Git's configuration format, read as git reads it.
//!
//! Exactness is what counts: a key that git sees and this reader does not would go unchecked. A test
//! compares both on generated texts.

use super::refusal::GitRefusal;

const MOST_KEYS: usize = 10_000;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Section, subsection and key with dots between, as git compares it: lower case but for the subsection.
    pub(super) name: Vec<u8>,
    /// None for a key without `=`.
    pub(super) value: Option<Vec<u8>>,
    /// Counted from one.
    pub(super) line: usize,
}

/// A name, taken apart.
pub(super) struct Parts<'a> {
    pub(super) section: &'a [u8],
    pub(super) subsection: Option<&'a [u8]>,
    pub(super) key: &'a [u8],
}

impl Entry {
    /// None for a key that stands before the first section. Keys have no dots, sections end at their first.
    pub(super) fn parts(&self) -> Option<Parts<'_>> {
        let first = self.name.iter().position(|byte| *byte == b'.')?;
        let last = self.name.iter().rposition(|byte| *byte == b'.')?;
        let subsection = (first < last).then(|| &self.name[first + 1..last]);
        Some(Parts { section: &self.name[..first], subsection, key: &self.name[last + 1..] })
    }
}

/// All keys of a text, in order.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Entry>, GitRefusal> {
    let mut reader = Reader { text, at: 0, line: 1, ended: false };
    if text.starts_with(BYTE_ORDER_MARK) {
        reader.at = BYTE_ORDER_MARK.len();
    }
    let mut entries = Vec::new();
    // The section and its dot; empty before the first header.
    let mut stem = Vec::new();
    let mut comment = false;
    loop {
        let line = reader.line;
        let refuse = |reason: &str| GitRefusal::new(b"", line, reason);
        match reader.next() {
            b'\n' if reader.ended => return Ok(entries),
            b'\n' => comment = false,
            _ if comment => {}
            byte if is_space(byte) => {}
            b'#' | b';' => comment = true,
            b'[' => stem = reader.header().map_err(refuse)?,
            byte if byte.is_ascii_alphabetic() => {
                if entries.len() == MOST_KEYS {
                    return Err(refuse("there are more than 10000 keys"));
                }
                let mut name = stem.clone();
                name.push(byte.to_ascii_lowercase());
                let value = reader.entry(&mut name).map_err(refuse)?;
                entries.push(Entry { name, value, line });
            }
            _ => return Err(refuse("this is no section, no key and no comment")),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    ended: bool,
}

impl Reader<'_> {
    /// The next byte. CR LF is one line end, and so is the end of the text.
    fn next(&mut self) -> u8 {
        let Some(&byte) = self.text.get(self.at) else {
            self.ended = true;
            return b'\n';
        };
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            return self.next();
        }
        if byte == b'\n' {
            self.line += 1;
        }
        byte
    }

    /// What follows `[`, as the beginning of its keys' names.
    fn header(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut stem = Vec::new();
        loop {
            match self.next() {
                _ if self.ended => return Err("the section header is not closed"),
                b']' if stem.is_empty() => return Err("the section has no name"),
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(byte, &mut stem)?;
                    break;
                }
                byte if is_key(byte) || byte == b'.' => stem.push(byte.to_ascii_lowercase()),
                _ => return Err("a section's name is made of letters, digits, - and ."),
            }
        }
        stem.push(b'.');
        Ok(stem)
    }

    fn subsection(&mut self, mut byte: u8, stem: &mut Vec<u8>) -> Result<(), &'static str> {
        const OPEN: &str = "the section header is not closed on its line";
        while is_space(byte) {
            if byte == b'\n' {
                return Err(OPEN);
            }
            byte = self.next();
        }
        if byte != b'"' {
            return Err("a subsection stands in quotes");
        }
        stem.push(b'.');
        loop {
            match self.next() {
                b'\n' => return Err(OPEN),
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return Err(OPEN),
                    byte => stem.push(byte),
                },
                byte => stem.push(byte),
            }
        }
        if self.next() == b']' { Ok(()) } else { Err("a ] must follow the subsection") }
    }

    /// The rest of a key's name, and its value.
    fn entry(&mut self, name: &mut Vec<u8>) -> Result<Option<Vec<u8>>, &'static str> {
        let mut byte = self.next();
        while is_key(byte) {
            name.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while byte == b' ' || byte == b'\t' {
            byte = self.next();
        }
        match byte {
            b'\n' => Ok(None),
            b'=' => self.value().map(Some),
            _ => Err("a key is made of letters, digits and -, and = follows it"),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut value = Vec::new();
        // Where white space began that counts only if something follows it.
        let mut blank = None;
        let (mut quoted, mut comment) = (false, false);
        loop {
            let mut byte = self.next();
            if byte == b'\n' {
                if quoted {
                    return Err("a quote is not closed on its line");
                }
                value.truncate(blank.unwrap_or(value.len()));
                return Ok(value);
            }
            if comment {
                continue;
            }
            if is_space(byte) && !quoted {
                if !value.is_empty() {
                    blank = blank.or(Some(value.len()));
                    value.push(byte);
                }
                continue;
            }
            if !quoted && (byte == b';' || byte == b'#') {
                comment = true;
                continue;
            }
            blank = None;
            match byte {
                b'\\' => {
                    byte = match self.next() {
                        b'\n' => continue,
                        b't' => b'\t',
                        b'b' => 8,
                        b'n' => b'\n',
                        same @ (b'\\' | b'"') => same,
                        _ => return Err("only \\\\, \\\", \\n, \\t and \\b are known after a backslash"),
                    };
                    value.push(byte);
                }
                b'"' => quoted = !quoted,
                _ => value.push(byte),
            }
        }
    }
}

/// Git's own idea of white space: no vertical tab, no form feed.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
