//! `stockade run`.

mod asking;
mod backlog;
mod closing;
mod events;
mod place;
mod raw;
mod reloads;
mod report;
mod review;
mod shown;
mod signals;
mod terminal;
mod watch;
mod wiring;

use crate::args::{AbsentArgs, AskTarget, EventsTarget, PolicyArgs, RunArgs};
use crate::ask::Stage;
use crate::config::Warnings;
use crate::descriptor::claim;
use crate::overlay::Held;
use crate::reactor;
use crate::refuse;
use crate::status;
use crate::stderr::{self, Haste};
use crate::sys;
use crate::voice::{Level, Manner, Voice};
use asking::{Asking, Others};
pub(crate) use closing::{Hints, Program, haste_of, say as say_closing};
use events::{EventLog, EventsPlace};
pub(crate) use raw::{Raw, is_wanted as raw_is_wanted};
pub(crate) use reloads::{Reloads, When};
use report::Report;
pub(crate) use review::ReviewWish;
use review::Reviewing;
pub(crate) use signals::Signals;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use stockade::{
    BuildError, Builder, CommandLine, Layer, LayerReport, LayerState, NetworkHandle, NoticeWeight, Plan,
    PrepareError, Prepared, Publish, Ready, Request, Running, Runtime, StartError, Verdict, WITHOUT_WALLS,
    WallLayer, visible,
};
use terminal::Terminal;
pub(crate) use terminal::window_size;
use watch::{End, watch};
pub(crate) use wiring::TtyWish;
use wiring::Wired;

/// Something that goes on beside a command, given a way to its network.
pub(crate) type Beside =
    Box<dyn FnOnce(Option<NetworkHandle>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Everything a run needs to know.
pub(crate) struct Job {
    pub(crate) runtime: Runtime,
    pub(crate) command: CommandLine,
    pub(crate) voice: Voice,
    pub(crate) tty: TtyWish,
    /// The terminal, where questions are asked on it.
    pub(crate) stage: Option<Stage>,
    pub(crate) inherit: Vec<(OwnedFd, i32)>,
    pub(crate) events: Option<EventsPlace>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) review: ReviewWish,
    /// Said where there is no such program.
    pub(crate) not_found_hint: Option<String>,
    /// Goes on beside the command and ends with it.
    pub(crate) beside: Option<Beside>,
    /// The exit status when nothing was run.
    pub(crate) refused: u8,
}

