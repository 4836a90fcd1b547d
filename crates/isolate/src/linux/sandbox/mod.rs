//! The launcher's handle on a live sandbox.

mod keep;

use self::keep::keep;
use super::broker::{BrokerHandle, Noted};
use super::claim;
use super::company;
use super::doors::Arrivals;
use super::exec::{self, Prepared};
use super::launch::{self, launch};
use super::layers;
use super::notes::{Listening, Notes};
use super::pump::Pump;
use super::script::Script;
use super::sys;
use super::turned_away::Attention;
use super::undelivered::Undelivered;
use super::wire::{Order, Report, Stage, Step};
use crate::{
    Attendant, BoxFuture, Command, Company, CreateError, DoorSocket, ExecError, Health, Making, Running,
    Sandbox, StartError, Teller,
};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, IoSlice};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use stockade_policy::{Enforcement, LayerState, Plan, WallLayer};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};

/// What concerns one command.
pub(crate) enum Heard {
    /// From the first process.
    Report(Report, Option<OwnedFd>),
    /// The broker refused something.
    Refused(Noted),
    /// And one more, only counted.
    RefusedOneMore,
    /// A call waits for an answer.
    Ask { id: u64, noted: Noted },
}

/// What all handles and tasks of one sandbox share.
pub(crate) struct Shared {
    pub(crate) id: String,
    /// What the plan needs and this machine was believed to have; what really stands, once that is known.
    settled: Enforcement,
    standing: OnceLock<Enforcement>,
    plan: Arc<Plan>,
    control: AsyncFd<OwnedFd>,
    pidfd: AsyncFd<OwnedFd>,
    /// The first process, as this one numbers it.
    pid: u32,
    pub(crate) broker: Option<BrokerHandle>,
    /// Sockets from inside.
    arrivals: Arrivals,
    /// What the network's judge tells.
    pub(crate) notes: Notes,
    /// Who is told what never came to the network's judge.
    pub(crate) attention: Attention,
    /// What the plan became, to put a failed step into words.
    script: Script,
    jobs: Mutex<Jobs>,
    progress: watch::Sender<Progress>,
    /// The broker ended before the first process did.
    pub(crate) unbrokered: AtomicBool,
    /// How often commands were told that something was refused.
    pub(crate) told: AtomicU64,
}

/// How far the sandbox's life has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The mounts stand.
    ready: bool,
    /// The step that failed, on which mount, why.
    failed: Option<(Step, u32, i32)>,
    /// The first process has been reaped.
    gone: bool,
}

#[derive(Default)]
pub(crate) struct Jobs {
    next: u32,
    pub(crate) waiting: HashMap<u32, Waiting>,
    closed: bool,
}

/// A command somebody follows.
pub(crate) struct Waiting {
    pub(crate) heard: mpsc::UnboundedSender<Heard>,
    /// Its process, once it has one; it leads a session of its own.
    pub(crate) pid: Option<u32>,
}

/// A sandbox of the native engine.
pub(crate) struct NativeSandbox {
    shared: Arc<Shared>,
}

impl NativeSandbox {
    /// Builds the walls of a plan and waits until they stand.
    pub(crate) async fn create(plan: Arc<Plan>) -> Result<Self, CreateError> {
        let sandbox = Self::begin(plan).await?;
        let built = |progress: &Progress| progress.ready || progress.gone;
        let progress = sandbox.shared.progress.subscribe().wait_for(built).await.map(|progress| *progress);
        match progress {
            Ok(Progress { ready: true, .. }) => Ok(sandbox),
            _ => Err(sandbox.shared.why_not_built()),
        }
    }

    /// Builds the walls of a plan and starts a command without waiting in between: the order lies in the
    /// socket when the first process begins to serve.
    pub(crate) async fn start(plan: Arc<Plan>, making: Making<'_>) -> Result<(Self, Running), StartError> {
        let sandbox = Self::begin(plan).await?;
        // The first process builds meanwhile.
        let Some(command) = making() else {
            sandbox.destroy().await;
            return Err(StartError::Withdrawn);
        };
        match sandbox.run(command).await {
            Ok(running) => Ok((sandbox, running)),
            Err(error) => {
                sandbox.destroy().await;
                let progress = *sandbox.shared.progress.borrow();
                // What kept the command from starting may be a wall that did not come to stand.
                let died = matches!(error, ExecError::Gone) && !progress.ready;
                let unbuilt = progress.failed.is_some() || died;
                Err(if unbuilt { sandbox.shared.why_not_built().into() } else { error.into() })
            }
        }
    }

