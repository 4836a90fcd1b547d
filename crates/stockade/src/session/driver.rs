//! What the shell is told, and what it says back.
//!
//! The shell reads its script from the channel, byte by byte, because it must not take more than its own
//! part. So little is said: the work is in variables it is given once. Everything is done by keywords,
//! redirections, assignments and the word `builtin`, which no function or alias of a command's can change
//! the meaning of; a function of the name `builtin` itself is found after the command that made it, and
//! removed.
//!
//! Text that does not parse leaves the parser of bash 5.2 in the middle of it: an open `$(` counts its
//! delimiters below zero, and the next quote that is read is written in front of their array, which ends the
//! shell some commands later. So nothing is parsed between the text and the `)` that follows it, an error that
//! has the parser begin anew: a turn is two compound commands, read before the text is. By the rules of
//! posix the text's own error has ended the shell.
//!
//! A command may make the driver's own variables readonly, or names of others, so that the next text would
//! not be run and nobody would know. That is looked for at the end of every turn, and such a shell is
//! replaced. A DEBUG trap, which would run between the driver's own steps, lasts as long as its command.
//!
//! A turn is one line, sent when the turn before is over: the shell opens the pipes of its next command (in
//! a sandbox with a broker the slow part) and waits for the order. The order is one string that ends in NUL:
//! assignments of the text and the input, or a question about its state.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longer texts go through a file, which the shell reads in one go.
pub(super) const LONGEST_ORDER: usize = 384;

/// What a shell is told first. `place` is the directory of its pipes, inside.
pub(super) fn prelude(place: &Path) -> Vec<u8> {
    const DRIVER: &str = r#"
\builtin readonly _skB='{
_skC=
while [[ ! $_skC ]] && IFS= \builtin read -r -d "" _skO; do \builtin eval "$_skO"; done
\builtin eval "$_skC" <"$_skI" >&21 2>&22 21>&- 22>&-
_skS=$? _skC= _skO= _skI=
if ! { \builtin printf -v _skO 1 && [[ $_skO ]]; }; then
_skO=:$BASHOPTS:
POSIXLY_CORRECT=
\unset -f builtin
\unset POSIXLY_CORRECT
if [[ $_skO == *:expand_aliases:* ]]; then \builtin shopt -s expand_aliases; fi
if [[ $_skO != *:inherit_errexit:* ]]; then \builtin shopt -u inherit_errexit; fi
fi
\builtin trap - DEBUG
_skO=$-
\builtin set +e
[[ -o posix ]] || \builtin eval ")" || _skI=
if [[ $_skO == *e* ]]; then \builtin set -e; fi
}'
\builtin readonly _skT='{
_skS=
\builtin eval "$_skB" 21>"$_skD/$_skP.1" 22>"$_skD/$_skP.2"
if [[ -R _skS || -R _skC || -R _skO || -R _skI || -R _skP ||
${_skS@a}${_skC@a}${_skO@a}${_skI@a}${_skP@a} == *[!x]* ]]; then \builtin printf F >&0
else \builtin printf E >&0
fi
\builtin printf "%s %s\1%s\0" >&0 "$_skS" "${PWD-}"'
\builtin readonly _skQ='\builtin printf "S%s\n" "$PWD" >&0
\builtin declare -px >&0
\builtin printf "\0" >&0'
\builtin trap '_skS=$?
for ((_skO = 0; _skO < 256; _skO++)); do if [[ $_skO != [1-9] && -S /proc/self/fd/$_skO ]]; then
\builtin printf "X%s %s\n" "$_skS" "$PWD" >&"$_skO"
\builtin declare -px >&"$_skO"
\builtin printf "\0" >&"$_skO"
\builtin break
fi; done' EXIT
\builtin printf 'H\0' >&0
"#;
    let mut text = br"\builtin readonly _skD=".to_vec();
    quote(place.as_os_str().as_bytes(), &mut text);
    text.extend_from_slice(DRIVER.as_bytes());
    text
}

/// Opens the pipes of the next command, which have this name; a command may have changed what the shell knew of
/// it. The turn's own name is part of what is run, where no command can change it.
pub(super) fn turn(name: &str, pipes: &str) -> Vec<u8> {
    format!("_skP={pipes};\\builtin eval \"$_skT {name}; }}\"\n").into_bytes()
}

/// Where an order's text is.
pub(super) enum Text<'a> {
    /// In the order.
    Here(&'a [u8]),
    /// In the file of the turn.
    InFile,
}

/// What a command reads.
pub(super) enum Input {
    Null,
    Pipe,
}

