//! What is refused before it comes to a door of the network: told to the command, and to whoever counts.

use super::broker::{Away, Noted, Telling, Transport};
use super::lookup;
use super::notes::{Becomes, noted};
use super::sandbox::{Heard, Shared};
use super::undelivered::{Datagram, Left};
use crate::{Attendant, Concern, NetNote, NetProcess, TurnedAway};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stockade_policy::ViolationKind;
use tokio::time::Instant;

/// Why no datagram goes anywhere.
pub(crate) const NO_DATAGRAMS: &str =
    "only TCP and name lookups leave the sandbox; UDP, and with it QUIC, does not";
/// What is kept for an attendant that comes later.
const MOST_EARLY: usize = 256;
/// How long a flood of datagrams is left alone.
const PAUSE: Duration = Duration::from_millis(10);
/// Turns that are waited for when a command ends.
const LAST_TURNS: usize = 8;

/// Whoever serves the doors, once they are there.
#[derive(Default)]
pub(crate) struct Attention(Mutex<State>);

#[derive(Default)]
struct State {
    attendant: Option<Arc<dyn Attendant>>,
    early: Vec<TurnedAway>,
}

impl Attention {
    pub(crate) fn begin(&self, attendant: Arc<dyn Attendant>) {
        let early = {
            let mut state = self.state();
            state.attendant = Some(Arc::clone(&attendant));
            std::mem::take(&mut state.early)
        };
        early.into_iter().for_each(|away| attendant.turned_away(away));
    }

    fn get(&self) -> Option<Arc<dyn Attendant>> {
        self.state().attendant.clone()
    }

    fn tell(&self, away: TurnedAway) {
        let mut state = self.state();
        match state.attendant.clone() {
            Some(attendant) => {
                drop(state);
                attendant.turned_away(away);
            }
            None if state.early.len() < MOST_EARLY => state.early.push(away),
            None => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Something was refused before it came to a door.
    pub(crate) fn turned_away(&self, mut noted: Noted, away: Away) {
        let (host, target) = self.in_words(away);
        noted.subject.clone_from(&target);
        self.attention.tell(TurnedAway {
            host,
            target,
            reason: noted.reason.clone(),
            rule: noted.rule.clone(),
            process: (noted.pid != 0).then(|| NetProcess { pid: noted.pid, program: noted.program.clone() }),
        });
        self.tell_job(noted.session, Heard::Refused(noted));
    }

    /// The broker has refused something. It sees some datagrams before they are sent, and the kernel tells of
    /// others: those of one program to one place have one record, whichever way they took.
    pub(crate) fn turned_away_by_broker(&self, noted: Noted, away: Away) {
        if away.over == Transport::Udp {
            let subject = self.in_words(away).1;
            if self.notes.refused_datagram(&subject, noted.program.as_deref()) == Telling::AsOneMore {
                return self.counted_away(away);
            }
        }
        self.turned_away(noted, away);
    }

    /// One more, which is only counted.
    pub(crate) fn counted_away(&self, away: Away) {
        if let Some(attendant) = self.attention.get() {
            attendant.counted(&self.in_words(away).0);
        }
        self.tell_job(0, Heard::RefusedOneMore);
    }

    /// Host and target as people know them.
    fn in_words(&self, Away { to, over }: Away) -> (String, String) {
        let name = self.attention.get().and_then(|attendant| attendant.name_of(to.ip()));
        let (host, target) = match name {
            Some(name) => {
                let target = format!("{name}:{}", to.port());
                (name, target)
            }
            None => (to.ip().to_string(), to.to_string()),
        };
        match over {
            Transport::Tcp => (host, target),
            Transport::Udp => (host, target + "/udp"),
        }
    }

    /// Waits for datagrams that went nowhere, until then at least, and tells of them. Gives how long not to
    /// look again.
    pub(crate) async fn hear_of_datagrams(self: &Arc<Self>, not_before: Option<Instant>) -> Option<Instant> {
        if let Some(then) = not_before {
            tokio::time::sleep_until(then).await;
        }
        self.undelivered().ready().await;
        // Who sent them was said before they were sent.
        self.hear_out_broker();
        let mut sought = Vec::new();
        let left = self.undelivered().hear(|datagram| sought.extend(self.note_datagram(datagram)));
        self.be_patient(sought);
        (left == Left::Perhaps).then(|| Instant::now() + PAUSE)
    }

    /// Tells of the datagrams that a command sent before it ended.
    pub(crate) fn hear_last_datagrams(&self) {
        for _ in 0..LAST_TURNS {
            // Who is still looked for then is told of without a name.
            let left = self.undelivered().hear(|datagram| {
                self.note_datagram(datagram);
            });
            if left == Left::Nothing {
                return;
            }
        }
    }

    /// Notes one datagram; gives the number under which its sender is looked for, where it has to be.
    fn note_datagram(&self, Datagram { from, to, name }: Datagram) -> Option<u64> {
        if !self.has_gateway() {
            return self.note_lookup(name, from, to);
        }
        if to.ip().is_loopback() {
            return None;
        }
        let away = Away { to: SocketAddr::new(to.ip().to_canonical(), to.port()), over: Transport::Udp };
        let note = NetNote {
            kind: ViolationKind::Connect,
            concern: Concern::default(),
            subject: self.in_words(away).1,
            reason: NO_DATAGRAMS.to_owned(),
            rule: None,
            suggestion: None,
            peer: Some(from),
            destination: Some(away.to),
        };
        match self.notes.first_of(&note, from) {
            (Telling::AsOneMore, _) => self.counted_away(away),
            (Telling::InFull, Some(who)) => self.turned_away(noted(note, Some(who)), away),
            (Telling::InFull, None) => return Some(self.seek(note, Becomes::Datagram(away))),
        }
        None
    }

    /// Where there is no network, all that comes here are lookups.
    fn note_lookup(&self, name: Option<String>, from: SocketAddr, server: SocketAddr) -> Option<u64> {
        // Who asks is said before anything is asked, but not before we listened.
        let meant = self.notes.meant(from).or_else(|| {
            self.hear_out_broker();
            self.notes.meant(from)
        });
        let server = meant.unwrap_or(server);
        let (kind, subject, refusal) = lookup::refused(name, server);
        let (telling, who) = self.notes.lookup(&subject, from);
        let note = NetNote {
            kind,
            concern: Concern::default(),
            subject,
            reason: refusal.reason,
            rule: refusal.rule,
            suggestion: refusal.suggestion,
            peer: Some(from),
            destination: None,
        };
        match (telling?, who) {
            (Telling::AsOneMore, _) => drop(self.tell_job(0, Heard::RefusedOneMore)),
            (Telling::InFull, None) => return Some(self.seek(note, Becomes::Refusal)),
            (Telling::InFull, Some(who)) => {
                let noted = noted(note, Some(who));
                self.tell_job(noted.session, Heard::Refused(noted));
            }
        }
        None
    }
}
