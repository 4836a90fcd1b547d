//! Many connections at once.

use super::super::testing::plan;
use super::Sandbox;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server with next to no memory for each of its connections: what is measured is the gateway.
async fn small_echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                while let Ok(byte) = stream.read_u8().await {
                    let _ = stream.write_u8(byte).await;
                }
            });
        }
    });
    address
}

/// The resident memory of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn idle_connections_are_small() {
    let number = 1000;
    // Each has four descriptors in this process: of the program, two of the gateway, of the server.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let server = small_echo().await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &server.to_string()).await;
    let before = resident();
    let mut clients = Vec::new();
    for _ in 0..number {
        let mut client = sandbox.connect().await;
        client.write_all(b"\x01").await.unwrap();
        client.read_u8().await.unwrap();
        clients.push(client);
    }
    let each = resident().saturating_sub(before) / number;
    assert_eq!(sandbox.ward.statistics().live, number as u64);
    // 100 MB for 5000 leave 20 kB; the tasks of the test are in it, too.
    assert!(each < 20_000, "{each} bytes for each connection");
    for client in &mut clients {
        client.write_all(b"\x02").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
    }
}
