//! A connection waits for a person's answer.

use super::super::testing::{plan, rule};
use super::{Sandbox, all, echo, exchange, is_reset};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade_policy::{Cause, GatewayPlan, Reply, Switch};

/// The target is a name, because nobody is asked about addresses of this machine.
async fn sandbox() -> Sandbox {
    let server = echo().await;
    let mut plan: GatewayPlan = plan(&["127.0.0.1"]);
    plan.asking = Switch::Allowed;
    let sandbox = Sandbox::toward(plan, &format!("asked.test:{}", server.port())).await;
    sandbox.ward.dialler().lookups().know("asked.test", &[server.ip()]);
    sandbox
}

#[tokio::test]
async fn all_who_wait_for_the_same_share_one_question() {
    let sandbox = sandbox().await;
    sandbox.witness.answer(Reply::Once, Duration::from_millis(200));
    let start = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(sandbox.connect().await);
    }
    for client in &mut clients {
        assert_eq!(exchange(client, b"\x01x").await.unwrap(), b"\x01x");
    }
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert_eq!(sandbox.witness.asked.lock().unwrap().len(), 1);
    assert!(sandbox.witness.causes().is_empty());
    // Once was for those.
    sandbox.witness.answer(Reply::Deny, Duration::ZERO);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.asked.lock().unwrap().len(), 2);
    assert!(sandbox.witness.causes().is_empty());
}

/// Whoever was asked has the attempt on record that the question was put for.
#[tokio::test]
async fn each_attempt_after_a_no_is_told() {
    let sandbox = sandbox().await;
    sandbox.witness.answer(Reply::Deny, Duration::from_millis(200));
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(sandbox.connect().await);
    }
    for client in &mut clients {
        assert!(is_reset(&all(client).await));
    }
    assert_eq!(sandbox.witness.causes(), [Cause::NotListed; 2]);
    // Programs try again at once, and nobody is asked again for that.
    for _ in 0..2 {
        assert!(is_reset(&all(&mut sandbox.connect().await).await));
    }
    assert_eq!(sandbox.witness.asked.lock().unwrap().len(), 1);
    assert_eq!(sandbox.witness.causes(), [Cause::NotListed; 4]);
    assert_eq!(sandbox.witness.records(5).await.len(), 5);
}

#[tokio::test]
async fn a_yes_for_the_session_is_remembered() {
    let sandbox = sandbox().await;
    sandbox.witness.answer(Reply::Session, Duration::ZERO);
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    sandbox.witness.answer(Reply::Deny, Duration::ZERO);
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    assert_eq!(sandbox.witness.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_yes_ends_at_its_time() {
    let sandbox = sandbox().await;
    let soon =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap() + Duration::from_secs(1);
    sandbox.witness.answer(Reply::Until { until: soon.as_millis() as u64 }, Duration::ZERO);
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    sandbox.witness.answer(Reply::Deny, Duration::ZERO);
    assert!(exchange(&mut sandbox.connect().await, b"\x01").await.is_ok());
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
}

#[tokio::test]
async fn nobody_is_asked_about_this_machine() {
    let server = echo().await;
    let mut plan = plan(&["example.org"]);
    plan.asking = Switch::Allowed;
    let sandbox = Sandbox::toward(plan, &server.to_string()).await;
    sandbox.witness.answer(Reply::Always, Duration::ZERO);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert!(sandbox.witness.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_yes_does_not_open_what_the_name_must_not_lead_to() {
    let server = echo().await;
    let mut plan = plan(&["example.org"]);
    plan.asking = Switch::Allowed;
    let sandbox = Sandbox::toward(plan, &format!("asked.test:{}", server.port())).await;
    sandbox.ward.dialler().lookups().know("asked.test", &[server.ip()]);
    sandbox.witness.answer(Reply::Always, Duration::ZERO);
    assert!(is_reset(&all(&mut sandbox.connect().await).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Address]);
}

#[tokio::test]
async fn a_plan_that_changes_while_somebody_is_asked_counts() {
    let sandbox = sandbox().await;
    sandbox.witness.answer(Reply::Session, Duration::from_millis(200));
    let mut client = sandbox.connect().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut denying = plan(&["127.0.0.1"]);
    denying.asking = Switch::Allowed;
    denying.denied.push(rule("asked.test"));
    sandbox.ward.change(Arc::new(denying)).unwrap();
    assert!(is_reset(&all(&mut client).await));
    assert_eq!(sandbox.witness.causes(), [Cause::Denied]);
}
