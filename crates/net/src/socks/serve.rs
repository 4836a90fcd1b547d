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
use stockade_policy::{Cause, Host, HostError, NetRefusal, Switch, Target, ViolationKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client that was refused may take to read that.
const FAREWELL: Duration = Duration::from_secs(1);

const CONNECT: u8 = 1;

/// Serves one client of the SOCKS door.
pub(crate) async fn serve_socks(ward: Arc<Ward>, mut client: TcpStream) {
    if let Some(port) = ward.judge().plan().upstreams.socks_proxy_port {
        // It has rules of its own.
        return serve_elsewhere(ward, client, Via::Socks, port, "network.socksProxyPort").await;
    }
    let Ok(Ok(asked)) = timeout(PATIENCE, listen(&mut client)).await else { return };
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
    if request.command != CONNECT {
        return Err(Reply::UnknownCommand);
    }
    let target = target(ward.names(), request).map_err(|(reply, refusal)| {
        if let Some(refusal) = refusal {
            ward.refuse(*refusal);
        }
        reply
    })?;
    let wanted = Wanted { target, via: Via::Socks, spoken: None };
    let admitted = ward.admit(wanted).await.map_err(|_| Reply::Forbidden)?;
    ward.dial_ahead(&admitted).await.map_err(|error| Reply::to(&error))?;
    Ok(admitted)
}

fn target(names: &Names, request: Request) -> Result<Target, (Reply, Option<Box<NetRefusal>>)> {
    let host = match &request.address {
        Address::Literal(address) => literal(names, *address),
        Address::Name(name) => Host::parse(name)
            .map(|host| match host {
                Host::Address(address) => literal(names, address),
                name @ Host::Name(_) => name,
            })
            .map_err(|error| (Reply::Failed, Some(Box::new(not_a_host(name, request.port, &error)))))?,
        Address::Unknown => return Err((Reply::UnknownAddress, None)),
    };
    match request.port {
        0 => Err((Reply::Failed, None)),
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

fn not_a_host(name: &[u8], port: u16, error: &HostError) -> NetRefusal {
    NetRefusal {
        kind: ViolationKind::Connect,
        subject: format!("{}:{port}", String::from_utf8_lossy(name)),
        cause: Cause::Grammar,
        reason: error.to_string(),
        told: None,
        rule: None,
        suggestion: None,
        askable: Switch::Refused,
    }
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
