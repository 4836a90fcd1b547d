//! Serving one client's HTTP, in either version, and what comes after it.

use super::covered::Covered;
use super::flow::Body;
use super::guard::Guard;
use super::resets::Resets;
use super::road::{Kind, Next, Road};
use super::unheard::Unheard;
use crate::credentials::FrameScrubber;
use crate::gateway::{Admitted, Upstream, Wanted, Ward};
use crate::peer::{inheriting, peer};
use crate::relay::{BreakOff, relay_streams};
use crate::replay::Replay;
use http::Request;
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::client::TlsStream;

/// What is read from a client at once, or waits to be written to it.
const LARGEST_BUFFER: usize = 512 * 1024;
/// The same for one of a crowd: a head fits.
const SMALLER_BUFFER: usize = super::head::LONGEST_HEAD + 16 * 1024;
/// What is read of a body at once for one of a crowd: each piece is held until the server takes it.
const SMALLER_PIECE: usize = 16 * 1024;
/// Requests of one HTTP/2 client under way at once.
pub(super) const MOST_STREAMS: u32 = 100;
pub(super) const LONGEST_HEADERS: u32 = super::head::LONGEST_HEAD as u32;

/// What may be held for an HTTP/2 client. It has up to a hundred streams, so that what each may hold is small.
pub(super) struct Room {
    /// What it may send ahead, per request.
    pub(super) window: u32,
    /// The same altogether.
    pub(super) whole_window: u32,
    /// What may wait to be sent to it, per request.
    pub(super) unsent: usize,
}

impl Room {
    /// For a client that has the right to big buffers, or one of a crowd.
    pub(super) fn of(big: Option<&OwnedSemaphorePermit>) -> Self {
        match big {
            Some(_) => Self { window: 256 << 10, whole_window: 512 << 10, unsent: 64 << 10 },
            None => Self { window: 64 << 10, whole_window: 64 << 10, unsent: 16 << 10 },
        }
    }
}

/// Runs the library's tasks so that they end with the gateway.
#[derive(Clone)]
pub(super) struct Tasks(pub(super) Arc<Ward>);

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        // Who is served is known here, where the connection is, and not in the new task.
        let peer = peer();
        self.0.spawn(async move {
            inheriting(peer, task).await;
        });
    }
}

/// Serves HTTP/1 and gives what the connection turned into.
async fn serve_first<S>(road: &Arc<Road>, mut client: Guard<S>) -> Option<Next>
where
    S: AsyncRead + AsyncWrite + BreakOff + Unpin + Send + 'static,
{
    let big = road.ward.room_for_big_buffers();
    let largest = if big.is_some() { LARGEST_BUFFER } else { SMALLER_BUFFER };
    if big.is_none() {
        client.read_at_most(SMALLER_PIECE);
    }
    let mut server = http1::Builder::new();
    server
        .preserve_header_case(true)
        .auto_date_header(false)
        // Whoever has said everything may still listen.
        .half_close(true)
        .max_headers(super::head::MOST_HEADERS)
        .max_buf_size(largest)
        .writev(true);
    let connection =
        server.serve_connection(TokioIo::new(client), service_fn(answering(road))).with_upgrades();
    // How it ended is in the records of its requests.
    until_closed(road, connection).await;
    road.next()
}

/// Serves HTTP/2. `wanted` is what the connection was let in for.
pub(super) async fn serve_second<S>(road: &Arc<Road>, mut client: S, wanted: Wanted)
where
    S: AsyncRead + AsyncWrite + BreakOff + Unpin + Send + 'static,
{
    let Ok(_place) = road.ward.place_for_second(&wanted) else { return client.break_off() };
    let client = Resets::new(client, &road.ward, wanted);
    let big = road.ward.room_for_big_buffers();
    let room = Room::of(big.as_ref());
    let mut server = http2::Builder::new(Tasks(Arc::clone(&road.ward)));
    server
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LONGEST_HEADERS)
        .initial_stream_window_size(room.window)
        .initial_connection_window_size(room.whole_window)
        .max_send_buf_size(room.unsent);
    let connection = server.serve_connection(TokioIo::new(client), service_fn(answering(road)));
    until_closed(road, connection).await;
}

/// Serves HTTP/1 and whatever a server has agreed to speak after it.
pub(super) async fn serve_first_and_more<S>(road: &Arc<Road>, client: Guard<S>)
where
    S: AsyncRead + AsyncWrite + BreakOff + Unpin + Send + 'static,
{
    if let Some(Next { client, server, admitted, exchange, scrubber }) = serve_first(road, client).await
        && let (Ok(client), Ok(server)) = tokio::join!(client, server)
        && let Ok(parts) = client.downcast::<TokioIo<Guard<S>>>()
    {
        let mut client = parts.io.into_inner();
        let first = [&parts.read_buf[..], &client.let_through()].concat();
        let frames = scrubber.map(FrameScrubber::new);
        // How it ended is in the record.
        let _ = match server.downcast::<TokioIo<Unheard<Upstream>>>() {
            Ok(server) => {
                let server =
                    Covered::new(Replay::new(server.read_buf, server.io.into_inner().into_inner()), frames);
                relay_streams(client, server, &admitted, Some(&exchange), first.into()).await
            }
            Err(server) => match server.downcast::<TokioIo<Unheard<TlsStream<Upstream>>>>() {
                Ok(server) => {
                    let server = Covered::new(
                        Replay::new(server.read_buf, server.io.into_inner().into_inner()),
                        frames,
                    );
                    relay_streams(client, server, &admitted, Some(&exchange), first.into()).await
                }
                Err(_) => return client.break_off(),
            },
        };
    }
}

/// The function that answers requests.
fn answering(
    road: &Arc<Road>,
) -> impl Fn(Request<Incoming>) -> crate::BoxFuture<'static, Result<http::Response<Body>, Infallible>> + use<>
{
    let road = Arc::clone(road);
    move |request| {
        let road = Arc::clone(&road);
        Box::pin(async move { Ok(road.answer(request.map(Either::Left)).await) })
    }
}

/// Runs a connection until it ends, or the policy says so.
async fn until_closed(road: &Road, connection: impl Future) {
    // Here, so that it is there when the end is told: the stream is broken off, or not, when it is dropped.
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        () = closed(&road.kind) => {
            // An answer that ends here is not whole.
            if let Some(gate) = &road.gate {
                gate.break_off();
            }
        }
        _ = &mut connection => {}
    }
}

async fn closed(kind: &Kind) {
    match kind {
        Kind::Admitted(admitted) => Admitted::closed(admitted).await,
        Kind::Proxy => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::Tasks;
    use crate::gateway::testing::{Recorder, plan, ward};
    use crate::peer::{peer, serving};
    use hyper::rt::Executor;

    #[tokio::test]
    async fn tasks_know_whom_they_serve() {
        let tasks = Tasks(ward(plan(&[]), &Recorder::new()));
        let inside = ([127, 0, 0, 1], 4711).into();
        let (tell, told) = tokio::sync::oneshot::channel();
        serving(inside, async { tasks.execute(async move { tell.send(peer()) }) }).await;
        assert_eq!(told.await.unwrap(), Some(inside));
    }
}
