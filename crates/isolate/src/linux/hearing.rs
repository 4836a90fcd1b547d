//! What the broker says, and which command it concerns.

use super::broker::{self, Said, Spoken, Told};
use super::notes::FIRST_QUESTION;
use super::sandbox::{Heard, Shared};
use super::wire::Step;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use stockade_policy::{GatewayPlan, Reply};
use tokio::runtime::Handle;

/// How long a broker that is behind is left alone.
const BEHIND: Duration = Duration::from_millis(5);

impl Shared {
    /// Waits until the broker says something and passes it on; nothing once it is gone.
    pub(crate) async fn broker_says(&self) -> Option<Spoken> {
        match &self.broker {
            Some(broker) => broker.listen(|said| self.hear_broker(said)).await,
            None => std::future::pending().await,
        }
    }

    /// What a command was refused was said before it ended.
    pub(crate) fn hear_what_was_said(&self) {
        self.hear_out_broker();
        self.hear_last_datagrams();
        self.tell_what_is_sought();
    }

    /// Hears everything the broker has said until now.
    pub(crate) fn hear_out_broker(&self) {
        if let Some(broker) = &self.broker {
            broker.hear_out(|said| self.hear_broker(said));
        }
    }

    /// The broker could not take its place. Maybe because the first process failed, which is the better
    /// message.
    pub(crate) fn broker_failed(&self, errno: i32) {
        self.hear_waiting_reports();
        self.failed(Step::Broker, u32::MAX, errno);
        self.unbrokered.store(true, Ordering::Relaxed);
        self.kill();
    }

    /// Answers a question, the broker's or the network's.
    pub(crate) fn reply(&self, id: u64, reply: Reply) {
        if id >= FIRST_QUESTION {
            self.answer(id, reply);
        } else {
            let _ = self.tell_broker(&Told::Reply { id, reply }, None);
        }
    }

    /// Tells the broker something. One that is gone has nothing left to be told.
    pub(crate) fn tell_broker(&self, told: &Told, descriptor: Option<&OwnedFd>) -> Result<(), Errno> {
        self.broker.as_ref().map_or(Err(Errno::NOTCONN), |broker| broker.tell(told, descriptor))
    }

    /// The broker judges addresses by other rules from now on. It is only quicker with its no than the
    /// gateway, and more exact about who: until it has heard, nobody gets more than they may.
    pub(crate) fn change_network(self: &Arc<Self>, plan: &GatewayPlan) {
        let version = self.notes.next_version();
        // Without memory or descriptors for it the broker goes on as before, see above.
        let Ok(file) = as_file(plan) else { return };
        let told = Told::Network { version };
        if self.tell_broker(&told, Some(&file)) != Err(Errno::AGAIN) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let shared = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(BEHIND).await;
                let Some(shared) = shared.upgrade() else { return };
                if shared.tell_broker(&told, Some(&file)) != Err(Errno::AGAIN) {
                    return;
                }
            }
        });
    }

    fn hear_broker(&self, said: Said) {
        match said {
            Said::Refused(noted) => {
                self.tell_job(noted.session, Heard::Refused(noted));
            }
            Said::OneMore => {
                self.tell_job(0, Heard::RefusedOneMore);
            }
            Said::TurnedAway { noted, away } => self.turned_away_by_broker(noted, away),
            Said::OneMoreAway(away) => self.counted_away(away),
            Said::Ask { id, noted } => {
                if !self.tell_job(noted.session, Heard::Ask { id, noted }) {
                    self.reply(id, Reply::Deny);
                }
            }
            Said::Do { id, deed } => {
                let done = broker::perform(&deed);
                let errno = done.as_ref().err().map_or(0, |errno| errno.raw_os_error());
                let descriptor = done.ok().flatten();
                let _ = self.tell_broker(&Told::Done { id, errno }, descriptor.as_ref());
            }
            Said::Origin { from, to, who } => self.notes.came_from(from, to, who),
            Said::Connected { id, who } => self.found(id, who),
            // Told to whoever waits for it.
            Said::Failed { .. } => {}
        }
    }

    /// Tells the command whose session this is; where that is nobody's, one that is just starting and whose
    /// session is not known yet, or else the oldest one. False without any.
    pub(crate) fn tell_job(&self, session: u32, heard: Heard) -> bool {
        self.told.fetch_add(1, Ordering::Relaxed);
        let jobs = self.jobs();
        let of_session = jobs.waiting.values().find(|waiting| waiting.pid == Some(session));
        let starting = || {
            let unknown = jobs.waiting.iter().filter(|(_, waiting)| waiting.pid.is_none());
            unknown.max_by_key(|(id, _)| **id).map(|(_, waiting)| waiting).filter(|_| session != 0)
        };
        let oldest = || jobs.waiting.iter().min_by_key(|(id, _)| **id).map(|(_, waiting)| waiting);
        of_session.or_else(starting).or_else(oldest).is_some_and(|waiting| waiting.heard.send(heard).is_ok())
    }
}

/// Rules may be longer than a packet.
fn as_file(plan: &GatewayPlan) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"stockade-network", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(plan)?)?;
    Ok(file.into())
}
