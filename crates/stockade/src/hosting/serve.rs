//! One client of a hosted session, from its hello to its end.

use super::host::Shared;
use super::message::{Ask, BackgroundSaid, Hello, PROTOCOL, SaidChunk, Told, Words};
use super::wire::Wire;
use super::{Ending, command, console};
use crate::session::Routing;
use crate::{BackgroundId, BackgroundOutput, BackgroundState, BackgroundStream};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::CommandLine;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether a background command said something.
const LOOK: Duration = Duration::from_millis(20);
const SIGTERM: i32 = 15;
/// The status of a command whose end nobody saw: it was killed with everything around it.
const LOST: i32 = 137;

/// Serves a client to its end. Nobody is told of what a client does wrong but the client.
pub(super) async fn serve(stream: UnixStream, shared: Arc<Shared>) {
    // Somebody else's client is not even told to go away.
    let Ok(mut wire) = Wire::trusted(stream) else { return };
    let asked = match timeout(PATIENCE, begin(&mut wire)).await {
        Ok(Ok(Some(ask))) => ask,
        Ok(Err(error)) => {
            let _ = wire.say(&refused(format!("this is not understood: {error}")), &[]).await;
            return;
        }
        Ok(Ok(None)) | Err(_) => return,
    };
    // A client that is gone needs no answer.
    let _ = answer(wire, asked, &shared).await;
}

async fn begin(wire: &mut Wire) -> io::Result<Option<Ask>> {
    let Some(hello) = wire.next::<Hello>().await? else { return Ok(None) };
    wire.say(&Hello::ours(), &[]).await?;
    if hello.stockade != PROTOCOL {
        return Ok(None);
    }
    wire.next().await
}

async fn answer(mut wire: Wire, ask: Ask, shared: &Arc<Shared>) -> io::Result<()> {
    match ask {
        Ask::Status => wire.say(&Told::Status(shared.status()), &[]).await,
        Ask::Close => {
            wire.say(&Told::Done, &[]).await?;
            shared.end(Ending::Asked);
            Ok(())
        }
        Ask::Run { command, time_limit_ms, terminal } => {
            let _held = shared.hold();
            let wanted = command::Wanted {
                command: command.into(),
                time_limit: time_limit_ms.map(Duration::from_millis),
                terminal: terminal.map(Into::into),
            };
            command::run(&mut wire, wanted, &shared.session).await
        }
        Ask::Background { command } => {
            let begun = shared.session.start_background(shell_text(command), Routing::Ask).await;
            let told = match begun {
                Ok((id, events)) => Told::Begun { id: id.0, events },
                Err(error) => refused(error),
            };
            shared.touch();
            wire.say(&told, &[]).await
        }
        Ask::Output { id, from } => {
            let told = tokio::select! {
                told = output(shared, BackgroundId(id), from) => told,
                _ = wire.next::<Ask>() => return Ok(()),
            };
            wire.say(&told, &[]).await
        }
        Ask::Stop { id } => {
            let told = match shared.session.kill_background(BackgroundId(id), SIGTERM) {
                Ok(()) => Told::Done,
                Err(error) => refused(error),
            };
            wire.say(&told, &[]).await
        }
        Ask::Attach { size, wish } => console::attach(wire, size.into(), wish, shared).await,
    }
}

/// Waits until there is something to tell.
async fn output(shared: &Shared, id: BackgroundId, from: u64) -> Told {
    loop {
        match shared.session.poll(id, from) {
            Err(error) => return refused(error),
            Ok(BackgroundOutput { chunks, state: BackgroundState::Running, .. }) if chunks.is_empty() => {
                sleep(LOOK).await;
            }
            Ok(output) => return Told::Output(said(output)),
        }
    }
}

/// As much as fits into a line, however the bytes have to be written there.
fn said(output: BackgroundOutput) -> BackgroundSaid {
    const MOST: usize = 256 << 10;
    let (mut chunks, mut bytes, mut next) = (Vec::new(), 0, output.next_seq);
    for chunk in output.chunks {
        bytes += chunk.data.len();
        if bytes > MOST && !chunks.is_empty() {
            next = chunk.seq;
            break;
        }
        let descriptor = match chunk.stream {
            BackgroundStream::Stdout => 1,
            BackgroundStream::Stderr => 2,
        };
        chunks.push(SaidChunk { descriptor, data: chunk.data });
    }
    let whole = next == output.next_seq;
    let ended = |outcome: stockade_policy::Outcome| outcome.exit_code;
    let status = match output.state {
        BackgroundState::Over if whole => Some(output.outcome.map_or(LOST, ended)),
        BackgroundState::Over | BackgroundState::Running => None,
    };
    BackgroundSaid { chunks, next, lost: output.lost, status }
}

pub(super) fn refused(reason: impl std::fmt::Display) -> Told {
    Told::Refused { reason: reason.to_string() }
}

/// A command as text for a shell; each word of a list stays one word.
fn shell_text(words: Words) -> OsString {
    match CommandLine::from(words) {
        CommandLine::Shell(text) => text,
        CommandLine::Argv(words) => {
            let mut text = OsString::from("exec");
            for word in words {
                text.push(" '");
                for (at, part) in word.as_encoded_bytes().split(|byte| *byte == b'\'').enumerate() {
                    if at > 0 {
                        text.push("'\\''");
                    }
                    text.push(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(part));
                }
                text.push("'");
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let words = ["printf", "%s|", "it's", "", "a b", "$(x)", "'"].map(OsString::from).to_vec();
        let text = shell_text(Words::from(&CommandLine::Argv(words)));
        let done = std::process::Command::new("sh").arg("-c").arg(text).output().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), "it's||a b|$(x)|'|");
    }
}
