//! How many connections one client makes others have.

use super::super::lines::{Lines, Speech, Way};
use super::origin;
use crate::Via;
use crate::gateway::Wanted;
use crate::gateway::testing::{Recorder, plan, ward};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::Target;
use tokio::time::timeout;

/// Long enough for a connection on this machine.
const A_MOMENT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn requests_wait_for_one_of_eight_connections() {
    let target = format!("127.0.0.1:{}", origin().await);
    let ward = ward(plan(&["127.0.0.1"]), &Recorder::new());
    let wanted = Wanted {
        target: Target::parse(target.as_bytes(), None).unwrap(),
        via: Via::Transparent,
        spoken: None,
    };
    let admitted = Arc::new(ward.admit(wanted).await.ok().unwrap());
    let lines = Lines::new(ward, Speech::Plain);
    let mut busy = Vec::new();
    for _ in 0..8 {
        busy.push(lines.line(&admitted, Way::Server).await.ok().unwrap());
    }
    assert!(timeout(A_MOMENT, lines.line(&admitted, Way::Server)).await.is_err(), "a ninth");
    // One that is free again is used again; one that is gone makes room for a new one.
    busy.pop().unwrap().lease(&lines).give_back();
    busy.push(timeout(A_MOMENT, lines.line(&admitted, Way::Server)).await.unwrap().ok().unwrap());
    drop(busy.pop());
    assert!(timeout(A_MOMENT, lines.line(&admitted, Way::Server)).await.unwrap().is_ok());
}
