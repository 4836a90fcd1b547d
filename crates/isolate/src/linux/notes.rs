//! What is told about the network, on its way to the commands' events: who did it is asked of the broker, a
//! flood is counted, a question waits for its answer.

use super::broker::{Away, Noted, Sender, Tally, Telling, Told, Who};
use super::sandbox::{Heard, Shared};
use crate::{BoxFuture, Ear, NetNote, NetProcess};
use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use stockade_policy::{GatewayPlan, Reply};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Below are the broker's own questions.
pub(crate) const FIRST_QUESTION: u64 = 1 << 32;
/// Questions that may stand at once; the next is a no.
const MOST_QUESTIONS: usize = 256;
/// Connections whose processes are remembered.
const MOST_ORIGINS: usize = 8192;
/// How long the broker has to say who it was.
const PATIENCE: Duration = Duration::from_millis(20);

/// What stands between a teller and the commands.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Ledger>);

#[derive(Default)]
struct Ledger {
    last: u64,
    tally: Tally,
    /// Notes whose process is being looked for.
    sought: HashMap<u64, Sought>,
    /// Questions that stand.
    asked: HashMap<u64, oneshot::Sender<Reply>>,
    /// Who made the last connections, and their order, oldest first.
    origins: HashMap<SocketAddr, Origin>,
    order: VecDeque<SocketAddr>,
    /// How often the rules have changed.
    version: u64,
    closed: bool,
}

impl Ledger {
    /// Who sent a datagram from there.
    fn sender(&self, from: SocketAddr) -> Option<Origin> {
        // A socket that only has a port sends from whatever address leads there.
        let (address, port) = (from.ip().to_canonical(), from.port());
        let addresses = [address, Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let known = |address| self.origins.get(&SocketAddr::new(address, port)).cloned();
        addresses.into_iter().find_map(known)
    }
}

/// Where a connection comes from: who made it, and where to.
#[derive(Clone)]
struct Origin {
    to: Option<SocketAddr>,
    who: Who,
}

struct Sought {
    noted: Noted,
    becomes: Becomes,
}

/// What a note is once its process is known, or known not to be.
pub(crate) enum Becomes {
    Refusal,
    Datagram(Away),
    Question(oneshot::Sender<Noted>),
}

impl Notes {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Entries are added and removed whole, whatever became of who held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the rules that hold from now on.
    pub(crate) fn next_version(&self) -> u64 {
        let mut ledger = self.ledger();
        ledger.version += 1;
        ledger.version
    }

    /// A process made a connection from here.
    pub(crate) fn came_from(&self, from: SocketAddr, to: Option<SocketAddr>, who: Who) {
        let mut ledger = self.ledger();
        if ledger.origins.insert(from, Origin { to, who }).is_none() {
            ledger.order.push_back(from);
        }
        if ledger.order.len() > MOST_ORIGINS
            && let Some(oldest) = ledger.order.pop_front()
        {
            ledger.origins.remove(&oldest);
        }
    }

    fn origin(&self, peer: SocketAddr) -> Option<NetProcess> {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let ledger = self.ledger();
        let who = &ledger.origins.get(&peer)?.who;
        Some(NetProcess { pid: who.pid, program: who.program.clone() })
    }

    /// Whether a datagram is told of, and who sent it, where that is known by now.
    pub(crate) fn first_of(&self, note: &NetNote, from: SocketAddr) -> (Telling, Option<Who>) {
        let mut ledger = self.ledger();
        let who = ledger.sender(from).map(|origin| origin.who);
        let program = who.as_ref().map(|who| who.program.as_deref().unwrap_or_default());
        let telling = ledger.tally.datagram(&note.subject, program.map_or(Sender::Unknown, Sender::Known));
        (telling, who)
    }

    /// Where a datagram from here was meant to go, which is not always where it went.
    pub(crate) fn meant(&self, from: SocketAddr) -> Option<SocketAddr> {
        self.ledger().sender(from)?.to
    }

    /// Whether a lookup is told of, unless it is one that was told of before; and who asked, where that is known.
    pub(crate) fn lookup(&self, name: &str, from: SocketAddr) -> (Option<Telling>, Option<Who>) {
        let mut ledger = self.ledger();
        let who = ledger.sender(from).map(|origin| origin.who);
        let program = who.as_ref().and_then(|who| who.program.as_deref()).unwrap_or_default();
        (ledger.tally.lookup(name, program), who)
    }

    /// Whether a datagram that the broker has refused is told of, or is like one that was told of before.
    pub(crate) fn refused_datagram(&self, subject: &str, program: Option<&str>) -> Telling {
        let sender = program.map_or(Sender::Unknown, Sender::Known);
        self.ledger().tally.datagram(subject, sender)
    }

    /// Nobody is left to be told or asked: what waits for an answer hears a no.
    pub(crate) fn close(&self) {
        let mut ledger = self.ledger();
        ledger.closed = true;
        ledger.asked.clear();
        ledger.sought.clear();
    }
}

impl Shared {
    fn note_refusal(self: &Arc<Self>, note: NetNote) {
        let telling = self.notes.ledger().tally.of(note.kind, &note.subject);
        if telling == Telling::AsOneMore {
            self.tell_job(0, Heard::RefusedOneMore);
            return;
        }
        let id = self.seek(note, Becomes::Refusal);
        self.be_patient(vec![id]);
    }

