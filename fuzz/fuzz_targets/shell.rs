//! Shell texts against a second parser: what is certain enough here to run without walls consists of the same
//! simple commands there.
#![no_main]

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, IoFileRedirectTarget,
    IoRedirect, Pipeline, SimpleCommand,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};
use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use stockade_policy::{
    BareWish, Chooser, CommandLine, Consent, FileKind, Files, Flags, Identity, Inputs, Layer, OwnPaths,
    Policy, Presence, Request, SettingsFile, Shape, Trust, Verdict, Walls,
};

const SETTINGS: &str = "/home/me/settings.json";
const DIRECTORIES: [&str; 5] = ["/", "/home", "/home/me", "/ws", "/tmp"];
/// Every simple command may run without walls, so that nothing but certainty decides.
const EVERYTHING: &[u8] = br#"{"excludedCommands": ["*"]}"#;

/// Pieces that mean something to a shell; a byte of the input chooses one.
const PIECES: [&str; 64] = [
    "a", "b", "docker", " ", " ", " ", "\t", "\n", "\n", ";", "&", "&&", "|", "||", "|&", "(", ")", "{ ",
    "; }", "<", ">", ">>", "<<E", "<<'E'", "<<-E", "\nE\n", "\n\tE\n", "E", "'", "\"", "`", "$", "$(", "$((",
    "${", "}", "\\", "\\\n", "#", "=", "A=", "! ", "*", "?", "[", "]", "<(", ">(", "2>&1", "&>", "<<<",
    "env ", "time ", "-p", "/", "~", "{a,b}", "if ", "fi", "case ", "[[ ", "$'", "eval ", ")",
];

struct OneFile;

impl Files for OneFile {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new(SETTINGS) {
            Ok(EVERYTHING.to_vec())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn look(&self, path: &Path) -> io::Result<Identity> {
        let ino = DIRECTORIES.iter().position(|known| Path::new(known) == path);
        ino.map(|ino| Identity { dev: 1, ino: ino as u64, kind: FileKind::Directory })
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.look(path).map(|_| path.to_owned())
    }

    fn follow(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, FileKind)>> {
        let inside = DIRECTORIES.iter().map(Path::new).filter(|known| known.parent() == Some(path));
        Ok(inside.filter_map(|known| Some((known.file_name()?.to_owned(), FileKind::Directory))).collect())
    }
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let file = SettingsFile {
        path: SETTINGS.into(),
        layer: Layer::User,
        shape: Shape::Native,
        presence: Presence::Named,
        trust: Trust::Untrusted,
    };
    let inputs = Inputs {
        cwd: "/ws".into(),
        home: Some("/home/me".into()),
        environment: Vec::new(),
        own: OwnPaths { config: "/home/me/own".into(), ..OwnPaths::default() },
        preset: None,
        settings: vec![file],
        flags: Flags::default(),
    };
    Policy::load(inputs, &OneFile).unwrap()
});

/// The words of every simple command, in the order the second parser tells them. A text it does not know ends
/// the comparison, except that then nothing may be certain here either: `None`.
fn theirs(text: &str) -> Option<Vec<Vec<String>>> {
    let mut told = Told { commands: Vec::new(), options: ParserOptions::default() };
    told.text(text)?;
    Some(told.commands)
}

struct Told {
    commands: Vec<Vec<String>>,
    options: ParserOptions,
}

