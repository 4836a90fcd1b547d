//! Answers that break off, and clients that know the end of one by the end of the connection only.

use super::{PATIENCE, admitted, proxied, witnessed};
use crate::gateway::testing::{Recorder, plan};
use crate::relay::Duplex;
use std::io::ErrorKind;
use std::sync::Arc;
use stockade_policy::GatewayPlan;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Fin,
    Reset,
    Never,
}

const COUNTED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhalf";
const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n\r\n";

/// A server that says this to every request and ends. Gives its port.
pub(super) async fn breaking(says: &'static [u8], ending: Ending) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                stream.write_all(says).await.unwrap();
                // A reset overtakes what was said just before.
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                match ending {
                    Ending::Fin => {}
                    Ending::Reset => stream.abort(),
                    Ending::Never => std::future::pending().await,
                }
            });
        }
    });
    port
}

/// How a client gets on that reads to the end of the connection.
async fn heard(mut client: TcpStream, request: String) -> Result<String, ErrorKind> {
    client.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let ended = timeout(PATIENCE, client.read_to_end(&mut heard)).await.expect("the end did not come");
    let heard = String::from_utf8(heard).unwrap();
    ended.map(|_| heard).map_err(|error| error.kind())
}

#[tokio::test]
async fn half_an_answer_is_not_taken_for_a_whole_one() {
    for (says, ending, whole) in [
        (COUNTED, Ending::Fin, false),
        (CHUNKED, Ending::Fin, false),
        (ENDLESS, Ending::Reset, false),
        (ENDLESS, Ending::Fin, true),
        (WHOLE, Ending::Never, true),
    ] {
        let port = breaking(says, ending).await;
        let (client, _, _ward) = proxied(plan(&["127.0.0.1"])).await;
        let at = format!("127.0.0.1:{port}");
        let request = format!("GET http://{at}/ HTTP/1.0\r\nHost: {at}\r\n\r\n");
        let proxied = heard(client, request).await;
        let plan = GatewayPlan { strip_response_headers: vec!["X".into()], ..plan(&["127.0.0.1"]) };
        let (client, _, _ward) = admitted(plan, &at).await;
        let admitted = heard(client, format!("GET / HTTP/1.0\r\nHost: {at}\r\n\r\n")).await;
        for heard in [proxied, admitted] {
            match whole {
                true => assert!(heard.as_ref().is_ok_and(|heard| heard.ends_with("half")), "{heard:?}"),
                false => assert_eq!(heard, Err(ErrorKind::ConnectionReset), "{ending:?}"),
            }
        }
    }
}

#[tokio::test]
async fn what_is_passed_on_unseen_ends_as_it_does_on_the_other_side() {
    for (ending, expected) in [
        (Ending::Fin, Ok(String::from_utf8(ENDLESS.to_vec()).unwrap())),
        (Ending::Reset, Err(ErrorKind::ConnectionReset)),
    ] {
        let at = format!("127.0.0.1:{}", breaking(ENDLESS, ending).await);
        let (client, _, _ward) = admitted(plan(&["127.0.0.1"]), &at).await;
        assert_eq!(heard(client, format!("GET / HTTP/1.0\r\nHost: {at}\r\n\r\n")).await, expected);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_longer_allowed_is_not_whole() {
    for (version, says) in [("1.0", CHUNKED), ("1.0", ENDLESS), ("1.1", CHUNKED)] {
        let at = format!("127.0.0.1:{}", breaking(says, Ending::Never).await);
        let witness = Recorder::new();
        let (gateway, mut client) = witnessed(plan(&["127.0.0.1"]), &witness, None, None).await;
        let request = format!("GET http://{at}/ HTTP/{version}\r\nHost: {at}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        while !heard.windows(4).any(|part| part == b"half") {
            timeout(PATIENCE, client.read_buf(&mut heard)).await.unwrap().unwrap();
        }
        gateway.change(Arc::new(plan(&[]))).unwrap();
        let ended = timeout(PATIENCE, client.read_to_end(&mut heard)).await.unwrap();
        assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::ConnectionReset), "{version}");
    }
}
