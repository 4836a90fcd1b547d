//! Bodies on their way through: counted, kept within limits, with real values in the place of stand-ins.

use super::answer::Answer;
use super::guard::Gate;
use super::head::BadRequest;
use super::lines::Lease;
use super::pace::Pace;
use super::size;
use super::two::Received;
use crate::credentials::{Replacer, Scrubber};
use crate::gateway::{Admitted, Direction, Exchange, Ward, refusal};
use bytes::Bytes;
use http::{StatusCode, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::Either;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use stockade_policy::{Cause, NetRefusal, Target, ViolationKind};
use tokio::time::{Sleep, sleep};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body as it arrives: from the HTTP library, or of an HTTP/2 client of the proxy.
pub(super) type Source = Either<Incoming, Received>;
/// Any body.
pub(super) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body had to be cut off; whoever is to know has been told.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct CutOff {
    status: StatusCode,
    mark: &'static str,
    reason: String,
}

impl CutOff {
    fn too_long(reason: String) -> Self {
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, mark: "too-long", reason }
    }

    fn limited(reason: String) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, mark: "blocked-by-allowlist", reason }
    }

    fn closed() -> Self {
        let reason = "no longer allowed".to_owned();
        Self { status: StatusCode::FORBIDDEN, mark: "blocked-by-allowlist", reason }
    }

    /// The answer to a request whose body it was.
    pub(super) fn answer(&self) -> Answer {
        Answer::plain(self.status, self.mark, self.reason.clone())
    }
}

/// Why a body from inside did not arrive, where that is not the other side's doing.
pub(super) enum Fault<'a> {
    /// It was cut off here.
    Cut(&'a CutOff),
    /// It cannot be read in one way.
    Bad(BadRequest),
    /// It has ended before its end.
    Short,
}

impl<'a> Fault<'a> {
    /// Looks for it in an error and in what lies below.
    pub(super) fn of(error: &'a (dyn std::error::Error + 'static)) -> Option<Self> {
        let (mut below, mut of_body) = (Some(error), None);
        while let Some(error) = below {
            if let Some(cut) = error.downcast_ref() {
                return Some(Self::Cut(cut));
            }
            let failed = error.downcast_ref::<io::Error>();
            if let Some(wrong) = failed.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref()) {
                return Some(Self::Bad(*wrong));
            }
            // Both sides' errors look alike, but for what the library says about the body that it was given.
            if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_user) {
                of_body = Some(Self::Short);
            }
            let is_unread = |error: &io::Error| {
                matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
            };
            if of_body.is_some() && failed.is_some_and(is_unread) {
                of_body = Some(Self::Bad(BadRequest::Chunk));
            }
            below = error.source();
        }
        of_body
    }
}

/// A body on its way through.
pub(super) struct Flow {
    body: Source,
    tally: Tally,
    /// The end of the request that somebody else decides on.
    closed: Pin<Box<dyn Future<Output = ()> + Send>>,
    rewriting: Option<Rewriting>,
    /// How what is rewritten is looked through.
    pace: Pace,
    /// What waits for the rate limit.
    waiting: Option<(Frame<Bytes>, Pin<Box<Sleep>>)>,
    /// Trailers that wait for what was held back.
    trailers: Option<Frame<Bytes>>,
    /// The connection that is free again once the body has ended.
    lease: Option<Lease>,
    /// Who ends the client's connection.
    gate: Option<Arc<Gate>>,
}

/// What is done to a body on its way.
enum Rewriting {
    /// Real values take the place of stand-ins, and lengths change.
    Replace(Replacer),
    /// Real values that come back are covered.
    Scrub(Scrubber),
}

impl Rewriting {
    fn push(&mut self, piece: Bytes) -> Bytes {
        match self {
            Self::Replace(replacer) => replacer.push(piece),
            Self::Scrub(scrubber) => scrubber.push(piece),
        }
    }

    fn finish(self) -> Bytes {
        match self {
            Self::Replace(replacer) => replacer.finish(),
            Self::Scrub(scrubber) => scrubber.finish(),
        }
    }
}

/// Where the bytes of a body are counted.
pub(super) struct Tally {
    pub(super) ward: Arc<Ward>,
    pub(super) admitted: Arc<Admitted>,
    pub(super) exchange: Arc<Exchange>,
    pub(super) direction: Direction,
    /// How many there may be, where there is a limit.
    pub(super) left: Option<u64>,
}

impl Flow {
    /// Counts `body`.
    pub(super) fn new(body: Source, tally: Tally) -> Self {
        let exchange = Arc::clone(&tally.exchange);
        let closed = Box::pin(async move { exchange.closed().await });
        let (rewriting, pace) = (None, Pace::new());
        Self { body, tally, closed, rewriting, pace, waiting: None, trailers: None, lease: None, gate: None }
    }

    /// Puts real values in the place of stand-ins.
    pub(super) fn replacing(mut self, replacer: Replacer) -> Self {
        self.rewriting = Some(Rewriting::Replace(replacer));
        self
    }

