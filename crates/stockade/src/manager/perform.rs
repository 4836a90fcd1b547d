//! Running one tool call.

use super::error::ManagerError;
use super::input::ToolInput;
use super::pending::Pending;
use super::permission::PermissionRequest;
use super::result::ToolResult;
use super::shared::Shared;
use crate::grants::Given;
use crate::{PrepareError, Runtime, Session, SessionCommand, SessionError, WITHOUT_WALLS, visible};
use std::time::Duration;
use stockade_policy::{BareWish, CommandLine, Event, Outcome, Request, Verdict};

/// Bytes of output that are kept of a call, both streams together.
const MOST_OUTPUT: u64 = 10 * 1024 * 1024;
/// How long after its time a command may take to end by itself.
const GRACE: Duration = Duration::from_millis(250);
const SIGTERM: i32 = 15;

/// Who watches a call.
pub(super) type Watcher<'a> = &'a mut (dyn FnMut(&Event) + Send);

/// The request behind a call: where the shell is, if there is one.
pub(super) fn request(runtime: &Runtime, session: Option<&Session>, input: &ToolInput) -> Request {
    let usual = runtime.request(CommandLine::Shell(input.command.clone().into()));
    let request = Request { bare: wish(input), consent: input.consent, ..usual };
    match session {
        Some(session) => session.placed(request),
        None => request,
    }
}

fn wish(input: &ToolInput) -> BareWish {
    if input.dangerously_disable_sandbox { BareWish::Bare } else { BareWish::Sandboxed }
}

/// Runs a call in a session. `once` is what was opened for it alone.
pub(super) async fn perform(
    shared: &Shared,
    session: &Session,
    input: &ToolInput,
    once: &[Given],
    watcher: Watcher<'_>,
) -> Result<ToolResult, ManagerError> {
    let command = SessionCommand::new(&input.command)
        .time_limit(input.limit())
        .output_limit(MOST_OUTPUT)
        .bare(wish(input))
        .consent(input.consent)
        .asked();
    let mut run = match session.start(command).await {
        Ok(run) => run,
        Err(SessionError::Prepare(error)) => return refused(error),
        Err(error) => return Err(error.into()),
    };
    shared.state().commands += 1;
    let (mut stdout, mut stderr, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    let mut room = Room { left: MOST_OUTPUT, truncated: false };
    // A command without walls is not held to the session's limit.
    let mut end = std::pin::pin!(tokio::time::sleep(input.limit() + GRACE));
    let mut late = false;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = &mut end, if !late => {
                late = true;
                run.cancel(SIGTERM);
                continue;
            }
        };
        let Some(event) = event else { return Err(SessionError::Lost.into()) };
        watcher(&event);
        match event {
            Event::Stdout { data } => room.keep(&mut stdout, &data),
            Event::Stderr { data } => room.keep(&mut stderr, &data),
            Event::Exited(outcome) => {
                let runtime = session.runtime();
                let stderr = runtime.annotate(&String::from_utf8_lossy(&stderr), &outcome);
                let mut result = ToolResult::ended(&stdout, stderr, &outcome);
                result.timed_out |= late;
                result.truncated |= room.truncated;
                if !outcome.sandboxed {
                    notices.insert(0, no_walls(&runtime, Some(session), input));
                }
                result.notices = notices;
                result.permission_request = ask(shared, &runtime, input, once, &outcome);
                return Ok(result);
            }
            event => notices.extend(notice(&event)),
        }
    }
}

/// How much output is still kept.
struct Room {
    left: u64,
    truncated: bool,
}

impl Room {
    fn keep(&mut self, kept: &mut Vec<u8>, data: &[u8]) {
        let fits = data.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        kept.extend_from_slice(&data[..fits]);
        self.left -= fits as u64;
        self.truncated |= fits < data.len();
    }
}

/// What the policy does not let run is a result like any other; everything else that keeps it from running
/// is not the agent's business.
pub(super) fn refused(error: PrepareError) -> Result<ToolResult, ManagerError> {
    match error {
        PrepareError::Refused { .. } | PrepareError::NobodyToAsk { .. } | PrepareError::Unsettled { .. } => {
            Ok(ToolResult::refused(error.to_string()))
        }
        error => Err(SessionError::Prepare(error).into()),
    }
}

/// Says it loudly.
pub(super) fn no_walls(runtime: &Runtime, session: Option<&Session>, input: &ToolInput) -> String {
    let decision = runtime.policy().decide(&request(runtime, session, input), &crate::RealFiles);
    let reason = match decision.verdict {
        Verdict::Unsandboxed => match &decision.rule {
            Some(rule) => format!("{} ({rule})", decision.reason),
            None => decision.reason,
        },
        _ => "the settings said so when it started".to_owned(),
    };
    format!("WARNING: NO SANDBOX: this command could do everything its user can: {reason}")
}

/// The request a person can be asked, where a refusal is the likely cause of a failure.
fn ask(
    shared: &Shared,
    runtime: &Runtime,
    input: &ToolInput,
    once: &[Given],
    outcome: &Outcome,
) -> Option<PermissionRequest> {
    let resource = outcome.blocked_resource.as_ref().filter(|_| outcome.blocked)?;
    let violation = outcome.violations.iter().rev().find(|violation| violation.subject == *resource)?;
    let mut state = shared.state();
    state.requests += 1;
    let id = format!("p{}", state.requests);
    let request = PermissionRequest::about(id, violation, &input.command, runtime.grants())?;
    let why = format!("{}, in: {}", violation.program.as_deref().unwrap_or("a command"), input.command);
    let given = Given { who: super::allowed::WHO.to_owned(), why, ..Given::about(violation) };
    state.waiting.add(Pending { request: request.clone(), given, input: input.clone(), once: once.to_vec() });
    Some(request)
}

/// Whether an event tells that its command has no walls.
pub(super) fn is_without_walls(event: &Event) -> bool {
    matches!(event, Event::Notice(notice) if notice.text.starts_with(WITHOUT_WALLS))
}

/// What agent and person should know of an event.
pub(super) fn notice(event: &Event) -> Option<String> {
    let list = |words: &[String]| words.join(", ");
    match event {
        Event::Restarted { reason, kept, lost } => {
            let mut text = format!("the shell was started anew: {reason}");
            if !kept.is_empty() {
                text.push_str(&format!("; kept: {}", list(kept)));
            }
            if !lost.is_empty() {
                text.push_str(&format!("; lost: {}", list(lost)));
            }
            Some(text)
        }
        Event::SettingsReloaded { files, .. } => {
            let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
            Some(format!("the settings have changed: {}", visible(&list(&files))))
        }
        Event::SettingsRejected { file, error } => {
            let file = file.display().to_string();
            let file = visible(&file);
            Some(format!(
                "{file} has changed and is wrong, what held before holds but for leave to run without walls: {error}"
            ))
        }
        // Said louder: see `no_walls`.
        event if is_without_walls(event) => None,
        Event::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    }
}
