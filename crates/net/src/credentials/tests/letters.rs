//! Letters outside of ASCII, encoded texts that are indented, and signs of an encoded text that are escaped.

use super::answers::scrubbed;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whatever stands around it, and however it comes in pieces.
#[track_caller]
fn is_covered(real: &str, spelling: &str) {
    let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
    let text = format!("<{spelling}{spelling}> {}", &spelling[..5]);
    let cover: String = stand_in.chars().cycle().take(spelling.len()).collect();
    let expected = format!("<{cover}{cover}> {}", &spelling[..5]);
    for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let (first, rest) = text.split_at(cut);
        assert_eq!(
            scrubbed(vault.scrubber(&to("api.test:443")), &[first, rest]),
            expected,
            "{spelling} {cut}"
        );
    }
}

#[test]
fn letters_outside_of_ascii_are_covered() {
    for spelling in [
        "pässwörd12",
        "p&auml;ssw&ouml;rd12",
        "p&amp;auml;ssw&amp;ouml;rd12",
        "p\\u0026auml;ssw\\u0026ouml;rd12",
        "p&#228;ssw&ouml;rd12",
        "p\\u00e4ssw\\u00F6rd12",
        "p\\\\u00e4ssw\\\\u00f6rd12",
        "p%C3%A4ssw%c3%b6rd12",
    ] {
        is_covered("pässwörd12", spelling);
    }
    for spelling in [
        "password😀12x",
        "password\\ud83d\\ude0012x",
        "password\\\\ud83d\\\\ude0012x",
        "password\\\\\\\\ud83d\\\\\\\\ude0012x",
        "password\\u{1f600}12x",
        "password&#x1F600;12x",
        "password&amp;#128512;12x",
    ] {
        is_covered("password😀12x", spelling);
    }
    is_covered("😀password12x", "\\\\ud83d\\\\ude00password12x");
    for name in ["&szlig;", "&AElig;", "&eth;", "&frac12;", "&nbsp;", "&yuml;"] {
        let letter = match name {
            "&szlig;" => "ß",
            "&AElig;" => "Æ",
            "&eth;" => "ð",
            "&frac12;" => "½",
            "&nbsp;" => "\u{a0}",
            _ => "ÿ",
        };
        is_covered(&format!("pass{letter}word"), &format!("pass{name}word"));
    }
    // The names of other letters.
    let (vault, _) = one("pässwörd12", &["api.test"], Switch::Refused);
    for other in ["p&Auml;ssw&ouml;rd12", "p&auml;ssw&auml;rd12", "password\\\\ud83e\\\\ude0012x"] {
        assert_eq!(scrubbed(vault.scrubber(&to("api.test:443")), &[other]), other);
    }
}

/// In an encoded document, wherever it begins.
#[track_caller]
fn is_covered_inside(real: &str, inside: &str) {
    let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
    for before in ["", "-", "--"] {
        let text = STANDARD.encode(format!("{before}{{\"token\":\"{inside}\",\"more\":\"0123456789\"}}"));
        let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[&text]);
        let heard = STANDARD.decode(heard).unwrap();
        let (start, rest) = heard.split_at(before.len() + 10);
        let (covered, after) = rest.split_at(inside.len());
        assert_eq!(start, format!("{before}{{\"token\":\"").as_bytes());
        assert_eq!(after, b"\",\"more\":\"0123456789\"}");
        // Bits of the first byte and the last depend on their neighbours.
        let cover: Vec<u8> = stand_in.bytes().cycle().take(inside.len()).collect();
        let within = 1..inside.len() - 1;
        assert_eq!(covered[within.clone()], cover[within], "{inside}: {}", String::from_utf8_lossy(covered));
    }
}

#[test]
fn letters_outside_of_ascii_are_covered_in_encoded_documents() {
    for inside in
        ["päss/wörd12", "p\\u00e4ss/w\\u00f6rd12", "p\\u00E4ss/w\\u00F6rd12", "p\\u00e4ss\\/w\\u00f6rd12"]
    {
        is_covered_inside("päss/wörd12", inside);
    }
    for inside in ["password😀12x", "password\\ud83d\\ude0012x", "password\\uD83D\\uDE0012x"] {
        is_covered_inside("password😀12x", inside);
    }
    is_covered_inside("pä<ss>&wörd", "p\\u00e4\\u003css\\u003e\\u0026w\\u00f6rd");
}