    /// Covers real values that come back.
    pub(super) fn scrubbing(mut self, scrubber: Scrubber) -> Self {
        self.rewriting = Some(Rewriting::Scrub(scrubber));
        self
    }

    /// Gives a connection back at the end.
    pub(super) fn holding(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Says where the client reads the body that it has broken off.
    pub(super) fn told_to(mut self, gate: Option<Arc<Gate>>) -> Self {
        self.gate = gate;
        self
    }

    /// Whether the end of the body is that of a connection that must not go on.
    fn is_cut(&self) -> bool {
        let closed = pin!(self.tally.admitted.closed());
        closed.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// The next piece to be counted; nothing when there is none.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BoxError>> {
        if let Some(rewriting) = &mut self.rewriting
            && let Some(piece) = ready!(self.pace.poll_step(cx, |piece| rewriting.push(piece)))
        {
            return Poll::Ready(Ok(Some(piece)));
        }
        Poll::Ready(Ok(match ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()? {
            Some(frame) => match (frame.into_data(), &mut self.rewriting) {
                (Ok(piece), Some(_)) => {
                    self.pace.begin(piece);
                    Some(Bytes::new())
                }
                (Ok(piece), None) => Some(piece),
                (Err(mut trailers), rewriting) => {
                    if let (Some(Rewriting::Scrub(scrubber)), Some(trailers)) =
                        (&*rewriting, trailers.trailers_mut())
                    {
                        scrubber.head(trailers);
                    }
                    self.trailers = Some(trailers);
                    rewriting.take().map(Rewriting::finish)
                }
            },
            None if !self.body.is_end_stream() && self.is_cut() => {
                return Poll::Ready(Err(CutOff::closed().into()));
            }
            None => {
                self.give_back();
                self.rewriting.take().map(Rewriting::finish)
            }
        }))
    }

    /// The next frame, as it goes on.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.closed.as_mut().poll(cx).is_ready() {
            // Whoever asks again hears the same.
            self.closed = Box::pin(std::future::poll_fn(|_| Poll::Ready(())));
            return Poll::Ready(Some(Err(CutOff::closed().into())));
        }
        loop {
            if let Some((_, wait)) = &mut self.waiting {
                ready!(wait.as_mut().poll(cx));
                return Poll::Ready(self.waiting.take().map(|(frame, _)| Ok(frame)));
            }
            if let Some(trailers) = self.trailers.take() {
                let size =
                    trailers.trailers_ref().map_or(0, |fields| size::of_fields(fields, Version::HTTP_11));
                match self.tally.count(size)? {
                    Some(wait) => self.waiting = Some((trailers, Box::pin(sleep(wait)))),
                    None => return Poll::Ready(Some(Ok(trailers))),
                }
                continue;
            }
            match ready!(self.poll_piece(cx)) {
                Err(error) => return Poll::Ready(Some(Err(error))),
                Ok(None) if self.trailers.is_none() => return Poll::Ready(None),
                Ok(piece) => match piece.filter(|piece| !piece.is_empty()) {
                    Some(piece) => match self.tally.count(piece.len())? {
                        Some(wait) => self.waiting = Some((Frame::data(piece), Box::pin(sleep(wait)))),
                        None => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                    },
                    None => continue,
                },
            }
        }
    }

    fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Tally {
    /// Counts a piece; how long it has to wait before it goes on, where it has to.
    fn count(&mut self, length: usize) -> Result<Option<Duration>, CutOff> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(length as u64).ok_or_else(|| {
                let denied = self.ward.refuse(too_long(&self.admitted.target, self.direction));
                CutOff::too_long(denied.refusal.reason)
            })?;
        }
        self.exchange.count(length, self.direction);
        let counted = self.admitted.meter().count(length, self.direction);
        counted.map_err(|reached| CutOff::limited(reached.refusal.reason))
    }
}

/// The refusal of a body that is too long.
pub(super) fn too_long(target: &Target, direction: Direction) -> NetRefusal {
    let reason = match direction {
        Direction::Sent => "the body of the request is longer than the limits allow",
        Direction::Received => "the answer is longer than the limits allow",
    };
    let mut refusal = refusal(target, Cause::Limit, reason.to_owned(), None);
    refusal.kind = ViolationKind::Limit;
    refusal
}

impl HttpBody for Flow {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let polled = this.poll_next(cx);
        if let (Poll::Ready(Some(Err(_))), Some(gate)) = (&polled, &this.gate) {
            gate.break_off();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let nothing_held = self.waiting.is_none() && self.trailers.is_none() && self.rewriting.is_none();
        nothing_held && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rewriting {
            Some(Rewriting::Replace(_)) => SizeHint::default(),
            Some(Rewriting::Scrub(_)) | None => self.body.size_hint(),
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        // The library stops asking once the announced length was read.
        if self.body.is_end_stream() {
            self.give_back();
        }
    }
}
