//! `stockade sessions`.

use super::made::{Maker, make};
use super::{SessionRefusal, place, wait};
use crate::args::{NewArgs, SessionsAct, format_moment};
use crate::voice::Voice;
use crate::{print, refuse, status};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use stockade::{
    Closed, HostError, SaidChunk, SessionClient, SessionName, SessionPlace, SessionStatus, TerminalState,
    visible,
};

/// A host that lives answers much sooner.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Lists sessions, makes one, or ends some.
pub(crate) fn main(act: Option<SessionsAct>, form: Form) -> ExitCode {
    let place = place();
    let result = match act {
        None => wait(list(&place, form)),
        Some(SessionsAct::List { json }) => wait(list(&place, if json { Form::Json } else { Form::Text })),
        Some(SessionsAct::New(args)) => new(&place, *args),
        Some(SessionsAct::Kill { names, .. }) => wait(kill(&place, names)),
        Some(SessionsAct::Output { name, id, follow }) => {
            wait(output(&place, &name, id, if follow { Until::Ended } else { Until::Now }))
        }
        Some(SessionsAct::Stop { name, id }) => wait(async {
            SessionClient::connect(&place, &name).await?.stop(id).await?;
            Ok(ExitCode::SUCCESS)
        }),
    };
    result.unwrap_or_else(|error| refuse(Voice::NORMAL, error))
}

fn new(place: &SessionPlace, args: NewArgs) -> Result<ExitCode, SessionRefusal> {
    let name = args.name.unwrap_or_else(SessionName::fresh);
    make(Voice::NORMAL, place, &name, Maker::New)?;
    Ok(print::text(&format!("{name}\n")))
}

async fn list(place: &SessionPlace, form: Form) -> Result<ExitCode, SessionRefusal> {
    let mut found = Vec::new();
    for name in place.names()? {
        let ask = async { SessionClient::connect(place, &name).await?.status().await };
        match tokio::time::timeout(PATIENCE, ask).await {
            Ok(Ok(status)) => found.push((name, Some(status))),
            // It ended meanwhile.
            Ok(Err(HostError::Unknown { .. } | HostError::Ended { .. })) => {}
            Ok(Err(_)) | Err(_) => found.push((name, None)),
        }
    }
    Ok(match form {
        Form::Json => {
            let entry = |(name, status): &(SessionName, Option<SessionStatus>)| match status {
                Some(status) => json!(status),
                None => json!({ "name": name, "silent": true }),
            };
            print::json(&found.iter().map(entry).collect::<Vec<_>>())
        }
        Form::Text if found.is_empty() => print::text("no sessions\n"),
        Form::Text => print::text(&table(&found)),
    })
}

fn table(found: &[(SessionName, Option<SessionStatus>)]) -> String {
    let mut text = String::new();
    for (name, status) in found {
        let Some(status) = status else {
            let _ = writeln!(text, "{name}  does not answer");
            continue;
        };
        let workspace = visible(&status.workspace.to_string_lossy()).into_owned();
        let _ = writeln!(text, "{name}  {workspace}");
        let _ = writeln!(
            text,
            "    {}, preset {}, process {}, since {}",
            doing(status),
            visible(&status.preset),
            status.pid,
            format_moment(status.since)
        );
    }
    text
}

fn doing(status: &SessionStatus) -> String {
    let mut parts = Vec::new();
    if status.commands > 0 {
        parts.push(format!("{} running", status.commands));
    }
    if status.background > 0 {
        parts.push(format!("{} in the background", status.background));
    }
    match status.terminal {
        TerminalState::None => {}
        TerminalState::Detached => parts.push("shell left running".to_owned()),
        TerminalState::Attached => parts.push("shell in use".to_owned()),
    }
    if parts.is_empty() {
        parts.push(format!("idle for {} s", status.idle_ms / 1000));
    }
    parts.join(", ")
}

/// Ends these, or all when none is named.
async fn kill(place: &SessionPlace, names: Vec<SessionName>) -> Result<ExitCode, SessionRefusal> {
    let names = if names.is_empty() { place.names()? } else { names };
    let mut code = ExitCode::SUCCESS;
    for name in names {
        let closed = match SessionClient::connect(place, &name).await {
            Ok(client) => client.close().await,
            Err(error) => Err(error),
        };
        match closed {
            Ok(Closed::Cleanly) => {}
            Ok(Closed::Killed) => {
                Voice::NORMAL.warning(format!("the session {name} did not answer and was killed"))
            }
            // It lives on: worse than one that was not there.
            Err(error @ (HostError::Silent { .. } | HostError::Stuck { .. })) => {
                code = refuse(Voice::NORMAL, error);
            }
            Err(error) => {
                Voice::NORMAL.error(error);
                if code == ExitCode::SUCCESS {
                    code = ExitCode::FAILURE;
                }
            }
        }
    }
    // What a killed host left.
    place.names()?;
    Ok(code)
}

/// How long output is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Now,
    Ended,
}

async fn output(
    place: &SessionPlace,
    name: &SessionName,
    id: u64,
    until: Until,
) -> Result<ExitCode, SessionRefusal> {
    let mut from = 0;
    loop {
        let client = SessionClient::connect(place, name).await?;
        let asked = client.output(id, from);
        let said = match until {
            Until::Ended => asked.await?,
            // Nothing new is an answer, too.
            Until::Now => match tokio::time::timeout(PATIENCE / 4, asked).await {
                Ok(said) => said?,
                Err(_) => return Ok(ExitCode::SUCCESS),
            },
        };
        if from == 0 && said.lost > 0 {
            let text = match said.chunks.is_empty() && said.status.is_some() {
                true => format!("none of its {} bytes are kept any more: many others ended since", said.lost),
                false => format!("the first {} bytes are not kept any more", said.lost),
            };
            Voice::NORMAL.warning(text);
        }
        for SaidChunk { descriptor, data } in &said.chunks {
            let written = match descriptor {
                1 => io::stdout().write_all(data).and_then(|()| io::stdout().flush()),
                _ => io::stderr().write_all(data),
            };
            if written.is_err() {
                return Ok(ExitCode::FAILURE);
            }
        }
        match (said.status, until) {
            (Some(code), Until::Ended) => return Ok(status::of_command(code)),
            (Some(_), Until::Now) => return Ok(ExitCode::SUCCESS),
            (None, _) => from = said.next,
        }
    }
}
