//! A client's stream, of which only requests that can be read in one way come out.
//!
//! The HTTP library is forgiving where two lengths are given or a line ends oddly; what stands behind the
//! gateway may be forgiving in another way. So the library only sees what the strict reader has passed.

use super::body::BodyScan;
use super::head::{BadRequest, Framing, Head, Upgrade, may_be_whole, said};
use crate::gateway::Room;
use crate::relay::BreakOff;
use bytes::{Buf, BytesMut};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A head has to arrive within this time after its first byte.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);
/// A connection without a request ends after this time.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(300);
const PIECE: usize = 8 * 1024;
/// Bytes of what a refused request asks for that are told.
const LONGEST_SAID: usize = 1024;
/// Stands in for a request that was refused, so that the library asks for an answer to it.
const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n";

/// A client's stream that only gives requests that can be read in one way.
pub(super) struct Guard<S: BreakOff> {
    stream: S,
    /// Bytes read; the first `passed` of them may be given on.
    held: BytesMut,
    room: Room,
    passed: usize,
    /// How many of them were looked at for a head.
    looked: usize,
    phase: Phase,
    /// Requests given on.
    count: u64,
    gate: Arc<Gate>,
    timer: Option<(Late, Pin<Box<Sleep>>)>,
    /// How much of a body is read at once, where that is not as much as there is room for.
    most: Option<usize>,
}

#[derive(Debug)]
enum Phase {
    Head,
    Body(BodyScan),
    /// Until it is known whether what follows is still HTTP.
    Waiting,
    /// It is not.
    Through,
    /// Nothing more comes.
    Over,
}

/// What a client was too late with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Late {
    Idle,
    Head,
}

/// A request that cannot be read in one way.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    pub(super) wrong: BadRequest,
    /// What it asks for, as it was written.
    pub(super) said: Vec<u8>,
}

/// What the guard and whoever answers requests tell each other.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    bad: Option<(u64, Unread)>,
    answered: u64,
    /// The request whose answer decides what follows.
    waiting: Option<u64>,
    waker: Option<Waker>,
    /// An answer has broken off.
    broken: bool,
}

impl Gate {
    /// Counts a request that is about to be answered; what was wrong with it, where something was.
    pub(super) fn next(&self) -> Result<(), Unread> {
        let mut state = self.state();
        state.answered += 1;
        match &state.bad {
            Some((number, unread)) if *number == state.answered => Err(unread.clone()),
            _ => Ok(()),
        }
    }

