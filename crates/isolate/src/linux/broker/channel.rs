//! What launcher and broker say to each other: JSON in packets, a descriptor beside it where one travels.

use super::deeds::Deed;
use crate::Concern;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use stockade_policy::{Reply, RuleRef, ViolationKind};

/// More than any message: two paths and a rule.
const LONGEST: usize = 128 * 1024;

/// Broker to launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It could not take its place.
    Failed { act: String, errno: i32 },
    /// Something was refused.
    Refused(Noted),
    /// One more of what was refused often enough to be only counted.
    OneMore,
    /// A connection, or a datagram, was refused before it came to the gateway.
    TurnedAway { noted: Noted, away: Away },
    /// One more of those.
    OneMoreAway(Away),
    /// A call waits for an answer.
    Ask { id: u64, noted: Noted },
    /// Somebody allowed this, and only the launcher can do it.
    Do { id: u64, deed: Deed },
    /// A connection was made from here, to there as the program wanted it.
    Origin { from: SocketAddr, to: Option<SocketAddr>, who: Who },
    /// Who made a connection, where that is known.
    Connected { id: u64, who: Option<Who> },
}

/// What was refused before it came to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Away {
    pub(crate) to: SocketAddr,
    pub(crate) over: Transport,
}

/// What would have carried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// A process inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Who {
    /// As the sandbox numbers it.
    pub(crate) pid: u32,
    /// Its session, which is the command's own process id.
    pub(crate) session: u32,
    pub(crate) program: Option<String>,
}

/// A refusal with everything about it that only the broker knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// As the sandbox numbers it.
    pub(crate) pid: u32,
    /// The session of the process, which is the command's own process id.
    pub(crate) session: u32,
    pub(crate) program: Option<String>,
    pub(crate) kind: ViolationKind,
    pub(crate) concern: Concern,
    pub(crate) subject: String,
    pub(crate) reason: String,
    pub(crate) rule: Option<RuleRef>,
    pub(crate) suggestion: Option<String>,
}

/// Launcher to broker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// The answer to a question.
    Reply { id: u64, reply: Reply },
    /// What became of a deed: 0 or an error number; a descriptor comes along where one was asked for.
    Done { id: u64, errno: i32 },
    /// Who made a connection from here, or the last one to there?
    WhoConnected { id: u64, peer: Option<SocketAddr>, destination: Option<SocketAddr> },
    /// Addresses are judged by the gateway plan that comes along as a file. A later version stays.
    Network { version: u64 },
}

/// Sends one message. Blocks while the other side is behind.
pub(crate) fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptor: Option<BorrowedFd<'_>>,
    flags: SendFlags,
) -> Result<(), Errno> {
    let text = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let carried = descriptor.map(|descriptor| [descriptor]);
    if let Some(carried) = &carried {
        ancillary.push(SendAncillaryMessage::ScmRights(carried));
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(&text)], &mut ancillary, flags | SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map(drop),
        }
    }
}

/// Room for one message, used again for the next: that of one connection is small, and there may be many.
pub(crate) struct Room(Box<[u8]>);

impl Default for Room {
    fn default() -> Self {
        Self(vec![0; LONGEST].into_boxed_slice())
    }
}

/// Receives one message. Nothing when the other side is gone.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
    Room(text): &mut Room,
    flags: RecvFlags,
) -> Result<Option<(T, Option<OwnedFd>)>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let slices = &mut [IoSliceMut::new(text)];
        match recvmsg(&socket, slices, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let parsed = serde_json::from_slice(&text[..message.bytes]).map_err(|_| Errno::BADMSG)?;
    Ok(Some((parsed, descriptor)))
}
