//! Connections to servers, made when a request needs one and kept while the client stays.

use super::answer::Answer;
use super::backlog::Backlog;
use super::flow::Body;
use super::translate;
use super::unheard::Unheard;
use crate::dial::Forwarder;
use crate::gateway::{Admitted, DialError, Ward};
use crate::peer::{inheriting, peer};
use crate::tls;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stockade_policy::Target;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// HTTP/1 connections to servers one client may have, those that wait included.
const MOST_FIRST: usize = 8;
/// The most that is read from a server at once: big pieces are a tenth quicker.
const LARGEST_READ: usize = 1024 * 1024;
/// The same for one of a crowd.
const SMALLER_READ: usize = 64 * 1024;
/// What an HTTP/2 server may send ahead, per request and altogether.
const WINDOW: u32 = 1 << 20;
const WHOLE_WINDOW: u32 = 2 << 20;
/// The same for one of a crowd.
const SMALLER_WINDOW: u32 = 64 << 10;
/// What may wait to be sent to one, per request.
const UNSENT: usize = 64 << 10;
/// The same for HTTP/1. More is sent no faster.
const UNSENT_FIRST: usize = 256 << 10;
/// The same for one of a crowd.
const SMALLER_UNSENT: usize = 32 << 10;

/// What is spoken with servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    /// HTTP/1 without TLS.
    Plain,
    /// HTTP/2 without TLS, as the client began it.
    PlainTwo,
    /// HTTP/1 in TLS.
    Tls,
    /// In TLS, HTTP/2 where the server can.
    TlsTwo,
}

/// Whom a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The server, directly or through a tunnel.
    Server,
    /// A proxy, which is to send it on.
    Forwarder,
}

/// The connections made for one client.
#[derive(Debug)]
pub(super) struct Lines {
    ward: Arc<Ward>,
    speech: Speech,
    idle: Mutex<Vec<Line>>,
    /// For requests that have an HTTP/1 connection to themselves.
    turns: Arc<Semaphore>,
    /// The HTTP/2 connection that all requests share. Locked while it is being made.
    shared: tokio::sync::Mutex<Option<Line>>,
}

/// One connection to a server.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) admitted: Arc<Admitted>,
    sender: Sender,
    way: Way,
    /// Whether another request may follow.
    reuse: Reuse,
    /// While a request has an HTTP/1 connection to itself.
    _turn: Option<OwnedSemaphorePermit>,
    /// What a proxy wants to see in every request.
    authorization: Option<HeaderValue>,
    /// Ends the connection, whatever is still being sent on it.
    cut: Arc<Notify>,
}

/// Whether a connection may be given another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reuse {
    Yes,
    /// A request with a body is the last of its HTTP/1 connection: the server may have taken its body for more.
    No,
}

#[derive(Debug)]
enum Sender {
    One(http1::SendRequest<Body>, Arc<Backlog>),
    Two(http2::SendRequest<Body>),
}

/// A connection that was made, and what ends it.
type Made = (Sender, Arc<Notify>);

/// A connection that is given back once it is free again.
#[derive(Debug)]
pub(super) struct Lease {
    lines: Arc<Lines>,
    line: Line,
}

/// Why a request got no answer.
pub(super) enum SendError {
    /// Nothing of it was sent.
    Unsent(Box<Request<Body>>),
    /// The connection failed.
    Failed(hyper::Error),
}

