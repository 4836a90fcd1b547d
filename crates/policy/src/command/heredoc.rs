//! Here-documents: text for a command that begins on the next line.

use super::part::Doubt;
use super::strict::{Reader, is_boundary, is_name};

/// A here-document whose body has not come yet.
pub(super) struct Waiting<'t> {
    delimiter: &'t str,
    tabs: Tabs,
    body: Body,
}

/// Whether tabs in front of a here-document's lines count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Kept,
    Dropped,
}

/// Whether a here-document's body is looked at by the shell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Literal,
    Expanded,
}

impl<'t> Reader<'t> {
    /// The beginning of a here-document.
    pub(super) fn here_document(&mut self) -> Result<(), Doubt> {
        self.at += 2;
        let tabs = if self.peek() == Some(b'-') { Tabs::Dropped } else { Tabs::Kept };
        self.at += usize::from(tabs == Tabs::Dropped);
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        let delimiter = &self.text[start..self.at];
        if quote.is_some() {
            if self.peek() != quote {
                return Err(Doubt::HereDocument);
            }
            self.at += 1;
        }
        if delimiter.is_empty() || !self.peek().is_none_or(is_boundary) {
            return Err(Doubt::HereDocument);
        }
        let body = if quote.is_some() { Body::Literal } else { Body::Expanded };
        self.waiting.push(Waiting { delimiter, tabs, body });
        Ok(())
    }

    /// The bodies of the here-documents of the line that has just ended.
    pub(super) fn bodies(&mut self) -> Result<(), Doubt> {
        for document in std::mem::take(&mut self.waiting) {
            let start = self.at;
            let stop = loop {
                if self.at >= self.end {
                    return Err(Doubt::HereDocument);
                }
                let rest = &self.text[self.at..self.end];
                let line = rest.split('\n').next().unwrap_or(rest);
                let begun = self.at;
                self.at = (self.at + line.len() + 1).min(self.end);
                let line = if document.tabs == Tabs::Dropped { line.trim_start_matches('\t') } else { line };
                if line == document.delimiter {
                    break begun;
                }
                // Some shells end a document in brackets at a line that only begins like its end.
                if line.starts_with(document.delimiter) {
                    return Err(Doubt::HereDocument);
                }
            };
            if document.body == Body::Expanded {
                // The shell expands it where the command reads something else, perhaps.
                let before = self.parts.len();
                self.within(start, stop, Self::expanded)?;
                self.feed(before);
            }
        }
        Ok(())
    }
}