    /// After the answer to the present request the connection is still HTTP, whatever it wanted.
    pub(super) fn stay(&self) {
        let mut state = self.state();
        if state.waiting == Some(state.answered) {
            state.waiting = None;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    /// An answer has broken off. Where only the end of the connection ends it, the client must not take that
    /// end for one.
    pub(super) fn break_off(&self) {
        self.state().broken = true;
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: BreakOff> Guard<S> {
    /// Guards a stream of which some bytes were already read.
    pub(super) fn new(stream: S, room: Room, first: &[u8]) -> (Self, Arc<Gate>) {
        let gate = Arc::new(Gate::default());
        let (held, phase) = (BytesMut::from(first), Phase::Head);
        (
            Self {
                stream,
                held,
                room,
                passed: 0,
                looked: 0,
                phase,
                count: 0,
                gate: Arc::clone(&gate),
                timer: None,
                most: None,
            },
            gate,
        )
    }

    /// Reads bodies in pieces of no more than this: the library keeps whole pieces.
    pub(super) fn read_at_most(&mut self, bytes: usize) {
        self.most = Some(bytes);
    }

    /// What follows is no longer HTTP and passes as it is. Gives what was read of it already.
    pub(super) fn let_through(&mut self) -> BytesMut {
        self.phase = Phase::Through;
        self.timer = None;
        self.passed = 0;
        std::mem::take(&mut self.held)
    }

    /// Looks at the head that is held; false when it is not there in full.
    fn judge_head(&mut self) -> bool {
        let may_be_whole = may_be_whole(&self.held, std::mem::replace(&mut self.looked, self.held.len()));
        match if may_be_whole { Head::parse(&self.held) } else { Ok(None) } {
            Ok(None) if self.room.hold(self.held.len()).is_ok() => return false,
            Ok(None) => self.fail(BadRequest::Crowded),
            Ok(Some(head)) => self.pass_head(&head),
            Err(wrong) => self.fail(wrong),
        }
        self.room.leave();
        true
    }

    fn pass_head(&mut self, head: &Head) {
        let leaves = head.method == "CONNECT" || head.upgrade == Upgrade::Opaque;
        if leaves && head.framing != Framing::Length(0) {
            return self.fail(BadRequest::Body);
        }
        // The library would say no by itself, and nobody would hear of it.
        if http::Uri::try_from(head.target.as_str()).is_err() {
            return self.fail(BadRequest::Target);
        }
        self.count += 1;
        self.timer = None;
        self.looked = 0;
        self.passed = head.length;
        self.phase = match leaves {
            true => Phase::Waiting,
            false => Phase::Body(BodyScan::new(head.framing)),
        };
        if leaves {
            self.gate.state().waiting = Some(self.count);
        }
    }

    fn fail(&mut self, wrong: BadRequest) {
        let said = said(&self.held);
        let said = said[..said.len().min(LONGEST_SAID)].to_vec();
        self.gate.state().bad = Some((self.count + 1, Unread { wrong, said }));
        self.held = BytesMut::from(STAND_IN);
        self.passed = STAND_IN.len();
        self.phase = Phase::Over;
        self.timer = None;
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> Option<Late> {
        let (kind, time) = match self.held.is_empty() {
            true => (Late::Idle, IDLE_TIME),
            false => (Late::Head, HEAD_TIME),
        };
        if self.timer.as_ref().is_none_or(|(set, _)| *set != kind) {
            self.timer = Some((kind, Box::pin(tokio::time::sleep_until(Instant::now() + time))));
        }
        let (kind, sleep) = self.timer.as_mut()?;
        sleep.as_mut().poll(cx).is_ready().then_some(*kind)
    }
}

impl<S: AsyncRead + BreakOff + Unpin> Guard<S> {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut piece = [0; PIECE];
        let mut buffer = ReadBuf::new(&mut piece);
        std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        self.held.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Reads body bytes straight into the library's buffer.
    fn poll_body(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Phase::Body(scan) = &mut self.phase else { return Poll::Ready(Ok(())) };
        let before = buffer.filled().len();
        match self.most {
            None => std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?,
            Some(most) => {
                let room = most.min(buffer.remaining());
                let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(room));
                std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, &mut piece))?;
                let read = piece.filled().len();
                buffer.advance(read);
            }
        }
        let read = &buffer.filled()[before..];
        let part = scan.follow(read).map_err(io::Error::other)?;
        self.held.extend_from_slice(&read[part..]);
        buffer.set_filled(before + part);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + BreakOff + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.passed > 0 {
                let part = this.passed.min(buffer.remaining());
                buffer.put_slice(&this.held[..part]);
                this.held.advance(part);
                this.passed -= part;
                return Poll::Ready(Ok(()));
            }
            match &mut this.phase {
                Phase::Over => return Poll::Pending,
                Phase::Through => return Pin::new(&mut this.stream).poll_read(cx, buffer),
                Phase::Body(scan) if scan.is_done() => this.phase = Phase::Head,
                Phase::Body(scan) if !this.held.is_empty() => {
                    this.passed = scan.follow(&this.held).map_err(io::Error::other)?;
                }
                Phase::Body(_) => return this.poll_body(cx, buffer),
                Phase::Waiting => {
                    let mut state = this.gate.state();
                    if state.waiting.is_some() {
                        state.waker = Some(cx.waker().clone());
                        return Poll::Pending;
                    }
                    drop(state);
                    this.phase = Phase::Head;
                }
                Phase::Head => {
                    if this.judge_head() {
                        continue;
                    }
                    match this.poll_fill(cx)? {
                        Poll::Ready(0) => return Poll::Ready(Ok(())),
                        Poll::Ready(_) => {}
                        Poll::Pending => match this.is_late(cx) {
                            None => return Poll::Pending,
                            Some(Late::Idle) => return Poll::Ready(Ok(())),
                            Some(Late::Head) => this.fail(BadRequest::TooSlow),
                        },
                    }
                }
            }
        }
    }
}

crate::through::write_through!(stream for Guard<S>, BreakOff);

impl<S: BreakOff> BreakOff for Guard<S> {
    fn break_off(&mut self) {
        self.stream.break_off();
    }
}

impl<S: BreakOff> Drop for Guard<S> {
    fn drop(&mut self) {
        let broken = self.gate.state().broken;
        if broken {
            self.stream.break_off();
        }
    }
}
