//! `stockade exec`.

use super::relay::{Relay, Typing};
use super::{SessionRefusal, place, wait};
use crate::args::ExecArgs;
use crate::run::{Hints, Program, Reloads, Signals, When, haste_of, say_closing, window_size};
use crate::stderr;
use crate::voice::{Level, Manner, Voice};
use crate::{print, refuse, status};
use rustix::fs::{Mode, OFlags};
use rustix::termios::isatty;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;
use stockade::{
    CommandLine, Event, IgnoreList, Limits, NoticeWeight, Outcome, RemoteRun, SessionClient, SessionName,
    WITHOUT_WALLS, WindowSize, visible,
};
use tokio::time::{Instant, sleep_until};

/// A cancelled command is killed after two seconds; then only a reader that does not read can hold us.
const PATIENCE: Duration = Duration::from_secs(6);

/// Runs a command in a session.
pub(crate) fn main(args: ExecArgs) -> ExitCode {
    let level = match (args.quiet, args.verbose) {
        (true, _) => Level::Quiet,
        (_, true) => Level::Verbose,
        _ => Level::Normal,
    };
    let voice = Voice { level, manner: Manner::Stockade };
    let Some(command) = args.command_line() else {
        return refuse(voice, SessionRefusal::NoCommand);
    };
    let result = match args.background {
        true => wait(begin(&args.session, &command, voice)),
        false => {
            let limit = args.timeout.map(Duration::from_millis);
            wait(run(&args.session, &command, limit, voice))
        }
    };
    result.unwrap_or_else(|error| refuse(voice, error))
}

async fn begin(name: &SessionName, command: &CommandLine, voice: Voice) -> Result<ExitCode, SessionRefusal> {
    let client = SessionClient::connect(&place(), name).await?;
    let (id, events) = client.background(command).await?;
    let mut reloads = Reloads::new(voice, When::AtOnce);
    for event in events {
        reloads.hear(&event);
        tell(voice, event);
    }
    Ok(print::text(&format!("{id}\n")))
}

async fn run(
    name: &SessionName,
    command: &CommandLine,
    limit: Option<Duration>,
    voice: Voice,
) -> Result<ExitCode, SessionRefusal> {
    let mut signals = Signals::new()?;
    let Wired { descriptors, terminal, typing } = Wired::choose(command)?;
    let client = SessionClient::connect(&place(), name).await?;
    let [input, output, error] = &descriptors;
    let given = [input.as_fd(), output.as_fd(), error.as_fd()];
    let run = client.run(command, limit, terminal, given).await?;
    drop(descriptors);
    let when = if terminal.is_some() { When::Afterwards } else { When::AtOnce };
    let reloads = Reloads::new(voice, when);
    let mut following = Following { run, relay: None, typing, voice, reloads, limits: Limits::default() };
    let end = following.follow(&mut signals).await?;
    if let (End::Told(_), Some(relay)) = (&end, following.relay.take()) {
        relay.end().await;
    }
    following.reloads.finish();
    match end {
        End::Told(outcome) => {
            // What the settings hide is not sent to us.
            let ignored = IgnoreList::default();
            let name = &program(command);
            let program = Program { name, not_found_hint: None, hints: Hints::NewSession };
            say_closing(voice, &program, &following.limits, &outcome, &ignored);
            stderr::finish(haste_of(&outcome), &mut signals).await;
            Ok(status::of_command(outcome.exit_code))
        }
        End::GivenUp(signal) => Ok(status::of_command(128 + signal)),
    }
}

/// A command as it is followed.
struct Following {
    run: RemoteRun,
    relay: Option<Relay>,
    typing: Typing,
    voice: Voice,
    /// What is said of changed settings.
    reloads: Reloads,
    /// Those that were met.
    limits: Limits,
}

enum End {
    Told(Box<Outcome>),
    /// Cancelled with this signal, and not waited for to the last word.
    GivenUp(i32),
}

