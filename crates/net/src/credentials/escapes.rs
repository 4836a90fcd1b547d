//! How one letter of a value may be written in the place of itself.

use super::names::by_name;

/// How far something that was read is one letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelled {
    /// It is not.
    No,
    /// It is, as far as it goes.
    Begun,
    /// It is that letter, which takes so many bytes of the value.
    Whole(usize),
    /// It is that letter, or the beginning of a longer way to write it.
    WholeOrBegun(usize),
}

/// The longest escape: a name that pages have for a letter, with its `&` written as JSON for pages does.
pub(super) const LONGEST: usize = 16;

/// `u` and four digits.
const UNIT: usize = 5;

/// Ways to write the `&` of an escape that was escaped again: in pages, and in strings behind a backslash.
const AGAIN_IN_PAGES: [&[u8]; 3] = [b"amp;", b"#38;", b"#x26;"];
const AGAIN_IN_STRINGS: [&[u8]; 2] = [b"u0026", b"x26"];

/// Whether an escape may begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&')
}

/// Whether `read` is an escape of the first letter of `value`, of which something is left.
pub(super) fn spelled(read: &[u8], value: &[u8]) -> Spelled {
    match read {
        [b'%', digits @ ..] => after_percent(digits, value),
        [b'\\', rest @ ..] => after_backslash(rest, value),
        [b'&', rest @ ..] => after_ampersand(rest, value),
        _ => Spelled::No,
    }
}

/// The name or the number of a letter, or those of the `&` itself where the whole was escaped again.
fn after_ampersand(rest: &[u8], value: &[u8]) -> Spelled {
    again(rest, &AGAIN_IN_PAGES, value, |rest| match (rest, sign(value)) {
        ([], _) => Spelled::Begun,
        (_, None) => Spelled::No,
        ([b'#', digits @ ..], Some(sign)) => in_digits(digits, sign),
        (name, Some(sign)) => by_name(name, sign),
    })
}

/// What `once` makes of it, or what follows an `&` that is written in one of these ways.
fn again(read: &[u8], ways: &[&[u8]], value: &[u8], once: impl Fn(&[u8]) -> Spelled) -> Spelled {
    let starts = |longer: &[u8], start: &[u8]| {
        longer.get(..start.len()).is_some_and(|longer| longer.eq_ignore_ascii_case(start))
    };
    if let Some(way) = ways.iter().find(|way| read.len() > way.len() && starts(read, way)) {
        return after_ampersand(&read[way.len()..], value);
    }
    match (once(read), ways.iter().any(|way| starts(way, read))) {
        (Spelled::No, true) => Spelled::Begun,
        (Spelled::Whole(count), true) => Spelled::WholeOrBegun(count),
        (spelled, _) => spelled,
    }
}

/// Two digits, or the digits of the percent sign itself where the whole was escaped again.
fn after_percent(digits: &[u8], value: &[u8]) -> Spelled {
    match digits {
        [b'2'] => Spelled::Begun,
        [b'2', b'5'] if value.first() == Some(&b'%') => Spelled::WholeOrBegun(1),
        [b'2', b'5'] => Spelled::Begun,
        [b'2', b'5', again @ ..] => after_percent(again, value),
        digits => in_hexadecimal(digits, value),
    }
}

/// What follows a backslash: a letter for a letter, or digits. Where the whole was escaped again it is another
/// backslash, or what pages write in the place of the letter.
fn after_backslash(rest: &[u8], value: &[u8]) -> Spelled {
    again(rest, &AGAIN_IN_STRINGS, value, |rest| once_after_backslash(rest, value))
}