/// Why nothing was run, or the result cannot be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{option} is not available yet: the {layer} layer does not exist; nothing was run")]
    Absent { option: &'static str, layer: &'static str },
    #[error(
        "no command was given\nhint: stockade run -- COMMAND ARGUMENTS..., or stockade run -c 'SHELL TEXT'"
    )]
    NoCommand,
    #[error("descriptor {number} cannot be used: {source}; nothing was run")]
    Claim { number: i32, source: std::io::Error },
    #[error(transparent)]
    Ask(#[from] asking::AskError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Wire(#[from] wiring::WireError),
    #[error(transparent)]
    Events(#[from] events::EventsError),
    #[error(transparent)]
    Report(#[from] report::ReportError),
    #[error(transparent)]
    Review(#[from] stockade::ReviewError),
    #[error("cannot watch for signals and input: {0}")]
    Reactor(std::io::Error),
    #[error("the engine ended before the command did\nhint: the machine may be out of memory")]
    Lost,
}

/// Runs the command of a command line.
pub(crate) fn main(args: RunArgs) -> ExitCode {
    sys::outlive_file_size_limit();
    let level = match (args.quiet, args.verbose) {
        (true, _) => Level::Quiet,
        (_, true) => Level::Verbose,
        _ => Level::Normal,
    };
    let voice = Voice { level, manner: Manner::Stockade };
    let Some(command) = args.command_line() else {
        return refuse(voice, Refusal::NoCommand);
    };
    let Claimed { inherit, events, ask } = match Claimed::from_caller(&args.inherit_fd, args.events, args.ask)
    {
        Ok(claimed) => claimed,
        Err(error) => return refuse(voice, error),
    };
    let others = Others { inherit: &inherit, events: events.as_ref() };
    let asking = match Asking::prepare(args.ask, ask, &others) {
        Ok(asking) => asking,
        Err(error) => return refuse(voice, error),
    };
    // Other engines are rare; what was made ready for nothing is given up.
    let _ready = (args.provider.is_none() && reactor::has_room()).then(Ready::early);
    let stage = asking.stage();
    let patience = Duration::from_millis(args.ask_timeout);
    let held = match Held::begin(args.overlay.as_ref().map(Option::as_deref), &args.policy.directory()) {
        Ok(held) => held,
        Err(error) => return refuse(voice, error),
    };
    let is_unnamed = matches!(args.overlay, Some(None));
    let not_found_hint = is_unnamed.then(|| overlay_hint(&command)).flatten();
    let more = |builder: Builder| held.give(asking.give(builder.ask_timeout(patience)));
    let status = match runtime(args.policy, &args.absent, args.provider, args.engine, more) {
        Err(error) => refuse(voice, error),
        Ok(runtime) => perform(Job {
            runtime,
            command,
            voice,
            tty: if args.tty { TtyWish::Always } else { TtyWish::AsCaller },
            stage,
            inherit,
            events,
            report: args.report,
            review: if args.review { ReviewWish::Whole } else { ReviewWish::Glance },
            not_found_hint,
            beside: None,
            refused: status::REFUSED,
        }),
    };
    held.end(voice);
    status
}

/// The descriptors the caller named, taken before any of ours can get such a number.
struct Claimed {
    inherit: Vec<(OwnedFd, i32)>,
    events: Option<EventsPlace>,
    /// For answers and for questions.
    ask: Vec<OwnedFd>,
}

impl Claimed {
    fn from_caller(inherit: &[i32], events: Option<EventsTarget>, ask: AskTarget) -> Result<Self, Refusal> {
        let events_number = match events {
            Some(EventsTarget::Descriptor(number)) => Some(number),
            _ => None,
        };
        let ask_numbers = match ask {
            AskTarget::Descriptors { input, output } => vec![input, output],
            AskTarget::Deny | AskTarget::Tty => Vec::new(),
        };
        let mut numbers = inherit.to_vec();
        numbers.extend(events_number);
        numbers.extend(&ask_numbers);
        let mut copies = claim(&numbers).map_err(|(number, source)| Refusal::Claim { number, source })?;
        let ask = copies.split_off(copies.len() - ask_numbers.len());
        let mut inherit: Vec<(OwnedFd, i32)> = copies.into_iter().zip(numbers).collect();
        let events = match events {
            None => None,
            Some(EventsTarget::File(path)) => Some(EventsPlace::File(path)),
            Some(EventsTarget::Descriptor(_)) => {
                inherit.pop().map(|(copy, number)| EventsPlace::Descriptor(copy, number))
            }
        };
        Ok(Self { inherit, events, ask })
    }
}

/// The runtime these options describe.
pub(crate) fn runtime(
    policy: PolicyArgs,
    absent: &AbsentArgs,
    provider: Option<String>,
    engine: Option<String>,
    more: impl FnOnce(Builder) -> Builder,
) -> Result<Runtime, Refusal> {
    if let Some((option, layer)) = absent.first() {
        return Err(Refusal::Absent { option, layer });
    }
    Ok(policy.runtime(|mut builder| {
        if let Some(kind) = provider {
            builder = builder.provider(kind);
        }
        if let Some(name) = engine {
            builder = builder.engine(name);
        }
        more(builder)
    })?)
}

/// Runs a job to its end.
pub(crate) fn perform(job: Job) -> ExitCode {
    let (voice, refused) = (job.voice, job.refused);
    let ready = job.runtime.get_ready();
    let reactor = reactor::build();
    match reactor {
        Ok(reactor) => {
            let status = reactor.block_on(to_the_last_word(job));
            // A reader that never reads must not keep us here. The broker is reaped, however: not everything that
            // inherits orphans, the first process of a container above all, does that for us.
            reactor.shutdown_background();
            drop(ready);
            status
        }
        Err(error) => {
            voice.error(Refusal::Reactor(error));
            ExitCode::from(refused)
        }
    }
}

/// Says why, where there is no result.
async fn to_the_last_word(job: Job) -> ExitCode {
    let (voice, refused) = (job.voice, job.refused);
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            voice.error(Refusal::Reactor(error));
            return ExitCode::from(refused);
        }
    };
    let (status, haste) = run(job, &mut signals).await.unwrap_or_else(|error| {
        voice.error(error);
        (ExitCode::from(refused), Haste::None)
    });
    stderr::finish(haste, &mut signals).await;
    status
}

async fn run(job: Job, signals: &mut Signals) -> Result<(ExitCode, Haste), Refusal> {
    let Job { runtime, command, voice, tty, stage, inherit, events, report, review, .. } = job;
    let Job { not_found_hint, beside, .. } = job;
    // The program ends with its command. What it knows is not taken apart piece by piece.
    let runtime = ManuallyDrop::new(runtime);
    let name = program(&command);
    let mut prepared = runtime.prepare(runtime.request(command))?;
    announce(voice, &runtime, &prepared);
    let mounts = &prepared.plan.mounts;
    let mut log = events.map(|place| EventLog::open(place, mounts)).transpose()?;
    let report = report.map(|path| Report::prepare(path, mounts)).transpose()?;
    let kept =
        [log.as_ref().and_then(EventLog::exposed), report.as_ref().and_then(|one| one.exposed(mounts))];
    let kept: Vec<PathBuf> = kept.into_iter().flatten().collect();
    if !kept.is_empty() {
        // Only the plan told whether commands reach them.
        prepared = runtime.prepare(Request { kept, ..prepared.request })?;
    }
    let plan = ManuallyDrop::new(Arc::clone(&prepared.plan));
    let Wired { wiring, terminal, shown } = wiring::choose(tty, inherit, &prepared, stage.as_ref())?;
    let reviewing = Reviewing::begin(review, &prepared)?;

    let mut early = None;
    let mut starting = std::pin::pin!(runtime.start(prepared, wiring));
    let mut running = loop {
        tokio::select! {
            biased;
            started = &mut starting => break started?,
            // The command may be running already and deserves its time to tidy up, but only once.
            signal = signals.next() => if early.replace(signal).is_some() {
                return Ok((status::of_command(128 + signal), Haste::Great));
            },
        }
    };
    if let Some(signal) = early {
        running.cancel(signal);
    }
    tell_walls(voice, &plan, &running);
    for warning in running.warnings() {
        voice.warning(warning);
    }
    if running.network().is_some() {
        sys::want_many_descriptors();
    }
    tell_ports(voice, &running);
    let beside = beside.map(|begin| tokio::spawn(begin(running.network().cloned())));
    let asked_here = stage.is_some();
    let stage = stage.unwrap_or_default();
    let terminal = match running.terminal() {
        Some(outer) => Some(Terminal::begin(outer, terminal, stage).map_err(Refusal::Reactor)?),
        None => None,
    };
    voice.detail(format!("sandbox {}", running.id()));
    let when = if asked_here || terminal.is_some() { When::Afterwards } else { When::AtOnce };
    let mut reloads = Reloads::new(voice, when);
    let lightened = tokio::spawn(lighten());
    let end = watch(running, &mut log, signals, terminal, shown, &reviewing, &mut reloads).await;
    lightened.abort();
    reloads.finish();
    if let Some(beside) = beside {
        beside.abort();
    }
    for fault in runtime.record_faults() {
        voice.warning(fault);
    }
    if let Some(fault) = log.as_ref().and_then(EventLog::fault) {
        voice.warning(fault);
    }
    match end {
        End::Told(outcome, said) => {
            if let Some(report) = report {
                report.write(&outcome)?;
            }
            let not_found_hint = not_found_hint.as_deref();
            let program = Program { name: &name, not_found_hint, hints: Hints::ThisRun };
            for notice in said {
                match notice.weight {
                    NoticeWeight::Warning => voice.error(visible(&notice.text)),
                    NoticeWeight::Detail => voice.detail(visible(&notice.text)),
                }
            }
            say_closing(voice, &program, &plan.limits, &outcome, runtime.ignored());
            if runtime.unasked() > 0 {
                let count = runtime.unasked();
                voice.closing(format!("{count} of them without asking: there were too many questions"));
            }
            reviewing.say(voice, &outcome);
            Ok((status::of_command(outcome.exit_code), haste_of(&outcome)))
        }
        End::GivenUp(signal) => Ok((status::of_command(128 + signal), Haste::Great)),
        End::Lost => Err(Refusal::Lost),
    }
}

/// Most of what a start needed is not needed while the command runs, and many may run beside each other.
async fn lighten() {
    /// Short commands would pay for it without having anything of it.
    const LONG: Duration = Duration::from_millis(100);
    tokio::time::sleep(LONG).await;
    sys::let_go_of_program();
}

/// The program's name as a shell would say it.
fn program(command: &CommandLine) -> String {
    match command {
        CommandLine::Argv(words) => {
            words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
        }
        CommandLine::Shell(_) => "/bin/sh".into(),
    }
}

/// The word behind `--overlay` is the program, which not everybody expects.
fn overlay_hint(command: &CommandLine) -> Option<String> {
    let CommandLine::Argv(words) = command else { return None };
    let word = words.first()?.to_str().filter(|word| !word.contains('/'))?;
    Some(format!("to keep the overlay under a name write --overlay={}", visible(word)))
}

fn announce(voice: Voice, runtime: &Runtime, prepared: &Prepared) {
    if prepared.decision.verdict == Verdict::Unsandboxed {
        // Said even to those who asked for quiet: nothing else will tell them.
        Voice { level: Level::Normal, ..voice }
            .warning(format!("{WITHOUT_WALLS}: {}", visible(&prepared.decision.reason)));
    }
    let mut said = Vec::new();
    let policy = runtime.policy();
    let mut warnings = Warnings::of(runtime, voice.level);
    for notice in policy.notices().iter().chain(&prepared.plan.notices) {
        if said.contains(&&notice.text) {
            continue;
        }
        match notice.weight {
            NoticeWeight::Warning => {
                if let Some(text) = warnings.word(notice) {
                    voice.warning(text);
                }
            }
            NoticeWeight::Detail => voice.detail(visible(&notice.text)),
        }
        said.push(&notice.text);
    }
}

/// Where the ports of the sandbox are, for those whose number nobody chose.
fn tell_ports(voice: Voice, running: &Running) {
    for Publish { host, inside } in running.network().map(|network| network.published()).unwrap_or_default() {
        voice.closing(format!("port {inside} inside is 127.0.0.1:{host} here"));
    }
}

fn tell_walls(voice: Voice, plan: &Plan, running: &Running) {
    for LayerReport { layer, state } in &running.enforcement().layers {
        match state {
            LayerState::Missing { reason } if is_asked_for(plan, *layer) => {
                voice.warning(format!("the {layer} layer is missing: {reason}"));
            }
            LayerState::Missing { reason } => voice.detail(format!("{layer}: missing: {reason}")),
            LayerState::Enforced { detail } if detail.is_empty() => voice.detail(format!("{layer}: stands")),
            LayerState::Enforced { detail } => voice.detail(format!("{layer}: stands ({detail})")),
            LayerState::NotNeeded => {}
        }
    }
}

/// Whether a missing wall is worth a word at every start. The built-in lists always name things that are
/// not there, so that the broker is always missed a little; only a rule that a person wrote counts.
fn is_asked_for(plan: &Plan, layer: WallLayer) -> bool {
    layer != WallLayer::Broker
        || plan
            .layers
            .iter()
            .filter(|need| need.layer == layer)
            .any(|need| need.because.as_ref().is_some_and(|rule| rule.origin.layer > Layer::Preset))
}