impl Following {
    async fn follow(&mut self, signals: &mut Signals) -> Result<End, SessionRefusal> {
        let mut cancelled: Option<(i32, Instant)> = None;
        loop {
            let event = tokio::select! {
                biased;
                signal = signals.next() => match cancelled {
                    None => {
                        self.run.cancel(signal).await?;
                        cancelled = Some((signal, Instant::now() + PATIENCE));
                        continue;
                    }
                    // Asked twice: no more waiting. The host ends what we leave.
                    Some((first, _)) => return Ok(End::GivenUp(first)),
                },
                () = until(cancelled) => {
                    return Ok(End::GivenUp(cancelled.map_or(libc::SIGKILL, |(signal, _)| signal)));
                }
                _ = hung_up(&mut self.relay) => {
                    self.run.cancel(libc::SIGHUP).await?;
                    cancelled.get_or_insert((libc::SIGHUP, Instant::now() + PATIENCE));
                    continue;
                }
                event = self.run.next() => match (event, cancelled) {
                    // It did not even begin.
                    (Err(_), Some((signal, _))) => return Ok(End::GivenUp(signal)),
                    (event, _) => event?,
                },
            };
            match event {
                Some(Event::Exited(outcome)) => return Ok(End::Told(outcome)),
                Some(event) => self.hear(event)?,
                None => return Ok(End::GivenUp(libc::SIGKILL)),
            }
        }
    }

    fn hear(&mut self, event: Event) -> Result<(), SessionRefusal> {
        self.reloads.hear(&event);
        match event {
            Event::Started { .. } => {
                if let Some(outer) = self.run.terminal() {
                    self.relay = Some(Relay::begin(outer, self.typing, Vec::new())?);
                }
            }
            Event::Truncated { limit } => self.limits.max_output = Some(limit),
            event => tell(self.voice, event),
        }
        Ok(())
    }
}

/// What the person should know of an event.
fn tell(voice: Voice, event: Event) {
    match event {
        Event::Restarted { reason, kept, lost } => {
            let mut text = format!("the session's shell was started anew: {reason}");
            for (what, list) in [("kept", kept), ("lost", lost)] {
                if !list.is_empty() {
                    text.push_str(&format!("; {what}: {}", list.join(", ")));
                }
            }
            voice.warning(text);
        }
        // Said even to those who asked for quiet, as `run` does.
        Event::Notice(notice) if notice.text.starts_with(WITHOUT_WALLS) => {
            Voice { level: voice.level.max(Level::Normal), ..voice }.warning(visible(&notice.text));
        }
        Event::Notice(notice) => match notice.weight {
            NoticeWeight::Warning => voice.warning(visible(&notice.text)),
            NoticeWeight::Detail => voice.detail(visible(&notice.text)),
        },
        _ => {}
    }
}

async fn until(cancelled: Option<(i32, Instant)>) {
    match cancelled {
        Some((_, patience)) => sleep_until(patience).await,
        None => std::future::pending().await,
    }
}

async fn hung_up(relay: &mut Option<Relay>) {
    match relay {
        Some(relay) => drop(relay.next().await),
        None => std::future::pending().await,
    }
}

/// What the command is connected to.
struct Wired {
    descriptors: [OwnedFd; 3],
    /// It gets a terminal of its own of this size.
    terminal: Option<WindowSize>,
    typing: Typing,
}

impl Wired {
    /// As `stockade run` does it: the caller's own terminal is never handed in, and what is typed is only passed
    /// on when the output goes to the terminal, too. The session's shell has no terminal to give.
    fn choose(command: &CommandLine) -> Result<Self, SessionRefusal> {
        let terminals = [isatty(io::stdin()), isatty(io::stdout()), isatty(io::stderr())];
        let converses = terminals[0] && terminals[1];
        let beside = matches!(command, CommandLine::Argv(_));
        let input = match terminals[0] && !converses {
            true => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let null = rustix::fs::open("/dev/null", flags, Mode::empty());
                null.map_err(|error| SessionRefusal::Descriptor { number: 0, source: error.into() })?
            }
            false => own(0, io::stdin())?,
        };
        Ok(Self {
            descriptors: [input, own(1, io::stdout())?, own(2, io::stderr())?],
            terminal: (beside && (terminals[1] || terminals[2])).then(window_size),
            typing: if converses { Typing::Passed } else { Typing::Ignored },
        })
    }
}

fn own(number: i32, descriptor: impl AsFd) -> Result<OwnedFd, SessionRefusal> {
    let copy = descriptor.as_fd().try_clone_to_owned();
    copy.map_err(|source| SessionRefusal::Descriptor { number, source })
}

/// The program's name as a shell would say it.
fn program(command: &CommandLine) -> String {
    match command {
        CommandLine::Argv(words) => {
            words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
        }
        CommandLine::Shell(_) => "the session's shell".to_owned(),
    }
}
