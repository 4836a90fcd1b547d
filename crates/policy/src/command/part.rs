//! What a command line is made of.

use std::borrow::Cow;

/// One simple command: a program with its words, wherever in the text it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part<'t> {
    /// Where it begins in the text.
    pub(crate) start: usize,
    /// As written.
    pub(crate) text: Cow<'t, str>,
    /// The variables set in front of the program.
    pub(crate) assignments: Vec<Assignment<'t>>,
    /// The program and its arguments.
    pub(crate) words: Vec<Word<'t>>,
    pub(crate) redirections: Vec<Redirection<'t>>,
    pub(crate) input: Input,
}

/// Where a command's standard input may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Input {
    /// From whoever gave the text, or from nowhere.
    #[default]
    Inherited,
    /// The text says so: a pipe, a file, a here-document.
    Fed,
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment<'t> {
    pub(crate) name: Cow<'t, str>,
    pub(crate) value: Assigned<'t>,
}

/// What a variable is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Assigned<'t> {
    Known(Cow<'t, str>),
    /// What another variable holds.
    Copied(&'t str),
    /// Only a running shell knows.
    Unknown,
}

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    /// As written.
    pub(crate) raw: &'t str,
    /// What it means, if nothing in it depends on more than the text.
    pub(crate) value: Option<Cow<'t, str>>,
}

/// A file that a shell opens for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirection<'t> {
    pub(crate) direction: Direction,
    pub(crate) target: Word<'t>,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// A command line taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Reading<'t> {
    /// Every simple command that was seen, in the order they begin.
    pub(crate) parts: Vec<Part<'t>>,
    /// Why there may be more to it than the parts, if there may.
    pub(crate) doubt: Option<Doubt>,
}

/// Why a text is not understood for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Doubt {
    #[error("it is not UTF-8")]
    Encoding,
    #[error("it has control characters")]
    Control,
    #[error("it has letters outside quotes that shells read in different ways")]
    Letter,
    #[error("it is too long to be looked at")]
    Length,
    #[error("it is nested too deeply to be looked at")]
    Depth,
    #[error("it has too many commands to be looked at")]
    Parts,
    #[error("a quote or a bracket is not closed")]
    Unclosed,
    #[error("a line ends inside a word")]
    Continuation,
    #[error("$'...' and $\"...\" change what is written")]
    Quoting,
    #[error("an expansion may run commands or means more than a variable")]
    Expansion,
    #[error("it has more than simple commands: {0}")]
    Structure(&'static str),
    #[error("a here-document cannot be told from what follows it")]
    HereDocument,
    #[error("it names a descriptor of two digits or more, where the files of redirections stand")]
    Descriptor,
    #[error("the grammar does not know it")]
    Grammar,
    #[error("two ways of reading it differ")]
    Disagreement,
}
