//! What the shell is told, and what it says back.
//!
//! The shell reads its script from the channel, byte by byte, because it must not take more than its own
//! part. So little is said: the work is in variables it is given once. Everything is done by keywords,
//! redirections, assignments and the word `builtin`, which no function or alias of a command's can change
//! the meaning of; a function of the name `builtin` itself is found after the command that made it, and
//! removed, and what it may have kept back is said once more. One of the name `exec` is removed as well.
//!
//! Text that does not parse leaves the parser of bash 5.2 in the middle of it: an open `$(` counts its
//! delimiters below zero, and the next quote that is read is written in front of their array, which ends the
//! shell some commands later. So nothing is parsed between the text and the `)` that follows it, an error that
//! has the parser begin anew: what is done after a text is read before the text is. By the rules of posix the
//! text's own error has ended the shell.
//!
//! A command may make the driver's own variable readonly, or a name of another, so that the next text would
//! not be run and nobody would know. So the end of every turn says what the variable is (`${_sk@A}`), and a
//! shell whose variable is another one, or that says another name than its turn's, is replaced; one that may not
//! set it falls back to reading lines, and is found there. A DEBUG trap, which would run between the driver's own
//! steps, lasts as long as its command, and what it prints of them goes nowhere: to the shell's own 2.
//!
//! Most of a turn's time is parsing, which is done ahead: a turn begins with one line. Without asking anybody
//! the shell then opens the pipes of its next command (in a sandbox with a broker the slow part), parses all it
//! will do before and after its text, and waits for the order. There is nothing secret in the line, because a
//! command could read it. The order comes when there is one, in a piece of a fixed size, which the shell reads in
//! one go: the text and, behind it, an assignment of the name of the turn, which no text can read as long as it
//! runs; or a question about the shell's state, and then the order. A function would be no better than an order
//! that says everything: bash copies a function's body for every call. The end of the command is said as soon as
//! it is known, and the shell waits until it was heard: whoever hears it may need the shell's core. With the line
//! of the next turn it goes on, and tidies up first.
//!
//! A duplicate of 0 made in a text (`3<&0`) ends bash 5.2 where it reads its script from 0: it looks for the buffer
//! of its script there, which it has put aside for as long as a text is read. So a duplicate made before that, in the
//! line of the turn, brings a buffer back (`<&49`), and the input takes its place as if it were an output, by which
//! bash leaves buffers alone (`0>&44`).
//!
//! What a redirection replaces, bash keeps at the first free descriptor from 10 on, where a text that takes the number
//! for itself would write over it; where a descriptor is duplicated, at the first one above that. So everything here
//! is opened at a high number, duplicated from there, and closed there by `exec`, for which nothing is kept:
//! descriptors from 40 to 59 are the driver's, all others the text's.
//!
//! Some errors (`declare -i n=08`, `a[1/0]=x`) have bash leave everything it is in and read on in its script. Who
//! waits for the end sees the command's pipes closed then, and nothing said; the line of [`fallen_out`] has the shell
//! say it.
//!
//! The rest of a text is left out by a trap for SIGURG, which sets a DEBUG trap with `extdebug`: every simple
//! command that would come next is skipped, loops are broken out of, functions and sourced files are returned
//! from (by status 2), until the driver's own step after the text is about to run. The trap acts only while a
//! text runs. SIGINT has a trap that does nothing, because bash sends itself the SIGINT that ended a program in
//! a `$(…)`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The size of an order. Longer texts go through a file, which the shell reads in one go, too.
const ORDER: usize = 256;

/// Says the end, waits until that was heard, and tidies up.
const END: &str = r#"\builtin printf "\0E%s\1%s\1%s\0" >&0 "${_sk@A}" "${PWD-}" "${_sk[1]-}"
{
\builtin read -r -N 1 "_sk[3]"
\builtin unset -f exec
if ! { \builtin printf -v "_sk[2]" 1 && [[ ${_sk[2]-} ]]; }; then
_sk[2]=:$BASHOPTS:
POSIXLY_CORRECT=
\unset -f builtin
\unset POSIXLY_CORRECT
if [[ ${_sk[2]} == *:expand_aliases:* ]]; then \builtin shopt -s expand_aliases; fi
if [[ ${_sk[2]} != *:inherit_errexit:* ]]; then \builtin shopt -u inherit_errexit; fi
\builtin printf "\0E%s\1%s\1%s\0" >&0 "${_sk@A}" "${PWD-}" "${_sk[1]-}"
fi
} >&2
if [[ -o posix ]]; then _sk=
elif [[ $- == *e* ]]; then
\builtin set +e
\builtin eval ")" || _sk=
\builtin set -e
else \builtin eval ")" || _sk=
fi"#;

