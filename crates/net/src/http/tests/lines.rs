//! How many connections one client makes others have.

use super::super::lines::{Lines, Speech, Way};
use super::{admitted, all, origin};
use crate::gateway::Wanted;
use crate::gateway::testing::{Recorder, plan, ward};
use crate::{Verdict, Via};
use std::sync::Arc;
use std::time::Duration;
use stockade_policy::{Cause, GatewayPlan, NetLimits, Target};
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

/// Requests with bodies take a connection each.
#[tokio::test]
async fn connections_to_servers_count_for_the_limit() {
    let limits = NetLimits { connections_per_second: Some(2), ..NetLimits::default() };
    let of_rule = {
        let mut plan = plan(&["a.test", "127.0.0.1"]);
        plan.allowed[0].limits = limits;
        plan
    };
    for plan in [of_rule, GatewayPlan { limits, ..plan(&["a.test", "127.0.0.1"]) }] {
        let port = origin().await;
        let (mut client, witness, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let heard =
            all(&mut client, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx".repeat(9)).await;
        // Being let in has counted for the first of them.
        assert_eq!(heard.matches("HTTP/1.1 200 ").count(), 2, "{heard}");
        assert_eq!(heard.matches("HTTP/1.1 429 ").count(), 1, "{heard}");
        assert!(heard.contains("may make 2 connections in one second"), "{heard}");
        assert_eq!(witness.causes(), [Cause::Limit]);
        let verdicts: Vec<_> = witness.records(3).await.iter().map(|record| record.verdict).collect();
        assert_eq!(verdicts, [Verdict::Allowed, Verdict::Allowed, Verdict::Refused]);
    }
}
