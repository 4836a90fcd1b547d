//! Lines out of bytes as they come.

/// The longest line that is looked at.
pub(super) const LONGEST: usize = 64 << 10;

/// Cuts bytes into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    /// The line was too long: its end is waited for.
    skipping: bool,
}

/// A line, or what there is instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Line(Vec<u8>),
    TooLong,
}

impl Lines {
    /// The lines that end in these bytes. A line that is too long is told once, when it is.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<Cut> {
        let mut cuts = Vec::new();
        while !bytes.is_empty() {
            let (line, rest, ends) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (&bytes[..at], &bytes[at + 1..], true),
                None => (bytes, &[][..], false),
            };
            bytes = rest;
            if !self.skipping {
                self.rest.extend_from_slice(line);
                if self.rest.len() > LONGEST {
                    cuts.push(Cut::TooLong);
                    self.skipping = true;
                    self.rest = Vec::new();
                } else if ends {
                    cuts.push(Cut::Line(std::mem::take(&mut self.rest)));
                }
            }
            if ends {
                self.skipping = false;
            }
        }
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Cut {
        Cut::Line(text.into())
    }

    #[test]
    fn lines_come_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"a\nb"), [line("a")]);
        assert_eq!(lines.push(b""), []);
        assert_eq!(lines.push(b"c\n\nd\n"), [line("bc"), line(""), line("d")]);
    }

    #[test]
    fn a_long_line_is_skipped_to_its_end() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&[b'x'; LONGEST]), []);
        assert_eq!(lines.push(b"x"), [Cut::TooLong]);
        assert_eq!(lines.push(&[b'x'; LONGEST * 2]), []);
        assert!(lines.rest.is_empty());
        assert_eq!(lines.push(b"end\nnext\n"), [line("next")]);
        let whole = [&[b'y'; LONGEST][..], b"\n"].concat();
        assert_eq!(lines.push(&whole).len(), 1);
    }
}