fn once_after_backslash(rest: &[u8], value: &[u8]) -> Spelled {
    let first = value.first();
    match rest {
        [] => Spelled::Begun,
        [b'&'] if first == Some(&b'&') => Spelled::WholeOrBegun(1),
        [b'&', page @ ..] if first.is_some_and(|byte| !byte.is_ascii_alphanumeric()) => {
            after_ampersand(page, value)
        }
        [b'x' | b'X', digits @ ..] => in_hexadecimal(digits, value),
        [b'u' | b'U', b'{', digits @ ..] => {
            sign(value).map_or(Spelled::No, |sign| numbered(digits, 16, b'}', sign))
        }
        [b'u' | b'U', ..] => sign(value).map_or(Spelled::No, |sign| in_json(rest, sign)),
        [b'0'..=b'3', ..] => in_octal(rest, value),
        [b'\\'] if first == Some(&b'\\') => Spelled::WholeOrBegun(1),
        [b'\\', again @ ..] => after_backslash(again, value),
        [short] => match (short, first) {
            (b'n', Some(b'\n')) | (b'r', Some(b'\r')) | (b't', Some(b'\t')) => Spelled::Whole(1),
            (b'b', Some(8)) | (b'f', Some(12)) => Spelled::Whole(1),
            (short, Some(byte)) if short == byte && !byte.is_ascii_alphanumeric() => Spelled::Whole(1),
            _ => Spelled::No,
        },
        _ => Spelled::No,
    }
}

/// The letter that begins here, where it is one.
fn sign(value: &[u8]) -> Option<char> {
    value[..value.len().min(4)].utf8_chunks().next()?.valid().chars().next()
}

/// Whether this is the digit with this place in a number; digits are counted from the end.
pub(super) fn is_digit(read: u8, number: u32, place: u32) -> bool {
    char::from(read).to_digit(16) == Some(number >> (4 * place) & 15)
}

/// Two digits for each byte.
fn in_hexadecimal(digits: &[u8], value: &[u8]) -> Spelled {
    let byte = value.first().copied().map_or(0, u32::from);
    match digits {
        [] => Spelled::Begun,
        [first] if is_digit(*first, byte, 1) => Spelled::Begun,
        [first, second] if is_digit(*first, byte, 1) && is_digit(*second, byte, 0) => Spelled::Whole(1),
        _ => Spelled::No,
    }
}

/// Three digits of three bits each.
fn in_octal(digits: &[u8], value: &[u8]) -> Spelled {
    let byte = value.first().copied().unwrap_or_default();
    let own = [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit);
    match own.strip_prefix(digits) {
        Some([]) => Spelled::Whole(1),
        Some(_) => Spelled::Begun,
        None => Spelled::No,
    }
}

/// `u` and four digits; for letters that take it `\u` and four digits more. Where the whole was escaped again there
/// are more backslashes than one between them.
fn in_json(read: &[u8], sign: char) -> Spelled {
    let mut units = [0; 2];
    let units = sign.encode_utf16(&mut units);
    let (first, mut second) = read.split_at(read.len().min(UNIT));
    while second.starts_with(b"\\\\") {
        second = &second[1..];
    }
    let fits = match (&*units, second) {
        ([unit, ..], []) => is_unit(first, *unit),
        ([high, low], [b'\\', second @ ..]) => is_unit(first, *high) && is_unit(second, *low),
        _ => false,
    };
    match fits {
        true if first.len() + second.len() == UNIT + (units.len() - 1) * (UNIT + 1) => {
            Spelled::Whole(sign.len_utf8())
        }
        true => Spelled::Begun,
        false => Spelled::No,
    }
}

/// Whether this is `u` and the digits of one half of a letter, as far as it goes.
fn is_unit(read: &[u8], unit: u16) -> bool {
    match read {
        [] => true,
        [b'u' | b'U', digits @ ..] => {
            digits.len() < UNIT
                && digits.iter().zip([3, 2, 1, 0]).all(|(digit, place)| is_digit(*digit, unit.into(), place))
        }
        _ => false,
    }
}

/// The number of a letter, as pages write it after `&#`.
fn in_digits(read: &[u8], sign: char) -> Spelled {
    match read {
        [b'x' | b'X', digits @ ..] => numbered(digits, 16, b';', sign),
        digits => numbered(digits, 10, b';', sign),
    }
}

