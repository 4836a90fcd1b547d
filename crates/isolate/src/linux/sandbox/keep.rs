//! Hearing what the first process and the broker say, for as long as there is a sandbox.

use super::{Heard, Shared};
use crate::linux::broker::{BrokerHandle, Spoken};
use crate::linux::sys;
use crate::linux::wire::{MAX_DOORS, PACKET, Report};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::Interest;

/// A report of the first process, with what may come with it: a terminal, sockets.
type Reported = (Report, Vec<OwnedFd>);

/// Hands on what first process and broker say until the first process is gone, then reaps it.
pub(super) async fn keep(shared: Arc<Shared>, overlays: Vec<OwnedFd>) {
    let (mut brokered, mut not_before) = (true, None);
    loop {
        tokio::select! {
            said = shared.broker_says(), if brokered => match said {
                Some(Spoken::HandedOn) => {}
                Some(Spoken::Failed { errno }) => shared.broker_failed(errno),
                None => {
                    brokered = false;
                    if !shared.broker.as_ref().is_some_and(BrokerHandle::ended_well) {
                        shared.hear_waiting_reports();
                        // Every held call fails from now on; better to end than to go on like that.
                        shared.unbrokered.store(true, Ordering::Relaxed);
                        shared.kill();
                    }
                }
            },
            then = shared.hear_of_datagrams(not_before) => not_before = then,
            report = shared.next_report() => match report {
                Some((report, carried)) => shared.hear_init(report, carried),
                None => break,
            },
        }
    }
    {
        let mut jobs = shared.jobs();
        jobs.closed = true;
        jobs.waiting.clear();
    }
    shared.arrivals.close();
    shared.notes.close();
    shared.kill();
    // Readable means ended, so that reaping does not block.
    let _ = shared.pidfd.readable().await;
    let _ = sys::reap_pidfd(shared.pidfd.as_fd());
    // The last of both takes the mounts apart, which takes a while. The next one to lay this overlay has to
    // find it gone; nothing else is missed by anybody.
    if overlays.is_empty() {
        shared.progress.send_modify(|progress| progress.gone = true);
    }
    if let Some(broker) = &shared.broker {
        broker.ended().await;
    }
    drop(overlays);
    shared.progress.send_modify(|progress| progress.gone = true);
}

impl Shared {
    /// The next report; nothing once the first process is gone and all it said has been heard.
    async fn next_report(&self) -> Option<Reported> {
        match self.receive().await {
            // It went without hearing an order of ours, which the kernel tells before its last words.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::CONNRESET) => {
                self.receive().await.ok().flatten()
            }
            other => other.ok().flatten(),
        }
    }

    async fn receive(&self) -> io::Result<Option<Reported>> {
        self.control.async_io(Interest::READABLE, take_report).await
    }

    /// Hears the reports that are there already.
    pub(crate) fn hear_waiting_reports(&self) {
        let mut unheard = 0;
        loop {
            match take_report(self.control.get_ref()) {
                Ok(Some((report, carried))) => self.hear_init(report, carried),
                // As above: the last words come after it.
                Err(error) if unheard == 0 && Errno::from_io_error(&error) == Some(Errno::CONNRESET) => {
                    unheard += 1;
                }
                _ => return,
            }
        }
    }

    fn hear_init(&self, report: Report, mut carried: Vec<OwnedFd>) {
        let id = match report {
            Report::Started { id, .. } | Report::NotStarted { id, .. } => {
                self.progress.send_if_modified(|progress| !std::mem::replace(&mut progress.ready, true));
                id
            }
            Report::Exited { id, .. } => {
                self.hear_what_was_said();
                id
            }
            Report::Doors { doors } => {
                return self.arrivals.take_in(self.script.network.doors(), doors, carried);
            }
            Report::Socket { id, errno } => return self.arrivals.arrived(id, errno, carried.pop()),
            Report::Failed { step, index, errno } => {
                return self.failed(step, index, errno);
            }
            Report::Ready => return self.progress.send_modify(|progress| progress.ready = true),
        };
        if let Some(waiting) = self.jobs().waiting.get_mut(&id) {
            if let Report::Started { pid, .. } = report {
                waiting.pid = Some(pid);
            }
            // A receiver that is gone no longer wants to know.
            let _ = waiting.heard.send(Heard::Report(report, carried.pop()));
        }
    }
}

fn take_report(socket: &OwnedFd) -> io::Result<Option<Reported>> {
    let mut packet = [0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DOORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut packet)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
    )?;
    let mut carried = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            carried.extend(descriptors);
        }
    }
    let whole = (message.bytes == PACKET).then(|| Report::decode(&packet)).flatten();
    Ok(whole.map(|report| (report, carried)))
}
