//! `stockade shell`.

use super::made::{Maker, make};
use super::relay::{Relay, Stop, Typing};
use super::{SessionRefusal, place, wait};
use crate::args::{ComeBackOnly, ShellArgs};
use crate::refuse;
use crate::run::{Signals, window_size};
use crate::status;
use crate::voice::Voice;
use clap::Parser;
use std::process::ExitCode;
use stockade::{AttachWish, Attachment, Parting, SessionClient, SessionName, SessionPlace};

/// Opens a shell in a session, which is made where there is none of that name.
pub(crate) fn main(args: ShellArgs) -> ExitCode {
    let voice = Voice::NORMAL;
    let place = place();
    let known = find(&place, args.new.name);
    let wish = if args.take { AttachWish::TakeOver } else { AttachWish::IfFree };
    let result = known.and_then(|known| {
        let name = match known {
            Known::Living(name) => {
                // `stockade shell ...`
                if ComeBackOnly::try_parse_from(std::env::args_os().skip(1)).is_err() {
                    return Err(SessionRefusal::Fixed(name.to_string()));
                }
                name
            }
            Known::Wanted(name) => {
                make(voice, &place, &name, Maker::Shell)?;
                name
            }
        };
        wait(visit(&place, &name, wish)).map(|left| (name, left))
    });
    match result {
        Ok((_, Visit::Over(code))) => status::of_command(code),
        Ok((name, Visit::Left(why))) => {
            voice.closing(format!(
                "{why}; the session {name} goes on\nhint: `stockade shell --name {name}` comes back, `stockade sessions kill {name}` ends it"
            ));
            ExitCode::SUCCESS
        }
        Err(error) => refuse(voice, error),
    }
}

enum Known {
    Living(SessionName),
    Wanted(SessionName),
}

fn find(place: &SessionPlace, name: Option<SessionName>) -> Result<Known, SessionRefusal> {
    let Some(name) = name else { return Ok(Known::Wanted(SessionName::fresh())) };
    let lives = place.names()?.contains(&name);
    Ok(if lives { Known::Living(name) } else { Known::Wanted(name) })
}

/// How a visit ended.
enum Visit {
    /// The shell ended.
    Over(i32),
    /// The session goes on.
    Left(&'static str),
}

async fn visit(place: &SessionPlace, name: &SessionName, wish: AttachWish) -> Result<Visit, SessionRefusal> {
    let mut signals = Signals::new()?;
    let client = SessionClient::connect(place, name).await?;
    let mut attachment = client.attach(window_size(), wish).await?;
    let first = attachment.shown().to_vec();
    let outer = attachment.terminal().try_clone_to_owned()?;
    let mut relay = Relay::begin(outer, Typing::Watched, first)?;
    let visit = follow(&mut attachment, &mut relay, &mut signals).await?;
    if matches!(visit, Visit::Over(_)) {
        relay.end().await;
    }
    Ok(visit)
}

async fn follow(
    attachment: &mut Attachment,
    relay: &mut Relay,
    signals: &mut Signals,
) -> Result<Visit, SessionRefusal> {
    tokio::select! {
        parting = attachment.parting() => match parting? {
            Parting::Left(status) => Ok(Visit::Over(status)),
            Parting::Detached => Ok(Visit::Left("somebody else took the terminal")),
        },
        stop = relay.next() => Ok(Visit::Left(match stop {
            Stop::Left => "left",
            Stop::HungUp | Stop::Ended | Stop::Closed => "the terminal hung up",
        })),
        _ = signals.next() => Ok(Visit::Left("left because of a signal")),
    }
}