/// The number of a letter and what ends it.
fn numbered(digits: &[u8], base: u32, end: u8, sign: char) -> Spelled {
    let (digits, ended) = match digits {
        [digits @ .., last] if *last == end => (digits, true),
        digits => (digits, false),
    };
    let number = digits.iter().try_fold(0_u32, |number, digit| {
        let digit = char::from(*digit).to_digit(base)?;
        number.checked_mul(base)?.checked_add(digit)
    });
    match (number, ended) {
        (Some(number), true) if number == u32::from(sign) => Spelled::Whole(sign.len_utf8()),
        (Some(number), false) if number <= u32::from(sign) => Spelled::Begun,
        _ => Spelled::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Spelled, spelled};

    #[test]
    fn letters_are_known_in_their_escapes() {
        for (value, all) in [
            (
                "A",
                &[
                    "%41",
                    "%2541",
                    "%252541",
                    "\\101",
                    "\\u{41}",
                    "\\u{0041}",
                    "\\\\u0041",
                    "\\x41",
                    "\\u0041",
                    "\\U0041",
                    "&#65;",
                    "&#065;",
                    "&#x41;",
                    "&#X0041;",
                ][..],
            ),
            (
                "/",
                &[
                    "%2F", "%2f", "%252F", "\\/", "\\\\/", "\\\\\\/", "\\057", "\\u002F", "&#47;", "&#x2f;",
                    "&sol;",
                ],
            ),
            ("&", &["%26", "\\046"]),
            ("w", &["&amp;#119;", "&amp;#x77;", "&#38;#119;", "&#x26;#x77;", "\\u0026#119;", "\\x26#119;"]),
            ("<", &["&amp;lt;", "\\u0026lt;", "\\&lt;", "\\u003c"]),
            (
                "\"",
                &[
                    "\\\"",
                    "\\\\\\\"",
                    "&amp;quot;",
                    "&AMP;#34;",
                    "&amp;amp;quot;",
                    "\\&quot;",
                    "\\&#34;",
                    "\\\\\\&quot;",
                    "\\u0026quot;",
                    "\\\\u0026#34;",
                ],
            ),
            ("_", &["&amp;lowbar;", "\\u0026lowbar;"]),
            ("\\", &["&bsol;", "%5c"]),
            ("\n", &["\\n", "%0A", "&#10;"]),
            ("[", &["&lsqb;", "&lbrack;"]),
            ("é", &["\\u00e9", "\\\\u00e9", "&#233;", "&eacute;", "&amp;eacute;", "\\u0026eacute;"]),
            ("😀", &["\\ud83d\\ude00", "\\\\ud83d\\\\ude00", "&#128512;"]),
        ] {
            for read in all {
                let value = format!("{value}more");
                for length in 1..read.len() {
                    assert_eq!(
                        spelled(&read.as_bytes()[..length], value.as_bytes()),
                        Spelled::Begun,
                        "{read}"
                    );
                }
                let letter = value.chars().next().unwrap().len_utf8();
                assert_eq!(spelled(read.as_bytes(), value.as_bytes()), Spelled::Whole(letter), "{read}");
                assert!(read.len() <= LONGEST);
            }
        }
        // Escaped once they are whole, and twice they go on.
        for (read, value) in [
            ("\\\\", "\\"),
            ("\\\\\\\\", "\\"),
            ("%25", "%"),
            ("%2525", "%"),
            ("&amp;", "&"),
            ("&AMP;", "&"),
            ("&#38;", "&"),
            ("\\&", "&"),
            ("\\u0026", "&"),
            ("&amp;amp;", "&"),
            ("\\u0026amp;", "&"),
        ] {
            assert_eq!(spelled(read.as_bytes(), value.as_bytes()), Spelled::WholeOrBegun(1), "{read}");
        }
        // Bytes that are no letters have two digits, too.
        assert_eq!(spelled(b"%ff", b"\xff!"), Spelled::Whole(1));
        for (read, value) in [
            ("%42", "A"),
            ("\\A", "A"),
            ("\\n", "n"),
            ("&#66;", "A"),
            ("&lt;", ">"),
            ("&Eacute;", "é"),
            ("\\ud83d\\ude01", "😀"),
            ("\\ud83d\\\\x", "😀"),
            ("&ampx", "&"),
            ("&amp;x", "x"),
            ("\\&#119;", "w"),
            ("\\u0027quot;", "\""),
            ("A", "A"),
        ] {
            assert_eq!(spelled(read.as_bytes(), value.as_bytes()), Spelled::No, "{read}");
        }
    }
}
