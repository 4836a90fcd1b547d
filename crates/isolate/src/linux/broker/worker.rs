//! A thread that answers held calls.

use super::act::Answer;
use super::call::Call;
use super::caller::Caller;
use super::process::{Broker, STACK};
use super::questions::Subject;
use super::standing::MOVED;
use super::trial::{Trial, told};
use crate::linux::sys::{self, Held};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use stockade_policy::{Refusal, Switch};

/// Threads that answer: fewer make eight callers wait for each other, more help nobody on small machines.
const THREADS: usize = 4;

/// Starts a thread that answers held calls.
pub(super) fn hire(broker: &Arc<Broker>) -> Result<(), Errno> {
    let (hired, shared) = (broker.hired.fetch_add(1, Ordering::Relaxed), Arc::clone(broker));
    let thread = std::thread::Builder::new().name(format!("broker-{hired}")).stack_size(STACK);
    thread.spawn(move || work(&shared)).map(drop).map_err(|_| {
        broker.hired.fetch_sub(1, Ordering::Relaxed);
        Errno::AGAIN
    })
}

/// Answers held calls until nobody is left to make any.
fn work(broker: &Arc<Broker>) {
    if settle_in(broker).is_err() {
        // One thread less to answer, and none that answers wrongly.
        return;
    }
    loop {
        broker.idle.fetch_add(1, Ordering::Relaxed);
        let received = broker.listener.receive();
        let was_idle = broker.idle.fetch_sub(1, Ordering::Relaxed);
        match received {
            Ok(held) => {
                // Most commands are short and never need a second thread.
                if was_idle == 1 && broker.hired.load(Ordering::Relaxed) < THREADS {
                    // Without it calls wait a little longer.
                    let _ = hire(broker);
                }
                answer(broker, &held, &[]);
            }
            // The caller died before it was heard.
            Err(Errno::NOENT | Errno::INTR) if broker.listener.has_callers() => {}
            // Nobody is left.
            Err(_) => broker.leave(),
        }
    }
}

/// Gives this thread a file mask and a working directory of its own.
pub(super) fn settle_in(broker: &Broker) -> Result<(), Errno> {
    sys::unshare_file_mask()?;
    // Sockets can only be reached by path; from here `self/fd/N` is one, for every descriptor of ours.
    rustix::process::fchdir(&broker.proc)
}

/// Judges one held call and answers it.
pub(super) fn answer(broker: &Arc<Broker>, held: &Held, granted: &[Subject]) {
    let caller = Caller { broker, held };
    let trial = Trial::new(caller, granted);
    let call = Call::read(held);
    let answer = match call {
        Call::Open { path, flags, mode } => trial.open(path, flags, mode),
        Call::MakeDirectory { path, mode } => trial.make_directory(path, mode),
        Call::MakeNode { path, mode } => trial.make_node(path, mode),
        Call::Symlink { target, path } => trial.symlink(target, path),
        Call::Link { from, to, flags } => trial.link(from, to, flags),
        Call::Rename { from, to, flags } => trial.rename(from, to, flags),
        Call::Unlink { path, flags } => trial.unlink(path, flags),
        Call::Truncate { path, length } => trial.truncate(path, length),
        Call::Metadata { path, follow } => trial.metadata(path, follow),
        Call::Alter { whom, change } => trial.alter(whom, change),
        Call::Surroundings => {
            broker.memory().forget();
            Ok(Answer::GoOn)
        }
        Call::Cores(cores) => {
            broker.show_all_cores(held.thread, cores);
            Ok(Answer::GoOn)
        }
        Call::Close { number } => trial.close(number),
        Call::Connect { socket, address, length } => trial.connect(socket, address, length),
        Call::Bind { socket, address, length } => trial.bind(socket, address, length),
        Call::SendTo { socket, address, length } => trial.send_to(socket, address, length),
        Call::Ping => Ok(trial.ping()),
        Call::Invalid => Err(Errno::INVAL),
        Call::Unknown => match broker.refused_by_table(held) {
            Some(refused) => Ok(trial.refuse_call(refused)),
            None => Ok(Answer::Refused(Errno::NOSYS)),
        },
    };
    if matches!(answer, Err(MOVED))
        && let Some(root) = broker.standing.take_moved()
    {
        Trial::new(caller, &[]).record(call.kind(), told(&root), &carried_away());
    }
    let answer = answer.unwrap_or_else(Answer::Refused);
    if matches!(answer, Answer::Descriptor(_)) {
        broker.keep_on_this_core(held.thread);
    }
    answer.give(broker, held);
}

/// Why nothing is judged in a mount that is not in its place.
fn carried_away() -> Refusal {
    Refusal {
        rule: None,
        reason: "it, or a directory above it, has been renamed or replaced since the sandbox began, and rules go by \
                 paths: nothing in it is judged, and nothing allowed, until the next start"
            .into(),
        suggestion: None,
        grantable: Switch::Refused,
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
