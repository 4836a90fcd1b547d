//! Settings being put together, each entry with where it came from.

use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Settings in Stockade's own form.
#[derive(Debug)]
pub(super) struct Draft {
    head: String,
    /// Objects in the order of their first entry; the empty name is the settings themselves.
    sections: Vec<(&'static str, Vec<Entry>)>,
    lost: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    key: String,
    content: Content,
}

/// What a key holds, each with a word about it.
#[derive(Debug)]
enum Content {
    One(Value, String),
    Many(Vec<(Value, String)>),
}

impl Draft {
    /// Nothing yet, from the settings of this tool.
    pub(super) fn new(tool: &str, path: &Path) -> Self {
        let head = format!("Made by `stockade config import {tool}` from {}.", path.display());
        Self { head, sections: vec![("", Vec::new())], lost: Vec::new() }
    }

    /// A single value.
    pub(super) fn set(&mut self, section: &'static str, key: &str, value: Value, why: impl Into<String>) {
        let entries = self.section(section);
        entries.retain(|entry| entry.key != key);
        entries.push(Entry { key: key.to_owned(), content: Content::One(value, why.into()) });
    }

    /// One more entry of a list; what is there already is not added again.
    pub(super) fn add(&mut self, section: &'static str, key: &str, value: Value, why: impl Into<String>) {
        let entries = self.section(section);
        let known = entries.iter_mut().find(|entry| entry.key == key);
        match known.map(|entry| &mut entry.content) {
            Some(Content::Many(list)) if list.iter().any(|(known, _)| *known == value) => {}
            Some(Content::Many(list)) => list.push((value, why.into())),
            _ => {
                entries.push(Entry { key: key.to_owned(), content: Content::Many(vec![(value, why.into())]) })
            }
        }
    }

    /// Something that has no place here.
    pub(super) fn lose(&mut self, key: impl AsRef<str>, why: impl AsRef<str>) {
        self.lost.push(one_line(&format!("{}: {}", key.as_ref(), why.as_ref())));
    }

    /// What was not carried over.
    pub(super) fn lost(&self) -> Vec<String> {
        self.lost.clone()
    }

    /// The settings as text.
    pub(super) fn print(&self) -> String {
        let mut text = format!("// {}\n", one_line(&self.head));
        if !self.lost.is_empty() {
            text.push_str("// Not carried over:\n");
        }
        for lost in &self.lost {
            let _ = writeln!(text, "//   {lost}");
        }
        let mut members: Vec<String> = Vec::new();
        for (name, entries) in self.sections.iter().filter(|(_, entries)| !entries.is_empty()) {
            if name.is_empty() {
                members.extend(entries.iter().map(|entry| entry.print("  ")));
            } else {
                let inner: Vec<String> = entries.iter().map(|entry| entry.print("    ")).collect();
                members.push(format!("  {}: {{\n{}\n  }}", quoted(name), inner.join(",\n")));
            }
        }
        let _ = write!(text, "{{\n{}\n}}\n", members.join(",\n"));
        text
    }

    fn section(&mut self, name: &'static str) -> &mut Vec<Entry> {
        let at = self.sections.iter().position(|(known, _)| *known == name);
        let at = at.unwrap_or_else(|| {
            self.sections.push((name, Vec::new()));
            self.sections.len() - 1
        });
        &mut self.sections[at].1
    }
}

impl Entry {
    fn print(&self, indent: &str) -> String {
        let key = quoted(&self.key);
        match &self.content {
            Content::One(value, why) => format!("{indent}// {}\n{indent}{key}: {value}", one_line(why)),
            Content::Many(list) => {
                let line = |(value, why): &(Value, String)| {
                    format!("{indent}  // {}\n{indent}  {value}", one_line(why))
                };
                let lines: Vec<String> = list.iter().map(line).collect();
                format!("{indent}{key}: [\n{}\n{indent}]", lines.join(",\n"))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// A comment ends with its line: nothing in a foreign file may end it earlier.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() || is_line_end(letter) { ' ' } else { letter }).collect()
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_entry_has_a_word_about_it() {
        let mut draft = Draft::new("srt", Path::new("/a\n{}"));
        draft.set("", "preset", json!("default"), "to start from");
        draft.add("filesystem", "allowWrite", json!("/a"), "srt: filesystem.allowWrite[0]\n\"x\": 1");
        draft.add("filesystem", "allowWrite", json!("/a"), "twice");
        draft.add("filesystem", "allowWrite", json!("/b"), "another");
        draft.lose("git", "no such thing");
        assert_eq!(
            draft.print(),
            "// Made by `stockade config import srt` from /a {}.\n// Not carried over:\n//   git: no such thing\n{\n  \
             // to start from\n  \"preset\": \"default\",\n  \"filesystem\": {\n    \"allowWrite\": [\n      \
             // srt: filesystem.allowWrite[0] \"x\": 1\n      \"/a\",\n      // another\n      \"/b\"\n    ]\n  }\n}\n"
        );
    }
}
