//! Text that shows what it is.

use std::borrow::Cow;

/// The text with every character written out that is invisible, moves or reorders what stands around it,
/// or looks like a plain space without being one: `\n`, `\u{202e}`. A backslash becomes two, so that
/// nothing can pretend to have been written out.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(|letter| letter == '\\' || is_deceptive(letter)) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '\\' | '\n' | '\r' | '\t' => shown.extend(letter.escape_default()),
            _ if is_deceptive(letter) => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    shown.into()
}

/// Whether a reader could be misled by it.
fn is_deceptive(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Blanks that are not the space bar's, and letters drawn as blanks.
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            // Zero width, joiners, fillers and direction.
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{13430}'..='\u{13455}'
            // Marks that are drawn over their neighbours.
            | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
            // Variants of what stands before them, and tags.
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}'
            // Whatever a font makes of it.
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misleads_is_written_out() {
        for (text, expected) in [
            ("/home/a/plain name.txt", "/home/a/plain name.txt"),
            ("/home/a/Übung/日本", "/home/a/Übung/日本"),
            ("/a\nAllowed: yes", "/a\\nAllowed: yes"),
            ("/a\u{1b}[2J", "/a\\u{1b}[2J"),
            ("/a\u{9b}2J\r\t\u{7f}", "/a\\u{9b}2J\\r\\t\\u{7f}"),
            ("/a\u{202e}txt.sh", "/a\\u{202e}txt.sh"),
            ("/a\u{2066}\u{2069}\u{200e}", "/a\\u{2066}\\u{2069}\\u{200e}"),
            ("/a\u{200b}\u{200d}\u{feff}\u{ad}", "/a\\u{200b}\\u{200d}\\u{feff}\\u{ad}"),
            ("/a\u{a0}\u{3000}\u{3164}", "/a\\u{a0}\\u{3000}\\u{3164}"),
            ("/a\u{336}\u{fe0f}\u{e0061}", "/a\\u{336}\\u{fe0f}\\u{e0061}"),
            ("/a\\u{1b}", "/a\\\\u{1b}"),
            ("/a\u{2028}b", "/a\\u{2028}b"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn nothing_invisible_or_turning_passes() {
        let letters = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain('\u{200b}'..='\u{200f}');
        for letter in letters.chain('\u{80}'..='\u{9f}').chain(['\u{feff}']) {
            assert_eq!(visible(&letter.to_string()), letter.escape_unicode().to_string());
        }
    }

    #[test]
    fn two_names_never_look_the_same() {
        let names = ["a\\nb", "a\nb", "a\\\\nb", "a\u{200b}b", "a\\u{200b}b", "ab"];
        for (at, one) in names.iter().enumerate() {
            for other in &names[at + 1..] {
                assert_ne!(visible(one), visible(other));
            }
        }
    }
}
