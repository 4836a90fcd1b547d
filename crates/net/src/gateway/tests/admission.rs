//! What is let in, what is not, and what a change of plan does.

use super::super::Wanted;
use super::super::testing::plan;
use super::{Sandbox, all, echo, exchange, is_reset};
use crate::{Verdict, Via};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn what_is_listed_is_carried_and_recorded() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &server.to_string()).await;
    let mut client = sandbox.connect().await;
    assert_eq!(exchange(&mut client, b"\x00hello").await.unwrap(), b"\x00hello");
    let record = &sandbox.witness.records(1).await[0];
    assert_eq!((record.verdict, record.via), (Verdict::Allowed, Via::Transparent));
    assert_eq!((record.sent, record.received, record.address), (6, 6, Some(server)));
    assert_eq!(record.rule.as_ref().unwrap().text, "--allow-domain 127.0.0.1");
    let statistics = sandbox.ward.statistics();
    assert_eq!((statistics.live, statistics.total.connections, statistics.total.sent), (0, 1, 6));
    assert_eq!(statistics.hosts[0].0, "127.0.0.1");
}

#[tokio::test]
async fn what_is_on_no_list_is_reset_at_once() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&["example.org"]), &server.to_string()).await;
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.causes(), [Cause::NotListed]);
    assert_eq!(sandbox.witness.records(1).await[0].verdict, Verdict::Refused);
    assert_eq!(sandbox.ward.statistics().total.refused, 1);
}

#[tokio::test]
async fn a_request_that_is_refused_is_counted() {
    let server = echo().await;
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &server.to_string()).await;
    let target = Target::parse(server.to_string().as_bytes(), None).unwrap();
    let wanted = Wanted { target, via: Via::HttpProxy, spoken: None };
    let admitted = sandbox.ward.admit(wanted).await.unwrap();
    admitted.exchange(("GET", "/"), |_| true).ended(Verdict::Refused);
    assert_eq!(sandbox.witness.records(1).await[0].verdict, Verdict::Refused);
    assert_eq!(sandbox.ward.statistics().total.refused, 1);
}

#[tokio::test]
async fn a_name_must_not_lead_to_this_machine() {
    let server = echo().await;
    let target = format!("inside.test:{}", server.port());
    let sandbox = Sandbox::toward(plan(&["inside.test"]), &target).await;
    sandbox.ward.dialler().lookups().know("inside.test", &[server.ip()]);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Address]);
    assert_eq!(sandbox.witness.records(1).await[0].verdict, Verdict::Refused);
}

#[tokio::test]
async fn only_allowed_addresses_of_a_name_are_dialled() {
    let server = echo().await;
    let target = format!("two.test:{}", server.port());
    let sandbox = Sandbox::toward(plan(&["two.test", "127.0.0.1"]), &target).await;
    // The first one is refused although somebody listens there: it is not even tried.
    let refused = tokio::net::TcpListener::bind(("127.0.0.2", server.port())).await.unwrap();
    sandbox.ward.dialler().lookups().know("two.test", &["127.0.0.2".parse().unwrap(), server.ip()]);
    let mut client = sandbox.connect().await;
    assert_eq!(exchange(&mut client, b"\x01").await.unwrap(), b"\x01");
    assert_eq!(sandbox.witness.records(1).await[0].address, Some(server));
    assert!(tokio::time::timeout(Duration::from_millis(50), refused.accept()).await.is_err());
}

#[tokio::test]
async fn nobody_there_is_a_failure_and_no_refusal() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sandbox = Sandbox::toward(plan(&["127.0.0.1"]), &address.to_string()).await;
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.records(1).await[0].verdict, Verdict::Failed);
    assert!(sandbox.witness.causes().is_empty());
}

#[tokio::test]
async fn another_plan_closes_what_it_refuses_and_nothing_else() {
    let server = echo().await;
    let both = plan(&["127.0.0.1", "example.org"]);
    let sandbox = Sandbox::toward(both, &server.to_string()).await;
    let mut client = sandbox.connect().await;
    client.write_all(b"\x02").await.unwrap();
    client.read_u8().await.unwrap();
    sandbox.ward.change(Arc::new(plan(&["127.0.0.1"]))).unwrap();
    client.write_all(b"\x03").await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), 3);
    // One that has not spoken yet must end as well.
    let mut silent = sandbox.connect().await;
    for _ in 0..100 {
        if sandbox.ward.statistics().live == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    sandbox.ward.change(Arc::new(plan(&["example.org"]))).unwrap();
    assert!(is_reset(&all(&mut client).await));
    assert!(is_reset(&all(&mut silent).await));
    assert_eq!(sandbox.witness.records(2).await.len(), 2);
}
