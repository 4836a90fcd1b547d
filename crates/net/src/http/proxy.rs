//! The HTTP proxy, for programs that insist on one.

use super::answer::Answer;
use super::flow::Body;
use super::guard::{Guard, IDLE_TIME};
use super::head::BadRequest;
use super::lines::{Speech, not_dialled};
use super::road::{Kind, Next, Road};
use super::server::{serve_first, serve_second};
use crate::Via;
use crate::gateway::{Wanted, Ward, serve_elsewhere};
use crate::relay::relay_streams;
use crate::replay::Replay;
use crate::transparent::carry;
use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode, Version, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use stockade_policy::Target;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// How an HTTP/2 client begins.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves one client of the HTTP proxy.
pub(crate) async fn serve_proxy(ward: Arc<Ward>, mut client: TcpStream) {
    let other = ward.judge().plan().upstreams.http_proxy_port;
    if let Some(port) = other {
        // It has rules of its own.
        return serve_elsewhere(ward, client, Via::HttpProxy, port, "network.httpProxyPort").await;
    }
    let mut first = BytesMut::new();
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        match tokio::time::timeout(IDLE_TIME, client.read_buf(&mut first)).await {
            Ok(Ok(1..)) => {}
            _ => return,
        }
    }
    if first.starts_with(PREFACE) {
        let road = Road::new(&ward, Kind::Proxy, Speech::Plain, None);
        return serve_second(&road, Replay::new(first.freeze(), client)).await;
    }
    let (guard, gate) = Guard::new(client, &first);
    let road = Road::new(&ward, Kind::Proxy, Speech::Plain, Some(gate));
    let next = serve_first(&road, guard).await;
    drop(road);
    match next {
        None => {}
        Some(Next::Tunnel { client, admitted }) => {
            if let Some((client, first)) = regained(client).await {
                carry(ward, client, *admitted, first).await;
            }
        }
        Some(Next::Opaque { client, server, admitted, exchange }) => {
            if let (Some((client, first)), Ok(server)) = tokio::join!(regained(client), server) {
                // How it ended is in the record.
                let _ = relay_streams(client, TokioIo::new(server), &admitted, Some(&exchange), first).await;
            }
        }
    }
}

/// The client's own stream, with what was read from it ahead of time.
async fn regained(client: hyper::upgrade::OnUpgrade) -> Option<(TcpStream, Bytes)> {
    let parts = client.await.ok()?.downcast::<TokioIo<Guard<TcpStream>>>().ok()?;
    let (client, held) = parts.io.into_inner().into_parts();
    Some((client, [&parts.read_buf, &held[..]].concat().into()))
}

impl Road {
    /// Answers a CONNECT: the target is reached before it is said that it was.
    pub(super) async fn connect(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Answer> {
        if !matches!(self.kind, Kind::Proxy) {
            return Err(Answer::bad(BadRequest::Target));
        }
        if request.version() == Version::HTTP_2 {
            let text = "CONNECT is taken over HTTP/1.1 only";
            return Err(Answer::plain(StatusCode::NOT_IMPLEMENTED, "not-a-proxy-request", text));
        }
        let target = Target::parse(request.uri().to_string().as_bytes(), None);
        let target = target.map_err(|_| Answer::bad(BadRequest::Target))?;
        if let Some(host) = request.headers().get(header::HOST) {
            let named = Target::parse(host.as_bytes(), Some(target.port));
            if named.is_ok_and(|named| named.host != target.host) {
                return Err(Answer::bad(BadRequest::Differ));
            }
        }
        let admitted = self.ward.admit(Wanted { target, via: Via::Connect, spoken: None }).await;
        let admitted = admitted.map_err(|denied| Answer::refused(&denied.refusal))?;
        self.ward.dial_ahead(&admitted).await.map_err(|error| not_dialled(&error))?;
        self.turn_into(Next::Tunnel {
            client: hyper::upgrade::on(&mut request),
            admitted: Box::new(admitted),
        });
        Ok(Response::new(Empty::new().map_err(|no| match no {}).boxed_unsync()))
    }
}