/// As a block of YAML and a PEM file inside a document are.
#[test]
fn encoded_lines_are_covered_wherever_they_begin() {
    let real = "sk-SuperSecretToken0123456789abcdef";
    let (vault, stand_in) = one(real, &["api.test"], Switch::Refused);
    for line_end in ["\n    ", "\n  \t", "\r\n\t", "\n                        ", "\\n    ", "\\r\\n  "] {
        for before in [20, 30, 40, 41, 42, 43] {
            let encoded = STANDARD.encode(format!("{}{real}{}", "x".repeat(before), "y".repeat(60)));
            let lines: Vec<&[u8]> = encoded.as_bytes().chunks(64).collect();
            let lines = String::from_utf8(lines.join(line_end.as_bytes())).unwrap();
            let text = format!("data: |{line_end}{lines}\nmore: 1\n");
            let expected = scrubbed(vault.scrubber(&to("api.test:443")), &[&text]);
            let heard = expected.strip_prefix(&format!("data: |{line_end}")).unwrap();
            let heard = heard.strip_suffix("\nmore: 1\n").unwrap();
            assert_eq!(heard.split(line_end).count(), lines.split(line_end).count(), "{heard}");
            let plain = STANDARD.decode(heard.replace(line_end, "")).unwrap();
            let covered = &plain[before + 1..before + real.len() - 1];
            assert_eq!(covered, &stand_in.as_bytes()[1..real.len() - 1], "{line_end:?}");
            for cut in 0..text.len() {
                let (first, rest) = text.split_at(cut);
                let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[first, rest]);
                assert_eq!(heard, expected, "{cut}");
            }
        }
    }
}

/// Whoever writes JSON may escape slashes, and in addresses both signs mean something else.
#[test]
fn signs_of_an_encoded_text_may_be_escaped() {
    let real = "???>>>???>>>secret???>>>~~";
    let (vault, _) = one(real, &["api.test"], Switch::Refused);
    let escapes: [fn(&str) -> String; 7] = [
        |text| text.replace('/', "\\/"),
        |text| text.replace('/', "\\\\/"),
        |text| text.replace('/', "%2F").replace('+', "%2B"),
        |text| text.replace('/', "%2f").replace('+', "%2b"),
        |text| text.replace('/', "\\u002f").replace('+', "\\u002b"),
        |text| text.replace('/', "\\u002F").replace('+', "\\u002B"),
        |text| text.replace('/', "&#x2F;").replace('+', "&#43;"),
    ];
    for before in ["", "-", "--"] {
        let encoded = STANDARD.encode(format!("{before}{real}"));
        // What depends on the neighbours of the value is none of it.
        let sure = (before.len() * 8).div_ceil(6)..(before.len() + real.len()) * 8 / 6;
        let (start, inside, end) = (&encoded[..sure.start], &encoded[sure.clone()], &encoded[sure.end..]);
        assert!(inside.contains('/') && inside.contains('+'), "{inside}");
        for line_end in ["", "\\n", "\\r\\n"] {
            for escape in escapes {
                let lines: Vec<String> = inside
                    .as_bytes()
                    .chunks(9)
                    .map(|line| escape(std::str::from_utf8(line).unwrap()))
                    .collect();
                let (start, end) = (escape(start), escape(end));
                let text = format!("{{\"a\":\"{start}{}{end}\"}}", lines.join(line_end));
                let heard = scrubbed(vault.scrubber(&to("api.test:443")), &[&text]);
                assert_eq!(heard.len(), text.len());
                let heard = heard.strip_prefix(&format!("{{\"a\":\"{start}")).unwrap();
                let heard = heard.strip_suffix(&format!("{end}\"}}")).unwrap();
                // Nothing is left of the value but where lines end.
                let heard = if line_end.is_empty() { heard.to_owned() } else { heard.replace(line_end, "") };
                assert!(heard.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}: {heard}");
                assert!(!heard.contains("ZWNyZX"), "{heard}");
                for cut in 0..text.len() {
                    let (first, rest) = text.split_at(cut);
                    let pieces = scrubbed(vault.scrubber(&to("api.test:443")), &[first, rest]);
                    assert_eq!(
                        pieces.replace(line_end, ""),
                        scrubbed(vault.scrubber(&to("api.test:443")), &[&text]).replace(line_end, ""),
                        "{cut}"
                    );
                }
            }
        }
    }
}