    async fn begin(plan: Arc<Plan>) -> Result<Self, CreateError> {
        let overlays = claim::overlays(&plan).await?;
        let landlock_abi = sys::landlock_abi();
        let enforcement = layers::settle(&plan, landlock_abi)?;
        let script = Script::compile(&plan, landlock_abi)?;
        let launched = launch(&plan, &script)?;
        let shared = Arc::new(Shared {
            id: new_id(),
            settled: enforcement,
            standing: OnceLock::new(),
            plan,
            script,
            control: launched.control,
            pidfd: launched.pidfd,
            pid: launched.pid,
            broker: launched.broker,
            arrivals: Arrivals::default(),
            notes: Notes::default(),
            attention: Attention::default(),
            jobs: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
            unbrokered: AtomicBool::new(false),
            told: AtomicU64::new(0),
        });
        tokio::spawn(keep(Arc::clone(&shared), overlays));
        Ok(Self { shared })
    }

    async fn run(&self, mut command: Command) -> Result<Running, ExecError> {
        let shared = &self.shared;
        let (job, mut reports) = shared.new_job()?;
        let program = command.argv.first().cloned().unwrap_or_default();
        let cwd = command.cwd.clone();
        let Prepared { order, descriptors, stdin, stdout, stderr } =
            exec::prepare(&shared.plan, job.id, &mut command)?;
        shared.send(order, &descriptors).await?;
        drop(descriptors);
        let mut early = Vec::new();
        let (pid, terminal) = loop {
            match reports.recv().await {
                Some(Heard::Report(Report::Started { pid, .. }, terminal)) => break (pid, terminal),
                Some(Heard::Report(Report::NotStarted { stage, errno, .. }, _)) => {
                    let source = io::Error::from_raw_os_error(errno);
                    return Err(match stage {
                        Stage::Program => ExecError::Program { program: program.into(), source },
                        Stage::Directory => ExecError::Directory { path: cwd, source },
                        other => ExecError::Step { act: stage_name(other), source },
                    });
                }
                Some(Heard::Report(..)) | None => return Err(shared.why_gone()),
                // The broker may be quicker than the first process.
                Some(heard) => early.push(heard),
            }
        };
        let label = command.argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Ok(Pump { job, reports, early, stdout, stderr, label, pid }.run(&command, stdin, terminal))
    }
}

impl Sandbox for NativeSandbox {
    fn id(&self) -> &str {
        &self.shared.id
    }

    fn enforcement(&self) -> &Enforcement {
        self.shared.enforcement()
    }

    fn exec(&self, command: Command) -> BoxFuture<'_, Result<Running, ExecError>> {
        Box::pin(self.run(command))
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        // An error means the sandbox is gone, and with it every process to be stopped.
        Box::pin(async { self.shared.send(Order::KillAll, &[]).await.unwrap_or(()) })
    }

    fn kill(&self) {
        self.shared.kill();
    }

    fn destroy(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.shared.kill();
            // The sender lives in `shared`, so this ends only when the keeper has reaped.
            let _ = self.shared.progress.subscribe().wait_for(|progress| progress.gone).await;
        })
    }

    fn health(&self) -> Health {
        // A first process that is killed lets go of its end before anything inside ends with it.
        let gone = self.shared.jobs().closed || sys::hung_up(self.shared.control.get_ref());
        if gone { Health::Stopped } else { Health::Running }
    }

    fn doors(&self) -> Vec<DoorSocket> {
        self.shared.arrivals.give_away()
    }

    fn attend(&self, attendant: Arc<dyn Attendant>) {
        self.shared.attention.begin(attendant);
    }

    fn hear(&self) -> u64 {
        self.shared.hear_what_was_said();
        self.shared.told.load(Ordering::Relaxed)
    }

    fn company(&self, but: Option<u32>) -> Company {
        // The number is the first process's until it is reaped.
        match self.shared.progress.borrow().gone {
            true => Company::Nobody,
            false => company::of(self.shared.pid, but),
        }
    }

    fn teller(&self) -> Teller {
        Teller::new(Arc::new(Listening(Arc::downgrade(&self.shared))))
    }

    fn socket_inside(&self) -> BoxFuture<'_, io::Result<OwnedFd>> {
        Box::pin(async {
            let gone = || io::Error::new(io::ErrorKind::NotConnected, "the sandbox is gone");
            let (id, socket) = self.shared.arrivals.expect().ok_or_else(gone)?;
            self.shared.send(Order::Socket { id }, &[]).await.map_err(io::Error::other)?;
            socket.await.map_err(|_| gone())?
        })
    }
}

