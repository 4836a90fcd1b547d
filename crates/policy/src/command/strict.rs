//! A reader for the plain part of the shell's language. It stops at whatever two shells, or two readers, could
//! take in two ways: what it returns is what every shell runs.

use super::assignment::assignment;
use super::heredoc::Waiting;
use super::part::{Direction, Doubt, Input, Part, Redirection, Word};
use super::word::is_plain;
use std::borrow::Cow;

/// Deeper nesting is not written by people.
const DEEPEST: usize = 16;

/// More commands in one text are not looked at.
pub(super) const MOST_PARTS: usize = 1000;

/// Longer numbers of descriptors are words to some shells. And from a hundred on stand the files of redirections that
/// were opened beforehand: whoever could name one would have them lead elsewhere.
const LONGEST_NUMBER: usize = 1;

/// Words that begin something other than a simple command.
const RESERVED: [&str; 21] = [
    "!", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "in", "[[", "]]", "{", "}",
];

/// Takes a whole text apart. Where it stops, with what it has seen by then.
pub(super) fn read(text: &str) -> Result<Vec<Part<'_>>, (Doubt, Vec<Part<'_>>)> {
    if text.bytes().any(|byte| (byte < b' ' && byte != b'\t' && byte != b'\n') || byte == 0x7f) {
        return Err((Doubt::Control, Vec::new()));
    }
    let mut reader = Reader::new(text);
    let end = reader.list(Closer::End);
    let mut parts = reader.parts;
    parts.sort_by_key(|part| part.start);
    match end {
        Ok(()) => Ok(parts),
        Err(doubt) => Err((doubt, parts)),
    }
}

/// What one word means, if the word is all there is.
pub(super) fn value(raw: &str) -> Option<Cow<'_, str>> {
    let mut reader = Reader::new(raw);
    let word = reader.word().ok()?;
    if reader.at == raw.len() { word.value } else { None }
}

/// Whether a word begins with the name of a variable and `=`; the name.
pub(super) fn assigned(raw: &str) -> Option<&str> {
    let (name, _) = raw.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let first = name.bytes().next()?;
    let fits = !first.is_ascii_digit() && name.bytes().all(is_name);
    fits.then_some(name)
}

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Bytes that end a word.
pub(super) fn is_boundary(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Bytes of file names that no shell looks at.
fn is_plain_name(byte: u8) -> bool {
    is_name(byte) || matches!(byte, b'.' | b'/' | b'-')
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    End,
    Parenthesis,
    Brace,
}

/// Where in a list the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A command or the end may follow.
    Open,
    /// A command must follow.
    Wanting,
    /// The same behind a `|`, where nothing can be negated.
    Piped,
    /// An operator or the end must follow.
    Complete,
}