/// What a shell is told first. `place` is the directory of its pipes, inside.
///
/// `_skT` is a turn from its beginning on, `_skB` the part of it that has the pipes. The elements of `_sk` are
/// the order, `r` while the text runs, or its status; the name of the turn, once the text is over; what shows
/// that `builtin` is what it was; what let the shell go on; the name of the pipes; the shell's options while the rest
/// is left out; a long text.
pub(super) fn prelude(place: &Path) -> Vec<u8> {
    const DRIVER: &str = r#"
\builtin readonly _skB='{
_sk=()
\builtin read -r -N 256 "_sk[0]" && \builtin eval "${_sk[0]}"
@END@
}'
\builtin readonly _skT='{
{
\exec 41>&- 49<&-
\builtin eval "$_skB"
} <&49 41>"$_skD/${_sk[4]}.1" 42>"$_skD/${_sk[4]}.2" 1>&41
}'
\builtin readonly _skQ='{
{
\builtin printf "S%s\n" "$PWD"
\builtin declare -px
\builtin printf "\0"
} >&0
\builtin read -r -N 256 "_sk[0]" && \builtin eval "${_sk[0]}"
}'
\builtin readonly _skX='if [[ $BASH_COMMAND == "_sk=("* ]]; then
\builtin trap - DEBUG
\builtin shopt -u extdebug
if [[ ${_sk[5]-} == *T* ]]; then \builtin set -T; fi
if [[ ${_sk[5]-} == *E* ]]; then \builtin set -E; fi
elif [[ ${FUNCNAME-} ]]; then \builtin shopt -Z
else ! \builtin break 999
fi 2>/dev/null'
\builtin readonly _skU='if [[ ${_sk-} == r && ! ${_sk[5]-} ]]; then
_sk[5]=$-
\builtin trap -- "$_skX" DEBUG
\builtin shopt -s extdebug
if [[ ! ${FUNCNAME-} ]]; then \builtin break 999; fi
fi 2>/dev/null'
\builtin trap '\builtin eval "$_skU"' URG
\builtin trap : INT
\builtin trap '_sk=("$?")
for ((_sk[1] = 0; _sk[1] < 256; _sk[1]++)); do if [[ ${_sk[1]} != [1-9] && -S /proc/self/fd/${_sk[1]} ]]; then
\builtin printf "X%s %s\n" "${_sk[0]}" "$PWD" >&"${_sk[1]}"
\builtin declare -px >&"${_sk[1]}"
\builtin printf "\0" >&"${_sk[1]}"
\builtin break
fi; done' EXIT
\builtin printf 'H\0' >&0
"#;
    let mut text = br"\builtin readonly _skD=".to_vec();
    quote(place.as_os_str().as_bytes(), &mut text);
    text.extend_from_slice(DRIVER.replace("@END@", END).as_bytes());
    text
}

/// Lets the shell go on, and opens the pipes of the next command, which have this name; a command may have changed
/// what the shell knew of it.
pub(super) fn turn(pipes: &str) -> Vec<u8> {
    format!("\n_sk[4]={pipes};\\builtin eval \"$_skT\" 49<&0\n").into_bytes()
}

/// Has a shell say the end that an error has brought out of a text, and out of the turn of this name. The first line
/// is for one that has said it already. One that has run no text says nothing: it could not begin its turn (`set -r`)
/// and took the order for a part of its script, or somebody else took it. One that takes the beginning of this for an
/// order finds no whole command with the name in it.
pub(super) fn fallen_out(name: &str) -> Vec<u8> {
    const BEGIN: &str = r#"_sk=("$?" "" "${_sk[0]-}${_sk[1]-}${_sk[4]-}")
if [[ ${_sk[2]} == r ]]; then"#;
    format!("\n{BEGIN}\n_sk=(\"${{_sk[0]}}\" {name})\n\\builtin trap - DEBUG\n{END}\nfi\n").into_bytes()
}

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Null,
    Pipe,
}

/// Where an order's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the order.
    Here,
    /// In the file of the turn.
    InFile,
}

/// Runs a text in the turn that waits, which has this name from now on: no command before could know it, and
/// none can change it in what is run. The command's own files have another name, which it can see.
pub(super) fn order(name: &str, files: &str, text: &[u8], input: Input) -> (Vec<u8>, Place) {
    let input = match input {
        Input::Null => "/dev/null".to_owned(),
        Input::Pipe => format!("\"$_skD/{files}.0\""),
    };
    let rest =
        format!(";}} 44<{input} 0>&44 2>&42;{{ _sk=(\"$?\");\\builtin trap - DEBUG;_sk[1]={name};}}>&2;}}");
    const BEGIN: &[u8] = b"{ _sk[0]=r;{ \\exec 42>&- 44<&-;\\builtin eval ";
    let mut order = BEGIN.to_vec();
    // Without all the quoting of what is too long anyway.
    quote(&text[..text.len().min(ORDER)], &mut order);
    let place = if order.len() + rest.len() <= ORDER { Place::Here } else { Place::InFile };
    if place == Place::InFile {
        order = format!("{{ _sk[0]=r;IFS= \\builtin read -r -d \"\" \"_sk[6]\" <\"$_skD/{files}.c\";")
            .into_bytes();
        order.extend_from_slice(b"{ \\exec 42>&- 44<&-;\\builtin eval \"${_sk[6]}\"");
    }
    order.extend_from_slice(rest.as_bytes());
    order.resize(ORDER, b' ');
    (order, place)
}