/// Runs a command in the turn of this name, which waits.
///
/// An empty line follows, which is read only when the turn is over: a shell that reads it before has lost its
/// way, and one that has not read the order does not take any. Both show in what is unread.
pub(super) fn order(name: &str, text: Text<'_>, input: Input) -> Vec<u8> {
    let mut order = match input {
        Input::Null => b"_skI=/dev/null ".to_vec(),
        Input::Pipe => format!("_skI=\"$_skD/{name}.0\" ").into_bytes(),
    };
    match text {
        Text::Here(text) => {
            order.extend_from_slice(b"_skC=");
            quote(text, &mut order);
        }
        Text::InFile => {
            let read = format!(";IFS= \\builtin read -r -d \"\" _skC <\"$_skD/{name}.c\"");
            order.extend_from_slice(read.as_bytes());
        }
    }
    order.push(0);
    order
}

/// What follows an order.
pub(super) const EMPTY_LINE: &[u8] = b"\n";

/// Asks for the working directory and the exported variables.
pub(super) const QUESTION: &[u8] = b"\\builtin eval \"$_skQ\"\0";

/// Between the parts of a message. Not a line's end, at which shells write out what they have so far.
const SEPARATOR: u8 = 1;

/// What a shell says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It is there.
    Hello,
    /// The command of a turn is over.
    End { turn: Vec<u8>, status: i32, cwd: Vec<u8> },
    /// The same, and the driver's variables do not take values any more as they should.
    Spoiled { turn: Vec<u8>, cwd: Vec<u8> },
    /// Its working directory and what it exports.
    State { cwd: Vec<u8>, exports: Vec<u8> },
    /// It ends by itself, with this status.
    Leaving { status: i32, cwd: Vec<u8>, exports: Vec<u8> },
}

impl Said {
    /// Reads a message. Nothing for one that no driver sends.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let (kind, rest) = message.split_first()?;
        Some(match kind {
            b'H' => Self::Hello,
            b'E' => {
                let (status, rest) = cut(rest, rest.iter().position(|byte| *byte == b' ')?);
                let (cwd, turn) = cut(rest, rest.iter().rposition(|byte| *byte == SEPARATOR)?);
                Self::End { turn: turn.to_vec(), status: number(status)?, cwd: cwd.to_vec() }
            }
            b'F' => {
                let (_, rest) = cut(rest, rest.iter().position(|byte| *byte == b' ')?);
                let (cwd, turn) = cut(rest, rest.iter().rposition(|byte| *byte == SEPARATOR)?);
                Self::Spoiled { turn: turn.to_vec(), cwd: cwd.to_vec() }
            }
            b'S' => {
                let (cwd, exports) = cut(rest, rest.iter().position(|byte| *byte == b'\n')?);
                Self::State { cwd: cwd.to_vec(), exports: exports.to_vec() }
            }
            b'X' => {
                let (status, rest) = cut(rest, rest.iter().position(|byte| *byte == b' ')?);
                let (cwd, exports) = cut(rest, rest.iter().position(|byte| *byte == b'\n')?);
                Self::Leaving { status: number(status)?, cwd: cwd.to_vec(), exports: exports.to_vec() }
            }
            _ => return None,
        })
    }
}

/// What is before and after a byte.
fn cut(text: &[u8], at: usize) -> (&[u8], &[u8]) {
    (&text[..at], &text[at + 1..])
}

fn number(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A word that means exactly these bytes.
pub(super) fn quote(text: &[u8], to: &mut Vec<u8>) {
    to.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => to.extend_from_slice(br"'\''"),
            byte => to.push(*byte),
        }
    }
    to.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        let mut word = Vec::new();
        quote(b"it's $HOME \\ \"x\"", &mut word);
        assert_eq!(word, br#"'it'\''s $HOME \ "x"'"#);
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(Said::read(b"H"), Some(Said::Hello));
        let end = Said::End { turn: b"1.a".into(), status: 3, cwd: b"/with space".into() };
        assert_eq!(Said::read(b"E3 /with space\x011.a"), Some(end));
        let spoiled = Said::Spoiled { turn: b"1.a".into(), cwd: b"/".into() };
        assert_eq!(Said::read(b"Fecho /\x011.a"), Some(spoiled));
        let leaving = Said::Leaving { status: 7, cwd: b"/a b".into(), exports: b"declare -x A\n".into() };
        assert_eq!(Said::read(b"X7 /a b\ndeclare -x A\n"), Some(leaving));
        for nonsense in [&b""[..], b"E", b"E1", b"E1 /", b"Ex /\x011", b"Z", b"X", b"X1", b"S"] {
            assert_eq!(Said::read(nonsense), None, "{nonsense:?}");
        }
    }
}