impl Stage {
    fn wants(self) -> bool {
        matches!(self, Self::Wanting | Self::Piped)
    }
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// The end of what is looked at now.
    pub(super) end: usize,
    depth: usize,
    pub(super) parts: Vec<Part<'t>>,
    pub(super) waiting: Vec<Waiting<'t>>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, end: text.len(), depth: 0, parts: Vec::new(), waiting: Vec::new() }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let place = self.at + ahead;
        if place < self.end { self.text.as_bytes().get(place).copied() } else { None }
    }

    fn sees(&self, what: &str) -> bool {
        self.text[..self.end].get(self.at..).is_some_and(|rest| rest.starts_with(what))
    }

    /// Spaces, tabs, and lines that go on.
    fn blanks(&mut self) -> Result<(), Doubt> {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => {
                    // The shell takes these two letters out before it looks for operators, so that the ones on
                    // either side become neighbours. Only between blanks and words does that change nothing.
                    let before = self.at.checked_sub(1).and_then(|place| self.text.as_bytes().get(place));
                    let after = self.peek_at(2);
                    let apart = matches!(before, Some(b' ' | b'\t'))
                        && after.is_some_and(|byte| matches!(byte, b' ' | b'\t') || is_plain(byte));
                    if !apart || !self.waiting.is_empty() {
                        return Err(Doubt::Continuation);
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads commands up to what closes them.
    pub(super) fn list(&mut self, closer: Closer) -> Result<(), Doubt> {
        // The body would come in the middle of the inner commands in one shell and after them in another.
        if !self.waiting.is_empty() {
            return Err(Doubt::HereDocument);
        }
        if self.depth == DEEPEST {
            return Err(Doubt::Depth);
        }
        self.depth += 1;
        let mut stage = Stage::Open;
        loop {
            self.blanks()?;
            let Some(byte) = self.peek() else {
                let whole = closer == Closer::End && !stage.wants() && self.waiting.is_empty();
                self.depth -= 1;
                return if whole { Ok(()) } else { Err(Doubt::Unclosed) };
            };
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.bodies()?;
                    if stage == Stage::Complete {
                        stage = Stage::Open;
                    }
                }
                b'#' => self.comment(),
                b')' if closer == Closer::Parenthesis && !stage.wants() => {
                    if !self.waiting.is_empty() {
                        return Err(Doubt::HereDocument);
                    }
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                b'}' if stage == Stage::Open && closer == Closer::Brace && self.is_alone() => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                b';' | b'|' => stage = self.operator(stage)?,
                b'&' if self.peek_at(1) != Some(b'>') => stage = self.operator(stage)?,
                _ if stage == Stage::Complete => return Err(Doubt::Structure("a function, or an array")),
                b')' => return Err(Doubt::Unclosed),
                b'(' => {
                    if self.peek_at(1) == Some(b'(') {
                        return Err(Doubt::Structure("arithmetic"));
                    }
                    self.at += 1;
                    self.fed_if_piped(stage, |reader| reader.group(Closer::Parenthesis))?;
                    stage = Stage::Complete;
                }
                b'{' if self.is_alone() => {
                    self.at += 1;
                    self.fed_if_piped(stage, |reader| reader.group(Closer::Brace))?;
                    stage = Stage::Complete;
                }
                b'!' if self.is_alone() && stage != Stage::Piped => {
                    self.at += 1;
                    stage = Stage::Wanting;
                }
                _ => {
                    self.fed_if_piped(stage, Self::command)?;
                    stage = Stage::Complete;
                }
            }
        }
    }

    /// Reads commands that a pipe may feed, and with them whatever runs inside their words.
    fn fed_if_piped(
        &mut self,
        stage: Stage,
        act: impl FnOnce(&mut Self) -> Result<(), Doubt>,
    ) -> Result<(), Doubt> {
        let before = self.parts.len();
        act(self)?;
        if stage == Stage::Piped {
            self.feed(before);
        }
        Ok(())
    }

    /// Notes that all commands from this one on are fed.
    pub(super) fn feed(&mut self, first: usize) {
        self.parts[first..].iter_mut().for_each(|part| part.input = Input::Fed);
    }

    /// Whether the letter here is a word by itself.
    fn is_alone(&self) -> bool {
        self.peek_at(1).is_none_or(is_boundary)
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn operator(&mut self, stage: Stage) -> Result<Stage, Doubt> {
        if stage != Stage::Complete {
            return Err(Doubt::Grammar);
        }
        let (length, next) = if [";;", ";&"].iter().any(|two| self.sees(two)) {
            return Err(Doubt::Structure("case"));
        } else if ["&&", "||"].iter().any(|two| self.sees(two)) {
            (2, Stage::Wanting)
        } else if self.sees("|&") {
            (2, Stage::Piped)
        } else if self.sees("|") {
            (1, Stage::Piped)
        } else {
            (1, Stage::Open)
        };
        self.at += length;
        Ok(next)
    }

    /// Commands in brackets, and the redirections behind them.
    fn group(&mut self, closer: Closer) -> Result<(), Doubt> {
        let before = self.parts.len();
        self.list(closer)?;
        let mut behind = Part::default();
        loop {
            self.blanks()?;
            // A number in front of a redirection is part of it; anything else is told by the caller.
            let digits = (0..)
                .take_while(|ahead| self.peek_at(*ahead).is_some_and(|byte| byte.is_ascii_digit()))
                .count();
            let follows = matches!(self.peek_at(digits), Some(b'<' | b'>'));
            let both = digits == 0 && self.sees("&>");
            if !follows && !both {
                break;
            }
            if digits > LONGEST_NUMBER {
                return Err(Doubt::Descriptor);
            }
            self.at += digits;
            self.redirection(&mut behind, Adjacent::No)?;
        }
        if !behind.words.is_empty() || self.parts.len() == before {
            return Err(Doubt::Grammar);
        }
        // They hold for every command inside; it is enough to judge them once.
        if let Some(last) = self.parts.last_mut() {
            last.redirections.extend(behind.redirections);
        }
        if behind.input == Input::Fed {
            self.feed(before);
        }
        Ok(())
    }

    /// A simple command.
    fn command(&mut self) -> Result<(), Doubt> {
        let mut part = Part { start: self.at, ..Part::default() };
        let first = self.parts.len();
        let mut until = self.at;
        let mut both = false;
        loop {
            let before = self.at;
            self.blanks()?;
            let Some(byte) = self.peek() else { break };
            match byte {
                b'\n' | b';' | b'|' | b')' => break,
                b'&' if self.peek_at(1) != Some(b'>') => break,
                b'#' if before != self.at => break,
                b'(' => return Err(Doubt::Structure("a function, or an array")),
                b'<' | b'>' | b'&' => {
                    let adjacent =
                        if before == self.at && until != part.start { Adjacent::Yes } else { Adjacent::No };
                    both |= byte == b'&';
                    self.redirection(&mut part, adjacent)?;
                }
                // Shells that do not know `&>` run what follows as a command of its own.
                _ if both => return Err(Doubt::Structure("words behind &>")),
                _ => self.next_word(&mut part)?,
            }
            until = self.at;
        }
        part.text = Cow::Borrowed(&self.text[part.start..until]);
        if self.parts.len() == MOST_PARTS {
            return Err(Doubt::Parts);
        }
        let input = part.input;
        self.parts.push(part);
        if input == Input::Fed {
            self.feed(first);
        }
        Ok(())
    }

    /// A word of a command: an assignment in front of the program, the program, an argument, or a number that
    /// belongs to a redirection.
    fn next_word(&mut self, part: &mut Part<'t>) -> Result<(), Doubt> {
        let word = self.word()?;
        let redirected = matches!(self.peek(), Some(b'<' | b'>'));
        if redirected && word.raw.bytes().all(|byte| byte.is_ascii_digit()) {
            if word.raw.len() > LONGEST_NUMBER {
                return Err(Doubt::Descriptor);
            }
            return self.redirection(part, Adjacent::No);
        }
        if redirected && word.raw.starts_with('{') {
            return Err(Doubt::Structure("a redirection that sets a variable"));
        }
        if part.words.is_empty() {
            if let Some(assignment) = assignment(word.raw) {
                // A program of that name in shells that cannot append.
                if word.raw[assignment.name.len()..].starts_with('+') {
                    return Err(Doubt::Structure("a variable that is appended to"));
                }
                part.assignments.push(assignment);
                return Ok(());
            }
            if word.raw.contains('[') && word.raw.contains('=') {
                return Err(Doubt::Structure("an array"));
            }
            if is_reserved(word.raw) {
                return Err(Doubt::Structure("a compound command"));
            }
        }
        // Behind this word a command begins anew.
        let timed = part.words.iter().all(|known| matches!(known.raw, "time" | "-p" | "--"));
        if timed && is_reserved(word.raw) {
            return Err(Doubt::Structure("a compound command"));
        }
        part.words.push(word);
        Ok(())
    }

    /// A redirection, or a process substitution, which begins like one.
    fn redirection(&mut self, part: &mut Part<'t>, adjacent: Adjacent) -> Result<(), Doubt> {
        let start = self.at;
        if self.sees("<(") || self.sees(">(") {
            if adjacent == Adjacent::Yes {
                return Err(Doubt::Expansion);
            }
            self.substitution()?;
            part.words.push(Word { raw: &self.text[start..self.at], value: None });
            return Ok(());
        }
        if self.sees("<<<") {
            part.input = Input::Fed;
            self.at += 3;
            return self.target().map(drop);
        }
        if self.sees("<<") {
            part.input = Input::Fed;
            return self.here_document();
        }
        let operator =
            ["&>>", "&>", "<&", ">&", "<>", ">>", ">|", "<", ">"].into_iter().find(|known| self.sees(known));
        let Some(operator) = operator else { return Err(Doubt::Grammar) };
        self.at += operator.len();
        let target = self.target()?;
        if matches!(operator, "<" | "<>") && target.value.as_deref() != Some("/dev/null") {
            part.input = Input::Fed;
        }
        // A pipe: its commands are parts of their own.
        if target.raw.starts_with("<(") || target.raw.starts_with(">(") {
            return Ok(());
        }
        let number = target.raw.strip_suffix('-').unwrap_or(target.raw);
        let copies = number.bytes().all(|byte| byte.is_ascii_digit());
        let direction = match operator {
            "<&" | ">&" if copies && number.len() <= LONGEST_NUMBER => return Ok(()),
            "<&" | ">&" if copies => return Err(Doubt::Descriptor),
            "<&" => return Err(Doubt::Grammar),
            // bash expands this target twice: what quotes protect the first time runs the second time.
            ">&" | "&>" | "&>>" if !target.raw.bytes().all(is_plain_name) => return Err(Doubt::Expansion),
            "<" => Direction::In,
            _ => Direction::Out,
        };
        part.redirections.push(Redirection { direction, target });
        Ok(())
    }

    /// The word after a redirection.
    fn target(&mut self) -> Result<Word<'t>, Doubt> {
        self.blanks()?;
        let start = self.at;
        if self.sees("<(") || self.sees(">(") {
            self.substitution()?;
            return Ok(Word { raw: &self.text[start..self.at], value: None });
        }
        let word = self.word()?;
        // A number right in front of the next redirection belongs to that one.
        let number =
            matches!(self.peek(), Some(b'<' | b'>')) && word.raw.bytes().all(|byte| byte.is_ascii_digit());
        if word.raw.is_empty() || number { Err(Doubt::Grammar) } else { Ok(word) }
    }

    /// `<(...)` or `>(...)`, as a word of its own.
    fn substitution(&mut self) -> Result<(), Doubt> {
        self.at += 2;
        self.list(Closer::Parenthesis)?;
        if self.peek().is_none_or(is_boundary) { Ok(()) } else { Err(Doubt::Expansion) }
    }

    /// Looks at one stretch of the text as if it were all.
    pub(super) fn within(
        &mut self,
        start: usize,
        stop: usize,
        act: impl FnOnce(&mut Self) -> Result<(), Doubt>,
    ) -> Result<(), Doubt> {
        let (at, end) = (self.at, self.end);
        let waiting = std::mem::take(&mut self.waiting);
        (self.at, self.end) = (start, stop);
        act(self)?;
        (self.at, self.end, self.waiting) = (at, end, waiting);
        Ok(())
    }
}

/// Whether something stands directly behind a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Adjacent {
    Yes,
    No,
}
