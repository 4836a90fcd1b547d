//! The gateway with real sockets on loopback.

mod admission;
mod asking;
mod carrying;
mod changes;
mod crowd;
mod doors;
mod limits;
mod routes;

use super::testing::{Recorder, ward};
use super::{Wanted, Ward};
use crate::Via;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{GatewayPlan, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A sandbox whose connections all want one target.
struct Sandbox {
    ward: Arc<Ward>,
    witness: Arc<Recorder>,
    door: SocketAddr,
}

impl Sandbox {
    /// Everything that connects here wants `target`.
    async fn toward(plan: GatewayPlan, target: &str) -> Self {
        let witness = Recorder::new();
        Self::of(ward(plan, &witness), witness, target).await
    }

    async fn of(ward: Arc<Ward>, witness: Arc<Recorder>, target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = listener.local_addr().unwrap();
        let target = Target::parse(target.as_bytes(), None).unwrap();
        let inside = Arc::clone(&ward);
        ward.spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (ward, target) = (Arc::clone(&inside), target.clone());
                inside.spawn(async move {
                    let wanted = Wanted { target, via: Via::Transparent, spoken: None };
                    match ward.admit(wanted).await {
                        Ok(admitted) => {
                            crate::transparent::carry(ward, client.into(), admitted, Bytes::new()).await
                        }
                        Err(_) => super::reset(client),
                    }
                });
            }
        });
        Self { ward, witness, door }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.door).await.unwrap()
    }
}

/// A server that sends everything back, and then its end.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    address
}

/// Everything the other side sends, or how it failed.
async fn all(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it ends")?;
    Ok(bytes)
}

/// Sends, ends, and gives what comes back.
async fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    all(stream).await
}

fn is_reset<T>(result: &std::io::Result<T>) -> bool {
    let kind = result.as_ref().err().map(std::io::Error::kind);
    matches!(kind, Some(std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe))
}
