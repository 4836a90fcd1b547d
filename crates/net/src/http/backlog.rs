//! What was taken of a body and not sent: a server that reads nothing must not have much of it held.
//!
//! The HTTP library takes as much of a body ahead as it may read of an answer at once, which is a lot.

use super::flow::{Body, BoxError};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// What one connection has taken of bodies and not sent.
#[derive(Debug)]
pub(super) struct Backlog {
    /// From there on no more is taken.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    unsent: usize,
    waiting: Option<Waker>,
    /// Nobody sends any more.
    over: bool,
}

impl Backlog {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default() })
    }

    /// So many bytes were sent. Heads and sizes of chunks are among them, which were never counted: no harm is in
    /// taking a little more.
    pub(super) fn sent(&self, bytes: usize) {
        let mut state = self.state();
        state.unsent = state.unsent.saturating_sub(bytes);
        if state.unsent < self.most
            && let Some(waiting) = state.waiting.take()
        {
            waiting.wake();
        }
    }

    /// The connection is gone. A body that was not sent on it may be on another.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        if let Some(waiting) = state.waiting.take() {
            waiting.wake();
        }
    }

    /// A body of which no more is taken than that.
    pub(super) fn bound(self: &Arc<Self>, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Bounded { body, backlog: Arc::clone(self) }.boxed_unsync()
    }

    fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.over || state.unsent < self.most {
            return Poll::Ready(());
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Bounded {
    body: Body,
    backlog: Arc<Backlog>,
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.backlog.poll_room(cx));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.backlog.state().unsent += frame.data_ref().map_or(0, Bytes::len);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::unheard::Unheard;
    use hyper_util::rt::TokioIo;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    const PIECE: usize = 60_000;
    const PIECES: usize = 50;

    /// A body that counts what was taken of it.
    struct Pieces(Arc<AtomicUsize>);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            let taken = self.0.fetch_add(1, Ordering::Relaxed);
            Poll::Ready((taken < PIECES).then(|| Ok(Frame::data(Bytes::from_static(&[b'x'; PIECE])))))
        }
    }

    /// A server that reads nothing has little held, and one that goes on reading gets everything.
    #[tokio::test]
    async fn no_more_is_taken_than_is_sent() {
        let (near, mut far) = tokio::io::duplex(1000);
        let backlog = Backlog::new(2 * PIECE);
        let mut client = hyper::client::conn::http1::Builder::new();
        client.max_buf_size(1 << 20);
        let handshake = client.handshake(TokioIo::new(Unheard::new(near, &backlog))).await;
        let (mut sender, connection) = handshake.unwrap();
        tokio::spawn(connection);
        let taken = Arc::new(AtomicUsize::new(0));
        let body = backlog.bound(Pieces(Arc::clone(&taken)).boxed_unsync());
        tokio::spawn(sender.send_request(http::Request::post("/").body(body).unwrap()));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!((2..=3).contains(&taken.load(Ordering::Relaxed)), "{taken:?}");
        let (mut heard, mut read) = (0, vec![0; 5000]);
        while heard < PIECES * PIECE {
            let reading = tokio::time::timeout(Duration::from_secs(10), far.read(&mut read));
            let length = reading.await.expect("it goes on").unwrap();
            heard += read[..length].iter().filter(|byte| **byte == b'x').count();
        }
        assert_eq!(taken.load(Ordering::Relaxed), PIECES + 1);
    }

    #[tokio::test]
    async fn a_body_can_go_out_on_another_connection() {
        let gone = Backlog::new(PIECE);
        let mut body = gone.bound(Pieces(Arc::default()).boxed_unsync());
        assert!(body.frame().await.is_some());
        let again = Backlog::new(PIECE);
        drop(Unheard::new(tokio::io::empty(), &gone));
        let mut body = again.bound(body);
        assert!(body.frame().await.is_some());
        assert!(tokio::time::timeout(Duration::from_millis(20), body.frame()).await.is_err());
        again.sent(1);
        assert!(body.frame().await.is_some());
    }
}
