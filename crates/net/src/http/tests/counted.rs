//! Heads and trailers are counted like every other byte.

use super::second::second;
use super::{all, origin, parrot, proxied, until};
use crate::Verdict;
use crate::gateway::testing::plan;
use http::Request;
use std::time::{Duration, Instant};
use stockade_policy::{Cause, GatewayPlan, NetLimits};

fn total(bytes: u64) -> NetLimits {
    NetLimits { total_bytes: Some(bytes), ..NetLimits::default() }
}

/// A request for this place with a header of so many bytes.
fn get(at: &str, length: usize) -> String {
    format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nX-More: {}\r\n\r\n", "x".repeat(length))
}

#[tokio::test]
async fn a_head_that_does_not_fit_is_not_sent() {
    let of_rule = {
        let mut plan = plan(&["127.0.0.1"]);
        plan.allowed[0].limits = total(5000);
        plan
    };
    for plan in [GatewayPlan { limits: total(5000), ..plan(&["127.0.0.1"]) }, of_rule] {
        let (port, heard) = parrot(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        let (mut client, witness, _ward) = proxied(plan).await;
        let at = format!("127.0.0.1:{port}");
        assert!(until(&mut client, get(&at, 1000), "\r\n\r\n").await.starts_with("HTTP/1.1 204 "));
        assert!(witness.causes().is_empty());
        let before = heard.lock().unwrap().len();
        let said = all(&mut client, get(&at, 5000)).await;
        assert!(said.starts_with("HTTP/1.1 429 ") && said.contains("5000 bytes altogether"), "{said}");
        assert_eq!(heard.lock().unwrap().len(), before);
        assert_eq!(witness.causes(), [Cause::Limit]);
        let records = witness.records(2).await;
        assert_eq!((records[1].verdict, records[1].sent), (Verdict::Refused, 0));
    }
}

#[tokio::test]
async fn small_heads_add_up() {
    let port = origin().await;
    let plan = GatewayPlan { limits: total(5000), ..plan(&["127.0.0.1"]) };
    let (mut client, _, _ward) = proxied(plan).await;
    let at = format!("127.0.0.1:{port}");
    for _ in 0..4 {
        until(&mut client, get(&at, 900), "body=>").await;
    }
    assert!(all(&mut client, get(&at, 900)).await.starts_with("HTTP/1.1 429 "));
}

#[tokio::test]
async fn what_is_counted_is_what_is_written() {
    const SAYS: &str =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: trailing\r\n\r\n";
    let (port, heard) = parrot(SAYS.as_bytes()).await;
    let (mut client, witness, ward) = proxied(plan(&["127.0.0.1"])).await;
    until(&mut client, get(&format!("127.0.0.1:{port}"), 70), "0\r\n\r\n").await;
    drop(client);
    let record = witness.records(1).await.remove(0);
    let framing = "3\r\n\r\n0\r\n\r\n".len();
    assert_eq!(record.sent, heard.lock().unwrap().len() as u64);
    assert_eq!(record.received, (SAYS.len() - framing) as u64);
    while ward.statistics().total.connections == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let statistics = ward.statistics().total;
    assert_eq!((statistics.sent, statistics.received), (record.sent, record.received));
}

#[tokio::test]
async fn heads_of_answers_do_not_pass_the_total() {
    let says = format!("HTTP/1.1 204 No Content\r\nX-More: {}\r\n\r\n", "y".repeat(3000));
    let (port, _) = parrot(says.leak().as_bytes()).await;
    let plan = GatewayPlan { limits: total(2000), ..plan(&["127.0.0.1"]) };
    let (mut client, witness, _ward) = proxied(plan).await;
    let said = all(&mut client, get(&format!("127.0.0.1:{port}"), 10)).await;
    assert!(said.starts_with("HTTP/1.1 429 ") && !said.contains("yyy"), "{said}");
    assert_eq!(witness.causes(), [Cause::Limit]);
}

#[tokio::test]
async fn trailers_do_not_pass_the_total() {
    let more = "y".repeat(3000);
    let says = format!(
        "HTTP/1.1 200 OK\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: {more}\r\n\r\n"
    );
    let (port, _) = parrot(says.leak().as_bytes()).await;
    let plan = GatewayPlan { limits: total(2000), ..plan(&["127.0.0.1"]) };
    let (client, witness, _ward) = proxied(plan).await;
    let client = second(client).await;
    let request = Request::get(format!("http://127.0.0.1:{port}/")).body(()).unwrap();
    let (answer, _) = client.clone().send_request(request, true).unwrap();
    let mut body = answer.await.unwrap().into_body();
    // An end like that of a whole answer would say that there were no trailers.
    let mut end = Ok(());
    while let (Ok(()), Some(piece)) = (&end, body.data().await) {
        end = piece.map(drop);
    }
    assert!(end.is_err() || body.trailers().await.is_err());
    assert_eq!(witness.causes(), [Cause::Limit]);
}

#[tokio::test]
async fn heads_wait_for_the_rate() {
    let port = origin().await;
    let limits = NetLimits { bytes_per_second: Some(2000), ..NetLimits::default() };
    let (mut client, _, _ward) = proxied(GatewayPlan { limits, ..plan(&["127.0.0.1"]) }).await;
    let start = Instant::now();
    assert!(until(&mut client, get(&format!("127.0.0.1:{port}"), 3900), ">").await.contains("x-more"));
    assert!(start.elapsed() > Duration::from_millis(900), "{:?}", start.elapsed());
}
