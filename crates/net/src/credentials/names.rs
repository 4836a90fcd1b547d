//! The names that pages have for letters.

use super::escapes::Spelled;

/// Those of signs, which many write in whatever case.
const NAMES: [(char, &str); 33] = [
    ('&', "amp;"),
    ('<', "lt;"),
    ('>', "gt;"),
    ('"', "quot;"),
    ('\'', "apos;"),
    ('/', "sol;"),
    ('=', "equals;"),
    ('+', "plus;"),
    ('`', "grave;"),
    ('!', "excl;"),
    ('#', "num;"),
    ('$', "dollar;"),
    ('%', "percnt;"),
    ('(', "lpar;"),
    (')', "rpar;"),
    ('*', "ast;"),
    (',', "comma;"),
    ('.', "period;"),
    (':', "colon;"),
    (';', "semi;"),
    ('?', "quest;"),
    ('@', "commat;"),
    ('[', "lsqb;"),
    ('[', "lbrack;"),
    ('\\', "bsol;"),
    (']', "rsqb;"),
    (']', "rbrack;"),
    ('^', "hat;"),
    ('_', "lowbar;"),
    ('{', "lcub;"),
    ('|', "verbar;"),
    ('}', "rcub;"),
    ('\n', "newline;"),
];

/// The first letter of the table below, which goes on from there.
const FIRST: u32 = 0xa0;

/// Those of the letters outside of ASCII that whoever writes names does not leave as they are. Their case tells letters
/// apart.
#[rustfmt::skip]
const LATIN: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect",
    "uml", "copy", "ordf", "laquo", "not", "shy", "reg", "macr",
    "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot",
    "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil",
    "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml",
    "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times",
    "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig",
    "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil",
    "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml",
    "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml", "divide",
    "oslash", "ugrave", "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// The name of a letter, as pages write it after `&`.
pub(super) fn by_name(read: &[u8], sign: char) -> Spelled {
    if !sign.is_ascii() {
        return latin(read, sign);
    }
    let names = NAMES.iter().filter(|(known, _)| *known == sign).map(|(_, name)| name.as_bytes());
    names.fold(Spelled::No, |spelled, name| match name.get(..read.len()) {
        Some(start) if !start.eq_ignore_ascii_case(read) => spelled,
        Some(start) if start.len() == name.len() => Spelled::Whole(sign.len_utf8()),
        Some(_) => Spelled::Begun,
        None => spelled,
    })
}

fn latin(read: &[u8], sign: char) -> Spelled {
    let place = u32::from(sign).checked_sub(FIRST).and_then(|place| usize::try_from(place).ok());
    let Some(name) = place.and_then(|place| LATIN.get(place)) else { return Spelled::No };
    match read.strip_suffix(b";") {
        Some(read) if read == name.as_bytes() => Spelled::Whole(sign.len_utf8()),
        None if name.as_bytes().starts_with(read) => Spelled::Begun,
        _ => Spelled::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_at_the_place_of_their_letter() {
        for (letter, name) in [
            ('\u{a0}', "nbsp;"),
            ('§', "sect;"),
            ('À', "Agrave;"),
            ('ß', "szlig;"),
            ('ä', "auml;"),
            ('ÿ', "yuml;"),
        ] {
            assert_eq!(by_name(name.as_bytes(), letter), Spelled::Whole(2), "{name}");
            assert_eq!(by_name(&name.as_bytes()[..2], letter), Spelled::Begun, "{name}");
            assert_eq!(by_name(name.to_uppercase().as_bytes(), letter), Spelled::No, "{name}");
        }
        assert_eq!(by_name(b"euro;", '€'), Spelled::No);
        assert_eq!(by_name(b"QUOT;", '"'), Spelled::Whole(1));
    }
}
