//! The HTTP proxy, for programs that insist on one.

use super::connect::{METHOD, serve_connect};
use super::guard::{Guard, IDLE_TIME};
use super::lines::Speech;
use super::resets::Resets;
use super::road::{Kind, Road};
use super::second::serve_second_proxy;
use super::server::serve_first_and_more;
use crate::Via;
use crate::gateway::{Wanted, Ward, door_of, reset, serve_elsewhere};
use crate::relay::Socket;
use crate::replay::Replay;
use bytes::BytesMut;
use std::sync::Arc;
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
    let (mut first, patience) = (BytesMut::new(), ward.patience(IDLE_TIME));
    while [PREFACE, METHOD].iter().any(|known| first.len() < known.len() && known.starts_with(&first)) {
        match tokio::time::timeout(patience, client.read_buf(&mut first)).await {
            Ok(Ok(1..)) => {}
            _ => return,
        }
    }
    if first.starts_with(PREFACE) {
        let wanted = Wanted { target: door_of(&client), via: Via::HttpProxy, spoken: None };
        let Ok(_place) = ward.place_for_second(&wanted) else { return reset(client) };
        let road = Road::new(&ward, Kind::Proxy, Speech::Plain, None);
        let client = Resets::new(Replay::new(first.freeze(), client), &ward, wanted);
        return serve_second_proxy(&road, client).await;
    }
    if first.starts_with(METHOD) {
        return serve_connect(ward, client.into(), &first).await;
    }
    let (guard, gate) = Guard::new(Socket::from(client), ward.room(), &first);
    let road = Road::new(&ward, Kind::Proxy, Speech::Plain, Some(gate));
    serve_first_and_more(&road, guard).await;
}
