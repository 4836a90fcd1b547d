//! The options all small benchmarks understand.

use crate::Format;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As long as the numbers get better.
    Full,
    /// A tenth of that.
    Quick,
}

/// Reads the words behind a benchmark's name; the words of a complaint where one is not understood.
pub fn read_options(words: impl Iterator<Item = String>) -> Result<(Pace, Format), String> {
    let (mut pace, mut format) = (Pace::Full, Format::Text);
    for word in words {
        match word.as_str() {
            "--quick" => pace = Pace::Quick,
            "--markdown" => format = Format::Markdown,
            // Cargo's own.
            "--bench" => {}
            other => return Err(format!("no option {other} (there are --quick and --markdown)")),
        }
    }
    Ok((pace, format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let read = |words: &[&str]| read_options(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(read(&["--bench"]), Ok((Pace::Full, Format::Text)));
        assert_eq!(read(&["--quick", "--markdown"]), Ok((Pace::Quick, Format::Markdown)));
        assert!(read(&["--slow"]).is_err());
    }
}
