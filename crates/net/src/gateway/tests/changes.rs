//! Connections whose content is not seen, when the rules about requests change.

use super::super::testing::{plan, reading};
use super::carrying::hello;
use super::{Sandbox, all, echo, is_reset};
use std::sync::Arc;
use stockade_policy::GatewayPlan;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HOSTS: [&str; 3] = ["127.0.0.1", "named.test", "other.test"];

/// Everything that was allowed, with rules about the requests of this host.
fn ruled(host: &str) -> Arc<GatewayPlan> {
    Arc::new(GatewayPlan { requests: vec![reading(host)], ..plan(&HOSTS) })
}

/// Says something to a server that says it back.
async fn say(client: &mut TcpStream, words: &[u8]) {
    client.write_all(words).await.unwrap();
    let mut heard = vec![0; words.len()];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, words);
}

#[tokio::test]
async fn what_is_not_seen_ends_where_requests_get_rules() {
    let server = echo().await;
    for first in [b"\x01opaque".to_vec(), hello("named.test")] {
        let target = format!("named.test:{}", server.port());
        let sandbox = Sandbox::toward(plan(&HOSTS), &target).await;
        sandbox.ward.dialler().lookups().know("named.test", &[server.ip()]);
        let mut client = sandbox.connect().await;
        say(&mut client, &first).await;
        // Rules about somebody else change nothing.
        sandbox.ward.change(ruled("other.test")).unwrap();
        say(&mut client, b"more").await;
        sandbox.ward.change(ruled("named.test")).unwrap();
        assert!(is_reset(&all(&mut client).await), "{first:?}");
        assert_eq!(sandbox.witness.records(1).await[0].target, target);
    }
}

#[tokio::test]
async fn the_name_that_tls_asks_for_beside_an_address_counts() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&HOSTS), &server.to_string()).await;
    let mut client = sandbox.connect().await;
    say(&mut client, &hello("named.test")).await;
    sandbox.ward.change(ruled("other.test")).unwrap();
    say(&mut client, b"more").await;
    sandbox.ward.change(ruled("named.test")).unwrap();
    assert!(is_reset(&all(&mut client).await));
}

#[tokio::test]
async fn tunnels_end_where_none_may_be_opaque_any_more() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&HOSTS), &server.to_string()).await;
    let mut client = sandbox.connect().await;
    say(&mut client, b"\x01").await;
    let strict = GatewayPlan { refuse_opaque_tunnels: stockade_policy::Switch::Allowed, ..plan(&HOSTS) };
    sandbox.ward.change(Arc::new(strict)).unwrap();
    assert!(is_reset(&all(&mut client).await));
}
