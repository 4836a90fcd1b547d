//! Serving one SOCKS client.

use super::listen::{Asked, listen};
use super::message::{Address, Request};
use super::reply::{Dialect, Reply};
use crate::Via;
use crate::dns::Names;
use crate::gateway::{Admitted, Wanted, Ward, serve_elsewhere};
use crate::transparent;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Host, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client that was refused may take to read that.
const FAREWELL: Duration = Duration::from_secs(1);

const CONNECT: u8 = 1;
const BIND: u8 = 2;
const ASSOCIATE: u8 = 3;

/// Serves one client of the SOCKS door.
pub(crate) async fn serve_socks(ward: Arc<Ward>, mut client: TcpStream) {
    if let Some(port) = ward.judge().plan().upstreams.socks_proxy_port {
        // It has rules of its own.
        return serve_elsewhere(ward, client, Via::Socks, port, "network.socksProxyPort").await;
    }
    let Ok(Ok(asked)) = timeout(ward.patience(PATIENCE), listen(&mut client)).await else { return };
    let Asked { dialect, request, rest } = asked;
    match connect(&ward, request).await {
        Ok(admitted) => {
            if client.write_all(&Reply::Connected.bytes(dialect)).await.is_ok() {
                transparent::carry(ward, client.into(), admitted, rest).await;
            }
        }
        Err(reply) => refuse(client, reply, dialect).await,
    }
}

/// Lets the client in and connects, so that it can be told how that went.
async fn connect(ward: &Arc<Ward>, request: Request) -> Result<Admitted, Reply> {
    let asked = shown(&request);
    let target = target(ward.names(), request).map_err(|(reply, reason)| {
        ward.denied_unread(&asked, Via::Socks, reason);
        reply
    })?;
    let wanted = Wanted { target, via: Via::Socks, spoken: None };
    let admitted = ward.admit(wanted).await.map_err(|_| Reply::Forbidden)?;
    ward.dial_ahead(&admitted).await.map_err(|error| Reply::to(&error))?;
    Ok(admitted)
}

/// Where the client wants to, or what it is told and why there is no such place.
fn target(names: &Names, request: Request) -> Result<Target, (Reply, String)> {
    match request.command {
        CONNECT => {}
        BIND => {
            return Err((Reply::UnknownCommand, "BIND is not understood here, only CONNECT is".to_owned()));
        }
        ASSOCIATE => {
            let reason = "UDP ASSOCIATE is not understood here: UDP goes nowhere".to_owned();
            return Err((Reply::UnknownCommand, reason));
        }
        other => return Err((Reply::UnknownCommand, format!("SOCKS has no command {other}"))),
    }
    let host = match &request.address {
        Address::Literal(address) => literal(names, *address),
        Address::Name(name) => Host::parse(name)
            .map(|host| match host {
                Host::Address(address) => literal(names, address),
                name @ Host::Name(_) => name,
            })
            .map_err(|error| (Reply::Failed, error.to_string()))?,
        Address::Unknown => {
            return Err((Reply::UnknownAddress, "SOCKS has no address of this kind".to_owned()));
        }
    };
    match request.port {
        0 => Err((Reply::Failed, "0 is not a port".to_owned())),
        port => Ok(Target { host, port }),
    }
}

/// A program that looked the name up itself got an address that only stands for it.
fn literal(names: &Names, address: IpAddr) -> Host {
    match Host::from(address) {
        Host::Address(address) if Names::is_pool(address) => {
            names.host_of(address).unwrap_or(Host::Address(address))
        }
        host => host,
    }
}

/// What the client asks for, as it said it, for records.
fn shown(request: &Request) -> Vec<u8> {
    let host = match &request.address {
        Address::Literal(address) => Host::from(*address).to_string().into_bytes(),
        Address::Name(name) => name.clone(),
        Address::Unknown => b"unknown".to_vec(),
    };
    [&host[..], format!(":{}", request.port).as_bytes()].concat()
}

/// Says no, and waits a little: closing with bytes unread would take the reply back.
async fn refuse(mut client: TcpStream, reply: Reply, dialect: Dialect) {
    let goodbye = async {
        client.write_all(&reply.bytes(dialect)).await?;
        client.shutdown().await?;
        let mut unread = [0; 1024];
        while client.read(&mut unread).await? > 0 {}
        std::io::Result::Ok(())
    };
    let _ = timeout(FAREWELL, goodbye).await;
}
