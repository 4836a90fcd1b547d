//! Tables for a terminal or for a document.

use std::fmt::Write;

/// Where a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A terminal.
    Text,
    /// A Markdown document.
    Markdown,
}

/// Rows under a heading; the first column is text, the others are numbers.
#[derive(Clone, Debug)]
pub struct Table {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// The table as text that ends with a line break.
    pub fn render(&self, format: Format) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| self.lines().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let (left, between, right) = match format {
            Format::Text => ("  ", "  ", ""),
            Format::Markdown => ("| ", " | ", " |"),
        };
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            format!("{left}{}{right}", padded.collect::<Vec<_>>().join(between)).trim_end().to_owned()
        };
        let rule = match format {
            Format::Text => widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>(),
            Format::Markdown => {
                widths.iter().enumerate().map(|(column, width)| dashes(column, *width)).collect()
            }
        };
        let title = match format {
            Format::Text => format!("{}\n", self.title),
            Format::Markdown => format!("### {}\n\n", self.title),
        };
        let mut text = title;
        for row in [&self.head, &rule].into_iter().chain(&self.rows) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", line(row));
        }
        text
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.head).chain(&self.rows)
    }
}

/// The line under a Markdown heading, which also says on which side a column is flush.
fn dashes(column: usize, width: usize) -> String {
    if column == 0 { "-".repeat(width.max(3)) } else { format!("{}:", "-".repeat(width.max(3) - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("Start", &["what", "median"]);
        table.row(["bare".to_owned(), "0.70 ms".to_owned()]);
        table.row(["× two".to_owned()]);
        table
    }

    #[test]
    fn for_a_terminal() {
        assert_eq!(
            table().render(Format::Text),
            "Start\n  what    median\n  -----  -------\n  bare   0.70 ms\n  × two\n"
        );
    }

    #[test]
    fn for_a_document() {
        assert_eq!(
            table().render(Format::Markdown),
            "### Start\n\n| what  |  median |\n| ----- | ------: |\n| bare  | 0.70 ms |\n| × two |         |\n"
        );
    }
}