/// Asks for the working directory and the exported variables.
pub(super) fn question() -> Vec<u8> {
    let mut order = b"\\builtin eval \"$_skQ\"".to_vec();
    order.resize(ORDER, b' ');
    order
}

/// Between the parts of a message. Not a line's end, at which shells write out what they have so far.
const SEPARATOR: u8 = 1;

/// What a shell says. An end has a mark in front, too: what a command said by itself is no part of it.
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
                let (variable, rest) = cut(rest, rest.iter().position(|byte| *byte == SEPARATOR)?);
                let (cwd, turn) = cut(rest, rest.iter().rposition(|byte| *byte == SEPARATOR)?);
                let (turn, cwd) = (turn.to_vec(), cwd.to_vec());
                match status(variable) {
                    Some(status) => Self::End { turn, status, cwd },
                    None => Self::Spoiled { turn, cwd },
                }
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

/// The status a shell's variable holds, where the variable is what it should be.
fn status(variable: &[u8]) -> Option<i32> {
    let usual = [&b"declare -a _sk='"[..], b"declare -ax _sk='"];
    let value = usual.into_iter().find_map(|name| variable.strip_prefix(name))?;
    number(value.strip_suffix(b"'")?)
}

fn number(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A word that means exactly these bytes. It has as many characters as bytes, whatever the shell's locale is.
pub(super) fn quote(text: &[u8], to: &mut Vec<u8>) {
    let plain = text.is_ascii();
    to.extend_from_slice(if plain { b"'" } else { b"$'" });
    for byte in text {
        match byte {
            b'\'' if plain => to.extend_from_slice(br"'\''"),
            b'\'' | b'\\' if !plain => to.extend_from_slice(&[b'\\', *byte]),
            byte if byte.is_ascii() => to.push(*byte),
            byte => to.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
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
        word.clear();
        quote("it's \\ \u{e9}".as_bytes(), &mut word);
        assert_eq!(word, br"$'it\'s \\ \xc3\xa9'");
    }

    #[test]
    fn orders_have_one_size() {
        for (text, place) in [("", Place::Here), ("true", Place::Here), (&"x".repeat(ORDER), Place::InFile)] {
            for input in [Input::Null, Input::Pipe] {
                let order = order("fff.0123456789abcdef", "ffe.0123456789abcdef", text.as_bytes(), input);
                assert_eq!((order.0.len(), order.1), (ORDER, place), "{text}");
            }
        }
        assert_eq!(question().len(), ORDER);
    }

    /// Taken for an order it must not parse, so that it says no end of a text that was not run.
    #[test]
    fn what_is_said_of_errors_is_no_order() {
        let line = fallen_out("fff.0123456789abcdef");
        let order = String::from_utf8_lossy(&line[..ORDER]).into_owned();
        assert!(order.contains("== r ]]; then\n_sk=(") && !order.contains("\nfi"), "{order}");
        let parsed = std::process::Command::new("bash").args(["-n", "-c", &order]).output().unwrap();
        assert!(!parsed.status.success(), "{order}");
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(Said::read(b"H"), Some(Said::Hello));
        let end = Said::End { turn: b"1.a".into(), status: 3, cwd: b"/with space".into() };
        assert_eq!(Said::read(b"Edeclare -a _sk='3'\x01/with space\x011.a"), Some(end));
        let spoiled = Said::Spoiled { turn: b"1.a".into(), cwd: b"/".into() };
        for variable in
            ["", "declare -ar _sk='3'", "declare -a zz='3'", "declare -a _sk='x'", "declare -A _sk='3'"]
        {
            let message = format!("E{variable}\x01/\x011.a");
            assert_eq!(Said::read(message.as_bytes()).as_ref(), Some(&spoiled), "{variable}");
        }
        let leaving = Said::Leaving { status: 7, cwd: b"/a b".into(), exports: b"declare -x A\n".into() };
        assert_eq!(Said::read(b"X7 /a b\ndeclare -x A\n"), Some(leaving));
        for nonsense in [&b""[..], b"E", b"E1", b"E1\x01/", b"Fx\x01/\x011", b"Z", b"X", b"X1", b"S"] {
            assert_eq!(Said::read(nonsense), None, "{nonsense:?}");
        }
    }
}
