//! The grammar's reading of a text: the second opinion on what is plain, and the only one on what is not.

use super::assignment::assignment as assigned;
use super::part::{Doubt, Part, Word};
use super::strict;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

/// Kinds of nodes that hold nothing but commands and words, and are read here as shells read them.
const PLAIN: [&str; 27] = [
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "redirected_statement",
    "negated_command",
    "command_name",
    "word",
    "number",
    "raw_string",
    "string",
    "string_content",
    "concatenation",
    "simple_expansion",
    "expansion",
    "variable_name",
    "special_variable_name",
    "command_substitution",
    "process_substitution",
    "file_redirect",
    "file_descriptor",
    "herestring_redirect",
    "heredoc_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_end",
];

/// A text of this length may take the time it takes: what people write must not depend on how busy a machine
/// is.
const SHORT: usize = 6 * 1024;

/// How long another may take. There are texts whose time grows with the square of their length.
const PATIENCE: Duration = Duration::from_millis(100);

/// Deeper nodes are not looked at. One bracket of a text is a few nodes.
const DEEPEST: usize = 200;

/// What a kind of node means here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Command,
    /// Assignments without a program, or inside a command.
    Assignment,
    Other,
}

/// A parser and what its kinds of nodes mean. Making one costs more than using it.
struct Grammar {
    parser: Parser,
    classes: Vec<Class>,
}

impl Grammar {
    fn new() -> Option<Self> {
        let language = Language::from(tree_sitter_bash::LANGUAGE);
        let mut parser = Parser::new();
        parser.set_language(&language).ok()?;
        let kinds = 0..language.node_kind_count();
        let classes = kinds.map(|id| {
            let id = u16::try_from(id).unwrap_or(u16::MAX);
            match language.node_kind_for_id(id).unwrap_or_default() {
                _ if !language.node_kind_is_named(id) => Class::Plain,
                "command" => Class::Command,
                "variable_assignment" | "variable_assignments" => Class::Assignment,
                // Text of a here-document, and what follows a #.
                "heredoc_content" | "comment" => Class::Plain,
                kind if PLAIN.contains(&kind) => Class::Plain,
                _ => Class::Other,
            }
        });
        let classes = classes.collect();
        Some(Self { parser, classes })
    }

    fn parse(&mut self, text: &str) -> Option<Tree> {
        let begun = Instant::now();
        let mut breathe = |_: &ParseState| {
            let tired = text.len() > SHORT && begun.elapsed() > PATIENCE;
            if tired { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut breathe);
        let bytes = text.as_bytes();
        let tree =
            self.parser.parse_with_options(&mut |at, _| &bytes[at.min(bytes.len())..], None, Some(options));
        if tree.is_none() {
            // Otherwise the next text would be taken for the rest of this one.
            self.parser.reset();
        }
        tree
    }

    fn class(&self, node: &Node<'_>) -> Class {
        self.classes.get(usize::from(node.kind_id())).copied().unwrap_or(Class::Other)
    }
}

thread_local! {
    static GRAMMAR: RefCell<Option<Grammar>> = RefCell::new(Grammar::new());
}

/// Every command the grammar sees, and whether it saw anything else.
pub(super) fn read(text: &str) -> (Vec<Part<'_>>, Option<Doubt>) {
    GRAMMAR.with_borrow_mut(|grammar| match grammar {
        Some(grammar) => match grammar.parse(text) {
            Some(tree) => walk(grammar, &tree, text),
            None => (Vec::new(), Some(Doubt::Length)),
        },
        None => (Vec::new(), Some(Doubt::Grammar)),
    })
}

/// Goes through all nodes without recursion: the text decides how deep they are nested.
fn walk<'t>(grammar: &Grammar, tree: &Tree, text: &'t str) -> (Vec<Part<'t>>, Option<Doubt>) {
    let mut parts = Vec::new();
    let mut doubt = tree.root_node().has_error().then_some(Doubt::Grammar);
    let mut cursor = tree.walk();
    let mut above = Vec::new();
    loop {
        let node = cursor.node();
        let class = grammar.class(&node);
        match class {
            Class::Command => parts.push(command(&node, text)),
            Class::Assignment if above.last() == Some(&Class::Plain) => parts.push(assignment(&node, text)),
            Class::Plain | Class::Assignment => {}
            Class::Other => doubt = doubt.or(Some(Doubt::Structure("a compound command"))),
        }
        if parts.len() > strict::MOST_PARTS {
            return (parts, Some(Doubt::Parts));
        }
        if above.len() == DEEPEST {
            doubt = Some(Doubt::Depth);
        } else if cursor.goto_first_child() {
            above.push(class);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                parts.sort_by_key(|part: &Part<'_>| part.start);
                return (parts, doubt);
            }
            above.pop();
        }
    }
}

fn command<'t>(node: &Node<'_>, text: &'t str) -> Part<'t> {
    let mut part = begin(node, text);
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        let raw = part_text(&child, text);
        match child.kind() {
            "variable_assignment" => part.assignments.extend(assigned(raw)),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
            _ => part.words.push(Word { raw, value: strict::value(raw).or_else(|| plain_quote(raw)) }),
        }
    }
    part
}

/// What `$'...'` means where it means what it says. Only a guess for rules that deny.
fn plain_quote(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix("$'")?.strip_suffix('\'')?;
    (!inner.contains(['\\', '\''])).then_some(Cow::Borrowed(inner))
}

fn assignment<'t>(node: &Node<'_>, text: &'t str) -> Part<'t> {
    let mut part = begin(node, text);
    part.assignments.extend(assigned(part_text(node, text)));
    part
}

fn begin<'t>(node: &Node<'_>, text: &'t str) -> Part<'t> {
    Part { start: node.start_byte(), text: Cow::Borrowed(part_text(node, text)), ..Part::default() }
}

fn part_text<'t>(node: &Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default().trim()
}
