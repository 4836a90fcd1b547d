//! `--ask tty`: questions on the person's own terminal.
//!
//! The command must not be able to forge, overwrite or answer a question. Its output is held while one
//! stands, what it did to the terminal is undone first, and the answer is what is typed, on the terminal
//! itself, after the question could be read.

use super::{Modes, Stage, text};
use crate::voice::harmless;
use rustix::fs::{Mode, OFlags};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use stockade::{AskNotice, Asker, BoxFuture, Inlet, Outlet, Question, Reply};
use tokio::time::{Instant, sleep, timeout_at};

/// Ends whatever sequence the command left open, then undoes what it may have done: modes, alternate
/// screen, colours, character set, margins, mouse and keyboard reports, held drawing. Then goes below
/// everything that was printed.
const RESET: &str = concat!(
    "\x18\x1b\\",
    "\x1b[!p\x1b[?1049l\x1b[?47l\x1b[?2026l\x1b[?25h\x1b[?7h\x1b[?5l\x1b[?6l\x1b[4l\x1b[20l\x1b[r",
    "\x1b(B\x1b)B\x0f\x1b[0m\x1b[?1l\x1b>\x1b[=0u\x1b[>4m",
    "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l",
    "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\",
    "\x1b[9999;1H\r\n\x1b[2K",
);
/// Asks the terminal for a sign of life. It answers in order: what the command made it say comes first.
const FENCE: &str = "\x1b[5n";
const FENCE_ANSWER: &[u8] = b"\x1b[0n";
/// How long that answer is waited for. Not every terminal gives one.
const FENCE_WAIT: Duration = Duration::from_millis(1500);
/// Nobody has read a question faster: what is typed sooner was meant for something else.
const TOO_SOON: Duration = Duration::from_millis(300);
/// How often a process in the background looks whether it still is.
const BACKGROUND: Duration = Duration::from_millis(200);

/// Where the terminal is.
type Open = Box<dyn Fn() -> io::Result<OwnedFd> + Send + Sync>;

/// Asks on the person's terminal, one question at a time.
pub(crate) struct TtyAsker {
    stage: Stage,
    open: Open,
    manner: Manner,
}

/// What the terminal understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Sequences,
    /// It prints what it gets.
    Plain,
}

/// How the terminal is opened: for us alone, so that nothing written to it can hold us up.
const OPENED: OFlags = OFlags::RDWR.union(OFlags::NOCTTY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The terminal this process belongs to, whatever its descriptors are.
pub(crate) fn open_terminal() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/tty", OPENED, Mode::empty())?)
}

/// Says so when a question ends without an answer.
struct Unanswered<'a>(Option<&'a OwnedFd>);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(terminal) = self.0 {
            let _ = rustix::io::write(terminal, b"\nNo answer: refused.\n");
        }
    }
}

impl TtyAsker {
    pub(crate) fn new(stage: Stage) -> Self {
        let manner = match std::env::var_os("TERM") {
            Some(name) if !name.is_empty() && name != "dumb" => Manner::Sequences,
            _ => Manner::Plain,
        };
        Self { stage, open: Box::new(open_terminal), manner }
    }

    async fn converse(&self, question: &Question) -> io::Result<Reply> {
        let _turn = self.stage.question().await;
        let terminal = (self.open)()?;
        in_foreground(&terminal).await;
        let mut from = Inlet::new(terminal.try_clone()?)?;
        let mut to = Outlet::new(terminal.try_clone()?)?;
        let modes = Modes::deaf(terminal.try_clone()?)?;
        let mut unanswered = Unanswered(Some(&terminal));
        match self.manner {
            Manner::Sequences => {
                to.write_all(RESET.as_bytes()).await?;
                to.write_all(FENCE.as_bytes()).await?;
                ignore(&mut from, FENCE_WAIT, Some(FENCE_ANSWER)).await;
                to.write_all(b"\r\x1b[2K").await?;
            }
            Manner::Plain => to.write_all(b"\n").await?,
        }
        to.write_all(text::question(question).as_bytes()).await?;
        loop {
            ignore(&mut from, TOO_SOON, None).await;
            modes.listen()?;
            to.write_all(text::prompt(question).as_bytes()).await?;
            let mut line = [0; 256];
            let count = from.read(&mut line).await?;
            match understood(&line[..count], question) {
                Some(reply) => {
                    unanswered.0 = None;
                    return Ok(reply);
                }
                None => to.write_all(b"That is not one of the answers.\n").await?,
            }
        }
    }
}

impl Asker for TtyAsker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        // A terminal that went away says nothing any more.
        Box::pin(async move { self.converse(&question).await.unwrap_or(Reply::Deny) })
    }

    fn name(&self) -> String {
        match std::env::var("USER") {
            Ok(user) if !user.is_empty() => format!("{user}, on the terminal"),
            _ => "on the terminal".to_owned(),
        }
    }

    fn notice(&self, notice: AskNotice) {
        let Ok(terminal) = (self.open)() else { return };
        let (stage, text) =
            (self.stage.clone(), harmless(&format!("stockade: {notice}\n")).replace('\n', "\r\n"));
        tokio::spawn(async move {
            let _turn = stage.output().await;
            if let Ok(mut to) = Outlet::new(terminal) {
                let _ = to.write_all(text.as_bytes()).await;
            }
        });
    }
}

/// What a typed line means; `None` if nothing.
fn understood(line: &[u8], question: &Question) -> Option<Reply> {
    // The end of the input; half a line is not one.
    let Some(line) = line.strip_suffix(b"\n") else { return line.is_empty().then_some(Reply::Deny) };
    match line.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"n" | b"no" => Some(Reply::Deny),
        b"o" | b"once" => Some(Reply::Once),
        b"s" | b"session" => Some(Reply::Session),
        b"a" | b"always" if question.settings.is_some() => Some(Reply::Always),
        _ => None,
    }
}

/// Throws away what arrives during that time, or up to and with these bytes.
async fn ignore(from: &mut Inlet, time: Duration, up_to: Option<&[u8]>) {
    let end = Instant::now() + time;
    let mut tail = Vec::new();
    let mut buffer = [0; 256];
    while let Ok(Ok(count @ 1..)) = timeout_at(end, from.read(&mut buffer)).await {
        if let Some(wanted) = up_to {
            tail.extend_from_slice(&buffer[..count]);
            if tail.windows(wanted.len()).any(|window| window == wanted) {
                return;
            }
            tail.drain(..tail.len().saturating_sub(wanted.len()));
        }
    }
}

/// Waits until the terminal is ours: a process in the background that touches it is stopped, and the
/// command's supervisor must not be.
async fn in_foreground(terminal: &OwnedFd) {
    while tcgetpgrp(terminal).is_ok_and(|group| group != getpgrp()) {
        sleep(BACKGROUND).await;
    }
}

#[cfg(test)]
#[path = "tty_tests.rs"]
mod tests;
