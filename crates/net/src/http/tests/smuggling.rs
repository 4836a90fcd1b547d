//! Requests within requests.

use super::{admitted, all, parrot, proxied};
use crate::Verdict;
use crate::gateway::testing::plan;
use stockade_policy::{Cause, GatewayPlan};

/// Every one of them holds a second request for somebody who looks at it in another way.
const AMBIGUOUS: [&str; 11] = [
    "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n12\r\nGET /evil HTTP/1.1\r\n\r\n0\r\n\r\n",
    "Content-Length: 0\r\nContent-Length: 22\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Transfer-Encoding: xchunked\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Content-Length: +0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "Transfer-Encoding: identity\r\nContent-Length: 22\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
    "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
];

#[tokio::test]
async fn ambiguous_requests_reach_nobody() {
    for rest in AMBIGUOUS {
        for strip in [vec![], vec!["X".to_owned()]] {
            let (port, heard) = parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            let plan = GatewayPlan { strip_response_headers: strip, ..plan(&["a.test", "127.0.0.1"]) };
            let (mut client, witness, _ward) = admitted(plan, &format!("a.test:{port}")).await;
            let answer = all(&mut client, format!("POST /ok HTTP/1.1\r\nHost: a.test\r\n{rest}")).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{rest:?}: {answer}");
            assert_eq!(*heard.lock().unwrap(), b"", "{rest:?}");
            assert_eq!(witness.causes(), [Cause::Grammar], "{rest:?}");
        }
    }
}

#[tokio::test]
async fn ambiguous_requests_do_not_pass_the_proxy() {
    for rest in AMBIGUOUS {
        let (port, heard) = parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let (mut client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
        let good = format!("GET http://127.0.0.1:{port}/ok HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let bad = format!("POST http://127.0.0.1:{port}/bad HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{rest}");
        let answer = all(&mut client, good + &bad).await;
        let (first, second) = (answer.find("HTTP/1.1 200 "), answer.find("HTTP/1.1 400 "));
        assert!(first.is_some() && first < second, "{rest:?}: {answer}");
        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert!(
            heard.contains("/ok") && !heard.contains("bad") && !heard.contains("evil"),
            "{rest:?}: {heard}"
        );
    }
}

#[tokio::test]
async fn broken_chunks_end_the_stream() {
    for strip in [vec![], vec!["X".to_owned()]] {
        let (port, heard) = parrot(b"").await;
        let plan = GatewayPlan { strip_response_headers: strip, ..plan(&["a.test", "127.0.0.1"]) };
        let (mut client, _, _ward) = admitted(plan, &format!("a.test:{port}")).await;
        let body = "2\r\nabXX0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n";
        let head = "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
        all(&mut client, format!("{head}{body}")).await;
        assert!(!String::from_utf8_lossy(&heard.lock().unwrap()).contains("evil"));
    }
}

#[tokio::test]
async fn giant_heads_are_refused() {
    let giant = format!("GET / HTTP/1.1\r\nHost: a.test\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let many = format!("GET / HTTP/1.1\r\nHost: a.test\r\n{}\r\n", "X: y\r\n".repeat(101));
    for request in [giant, many] {
        let (mut client, _, _ward) = admitted(plan(&["a.test"]), "a.test:80").await;
        assert!(all(&mut client, &request).await.starts_with("HTTP/1.1 431 "));
        let (mut client, _, _ward) = proxied(plan(&["a.test"])).await;
        assert!(all(&mut client, &request).await.starts_with("HTTP/1.1 431 "));
    }
}

/// What is wrong with a body is the client's doing and not the server's.
#[tokio::test]
async fn bodies_that_cannot_be_read_are_bad_requests() {
    let many = "a: b\r\n".repeat(3000);
    for body in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nabc\r\nfffffffffffffffffff\r\n",
        "3\r\nabc\r\n0\r\nno colon\r\n\r\n",
        "3\r\nabc\r\n0\r\nbad name: x\r\n\r\n",
        &format!("3\r\nabc\r\n0\r\n{many}\r\n"),
        &format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(20_000)),
    ] {
        let shown = &body[..body.len().min(60)];
        let (port, _) = parrot(b"").await;
        let at = format!("127.0.0.1:{port}");
        let head = format!("POST / HTTP/1.1\r\nHost: {at}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let (mut client, witness, _ward) = admitted(plan(&["127.0.0.1"]), &at).await;
        let heard = all(&mut client, head + body).await;
        assert!(heard.starts_with("HTTP/1.1 400 "), "{shown:?} {heard}");
        assert_eq!(witness.causes(), [Cause::Grammar], "{shown:?}");
        let record = witness.records(1).await.remove(0);
        assert_eq!((record.verdict, record.status), (Verdict::Refused, Some(400)), "{shown:?}");
    }
}