impl Lines {
    pub(super) fn new(ward: Arc<Ward>, speech: Speech) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(MOST_FIRST));
        Arc::new(Self { ward, speech, idle: Mutex::default(), turns, shared: tokio::sync::Mutex::default() })
    }

    /// A connection to this target that waits for a request.
    pub(super) async fn waiting(&self, target: &Target, way: Way) -> Option<Line> {
        loop {
            let at = |line: &Line| line.admitted.target == *target && line.way == way;
            let mut line = {
                let mut idle = self.idle();
                let at = idle.iter().rposition(at)?;
                idle.swap_remove(at)
            };
            let Sender::One(sender, _) = &mut line.sender else { continue };
            if sender.ready().await.is_ok() {
                return Some(line);
            }
        }
    }

    /// A connection for one request, new where none waits.
    pub(super) async fn line(&self, admitted: &Arc<Admitted>, way: Way) -> Result<Line, Answer> {
        if matches!(self.speech, Speech::Plain | Speech::Tls) {
            return self.first_line(admitted, way).await;
        }
        let mut shared = self.shared.lock().await;
        if let Some(Line { admitted, sender: Sender::Two(sender), .. }) = &*shared
            && !sender.is_closed()
        {
            return Ok(Line::new(admitted, (Sender::Two(sender.clone()), Arc::default())));
        }
        let line = self.first_line(admitted, way).await?;
        if let Sender::Two(sender) = &line.sender {
            *shared = Some(Line::new(admitted, (Sender::Two(sender.clone()), Arc::default())));
        }
        Ok(line)
    }

    /// A connection that may turn out to be for one request at a time, once it is this request's turn.
    async fn first_line(&self, admitted: &Arc<Admitted>, way: Way) -> Result<Line, Answer> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let line = match self.waiting(&admitted.target, way).await {
            Some(line) => line,
            None => {
                self.make_room();
                self.open(admitted, way).await?
            }
        };
        let turn = if line.is_second() { None } else { turn };
        Ok(Line { _turn: turn, ..line })
    }

    /// Ends the oldest of those that wait, where they would be too many together with those in use.
    fn make_room(&self) {
        let mut idle = self.idle();
        let surplus = idle.len().saturating_sub(self.turns.available_permits());
        idle.drain(..surplus);
    }

    async fn open(&self, admitted: &Arc<Admitted>, way: Way) -> Result<Line, Answer> {
        match way {
            Way::Server => self.open_to_server(admitted).await,
            Way::Forwarder => {
                let found = self.ward.dial_forwarder(admitted).await;
                let Forwarder { upstream, authorization } = found.map_err(|error| not_dialled(&error))?;
                let sender = self.first(admitted, upstream).await;
                let line = Line::new(admitted, sender.map_err(|error| failed(&admitted.target, &error))?);
                Ok(Line { way, authorization, ..line })
            }
        }
    }

    async fn open_to_server(&self, admitted: &Arc<Admitted>) -> Result<Line, Answer> {
        let upstream = self.ward.dial(admitted).await.map_err(|error| not_dialled(&error))?;
        let failed = |error: hyper::Error| failed(&admitted.target, &error);
        let sender = match self.speech {
            Speech::Plain => self.first(admitted, upstream).await.map_err(failed)?,
            Speech::PlainTwo => self.second(admitted, upstream).await.map_err(failed)?,
            Speech::Tls | Speech::TlsTwo => {
                let offered: &[&[u8]] = match self.speech {
                    Speech::TlsTwo => &[b"h2", b"http/1.1"],
                    _ => &[b"http/1.1"],
                };
                let stream = tls::connect_tls(&self.ward, upstream, &admitted.target, offered).await;
                let stream = stream.map_err(|error| no_tls(admitted, &error))?;
                match stream.get_ref().1.alpn_protocol() {
                    Some(b"h2") => self.second(admitted, stream).await.map_err(failed)?,
                    _ => self.first(admitted, stream).await.map_err(failed)?,
                }
            }
        };
        Ok(Line::new(admitted, sender))
    }

    async fn first<S>(&self, admitted: &Arc<Admitted>, stream: S) -> hyper::Result<Made>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut client = http1::Builder::new();
        let big = self.ward.room_for_big_buffers();
        let (largest, unsent) = match big {
            Some(_) => (LARGEST_READ, UNSENT_FIRST),
            None => (SMALLER_READ, SMALLER_UNSENT),
        };
        let backlog = Backlog::new(unsent);
        client.preserve_header_case(true).max_buf_size(largest);
        let (sender, connection) = client.handshake(TokioIo::new(Unheard::new(stream, &backlog))).await?;
        let cut = self.run(admitted, async move {
            let _big = big;
            connection.with_upgrades().await
        });
        Ok((Sender::One(sender, backlog), cut))
    }

    async fn second<S>(&self, admitted: &Arc<Admitted>, stream: S) -> hyper::Result<Made>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let big = self.ward.room_for_big_buffers();
        let (window, whole) = match big {
            Some(_) => (WINDOW, WHOLE_WINDOW),
            None => (SMALLER_WINDOW, SMALLER_WINDOW),
        };
        let mut client = http2::Builder::new(super::server::Tasks(Arc::clone(&self.ward)));
        client
            .timer(TokioTimer::new())
            .initial_stream_window_size(window)
            .initial_connection_window_size(whole)
            .max_send_buf_size(UNSENT);
        let (sender, connection) = client.handshake(TokioIo::new(stream)).await?;
        let cut = self.run(admitted, async move {
            let _big = big;
            connection.await
        });
        Ok((Sender::Two(sender), cut))
    }

    /// Runs a connection until it ends or must end. Gives what ends it.
    fn run<F>(&self, admitted: &Arc<Admitted>, connection: F) -> Arc<Notify>
    where
        F: Future<Output = hyper::Result<()>> + Send + 'static,
    {
        let (admitted, cut) = (Arc::clone(admitted), Arc::new(Notify::new()));
        let until = Arc::clone(&cut);
        let run = async move {
            tokio::select! {
                biased;
                () = admitted.closed() => {}
                // Whoever waits for an answer hears of an error there.
                _ = connection => {}
                // After that: it may be about to end well.
                () = until.notified() => {}
            }
        };
        // Bodies are counted in there, and limits are reached.
        self.ward.spawn(inheriting(peer(), run));
        cut
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn new(admitted: &Arc<Admitted>, (sender, cut): Made) -> Self {
        let (admitted, way, reuse) = (Arc::clone(admitted), Way::Server, Reuse::Yes);
        Self { admitted, sender, way, reuse, _turn: None, authorization: None, cut }
    }

    /// What a proxy wants to see in every request.
    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// Whether requests go out as HTTP/2.
    pub(super) fn is_second(&self) -> bool {
        matches!(self.sender, Sender::Two(_))
    }

    /// Makes the request the last of its connection, for both sides, where it has to be.
    pub(super) fn end_with(&mut self, request: &mut Request<Body>) {
        if !self.is_second() && translate::has_body(request) {
            request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            self.reuse = Reuse::No;
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        let sent = match &mut self.sender {
            Sender::One(sender, backlog) => {
                sender.try_send_request(request.map(|body| backlog.bound(body))).await
            }
            Sender::Two(sender) => sender.try_send_request(request).await,
        };
        sent.map_err(|mut error| match error.take_message() {
            Some(request) => SendError::Unsent(Box::new(request)),
            None => SendError::Failed(error.into_error()),
        })
    }

    /// To be given back to `lines`.
    pub(super) fn lease(self, lines: &Arc<Lines>) -> Lease {
        Lease { lines: Arc::clone(lines), line: self }
    }
}

impl Lease {
    /// The connection is free again; where it cannot be used again it ends.
    pub(super) fn give_back(self) {
        if self.line.is_second() {
            return;
        }
        if self.line.reuse == Reuse::No {
            // What is left of a body that was answered would be taken for anything by a server that reads on.
            self.line.cut.notify_one();
            return;
        }
        let mut idle = self.lines.idle();
        if idle.len() >= MOST_FIRST {
            idle.remove(0);
        }
        idle.push(Line { _turn: None, ..self.line });
    }
}

/// The answer to whoever wanted a server that could not be reached.
pub(super) fn not_dialled(error: &DialError) -> Answer {
    match error {
        DialError::Denied(denied) => Answer::refused(&denied.refusal),
        DialError::Unreachable { target, source } => {
            Answer::unreachable(source, format!("cannot reach {target}: {source}"))
        }
    }
}

/// The answer to whoever got none because the connection failed.
pub(super) fn failed(target: &Target, error: &hyper::Error) -> Answer {
    let cause = tls::cause(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let text = format!("{target} gave no answer: {error}{cause}");
    Answer::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text)
}

fn no_tls(admitted: &Admitted, error: &std::io::Error) -> Answer {
    admitted.failed();
    Answer::unreachable(error, error.to_string())
}