    /// Waits a moment for the broker to say who it was.
    pub(crate) fn be_patient(self: &Arc<Self>, mut sought: Vec<u64>) {
        sought.retain(|id| self.is_sought(*id));
        if sought.is_empty() {
            return;
        }
        let late = Arc::downgrade(self);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                tokio::time::sleep(PATIENCE).await;
                if let Some(shared) = late.upgrade() {
                    sought.into_iter().for_each(|id| shared.found(id, None));
                }
            })),
            _ => sought.into_iter().for_each(|id| self.found(id, None)),
        }
    }

    async fn put_question(self: Arc<Self>, note: NetNote) -> Reply {
        let (sender, who) = oneshot::channel();
        let id = self.seek(note, Becomes::Question(sender));
        let late = Arc::downgrade(&self);
        drop(self);
        let noted = async {
            let mut who = who;
            match tokio::time::timeout(PATIENCE, &mut who).await {
                Ok(noted) => noted.ok(),
                Err(_) => {
                    late.upgrade()?.found(id, None);
                    who.await.ok()
                }
            }
        };
        let answer = match noted.await {
            Some(noted) => late.upgrade().and_then(|shared| shared.stand(id, noted)),
            None => None,
        };
        match answer {
            Some(answer) => answer.await.unwrap_or(Reply::Deny),
            None => Reply::Deny,
        }
    }

    /// Puts a question to the command it is about. Nothing where nobody can answer.
    fn stand(&self, id: u64, noted: Noted) -> Option<oneshot::Receiver<Reply>> {
        let (sender, answer) = oneshot::channel();
        {
            let mut ledger = self.notes.ledger();
            if ledger.closed {
                return None;
            }
            if ledger.asked.len() >= MOST_QUESTIONS {
                drop(ledger);
                self.tell_job(noted.session, Heard::Refused(noted));
                return None;
            }
            ledger.asked.insert(id, sender);
        }
        if !self.tell_job(noted.session, Heard::Ask { id, noted }) {
            self.notes.ledger().asked.remove(&id);
        }
        Some(answer)
    }

    /// Answers a question of the network's.
    pub(crate) fn answer(&self, id: u64, reply: Reply) {
        let asked = self.notes.ledger().asked.remove(&id);
        if let Some(asked) = asked {
            // Whoever asked may have given up.
            let _ = asked.send(reply);
        }
    }

    /// Looks for the process a note is about. Where nobody can know it is found to be nobody at once.
    pub(crate) fn seek(&self, note: NetNote, becomes: Becomes) -> u64 {
        let (peer, destination) = (note.peer, note.destination);
        let id = {
            let mut ledger = self.notes.ledger();
            let id = ledger.last.max(FIRST_QUESTION) + 1;
            ledger.last = id;
            if !ledger.closed {
                ledger.sought.insert(id, Sought { noted: noted(note, None), becomes });
            }
            id
        };
        let asked = (peer.is_some() || destination.is_some())
            && self.tell_broker(&Told::WhoConnected { id, peer, destination }, None).is_ok();
        if !asked {
            self.found(id, None);
        }
        id
    }

    fn is_sought(&self, id: u64) -> bool {
        self.notes.ledger().sought.contains_key(&id)
    }

    /// What the broker knows about the process behind a note.
    pub(crate) fn found(&self, id: u64, who: Option<Who>) {
        let sought = self.notes.ledger().sought.remove(&id);
        let Some(Sought { mut noted, becomes }) = sought else { return };
        if let Some(who) = who {
            (noted.pid, noted.session, noted.program) = (who.pid, who.session, who.program);
        }
        match becomes {
            Becomes::Refusal => {
                self.tell_job(noted.session, Heard::Refused(noted));
            }
            Becomes::Datagram(away) => {
                let program = noted.program.as_deref();
                let sender = program.map_or(Sender::Unknown, Sender::Known);
                let telling = self.notes.ledger().tally.datagram_after_all(&noted.subject, sender);
                match telling {
                    Telling::InFull => self.turned_away(noted, away),
                    Telling::AsOneMore => self.counted_away(away),
                }
            }
            // Whoever asked may have given up.
            Becomes::Question(sender) => drop(sender.send(noted)),
        }
    }

    /// A command is over: what was refused before is part of its outcome, known to be anybody's or not.
    pub(crate) fn tell_what_is_sought(&self) {
        let refusals: Vec<u64> = {
            let ledger = self.notes.ledger();
            let is_refusal = |sought: &Sought| !matches!(sought.becomes, Becomes::Question(_));
            let mut ids: Vec<_> =
                ledger.sought.iter().filter(|(_, sought)| is_refusal(sought)).map(|(id, _)| *id).collect();
            ids.sort_unstable();
            ids
        };
        for id in refusals {
            self.found(id, None);
        }
    }
}

/// A note with who is behind it, where that is known.
pub(crate) fn noted(note: NetNote, who: Option<Who>) -> Noted {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let Who { pid, session, program } = who.unwrap_or(Who { pid: 0, session: 0, program: None });
    Noted {
        time: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        pid,
        session,
        program,
        kind: note.kind,
        concern: note.concern,
        subject: note.subject,
        reason: note.reason,
        rule: note.rule,
        suggestion: note.suggestion,
    }
}

/// The teller's way into a sandbox it does not keep alive.
pub(crate) struct Listening(pub(crate) Weak<Shared>);

impl Ear for Listening {
    fn process(&self, peer: SocketAddr) -> Option<NetProcess> {
        self.0.upgrade()?.notes.origin(peer)
    }

    fn refused(&self, note: NetNote) {
        if let Some(shared) = self.0.upgrade() {
            shared.note_refusal(note);
        }
    }

    fn ask(&self, note: NetNote) -> BoxFuture<'static, Reply> {
        match self.0.upgrade() {
            Some(shared) => Box::pin(shared.put_question(note)),
            None => Box::pin(async { Reply::Deny }),
        }
    }

    fn changed(&self, plan: Arc<GatewayPlan>) {
        if let Some(shared) = self.0.upgrade() {
            shared.change_network(&plan);
        }
    }
}
