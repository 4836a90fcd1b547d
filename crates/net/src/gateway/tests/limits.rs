//! Limits of rules and of the sandbox.

use super::super::testing::plan;
use super::carrying::hello;
use super::{Sandbox, all, echo, exchange, is_reset};
use std::time::{Duration, Instant};
use stockade_policy::{Cause, NetLimits};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn connections_in_one_second() {
    let server = echo().await;
    let mut plan = plan(&["127.0.0.1"]);
    plan.allowed[0].limits = NetLimits { connections_per_second: Some(2), ..NetLimits::default() };
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Limit]);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
}

#[tokio::test]
async fn an_opaque_connection_counts_as_a_request() {
    let server = echo().await;
    let mut plan = plan(&["127.0.0.1"]);
    plan.limits.requests_per_minute = Some(1);
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    assert!(is_reset(&exchange(&mut sandbox.connect().await, b"\x01").await));
    assert_eq!(sandbox.witness.causes(), [Cause::Limit]);
}

/// An address is no way around the limits of the host behind it.
#[tokio::test]
async fn tls_counts_for_the_host_it_names() {
    let server = echo().await;
    let mut plan = plan(&["127.0.0.1", "named.test"]);
    plan.allowed[1].limits.requests_per_minute = Some(1);
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    let (named, unnamed) = (hello("named.test"), hello("127.0.0.1"));
    assert!(exchange(&mut sandbox.connect().await, &named).await.is_ok());
    assert!(exchange(&mut sandbox.connect().await, &unnamed).await.is_ok());
    assert!(is_reset(&exchange(&mut sandbox.connect().await, &named).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Limit]);
}

#[tokio::test]
async fn bytes_in_one_second_are_throttled() {
    let server = echo().await;
    let mut plan = plan(&["127.0.0.1"]);
    plan.limits.bytes_per_second = Some(100_000);
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    let start = Instant::now();
    let bytes = vec![1; 100_000];
    // 200 000 bytes both ways: the first second's worth is there at once.
    assert_eq!(exchange(&mut sandbox.connect().await, &bytes).await.unwrap().len(), bytes.len());
    let took = start.elapsed();
    assert!(took > Duration::from_millis(900) && took < Duration::from_secs(3), "{took:?}");
    assert!(sandbox.witness.causes().is_empty());
}

#[tokio::test]
async fn bytes_altogether_end_the_connection_and_all_others() {
    let server = echo().await;
    let mut plan = plan(&["127.0.0.1"]);
    plan.limits.total_bytes = Some(1000);
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    assert_eq!(exchange(&mut sandbox.connect().await, &[1; 400]).await.unwrap().len(), 400);
    let mut client = sandbox.connect().await;
    client.write_all(&[1; 400]).await.unwrap();
    assert!(is_reset(&all(&mut client).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Limit]);
    assert!(is_reset(&exchange(&mut sandbox.connect().await, &[1; 400]).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Limit, Cause::Limit]);
    let records = sandbox.witness.records(3).await;
    let carried: u64 = records.iter().map(|record| record.sent + record.received).sum();
    assert!(carried <= 1000, "{carried}");
}