impl Drop for NativeSandbox {
    fn drop(&mut self) {
        self.shared.kill();
    }
}

/// A registered command; unregisters itself.
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.shared.jobs().waiting.remove(&self.id);
    }
}

impl Shared {
    /// Every wall and whether it stands.
    pub(crate) fn enforcement(&self) -> &Enforcement {
        self.standing.get_or_init(|| {
            let mut standing = self.settled.clone();
            if self.has_gateway() {
                let detail = self.arrivals.detail().into();
                standing.set(WallLayer::Gateway, LayerState::Enforced { detail });
            }
            standing
        })
    }

    /// Whether anything leaves, for a gateway to judge.
    pub(crate) fn has_gateway(&self) -> bool {
        self.plan.network.gateway().is_some()
    }

    /// Where the kernel tells of datagrams that went nowhere.
    pub(crate) fn undelivered(&self) -> &Undelivered {
        &self.arrivals.undelivered
    }

    pub(crate) fn jobs(&self) -> MutexGuard<'_, Jobs> {
        // The table stays sound whatever a panicking holder did: entries are only added and removed whole.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_job(self: &Arc<Self>) -> Result<(Job, mpsc::UnboundedReceiver<Heard>), ExecError> {
        let mut jobs = self.jobs();
        if jobs.closed {
            drop(jobs);
            return Err(self.why_gone());
        }
        jobs.next += 1;
        let id = jobs.next;
        let (sender, receiver) = mpsc::unbounded_channel();
        jobs.waiting.insert(id, Waiting { heard: sender, pid: None });
        Ok((Job { id, shared: Arc::clone(self) }, receiver))
    }

    /// A step of the set-up failed; the first is the one that counts.
    pub(crate) fn failed(&self, step: Step, index: u32, errno: i32) {
        self.progress.send_modify(|progress| {
            progress.failed.get_or_insert((step, index, errno));
        });
    }

    fn why_not_built(&self) -> CreateError {
        match self.progress.borrow().failed {
            Some((step, index, errno)) => {
                launch::explain(&self.script, step, index, io::Error::from_raw_os_error(errno))
            }
            None if self.unbrokered.load(Ordering::Relaxed) => CreateError::MissingLayer {
                layer: WallLayer::Broker,
                because: String::new(),
                reason: "the broker ended unexpectedly".into(),
                hint: "the machine may be out of memory, or somebody killed it".into(),
            },
            None => CreateError::Died,
        }
    }

    /// Why there never was a broker, if that is so.
    pub(crate) fn why_unbrokered(&self) -> Option<String> {
        let (step, _, errno) = self.progress.borrow().failed?;
        (step == Step::Broker).then(|| {
            let error = io::Error::from_raw_os_error(errno);
            format!(
                "the broker could not be started when it was needed ({error}), and everything inside was ended; the \
                 limit of processes (`ulimit -u`), of open files (`ulimit -n`) or memory may be reached"
            )
        })
    }

    fn why_gone(&self) -> ExecError {
        match self.progress.borrow().failed {
            Some((_, _, errno)) => {
                ExecError::Step { act: "put the last walls up", source: io::Error::from_raw_os_error(errno) }
            }
            None => ExecError::Gone,
        }
    }

    /// Sends an order and what travels with it.
    pub(crate) async fn send(&self, order: Order, descriptors: &[OwnedFd]) -> Result<(), ExecError> {
        let packet = order.encode();
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        let sent = self.control.async_io(Interest::WRITABLE, |socket| {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(super::wire::MAX_DESCRIPTORS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            }
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            Ok(sendmsg(socket, &[IoSlice::new(&packet)], &mut ancillary, flags)?)
        });
        match sent.await {
            Ok(_) => Ok(()),
            Err(error) if is_closed(&error) => Err(self.why_gone()),
            Err(source) => Err(ExecError::Step { act: "speak to the sandbox's first process", source }),
        }
    }

    /// Kills the first process, and with it everything inside. The keeper reaps it.
    pub(crate) fn kill(&self) {
        if !self.progress.borrow().gone {
            if let Some(broker) = &self.broker {
                broker.retire();
            }
            let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN))
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Table => "start another command: too many run in this sandbox",
        Stage::Image => "read the command",
        Stage::Terminal => "open the private terminal",
        Stage::Process => "make a process",
        Stage::Session => "make a session",
        Stage::Descriptors => "hand over the descriptors",
        Stage::Limits => "set the process limits",
        Stage::Landlock => "apply landlock",
        Stage::Directory | Stage::Program => "start the program",
    }
}

/// Unique on this host while we live: our process id and a count.
fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