impl Told {
    fn text(&mut self, text: &str) -> Option<()> {
        let program = Parser::new(text.as_bytes(), &self.options).parse_program().ok()?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    fn list(&mut self, list: &CompoundList) -> Option<()> {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for more in &item.0.additional {
                let (brush_parser::ast::AndOr::And(pipeline) | brush_parser::ast::AndOr::Or(pipeline)) = more;
                self.pipeline(pipeline)?;
            }
        }
        Some(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<()> {
        for command in &pipeline.seq {
            match command {
                Command::Simple(simple) => self.simple(simple)?,
                Command::Compound(compound, redirects) => {
                    match compound {
                        CompoundCommand::BraceGroup(group) => self.list(&group.list)?,
                        CompoundCommand::Subshell(shell) => self.list(&shell.list)?,
                        // Never certain here.
                        _ => return None,
                    }
                    for redirect in redirects.iter().flat_map(|list| &list.0) {
                        self.redirect(redirect)?;
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Option<()> {
        let mut words: Vec<String> = simple.word_or_name.iter().map(|word| word.value.clone()).collect();
        let mut inner = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0).map(|item| (true, item));
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0).map(|item| (false, item));
        for (in_front, item) in prefix.chain(suffix) {
            match item {
                Item::AssignmentWord(_, word) if in_front => inner.push(word.value.clone()),
                Item::Word(word) | Item::AssignmentWord(_, word) => words.push(word.value.clone()),
                Item::ProcessSubstitution(_, shell) => self.list(&shell.list)?,
                Item::IoRedirect(redirect) => self.redirect(redirect)?,
            }
        }
        for word in words.iter().chain(&inner) {
            self.word(word)?;
        }
        if !words.is_empty() {
            self.commands.push(words);
        }
        Some(())
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Option<()> {
        match redirect {
            IoRedirect::File(
                _,
                _,
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
            )
            | IoRedirect::HereString(_, word)
            | IoRedirect::OutputAndError(word, _) => self.word(&word.value),
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => {
                self.list(&shell.list)
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => Some(()),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = word::parse_heredoc(&document.doc.value, &self.options).ok()?;
                self.pieces(&pieces)
            }
            IoRedirect::HereDocument(..) => Some(()),
        }
    }

    fn word(&mut self, raw: &str) -> Option<()> {
        let pieces = word::parse(raw, &self.options).ok()?;
        self.pieces(&pieces)
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) -> Option<()> {
        for piece in pieces {
            match &piece.piece {
                WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                    self.text(text)?;
                }
                WordPiece::DoubleQuotedSequence(inner) => self.pieces(inner)?,
                WordPiece::AnsiCQuotedText(_)
                | WordPiece::GettextDoubleQuotedSequence(_)
                | WordPiece::ArithmeticExpression(_) => return None,
                _ => {}
            }
        }
        Some(())
    }
}

/// Whether these words stand in this order in a part as written. The second parser tells words with commands in
/// them in letters of its own; those commands are compared for themselves.
fn stands_in(words: &[String], part: &str) -> bool {
    let mut rest = part;
    let plain = |word: &&String| !word.contains("$(") && !word.contains('`');
    words.iter().filter(plain).all(|word| match rest.find(word.as_str()) {
        Some(at) => {
            rest = &rest[at + word.len()..];
            true
        }
        None => false,
    })
}

fn compare(text: &str) {
    let request = Request {
        command: CommandLine::Shell(text.into()),
        cwd: "/ws".into(),
        environment: Vec::new(),
        bare: BareWish::Sandboxed,
        walls: Walls::Standing,
        consent: Consent::Missing,
        chosen_by: Chooser::Caller,
    };
    let decision = POLICY.decide(&request, &OneFile);
    if decision.verdict != Verdict::Unsandboxed {
        return;
    }
    let Some(theirs) = theirs(text) else { return };
    // `time` is a keyword there and a wrapper here.
    let ours: Vec<&str> = decision.parts.iter().map(|part| part.text.as_str()).collect();
    let timed = text.contains("time");
    assert!(timed || theirs.len() == ours.len(), "{text:?}\nours {ours:?}\ntheirs {theirs:?}");
    for words in &theirs {
        assert!(ours.iter().any(|part| stands_in(words, part)), "{text:?}\nours {ours:?}\ntheirs {theirs:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        compare(text);
    }
    let text: String = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
    compare(&text);
});
