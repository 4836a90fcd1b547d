//! Many connections at once.

use super::super::testing::plan;
use super::{Sandbox, echo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The resident memory of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn idle_connections_are_small() {
    // Each of them is three descriptors pairs in this process: program, gateway, server.
    let number = 1000;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let server = echo().await;
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
    eprintln!("EACH {each}");
    assert_eq!(sandbox.ward.statistics().live, number as u64);
    // 100 MB for 5000 leave 20 kB; the test's own tasks are in it, too.
    assert!(each < 20_000, "{each} bytes for each connection");
    for client in &mut clients {
        client.write_all(b"\x02").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
    }
}
