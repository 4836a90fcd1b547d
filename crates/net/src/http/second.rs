//! HTTP/2 at the proxy, without the server library: that one cannot tell a tunnel's failure from its end.

use super::answer::Answer;
use super::connect::{reach, unread, wanted};
use super::flow::Body;
use super::head::BadRequest;
use super::road::Road;
use super::server::{LONGEST_HEADERS, MOST_STREAMS, Room};
use super::two::{Received, Tunnel};
use crate::Via;
use crate::gateway::{Admitted, Ward};
use crate::peer::{inheriting, peer};
use crate::relay::bridge;
use crate::transparent::carry;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Method, Request, Response, header};
use http_body::Body as _;
use http_body_util::{BodyExt, Either};
use std::future::poll_fn;
use std::sync::Arc;
use stockade_policy::Target;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves a client of the proxy that speaks HTTP/2.
pub(super) async fn serve_second_proxy<S>(road: &Arc<Road>, client: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let big = road.ward.room_for_big_buffers();
    let server = server(&Room::of(big.as_ref()));
    let Ok(mut connection) = server.handshake::<_, Bytes>(client).await else { return };
    // What goes wrong with the connection is told to each of its streams.
    while let Some(Ok((request, respond))) = connection.accept().await {
        let answering = answer(Arc::clone(road), request, respond);
        road.ward.spawn(inheriting(peer(), Box::pin(answering)));
    }
}

/// The library's part, with no more buffers than there is room for.
pub(super) fn server(room: &Room) -> h2::server::Builder {
    let mut server = h2::server::Builder::new();
    server
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LONGEST_HEADERS)
        .initial_window_size(room.window)
        .initial_connection_window_size(room.whole_window)
        .max_send_buffer_size(room.unsent);
    server
}

async fn answer(road: Arc<Road>, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    if request.method() == Method::CONNECT {
        return tunnel(road, request, respond).await;
    }
    let (head, body) = request.into_parts();
    let body = Received::new(&head.headers, body);
    let answering = Arc::clone(&road).answer(Request::from_parts(head, Either::Right(body)));
    tokio::select! {
        // Whoever takes a request back wants no answer to it.
        _ = poll_fn(|cx| respond.poll_reset(cx)) => {}
        response = answering => send(response, respond).await,
    }
}

/// A tunnel. The target is reached before it is said that it was.
async fn tunnel(road: Arc<Road>, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let ward = &road.ward;
    let target = target(ward, &request);
    // Whoever waits for a place does not hold the head meanwhile.
    let receive = request.into_body();
    let reached = async {
        let wanted = wanted(target?);
        let place = ward.place_for_tunnel(&wanted).await;
        let place = place.map_err(|denied| Answer::refused(&denied.refusal))?;
        let admitted = reach(ward, wanted).await?;
        // Two descriptors more than a client's own connection takes.
        let places = [admitted.place().await, admitted.place().await];
        match places.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(places) => Ok((admitted, (place, places))),
            Err(denied) => Err(Answer::refused(&denied.refusal)),
        }
    };
    let reached = tokio::select! {
        _ = poll_fn(|cx| respond.poll_reset(cx)) => return,
        reached = reached => reached,
    };
    let (admitted, places): (Admitted, _) = match reached {
        Ok(reached) => reached,
        Err(answer) => return send(answer.whole(), respond).await,
    };
    let Ok(out) = respond.send_response(Response::new(()), false) else { return };
    let Ok((client, joining)) = bridge(Tunnel::new(receive, out), None) else { return };
    let carrying = carry(Arc::clone(ward), client.into(), admitted, Bytes::new());
    tokio::join!(Box::pin(carrying), joining);
    drop(places);
}

/// Where a tunnel is to lead. A Host beside the target must say the same.
fn target(ward: &Ward, request: &Request<RecvStream>) -> Result<Target, Answer> {
    let mut hosts = request.headers().get_all(header::HOST).iter().map(|host| host.as_bytes());
    let (host, more) = (hosts.next(), hosts.next());
    let asked = request.uri().authority().map(|authority| authority.as_str());
    let target = match (asked, more) {
        (_, Some(_)) => Err(BadRequest::Host),
        (None, None) => Err(BadRequest::Target),
        (Some(asked), None) => super::connect::target(asked, host),
    };
    target.map_err(|wrong| unread(ward, asked.unwrap_or_default().as_bytes(), Via::Connect, wrong))
}

/// Gives an answer, as fast as the client takes it.
async fn send(response: Response<Body>, mut respond: SendResponse<Bytes>) {
    let (mut head, mut body) = response.into_parts();
    // There is no such thing here.
    head.headers.remove(header::CONNECTION);
    let is_empty = body.is_end_stream();
    if let Some(length) = body.size_hint().exact().filter(|_| !is_empty) {
        head.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    let Ok(mut out) = respond.send_response(Response::from_parts(head, ()), is_empty) else { return };
    if is_empty {
        return;
    }
    let sending = async {
        while let Some(frame) = body.frame().await {
            // A body that breaks off must not pass for a whole one.
            let frame = frame.map_err(|_| Reason::INTERNAL_ERROR)?;
            match frame.into_data() {
                Ok(piece) => write(&mut out, piece).await?,
                Err(frame) => {
                    let trailers = frame.into_trailers().map_err(|_| Reason::INTERNAL_ERROR)?;
                    return out.send_trailers(trailers).map_err(|_| Reason::INTERNAL_ERROR);
                }
            }
        }
        out.send_data(Bytes::new(), true).map_err(|_| Reason::INTERNAL_ERROR)
    };
    if let Err(reason) = sending.await {
        out.send_reset(reason);
    }
}

/// Sends as much at once as the client has room for.
async fn write(out: &mut SendStream<Bytes>, mut piece: Bytes) -> Result<(), Reason> {
    while !piece.is_empty() {
        out.reserve_capacity(piece.len());
        while out.capacity() == 0 {
            match poll_fn(|cx| out.poll_capacity(cx)).await {
                Some(Ok(_)) => {}
                _ => return Err(Reason::CANCEL),
            }
        }
        let part = piece.split_to(out.capacity().min(piece.len()));
        out.send_data(part, false).map_err(|_| Reason::CANCEL)?;
    }
    Ok(())
}
